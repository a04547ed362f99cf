/* SPDX-License-Identifier: Apache-2.0 */
/* float32: chooses the kernel of an operator's function. */
#include <stddef.h>

#include "tmo/floats.h"
#include "tmo/kernels.h"

void tmo_conv_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, tmo_conv_f32); }

void tmo_conv_pixel_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_conv_f32(k, window, 0, out); }

/* Gathers inputs row by row and column by column, the order in which TFLM scatters them: TransposeConv,
 * kernels/internal/reference/transpose_conv.h. */
void tmo_transpose_conv_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels / 4, row = op->kernel_w * channels;
  int32_t ky = (int32_t)k->row + op->pad_top - k->first_row * (int32_t)op->stride_h;
  uint32_t first = 0, n = 0;
  for (; first < window->count && (window->pixels[first] == NULL || ky >= op->kernel_h); ++first) ky -= op->stride_h;
  while (first + n < window->count && window->pixels[first + n] != NULL && (int32_t)(n * op->stride_h) <= ky) ++n;
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const uint32_t padded = x + op->pad_left, last = padded / op->stride_w;
    const uint32_t column = padded < op->kernel_w ? 0 : (padded - op->kernel_w) / op->stride_w + 1;
    const uint32_t end = last < k->in_width ? last + 1 : k->in_width, taps = column < end ? end - column : 0;
    const tmo_runs r = {window->pixels + first, 1, (uint16_t)n, (uint16_t)taps, 0, channels, 0u - op->stride_w * channels, column * channels,
                        channels, 1, 0u - op->stride_h * row, op->kernel_h * row, 0};
    const uint32_t tap = n > 0 && taps > 0 ? (uint32_t)ky * row + (padded - column * op->stride_w) * channels : 0;
    tmo_conv_runs_f32(k, &r, k->weights + 4 * tap, out);
  }
}

static tmo_make_pixel *pool_of_f32(const tmo_op *op) {
  return tmo_is_kind(op, TMO_OP_MAX_POOL_F32) || !tmo_has_kind(TMO_OP_AVERAGE_POOL_F32) ? tmo_max_pool_f32 : tmo_average_pool_f32;
}

void tmo_pool_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, pool_of_f32(k->op)); }

void tmo_pool_pixel_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { pool_of_f32(k->op)(k, window, 0, out); }

void tmo_arithmetic_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (tmo_float_function(k->op)) {
    case TMO_FUNCTION_ADD: tmo_add_f32(k, window, out); break;
    case TMO_FUNCTION_SUB: tmo_subtract_f32(k, window, out); break;
    case TMO_FUNCTION_MUL: tmo_multiply_f32(k, window, out); break;
    case TMO_FUNCTION_MAXIMUM: tmo_maximum_f32(k, window, out); break;
    case TMO_FUNCTION_MINIMUM: tmo_minimum_f32(k, window, out); break;
    case TMO_FUNCTION_SQUARED_DIFFERENCE: tmo_square_difference_f32(k, window, out); break;
    case TMO_FUNCTION_PRELU: tmo_prelu_f32(k, window, out); break;
    default: tmo_leaky_relu_f32(k, window, out);
  }
}

void tmo_curve_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (tmo_float_function(k->op)) {
    case TMO_FUNCTION_LOGISTIC: tmo_logistic_f32(k, window, out); break;
    case TMO_FUNCTION_TANH: tmo_tanh_f32(k, window, out); break;
    case TMO_FUNCTION_ELU: tmo_elu_f32(k, window, out); break;
    case TMO_FUNCTION_HARD_SWISH: tmo_hard_swish_f32(k, window, out); break;
    default: tmo_abs_f32(k, window, out);
  }
}
