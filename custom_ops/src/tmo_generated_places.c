/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

static TMO_ALWAYS_INLINE void place_int8(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out, int32_t sign) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int32_t *const values = tmo_has_sums(k) ? k->sums + i / 2 : NULL;
  int32_t *const places = tmo_has_sums(k) ? k->sums + i / 2 + k->out_channels / 4 : NULL;
  const uint32_t pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels / 4;
  const int32_t offset = (int32_t)window->offset, before = (int32_t)((uint32_t)window->first_row * k->op->kernel_w + window->first_column),
                first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    int32_t r1_0 = 0, r1_1 = 0, r1_2 = 0, r1_3 = 0, r2_0 = 0, r2_1 = 0, r2_2 = 0, r2_3 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &values[c];
      const int32_t *const at1 = &places[c];
      int32_t r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3];
      r1_0 = r3_0;
      r1_1 = r3_1;
      r1_2 = r3_2;
      r1_3 = r3_3;
      int32_t r4_0 = at1[0], r4_1 = at1[1], r4_2 = at1[2], r4_3 = at1[3];
      r2_0 = r4_0;
      r2_1 = r4_1;
      r2_2 = r4_2;
      r2_3 = r4_3;
    }
    if ((uint32_t)((int32_t)(before)) < pointers) {
      const int8_t *const at0 = &x[0][(int32_t)(c + offset)];
      int32_t r5_0 = at0[0], r5_1 = at0[1], r5_2 = at0[2], r5_3 = at0[3];
      r1_0 = (int32_t)((uint32_t)r5_0 * (uint32_t)(int32_t)(sign));
      r1_1 = (int32_t)((uint32_t)r5_1 * (uint32_t)(int32_t)(sign));
      r1_2 = (int32_t)((uint32_t)r5_2 * (uint32_t)(int32_t)(sign));
      r1_3 = (int32_t)((uint32_t)r5_3 * (uint32_t)(int32_t)(sign));
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        const int8_t *const at0 = &x[p][(int32_t)(c + channels * t + offset)];
        int32_t r6_0 = at0[0], r6_1 = at0[1], r6_2 = at0[2], r6_3 = at0[3], r7_0 = (int32_t)((uint32_t)r6_0 * (uint32_t)(int32_t)(sign)),
                r7_1 = (int32_t)((uint32_t)r6_1 * (uint32_t)(int32_t)(sign)), r7_2 = (int32_t)((uint32_t)r6_2 * (uint32_t)(int32_t)(sign)),
                r7_3 = (int32_t)((uint32_t)r6_3 * (uint32_t)(int32_t)(sign)), r8_0 = (r1_0 < r7_0), r8_1 = (r1_1 < r7_1),
                r8_2 = (r1_2 < r7_2), r8_3 = (r1_3 < r7_3);
        r2_0 = (r8_0 ? (int32_t)(before + p * run + t) : r2_0);
        r2_1 = (r8_1 ? (int32_t)(before + p * run + t) : r2_1);
        r2_2 = (r8_2 ? (int32_t)(before + p * run + t) : r2_2);
        r2_3 = (r8_3 ? (int32_t)(before + p * run + t) : r2_3);
        r1_0 = (r8_0 ? r7_0 : r1_0);
        r1_1 = (r8_1 ? r7_1 : r1_1);
        r1_2 = (r8_2 ? r7_2 : r1_2);
        r1_3 = (r8_3 ? r7_3 : r1_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      values[c] = (int32_t)r1_0;
      values[(int32_t)(1 + c)] = (int32_t)r1_1;
      values[(int32_t)(2 + c)] = (int32_t)r1_2;
      values[(int32_t)(3 + c)] = (int32_t)r1_3;
      places[c] = (int32_t)r2_0;
      places[(int32_t)(1 + c)] = (int32_t)r2_1;
      places[(int32_t)(2 + c)] = (int32_t)r2_2;
      places[(int32_t)(3 + c)] = (int32_t)r2_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      tmo_put_int32(&y[(int32_t)(4 * (c))], r2_0);
      tmo_put_int32(&y[(int32_t)(4 * (1 + c))], r2_1);
      tmo_put_int32(&y[(int32_t)(4 * (2 + c))], r2_2);
      tmo_put_int32(&y[(int32_t)(4 * (3 + c))], r2_3);
    }
  }
  for (; c < channels; ++c) {
    int32_t r1 = 0, r2 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      int32_t r3 = values[c];
      r1 = r3;
      int32_t r4 = places[c];
      r2 = r4;
    }
    if ((uint32_t)((int32_t)(before)) < pointers) {
      int32_t r5 = x[0][(int32_t)(c + offset)];
      r1 = (int32_t)((uint32_t)r5 * (uint32_t)(int32_t)(sign));
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        int32_t r6 = x[p][(int32_t)(c + channels * t + offset)], r7 = (int32_t)((uint32_t)r6 * (uint32_t)(int32_t)(sign)), r8 = (r1 < r7);
        r2 = (r8 ? (int32_t)(before + p * run + t) : r2);
        r1 = (r8 ? r7 : r1);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      values[c] = (int32_t)r1;
      places[c] = (int32_t)r2;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      tmo_put_int32(&y[(int32_t)(4 * (c))], r2);
    }
  }
}

void tmo_place_of_greatest_s8(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { place_int8(k, window, i, out, 1); }

void tmo_place_of_smallest_s8(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { place_int8(k, window, i, out, -1); }

static TMO_ALWAYS_INLINE void place_float32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out, int32_t sign) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int8_t *const values = (int8_t *)(tmo_has_sums(k) ? k->sums + i / 2 : NULL);
  int32_t *const places = tmo_has_sums(k) ? k->sums + i / 2 + k->out_channels / 4 : NULL;
  const uint32_t pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels / 4;
  const int32_t offset = (int32_t)(window->offset / 4),
                before = (int32_t)((uint32_t)window->first_row * k->op->kernel_w + window->first_column),
                first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = tmo_as_float((int32_t)(sign));
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    float r2_0 = (float)0, r2_1 = (float)0, r2_2 = (float)0, r2_3 = (float)0;
    int32_t r3_0 = 0, r3_1 = 0, r3_2 = 0, r3_3 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &places[c];
      float r4_0 = tmo_float32_at(&values[(int32_t)(4 * (c))]), r4_1 = tmo_float32_at(&values[(int32_t)(4 * (1 + c))]),
            r4_2 = tmo_float32_at(&values[(int32_t)(4 * (2 + c))]), r4_3 = tmo_float32_at(&values[(int32_t)(4 * (3 + c))]);
      r2_0 = r4_0;
      r2_1 = r4_1;
      r2_2 = r4_2;
      r2_3 = r4_3;
      int32_t r5_0 = at0[0], r5_1 = at0[1], r5_2 = at0[2], r5_3 = at0[3];
      r3_0 = r5_0;
      r3_1 = r5_1;
      r3_2 = r5_2;
      r3_3 = r5_3;
    }
    if ((uint32_t)((int32_t)(before)) < pointers) {
      float r6_0 = tmo_float32_at(&x[0][(int32_t)(4 * (c + offset))]), r6_1 = tmo_float32_at(&x[0][(int32_t)(4 * (1 + c + offset))]),
            r6_2 = tmo_float32_at(&x[0][(int32_t)(4 * (2 + c + offset))]), r6_3 = tmo_float32_at(&x[0][(int32_t)(4 * (3 + c + offset))]);
      r2_0 = (r6_0 * r1);
      r2_1 = (r6_1 * r1);
      r2_2 = (r6_2 * r1);
      r2_3 = (r6_3 * r1);
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r7_0 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]),
              r7_1 = tmo_float32_at(&x[p][(int32_t)(4 * (1 + c + channels * t + offset))]),
              r7_2 = tmo_float32_at(&x[p][(int32_t)(4 * (2 + c + channels * t + offset))]),
              r7_3 = tmo_float32_at(&x[p][(int32_t)(4 * (3 + c + channels * t + offset))]), r8_0 = (r7_0 * r1), r8_1 = (r7_1 * r1),
              r8_2 = (r7_2 * r1), r8_3 = (r7_3 * r1);
        int32_t r9_0 = (r2_0 < r8_0), r9_1 = (r2_1 < r8_1), r9_2 = (r2_2 < r8_2), r9_3 = (r2_3 < r8_3);
        r3_0 = (r9_0 ? (int32_t)(before + p * run + t) : r3_0);
        r3_1 = (r9_1 ? (int32_t)(before + p * run + t) : r3_1);
        r3_2 = (r9_2 ? (int32_t)(before + p * run + t) : r3_2);
        r3_3 = (r9_3 ? (int32_t)(before + p * run + t) : r3_3);
        r2_0 = (r9_0 ? r8_0 : r2_0);
        r2_1 = (r9_1 ? r8_1 : r2_1);
        r2_2 = (r9_2 ? r8_2 : r2_2);
        r2_3 = (r9_3 ? r8_3 : r2_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&values[(int32_t)(4 * (c))], r2_0);
      tmo_put_float32(&values[(int32_t)(4 * (1 + c))], r2_1);
      tmo_put_float32(&values[(int32_t)(4 * (2 + c))], r2_2);
      tmo_put_float32(&values[(int32_t)(4 * (3 + c))], r2_3);
      places[c] = (int32_t)r3_0;
      places[(int32_t)(1 + c)] = (int32_t)r3_1;
      places[(int32_t)(2 + c)] = (int32_t)r3_2;
      places[(int32_t)(3 + c)] = (int32_t)r3_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      tmo_put_int32(&y[(int32_t)(4 * (c))], r3_0);
      tmo_put_int32(&y[(int32_t)(4 * (1 + c))], r3_1);
      tmo_put_int32(&y[(int32_t)(4 * (2 + c))], r3_2);
      tmo_put_int32(&y[(int32_t)(4 * (3 + c))], r3_3);
    }
  }
  for (; c < channels; ++c) {
    float r2 = (float)0;
    int32_t r3 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      float r4 = tmo_float32_at(&values[(int32_t)(4 * (c))]);
      r2 = r4;
      int32_t r5 = places[c];
      r3 = r5;
    }
    if ((uint32_t)((int32_t)(before)) < pointers) {
      float r6 = tmo_float32_at(&x[0][(int32_t)(4 * (c + offset))]);
      r2 = (r6 * r1);
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r7 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]), r8 = (r7 * r1);
        int32_t r9 = (r2 < r8);
        r3 = (r9 ? (int32_t)(before + p * run + t) : r3);
        r2 = (r9 ? r8 : r2);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&values[(int32_t)(4 * (c))], r2);
      places[c] = (int32_t)r3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      tmo_put_int32(&y[(int32_t)(4 * (c))], r3);
    }
  }
}

void tmo_place_of_greatest_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { place_float32(k, window, i, out, 0x3F800000); }

void tmo_place_of_smallest_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { place_float32(k, window, i, out, (int32_t)0xBF800000u); }
