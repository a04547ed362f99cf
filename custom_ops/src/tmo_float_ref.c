/* SPDX-License-Identifier: Apache-2.0 */
/* float32: chooses the kernel of an operator's function. */
#include "tmo/floats.h"
#include "tmo/kernels.h"

void tmo_conv_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, tmo_conv_f32); }

void tmo_conv_pixel_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_conv_f32(k, window, 0, out); }

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
