/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this internal header from descriptions of kernels (docs/kernel-language.md). */
#ifndef TMO_GENERATED_H_
#define TMO_GENERATED_H_

#include <stdint.h>

#include "build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This record has the arguments of a kernel that computes y[k] = requantise(bias[k] + sum over the window of (x - zero point) * w[k]). */
typedef struct {
  const int8_t *const *x;
  int8_t *y;
  const int8_t *w;
  const int32_t *bias;
  const int32_t *multipliers;
  const int8_t *shifts;
  uint32_t pointers, reach, rows, columns, channels, filters;
  int32_t zero_in, zero_out, low, high, scale_step, bias_step, next_row, next_column, apart, offset, row_weights, tap_weights, filter_weights;
} tmo_conv_pixel_operands;

/* This record has the arguments of a kernel that computes y[k] = requantise(bias[k] + sum over the window of (x[k] - zero point) * w[k]). */
typedef struct {
  const int8_t *const *x;
  int8_t *y;
  const int8_t *w;
  const int32_t *bias;
  const int32_t *multipliers;
  const int8_t *shifts;
  uint32_t pointers, reach, rows, columns, channels;
  int32_t zero_in, zero_out, low, high, scale_step, bias_step, next_row, next_column, apart, offset, row_weights, tap_weights;
} tmo_depthwise_pixel_operands;

/* This record has the arguments of a kernel that computes y = requantise(requantise(a - zero_a) + requantise(b - zero_b)). */
typedef struct {
  const int8_t *x;
  const int8_t *other;
  int8_t *y;
  uint32_t n;
  int32_t zero_a, zero_b, zero_out, low, high, scale_a, scale_b, scale_out, right_a, right_b, right_out;
} tmo_add_operands;

/* This record has the arguments of a kernel that computes y[p, k] = saturate(bias[k] + sum over i of x[p, i] * w[i, k]). */
typedef struct {
  const int8_t *x;
  int8_t *y;
  const int8_t *w;
  const int32_t *bias;
  const int32_t *multipliers;
  const int16_t *rights;
  uint32_t pixels, values, filters;
  int32_t apart, step, zero_out, low, high;
} tmo_packed_conv_operands;

/* This record has the arguments of a kernel that computes y[p, k] = saturate(bias[k] + sum over taps t of x[t, p, k] * w[t, k]). */
typedef struct {
  const int8_t *const *x;
  int8_t *y;
  const int8_t *w;
  const int32_t *bias;
  const int32_t *multipliers;
  const int16_t *rights;
  uint32_t pixels, taps, reach, channels;
  int32_t apart, zero_out, low, high;
} tmo_packed_depthwise_operands;

/* This record has the arguments of a kernel that computes y[p, r, i] = x[r, p, i]. */
typedef struct {
  const int8_t *const *x;
  int8_t *y;
  uint32_t pixels, rows, reach, nbytes;
  int32_t first, apart, step, next_row;
} tmo_windows_operands;

TMO_LINKAGE void tmo_conv_pixel_rvv(const tmo_conv_pixel_operands *o);
TMO_LINKAGE void tmo_depthwise_pixel_rvv(const tmo_depthwise_pixel_operands *o);
TMO_LINKAGE void tmo_add_rvv(const tmo_add_operands *o);
TMO_LINKAGE void tmo_packed_conv_rvv(const tmo_packed_conv_operands *o);
TMO_LINKAGE void tmo_packed_conv_narrow_rvv(const tmo_packed_conv_operands *o);
TMO_LINKAGE void tmo_packed_depthwise_rvv(const tmo_packed_depthwise_operands *o);
TMO_LINKAGE void tmo_windows_rvv(const tmo_windows_operands *o);
TMO_LINKAGE void tmo_packed_conv_ref(const tmo_packed_conv_operands *o);
TMO_LINKAGE void tmo_packed_depthwise_ref(const tmo_packed_depthwise_operands *o);
TMO_LINKAGE void tmo_windows_ref(const tmo_windows_operands *o);

#ifdef __cplusplus
}
#endif

#endif /* TMO_GENERATED_H_ */
