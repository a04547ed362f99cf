/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

TMO_COMBINE_FOUR(tmo_add_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op)); float r2 = tmo_as_float(tmo_float_high(op));,
  float r5 = (x + other), r6 = (r5 < r1 ? r1 : r5), y = (r2 < r6 ? r2 : r6);)
TMO_COMBINE_FOUR(tmo_subtract_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op)); float r2 = tmo_as_float(tmo_float_high(op));,
  float r5 = (x - other), r6 = (r5 < r1 ? r1 : r5), y = (r2 < r6 ? r2 : r6);)
TMO_COMBINE_FOUR(tmo_multiply_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op)); float r2 = tmo_as_float(tmo_float_high(op));,
  float r5 = (x * other), r6 = (r5 < r1 ? r1 : r5), y = (r2 < r6 ? r2 : r6);)
TMO_COMBINE_FOUR(tmo_sum_f32, float, float, , float y = (x + other);)
TMO_COMBINE_FOUR(tmo_difference_f32, float, float, , float y = (x - other);)
TMO_COMBINE_FOUR(tmo_product_f32, float, float, , float y = (x * other);)
TMO_COMBINE_FOUR(tmo_maximum_f32, float, float, , float y = (other < x ? x : other);)
TMO_COMBINE_FOUR(tmo_minimum_f32, float, float, , float y = (x < other ? x : other);)
TMO_COMBINE_FOUR(tmo_square_difference_f32, float, float, , float r3 = (x - other), y = (r3 * r3);)
TMO_COMBINE_FOUR(tmo_prelu_f32, float, float, ,
  float r3 = (x * other), r4 = tmo_as_float(0);
  int32_t r5 = (r4 <= x);
  float y = (r5 ? x : r3);)
TMO_MAP_FOUR(tmo_leaky_relu_f32, float, float, const float other = *(const float *)b;,
  float r3 = (x * other), r4 = tmo_as_float(0);
  int32_t r5 = (r4 < x);
  float y = (r5 ? x : r3);)
TMO_COMBINE_EACH(tmo_divide_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op)); float r2 = tmo_as_float(tmo_float_high(op));,
  float r5 = (x / other), r6 = (r5 < r1 ? r1 : r5), y = (r2 < r6 ? r2 : r6);)
TMO_COMBINE_EACH(tmo_floor_divide_f32, float, float, , float y = tmo_floor_divide(x, other);)
TMO_COMBINE_EACH(tmo_floor_modulo_f32, float, float, , float y = tmo_floor_modulo(x, other);)
