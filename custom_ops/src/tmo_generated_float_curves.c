/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

TMO_MAP_FOUR(tmo_clamped_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op)); float r2 = tmo_as_float(tmo_float_high(op));,
  float r4 = (x < r1 ? r1 : x), y = (r2 < r4 ? r2 : r4);)
TMO_MAP_FOUR(tmo_raised_f32, float, float, float r1 = tmo_as_float(tmo_float_low(op));, float y = (x < r1 ? r1 : x);)
TMO_MAP_EACH(tmo_logistic_f32, float, float, float r1 = tmo_as_float(1099232207); float r2 = tmo_as_float(-1055916032); float r3 = tmo_as_float(1065353216);,
  int32_t r5 = (x < r2);
  float r6 = (-x), r7 = (r5 ? x : r6), r8 = expf(r7), r9 = (r3 + r8), r10 = (r3 / r9), r11 = (r5 ? r8 : r10);
  int32_t r12 = (r1 < x);
  float y = (r12 ? r3 : r11);)
TMO_MAP_EACH(tmo_tanh_f32, float, float, , float y = tanhf(x);)
TMO_MAP_EACH(tmo_elu_f32, float, float, , float y = (x < 0 ? expm1f(x) : x);)
TMO_MAP_FOUR(tmo_abs_f32, float, float, , float y = fabsf(x);)
TMO_MAP_FOUR(tmo_negative_f32, float, float, , float y = (-x);)
TMO_MAP_FOUR(tmo_square_f32, float, float, , float y = (x * x);)
TMO_MAP_FOUR(tmo_hard_swish_f32, float, float, float r1 = tmo_as_float(0); float r2 = tmo_as_float(1077936128); float r3 = tmo_as_float(1086324736);,
  float r5 = (x + r2), r6 = (r1 < r5 ? r5 : r1), r7 = (r6 < r3 ? r6 : r3), r8 = (x * r7), y = (r8 / r3);)
TMO_MAP_EACH(tmo_root_f32, float, float, , float y = sqrtf(x);)
TMO_MAP_EACH(tmo_reciprocal_root_f32, float, float, float r1 = tmo_as_float(1065353216);, float r3 = sqrtf(x), y = (r1 / r3);)
TMO_MAP_EACH(tmo_exponential_f32, float, float, , float y = expf(x);)
TMO_MAP_EACH(tmo_logarithm_f32, float, float, , float y = logf(x);)
TMO_MAP_EACH(tmo_floor_f32, float, float, , float y = floorf(x);)
TMO_MAP_EACH(tmo_ceiling_f32, float, float, , float y = ceilf(x);)
TMO_MAP_EACH(tmo_rounded_f32, float, float, , float y = tmo_round(x);)

void tmo_from_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int8_t *const x = (const int8_t *)a;
  int8_t *const y = (int8_t *)out;
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r1 = tmo_int32_at(&x[(int32_t)(4 * (i))]);
    float r2 = (float)r1;
    tmo_put_float32(&y[(int32_t)(4 * (i))], r2);
  }
  (void)op, (void)b;
}

void tmo_to_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int8_t *const x = (const int8_t *)a;
  int8_t *const y = (int8_t *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = tmo_float32_at(&x[(int32_t)(4 * (i))]);
    int32_t r2 = tmo_whole(r1);
    tmo_put_int32(&y[(int32_t)(4 * (i))], r2);
  }
  (void)op, (void)b;
}

void tmo_softmax_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  int8_t *const powers = out;
  const uint32_t rows = k->out_width, channels = k->out_channels / 4;
  const int32_t beta = k->op->beta_bits;
  float r1 = tmo_as_float((int32_t)(beta));
  for (uint32_t m = 0; m < rows; ++m) {
    float r2 = tmo_as_float(-8388609), r3 = tmo_as_float(0);
    for (uint32_t h = 0; h < channels; ++h) {
      float r4 = tmo_float32_at(&x[(int32_t)(4 * (channels * m + h))]);
      r2 = (r2 < r4 ? r4 : r2);
    }
    for (uint32_t i = 0; i < channels; ++i) {
      float r5 = tmo_float32_at(&x[(int32_t)(4 * (channels * m + i))]), r6 = (r5 - r2), r7 = (r6 * r1), r8 = expf(r7);
      tmo_put_float32(&powers[(int32_t)(4 * (channels * m + i))], r8);
      r3 = (r3 + r8);
    }
    for (uint32_t j = 0; j < channels; ++j) {
      float r9 = tmo_float32_at(&powers[(int32_t)(4 * (channels * m + j))]), r10 = (r9 / r3);
      tmo_put_float32(&y[(int32_t)(4 * (channels * m + j))], r10);
    }
  }
}

void tmo_log_softmax_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t rows = k->out_width, channels = k->out_channels / 4;
  for (uint32_t m = 0; m < rows; ++m) {
    float r1 = tmo_as_float(-8388609), r2 = tmo_as_float(0);
    for (uint32_t h = 0; h < channels; ++h) {
      float r3 = tmo_float32_at(&x[(int32_t)(4 * (channels * m + h))]);
      r1 = (r1 < r3 ? r3 : r1);
    }
    for (uint32_t i = 0; i < channels; ++i) {
      float r4 = tmo_float32_at(&x[(int32_t)(4 * (channels * m + i))]), r5 = (r4 - r1), r6 = expf(r5);
      r2 = (r2 + r6);
    }
    float r7 = logf(r2);
    for (uint32_t j = 0; j < channels; ++j) {
      float r8 = tmo_float32_at(&x[(int32_t)(4 * (channels * m + j))]), r9 = (r8 - r1), r10 = (r9 - r7);
      tmo_put_float32(&y[(int32_t)(4 * (channels * m + j))], r10);
    }
  }
}
