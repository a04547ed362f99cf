/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include <stddef.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_clamped_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  const int32_t low = tmo_float_low(op), high = tmo_float_high(op);
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3], r4_0 = (r3_0 < r1 ? r1 : r3_0), r4_1 = (r3_1 < r1 ? r1 : r3_1),
          r4_2 = (r3_2 < r1 ? r1 : r3_2), r4_3 = (r3_3 < r1 ? r1 : r3_3), r5_0 = (r2 < r4_0 ? r2 : r4_0), r5_1 = (r2 < r4_1 ? r2 : r4_1),
          r5_2 = (r2 < r4_2 ? r2 : r4_2), r5_3 = (r2 < r4_3 ? r2 : r4_3);
    y[i] = (float)r5_0;
    y[(int32_t)(1 + i)] = (float)r5_1;
    y[(int32_t)(2 + i)] = (float)r5_2;
    y[(int32_t)(3 + i)] = (float)r5_3;
  }
  for (; i < n; ++i) {
    float r3 = x[i], r4 = (r3 < r1 ? r1 : r3), r5 = (r2 < r4 ? r2 : r4);
    y[i] = (float)r5;
  }
  (void)op, (void)b;
}

void tmo_raised_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  const int32_t low = tmo_float_low(op);
  float r1 = tmo_as_float((int32_t)(low));
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r2_0 = at0[0], r2_1 = at0[1], r2_2 = at0[2], r2_3 = at0[3], r3_0 = (r2_0 < r1 ? r1 : r2_0), r3_1 = (r2_1 < r1 ? r1 : r2_1),
          r3_2 = (r2_2 < r1 ? r1 : r2_2), r3_3 = (r2_3 < r1 ? r1 : r2_3);
    y[i] = (float)r3_0;
    y[(int32_t)(1 + i)] = (float)r3_1;
    y[(int32_t)(2 + i)] = (float)r3_2;
    y[(int32_t)(3 + i)] = (float)r3_3;
  }
  for (; i < n; ++i) {
    float r2 = x[i], r3 = (r2 < r1 ? r1 : r2);
    y[i] = (float)r3;
  }
  (void)op, (void)b;
}

void tmo_logistic_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  float r1 = tmo_as_float(1099232207), r2 = tmo_as_float(-1055916032), r3 = tmo_as_float(1065353216);
  for (uint32_t i = 0; i < n; ++i) {
    float r4 = x[i];
    int32_t r5 = (r4 < r2);
    float r6 = (-r4), r7 = (r5 ? r4 : r6), r8 = expf(r7), r9 = (r3 + r8), r10 = (r3 / r9), r11 = (r5 ? r8 : r10);
    int32_t r12 = (r1 < r4);
    float r13 = (r12 ? r3 : r11);
    y[i] = (float)r13;
  }
  (void)op, (void)b;
}

void tmo_tanh_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = tanhf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_elu_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = (r1 < 0 ? expm1f(r1) : r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_abs_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = fabsf(r1_0), r2_1 = fabsf(r1_1), r2_2 = fabsf(r1_2),
          r2_3 = fabsf(r1_3);
    y[i] = (float)r2_0;
    y[(int32_t)(1 + i)] = (float)r2_1;
    y[(int32_t)(2 + i)] = (float)r2_2;
    y[(int32_t)(3 + i)] = (float)r2_3;
  }
  for (; i < n; ++i) {
    float r1 = x[i], r2 = fabsf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_negative_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = (-r1_0), r2_1 = (-r1_1), r2_2 = (-r1_2), r2_3 = (-r1_3);
    y[i] = (float)r2_0;
    y[(int32_t)(1 + i)] = (float)r2_1;
    y[(int32_t)(2 + i)] = (float)r2_2;
    y[(int32_t)(3 + i)] = (float)r2_3;
  }
  for (; i < n; ++i) {
    float r1 = x[i], r2 = (-r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_square_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = (r1_0 * r1_0), r2_1 = (r1_1 * r1_1), r2_2 = (r1_2 * r1_2),
          r2_3 = (r1_3 * r1_3);
    y[i] = (float)r2_0;
    y[(int32_t)(1 + i)] = (float)r2_1;
    y[(int32_t)(2 + i)] = (float)r2_2;
    y[(int32_t)(3 + i)] = (float)r2_3;
  }
  for (; i < n; ++i) {
    float r1 = x[i], r2 = (r1 * r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_hard_swish_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  float r1 = tmo_as_float(0), r2 = tmo_as_float(1077936128), r3 = tmo_as_float(1086324736);
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float *const at0 = &x[i];
    float r4_0 = at0[0], r4_1 = at0[1], r4_2 = at0[2], r4_3 = at0[3], r5_0 = (r4_0 + r2), r5_1 = (r4_1 + r2), r5_2 = (r4_2 + r2),
          r5_3 = (r4_3 + r2), r6_0 = (r1 < r5_0 ? r5_0 : r1), r6_1 = (r1 < r5_1 ? r5_1 : r1), r6_2 = (r1 < r5_2 ? r5_2 : r1),
          r6_3 = (r1 < r5_3 ? r5_3 : r1), r7_0 = (r6_0 < r3 ? r6_0 : r3), r7_1 = (r6_1 < r3 ? r6_1 : r3), r7_2 = (r6_2 < r3 ? r6_2 : r3),
          r7_3 = (r6_3 < r3 ? r6_3 : r3), r8_0 = (r4_0 * r7_0), r8_1 = (r4_1 * r7_1), r8_2 = (r4_2 * r7_2), r8_3 = (r4_3 * r7_3),
          r9_0 = (r8_0 / r3), r9_1 = (r8_1 / r3), r9_2 = (r8_2 / r3), r9_3 = (r8_3 / r3);
    y[i] = (float)r9_0;
    y[(int32_t)(1 + i)] = (float)r9_1;
    y[(int32_t)(2 + i)] = (float)r9_2;
    y[(int32_t)(3 + i)] = (float)r9_3;
  }
  for (; i < n; ++i) {
    float r4 = x[i], r5 = (r4 + r2), r6 = (r1 < r5 ? r5 : r1), r7 = (r6 < r3 ? r6 : r3), r8 = (r4 * r7), r9 = (r8 / r3);
    y[i] = (float)r9;
  }
  (void)op, (void)b;
}

void tmo_root_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = sqrtf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_reciprocal_root_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  float r1 = tmo_as_float(1065353216);
  for (uint32_t i = 0; i < n; ++i) {
    float r2 = x[i], r3 = sqrtf(r2), r4 = (r1 / r3);
    y[i] = (float)r4;
  }
  (void)op, (void)b;
}

void tmo_exponential_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = expf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_logarithm_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = logf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_floor_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = floorf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_ceiling_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = ceilf(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

void tmo_rounded_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  float *const y = (float *)out;
  for (uint32_t i = 0; i < n; ++i) {
    float r1 = x[i], r2 = tmo_round(r1);
    y[i] = (float)r2;
  }
  (void)op, (void)b;
}

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
