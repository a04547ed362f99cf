/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include <stddef.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_add_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  const int32_t low = tmo_float_low(op), high = tmo_float_high(op);
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3], r4_0 = at1[0], r4_1 = at1[1], r4_2 = at1[2], r4_3 = at1[3],
            r5_0 = (r3_0 + r4_0), r5_1 = (r3_1 + r4_1), r5_2 = (r3_2 + r4_2), r5_3 = (r3_3 + r4_3), r6_0 = (r5_0 < r1 ? r1 : r5_0),
            r6_1 = (r5_1 < r1 ? r1 : r5_1), r6_2 = (r5_2 < r1 ? r1 : r5_2), r6_3 = (r5_3 < r1 ? r1 : r5_3), r7_0 = (r2 < r6_0 ? r2 : r6_0),
            r7_1 = (r2 < r6_1 ? r2 : r6_1), r7_2 = (r2 < r6_2 ? r2 : r6_2), r7_3 = (r2 < r6_3 ? r2 : r6_3);
      y[(int32_t)(c + channels * p)] = (float)r7_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r7_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r7_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r7_3;
    }
    for (; c < channels; ++c) {
      float r3 = x[c], r4 = other[c], r5 = (r3 + r4), r6 = (r5 < r1 ? r1 : r5), r7 = (r2 < r6 ? r2 : r6);
      y[(int32_t)(c + channels * p)] = (float)r7;
    }
  }
  (void)op, (void)b;
}

void tmo_subtract_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  const int32_t low = tmo_float_low(op), high = tmo_float_high(op);
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3], r4_0 = at1[0], r4_1 = at1[1], r4_2 = at1[2], r4_3 = at1[3],
            r5_0 = (r3_0 - r4_0), r5_1 = (r3_1 - r4_1), r5_2 = (r3_2 - r4_2), r5_3 = (r3_3 - r4_3), r6_0 = (r5_0 < r1 ? r1 : r5_0),
            r6_1 = (r5_1 < r1 ? r1 : r5_1), r6_2 = (r5_2 < r1 ? r1 : r5_2), r6_3 = (r5_3 < r1 ? r1 : r5_3), r7_0 = (r2 < r6_0 ? r2 : r6_0),
            r7_1 = (r2 < r6_1 ? r2 : r6_1), r7_2 = (r2 < r6_2 ? r2 : r6_2), r7_3 = (r2 < r6_3 ? r2 : r6_3);
      y[(int32_t)(c + channels * p)] = (float)r7_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r7_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r7_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r7_3;
    }
    for (; c < channels; ++c) {
      float r3 = x[c], r4 = other[c], r5 = (r3 - r4), r6 = (r5 < r1 ? r1 : r5), r7 = (r2 < r6 ? r2 : r6);
      y[(int32_t)(c + channels * p)] = (float)r7;
    }
  }
  (void)op, (void)b;
}

void tmo_multiply_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  const int32_t low = tmo_float_low(op), high = tmo_float_high(op);
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3], r4_0 = at1[0], r4_1 = at1[1], r4_2 = at1[2], r4_3 = at1[3],
            r5_0 = (r3_0 * r4_0), r5_1 = (r3_1 * r4_1), r5_2 = (r3_2 * r4_2), r5_3 = (r3_3 * r4_3), r6_0 = (r5_0 < r1 ? r1 : r5_0),
            r6_1 = (r5_1 < r1 ? r1 : r5_1), r6_2 = (r5_2 < r1 ? r1 : r5_2), r6_3 = (r5_3 < r1 ? r1 : r5_3), r7_0 = (r2 < r6_0 ? r2 : r6_0),
            r7_1 = (r2 < r6_1 ? r2 : r6_1), r7_2 = (r2 < r6_2 ? r2 : r6_2), r7_3 = (r2 < r6_3 ? r2 : r6_3);
      y[(int32_t)(c + channels * p)] = (float)r7_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r7_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r7_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r7_3;
    }
    for (; c < channels; ++c) {
      float r3 = x[c], r4 = other[c], r5 = (r3 * r4), r6 = (r5 < r1 ? r1 : r5), r7 = (r2 < r6 ? r2 : r6);
      y[(int32_t)(c + channels * p)] = (float)r7;
    }
  }
  (void)op, (void)b;
}

void tmo_sum_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 + r2_0), r3_1 = (r1_1 + r2_1), r3_2 = (r1_2 + r2_2), r3_3 = (r1_3 + r2_3);
      y[(int32_t)(c + channels * p)] = (float)r3_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r3_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r3_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r3_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 + r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_difference_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 - r2_0), r3_1 = (r1_1 - r2_1), r3_2 = (r1_2 - r2_2), r3_3 = (r1_3 - r2_3);
      y[(int32_t)(c + channels * p)] = (float)r3_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r3_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r3_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r3_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 - r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_product_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 * r2_0), r3_1 = (r1_1 * r2_1), r3_2 = (r1_2 * r2_2), r3_3 = (r1_3 * r2_3);
      y[(int32_t)(c + channels * p)] = (float)r3_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r3_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r3_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r3_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 * r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_maximum_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r2_0 < r1_0 ? r1_0 : r2_0), r3_1 = (r2_1 < r1_1 ? r1_1 : r2_1), r3_2 = (r2_2 < r1_2 ? r1_2 : r2_2),
            r3_3 = (r2_3 < r1_3 ? r1_3 : r2_3);
      y[(int32_t)(c + channels * p)] = (float)r3_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r3_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r3_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r3_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r2 < r1 ? r1 : r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_minimum_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 < r2_0 ? r1_0 : r2_0), r3_1 = (r1_1 < r2_1 ? r1_1 : r2_1), r3_2 = (r1_2 < r2_2 ? r1_2 : r2_2),
            r3_3 = (r1_3 < r2_3 ? r1_3 : r2_3);
      y[(int32_t)(c + channels * p)] = (float)r3_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r3_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r3_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r3_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 < r2 ? r1 : r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_square_difference_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 - r2_0), r3_1 = (r1_1 - r2_1), r3_2 = (r1_2 - r2_2), r3_3 = (r1_3 - r2_3), r4_0 = (r3_0 * r3_0),
            r4_1 = (r3_1 * r3_1), r4_2 = (r3_2 * r3_2), r4_3 = (r3_3 * r3_3);
      y[(int32_t)(c + channels * p)] = (float)r4_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r4_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r4_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r4_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 - r2), r4 = (r3 * r3);
      y[(int32_t)(c + channels * p)] = (float)r4;
    }
  }
  (void)op, (void)b;
}

void tmo_prelu_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      const float *const at1 = &other[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3],
            r3_0 = (r1_0 * r2_0), r3_1 = (r1_1 * r2_1), r3_2 = (r1_2 * r2_2), r3_3 = (r1_3 * r2_3), r4 = tmo_as_float(0);
      int32_t r5_0 = (r4 <= r1_0), r5_1 = (r4 <= r1_1), r5_2 = (r4 <= r1_2), r5_3 = (r4 <= r1_3);
      float r6_0 = (r5_0 ? r1_0 : r3_0), r6_1 = (r5_1 ? r1_1 : r3_1), r6_2 = (r5_2 ? r1_2 : r3_2), r6_3 = (r5_3 ? r1_3 : r3_3);
      y[(int32_t)(c + channels * p)] = (float)r6_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r6_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r6_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r6_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = (r1 * r2), r4 = tmo_as_float(0);
      int32_t r5 = (r4 <= r1);
      float r6 = (r5 ? r1 : r3);
      y[(int32_t)(c + channels * p)] = (float)r6;
    }
  }
  (void)op, (void)b;
}

void tmo_leaky_relu_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const float *const at0 = &x[c];
      float r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r2 = other[0], r3_0 = (r1_0 * r2), r3_1 = (r1_1 * r2),
            r3_2 = (r1_2 * r2), r3_3 = (r1_3 * r2), r4 = tmo_as_float(0);
      int32_t r5_0 = (r4 < r1_0), r5_1 = (r4 < r1_1), r5_2 = (r4 < r1_2), r5_3 = (r4 < r1_3);
      float r6_0 = (r5_0 ? r1_0 : r3_0), r6_1 = (r5_1 ? r1_1 : r3_1), r6_2 = (r5_2 ? r1_2 : r3_2), r6_3 = (r5_3 ? r1_3 : r3_3);
      y[(int32_t)(c + channels * p)] = (float)r6_0;
      y[(int32_t)(1 + c + channels * p)] = (float)r6_1;
      y[(int32_t)(2 + c + channels * p)] = (float)r6_2;
      y[(int32_t)(3 + c + channels * p)] = (float)r6_3;
    }
    for (; c < channels; ++c) {
      float r1 = x[c], r2 = other[0], r3 = (r1 * r2), r4 = tmo_as_float(0);
      int32_t r5 = (r4 < r1);
      float r6 = (r5 ? r1 : r3);
      y[(int32_t)(c + channels * p)] = (float)r6;
    }
  }
  (void)op, (void)b;
}

void tmo_divide_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  const int32_t low = tmo_float_low(op), high = tmo_float_high(op);
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r3 = x[c], r4 = other[c], r5 = (r3 / r4), r6 = (r5 < r1 ? r1 : r5), r7 = (r2 < r6 ? r2 : r6);
      y[(int32_t)(c + channels * p)] = (float)r7;
    }
  }
  (void)op, (void)b;
}

void tmo_floor_divide_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = tmo_floor_divide(r1, r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}

void tmo_floor_modulo_f32(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  const float *const x = (const float *)a;
  const float *const other = (const float *)b;
  float *const y = (float *)out;
  const uint32_t channels = n;
  for (uint32_t p = 0; p < 1; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = x[c], r2 = other[c], r3 = tmo_floor_modulo(r1, r2);
      y[(int32_t)(c + channels * p)] = (float)r3;
    }
  }
  (void)op, (void)b;
}
