/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this file call the kernel of an operator for a row, a pixel or several pixels of the output. */
#ifndef TMO_CALLS_H_
#define TMO_CALLS_H_

#include "elements.h"
#include "kernels.h"
#include "packed.h"
#include "vectors.h"

#define HAS_PACKED_DEPTHWISE \
  (tmo_has_packing(TMO_PACKING_DSP_DEPTHWISE) || tmo_has_packing(TMO_PACKING_MVE_DEPTHWISE) || tmo_has_packing(TMO_PACKING_RVV_DEPTHWISE) || \
   tmo_has_packing(TMO_PACKING_ESP_DEPTHWISE))
#define TMO_NO_KERNEL(k, window, out) (void)0

#if TMO_RUNS_PACKED
static void call_packed_row(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->packing) {
    TMO_CASE_DSP(TMO_PACKING_DSP_CONV, tmo_conv_dsp_row(k, window, out))
    TMO_CASE_DSP(TMO_PACKING_DSP_ADD, tmo_add_packed(k, window, out))
    TMO_CASE_DSP(TMO_PACKING_DSP_DENSE, tmo_conv_dsp_dense(k, window, out))
    TMO_CASE_MVE(TMO_PACKING_MVE_CONV, tmo_conv_mve_row(k, window, out))
    TMO_CASE_RVV(TMO_PACKING_RVV_CONV, tmo_conv_rvv_row(k, window, out))
    TMO_CASE_ESP(TMO_PACKING_ESP_CONV, tmo_conv_esp_row(k, window, out))
    default: if (HAS_PACKED_DEPTHWISE) tmo_depthwise_packed_row(k, window, out);
  }
}

/* Calls the kernel of an operator for one pixel. A convolution is only allowed if its kernel can read the input pixel without a copy. */
static void call_packed_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->packing) {
    TMO_CASE_DSP(TMO_PACKING_DSP_CONV, tmo_conv_dsp_direct(k, window, out))
    TMO_CASE_DSP(TMO_PACKING_DSP_ADD, tmo_add_packed(k, window, out))
    TMO_CASE_DSP(TMO_PACKING_DSP_DENSE, tmo_conv_dsp_window(k, window, out))
    TMO_CASE_MVE(TMO_PACKING_MVE_CONV, tmo_conv_mve_multiply(k, window->pixels[0], 0, 1, out, 0))
    TMO_CASE_RVV(TMO_PACKING_RVV_CONV, tmo_conv_rvv_multiply(k, window->pixels[0], 0, 1, out, 0))
    default: if (HAS_PACKED_DEPTHWISE) tmo_depthwise_packed_pixel(k, window, out);
  }
}
#endif

/* call_plain_row() is not inlined, so that it compiles to jumps and needs no stack frame. */
TMO_OWN_FRAME static void call_plain_row(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->kind) {
#define CALL_ROW(with, name, value, reads, writes, operands, scales, family, channels, row, pixel) TMO_CASE_KIND(value, row(k, window, out));
    TMO_EACH_KIND(CALL_ROW, )
    default: break;
  }
}

static void call_row_kernel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
#if TMO_RUNS_PACKED
  if (k->op->packing != TMO_PACKING_NONE) {
    call_packed_row(k, window, out);
    return;
  }
#endif
  call_plain_row(k, window, out);
}

static void call_pixel_kernel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
#if TMO_RUNS_PACKED
  if (k->op->packing != TMO_PACKING_NONE) {
    call_packed_pixel(k, window, out);
    return;
  }
#endif
  switch (k->op->kind) {
#define CALL_PIXEL(with, name, value, reads, writes, operands, scales, family, channels, row, pixel)     \
  case value:                                                                                     \
    if (tmo_family_##family > tmo_family_pool) break;                                              \
    if (tmo_has_kind(value)) pixel(k, window, out);                                                \
    return;
    TMO_EACH_KIND(CALL_PIXEL, )
    default: break;
  }
  call_row_kernel(k, window, out);
}

#if TMO_RUNS_PACKED
static void gather_packed(const tmo_kernel *k, const tmo_window *window, uint32_t pixel, uint32_t pixels) {
  (void)pixel, (void)pixels;
  switch (k->op->packing) {
    TMO_CASE_MVE(TMO_PACKING_MVE_CONV, tmo_conv_mve_gather(k, window, pixel))
    TMO_CASE_RVV(TMO_PACKING_RVV_CONV, tmo_conv_rvv_gather(k, window, pixel))
    TMO_CASE_ESP(TMO_PACKING_ESP_CONV, tmo_conv_esp_gather(k, window))
#if TMO_RUNS_DSP
    default: if (tmo_has_packing(TMO_PACKING_DSP_CONV)) tmo_conv_dsp_gather(k, window, pixel, pixels);
#endif
  }
}

static void multiply_packed(const tmo_kernel *k, uint32_t pixels, int8_t *out, uint32_t step) {
  (void)pixels, (void)step;
  switch (k->op->packing) {
    TMO_CASE_MVE(TMO_PACKING_MVE_CONV, tmo_conv_mve_multiply(k, NULL, tmo_packed_values(k->op, k->in_channels), pixels, out, step))
    TMO_CASE_RVV(TMO_PACKING_RVV_CONV, tmo_conv_rvv_multiply(k, (const int8_t *)k->scratch, tmo_packed_values(k->op, k->in_channels), pixels, out, step))
    TMO_CASE_ESP(TMO_PACKING_ESP_CONV, tmo_conv_esp_multiply(k, out))
#if TMO_RUNS_DSP
    default: if (tmo_has_packing(TMO_PACKING_DSP_CONV)) tmo_conv_dsp_multiply(k, pixels, out, step);
#endif
  }
}

static void make_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns) {
  switch (k->op->packing) {
    TMO_CASE_MVE(TMO_PACKING_MVE_CONV, tmo_conv_mve_columns(k, rows, columns))
    TMO_CASE_RVV(TMO_PACKING_RVV_CONV, tmo_conv_rvv_columns(k, rows, columns))
    TMO_CASE_ESP(TMO_PACKING_ESP_CONV, tmo_conv_esp_columns(k, rows, columns))
#if TMO_RUNS_DSP
    default: if (tmo_has_packing(TMO_PACKING_DSP_CONV)) tmo_conv_dsp_columns(k, rows, columns);
#endif
  }
}
#endif

#endif /* TMO_CALLS_H_ */
