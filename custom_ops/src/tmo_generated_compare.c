/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include <stddef.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_equal_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c];
      int32_t r3 = (r1 == r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_not_equal_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c];
      int32_t r3 = (r1 == r2), r4 = (int32_t)((uint32_t)1 - (uint32_t)r3);
      y[(int32_t)(c + channels * p)] = (int8_t)r4;
    }
  }
  (void)op, (void)b;
}

void tmo_less_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c];
      int32_t r3 = (r1 < r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_less_equal_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c];
      int32_t r3 = (r1 <= r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_equal_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int32_t *const x = (const int32_t *)a;
  const int32_t *const other = (const int32_t *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[c], r2 = other[c], r3 = (r1 == r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_not_equal_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int32_t *const x = (const int32_t *)a;
  const int32_t *const other = (const int32_t *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[c], r2 = other[c], r3 = (r1 == r2), r4 = (int32_t)((uint32_t)1 - (uint32_t)r3);
      y[(int32_t)(c + channels * p)] = (int8_t)r4;
    }
  }
  (void)op, (void)b;
}

void tmo_less_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int32_t *const x = (const int32_t *)a;
  const int32_t *const other = (const int32_t *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[c], r2 = other[c], r3 = (r1 < r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_less_equal_s32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const int32_t *const x = (const int32_t *)a;
  const int32_t *const other = (const int32_t *)b;
  int8_t *const y = (int8_t *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[c], r2 = other[c], r3 = (r1 <= r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
  (void)op, (void)b;
}
