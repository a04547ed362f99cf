/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_max_pool(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int32_t *const sums = tmo_has_sums(k) ? k->sums + i : NULL;
  const uint32_t pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels;
  const int32_t low = k->op->act_min, high = k->op->act_max, offset = (int32_t)window->offset,
                first = !tmo_adds_sums() || (k->first && (window->pixels || !k->last)), last = !tmo_adds_sums() || k->last;
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    int32_t r1_0 = (int32_t)(low), r1_1 = (int32_t)(low), r1_2 = (int32_t)(low), r1_3 = (int32_t)(low);
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &sums[c];
      int32_t r2_0 = at0[0], r2_1 = at0[1], r2_2 = at0[2], r2_3 = at0[3];
      r1_0 = r2_0;
      r1_1 = r2_1;
      r1_2 = r2_2;
      r1_3 = r2_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        const int8_t *const at0 = &x[p][(int32_t)(c + channels * t + offset)];
        int32_t r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3];
        r1_0 = (r1_0 > r3_0 ? r1_0 : r3_0);
        r1_1 = (r1_1 > r3_1 ? r1_1 : r3_1);
        r1_2 = (r1_2 > r3_2 ? r1_2 : r3_2);
        r1_3 = (r1_3 > r3_3 ? r1_3 : r3_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1_0;
      sums[(int32_t)(1 + c)] = (int32_t)r1_1;
      sums[(int32_t)(2 + c)] = (int32_t)r1_2;
      sums[(int32_t)(3 + c)] = (int32_t)r1_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4_0 = (r1_0 < (int32_t)(high) ? r1_0 : (int32_t)(high)), r4_1 = (r1_1 < (int32_t)(high) ? r1_1 : (int32_t)(high)),
              r4_2 = (r1_2 < (int32_t)(high) ? r1_2 : (int32_t)(high)), r4_3 = (r1_3 < (int32_t)(high) ? r1_3 : (int32_t)(high)),
              r5_0 = r4_0, r5_1 = r4_1, r5_2 = r4_2, r5_3 = r4_3;
      y[c] = (int8_t)r5_0;
      y[(int32_t)(1 + c)] = (int8_t)r5_1;
      y[(int32_t)(2 + c)] = (int8_t)r5_2;
      y[(int32_t)(3 + c)] = (int8_t)r5_3;
    }
  }
  for (; c < channels; ++c) {
    int32_t r1 = (int32_t)(low);
    if ((uint32_t)((int32_t)(first)) < 1) {
      int32_t r2 = sums[c];
      r1 = r2;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        int32_t r3 = x[p][(int32_t)(c + channels * t + offset)];
        r1 = (r1 > r3 ? r1 : r3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4 = (r1 < (int32_t)(high) ? r1 : (int32_t)(high)), r5 = r4;
      y[c] = (int8_t)r5;
    }
  }
}

void tmo_min_pool(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int32_t *const sums = tmo_has_sums(k) ? k->sums + i : NULL;
  const uint32_t pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels;
  const int32_t low = k->op->act_min, high = k->op->act_max, offset = (int32_t)window->offset,
                first = !tmo_adds_sums() || (k->first && (window->pixels || !k->last)), last = !tmo_adds_sums() || k->last;
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    int32_t r1_0 = (int32_t)(high), r1_1 = (int32_t)(high), r1_2 = (int32_t)(high), r1_3 = (int32_t)(high);
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &sums[c];
      int32_t r2_0 = at0[0], r2_1 = at0[1], r2_2 = at0[2], r2_3 = at0[3];
      r1_0 = r2_0;
      r1_1 = r2_1;
      r1_2 = r2_2;
      r1_3 = r2_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        const int8_t *const at0 = &x[p][(int32_t)(c + channels * t + offset)];
        int32_t r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3];
        r1_0 = (r1_0 < r3_0 ? r1_0 : r3_0);
        r1_1 = (r1_1 < r3_1 ? r1_1 : r3_1);
        r1_2 = (r1_2 < r3_2 ? r1_2 : r3_2);
        r1_3 = (r1_3 < r3_3 ? r1_3 : r3_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1_0;
      sums[(int32_t)(1 + c)] = (int32_t)r1_1;
      sums[(int32_t)(2 + c)] = (int32_t)r1_2;
      sums[(int32_t)(3 + c)] = (int32_t)r1_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4_0 = (r1_0 > (int32_t)(low) ? r1_0 : (int32_t)(low)), r4_1 = (r1_1 > (int32_t)(low) ? r1_1 : (int32_t)(low)),
              r4_2 = (r1_2 > (int32_t)(low) ? r1_2 : (int32_t)(low)), r4_3 = (r1_3 > (int32_t)(low) ? r1_3 : (int32_t)(low)), r5_0 = r4_0,
              r5_1 = r4_1, r5_2 = r4_2, r5_3 = r4_3;
      y[c] = (int8_t)r5_0;
      y[(int32_t)(1 + c)] = (int8_t)r5_1;
      y[(int32_t)(2 + c)] = (int8_t)r5_2;
      y[(int32_t)(3 + c)] = (int8_t)r5_3;
    }
  }
  for (; c < channels; ++c) {
    int32_t r1 = (int32_t)(high);
    if ((uint32_t)((int32_t)(first)) < 1) {
      int32_t r2 = sums[c];
      r1 = r2;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        int32_t r3 = x[p][(int32_t)(c + channels * t + offset)];
        r1 = (r1 < r3 ? r1 : r3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4 = (r1 > (int32_t)(low) ? r1 : (int32_t)(low)), r5 = r4;
      y[c] = (int8_t)r5;
    }
  }
}

void tmo_average_pool(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int32_t *const sums = tmo_has_sums(k) ? k->sums + i : NULL;
  const uint32_t area = window->area, pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels;
  const int32_t offset = (int32_t)window->offset, first = !tmo_adds_sums() || (k->first && (window->pixels || !k->last)),
                last = !tmo_adds_sums() || k->last, low = k->op->act_min, high = k->op->act_max;
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    int32_t r1_0 = 0, r1_1 = 0, r1_2 = 0, r1_3 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &sums[c];
      int32_t r2_0 = at0[0], r2_1 = at0[1], r2_2 = at0[2], r2_3 = at0[3];
      r1_0 = r2_0;
      r1_1 = r2_1;
      r1_2 = r2_2;
      r1_3 = r2_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        const int8_t *const at0 = &x[p][(int32_t)(c + channels * t + offset)];
        int32_t r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3];
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r3_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r3_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r3_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r3_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1_0;
      sums[(int32_t)(1 + c)] = (int32_t)r1_1;
      sums[(int32_t)(2 + c)] = (int32_t)r1_2;
      sums[(int32_t)(3 + c)] = (int32_t)r1_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4_0 = tmo_divide_rounded(r1_0, (int32_t)(area)), r4_1 = tmo_divide_rounded(r1_1, (int32_t)(area)),
              r4_2 = tmo_divide_rounded(r1_2, (int32_t)(area)), r4_3 = tmo_divide_rounded(r1_3, (int32_t)(area)),
              r5_0 = (r4_0 > (int32_t)(low) ? r4_0 : (int32_t)(low)), r5_1 = (r4_1 > (int32_t)(low) ? r4_1 : (int32_t)(low)),
              r5_2 = (r4_2 > (int32_t)(low) ? r4_2 : (int32_t)(low)), r5_3 = (r4_3 > (int32_t)(low) ? r4_3 : (int32_t)(low)),
              r6_0 = (r5_0 < (int32_t)(high) ? r5_0 : (int32_t)(high)), r6_1 = (r5_1 < (int32_t)(high) ? r5_1 : (int32_t)(high)),
              r6_2 = (r5_2 < (int32_t)(high) ? r5_2 : (int32_t)(high)), r6_3 = (r5_3 < (int32_t)(high) ? r5_3 : (int32_t)(high)),
              r7_0 = r6_0, r7_1 = r6_1, r7_2 = r6_2, r7_3 = r6_3, r8_0 = r7_0, r8_1 = r7_1, r8_2 = r7_2, r8_3 = r7_3;
      y[c] = (int8_t)r8_0;
      y[(int32_t)(1 + c)] = (int8_t)r8_1;
      y[(int32_t)(2 + c)] = (int8_t)r8_2;
      y[(int32_t)(3 + c)] = (int8_t)r8_3;
    }
  }
  for (; c < channels; ++c) {
    int32_t r1 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      int32_t r2 = sums[c];
      r1 = r2;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        int32_t r3 = x[p][(int32_t)(c + channels * t + offset)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4 = tmo_divide_rounded(r1, (int32_t)(area)), r5 = (r4 > (int32_t)(low) ? r4 : (int32_t)(low)),
              r6 = (r5 < (int32_t)(high) ? r5 : (int32_t)(high)), r7 = r6, r8 = r7;
      y[c] = (int8_t)r8;
    }
  }
}

void tmo_mean(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int32_t *const sums = tmo_has_sums(k) ? k->sums + i : NULL;
  const uint32_t area = window->area, pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels;
  const int32_t zero_in = k->op->input_zero_point[0], multiplier = k->multipliers[0], shift = k->shifts[0],
                zero_out = k->op->output_zero_point, offset = (int32_t)window->offset,
                first = !tmo_adds_sums() || (k->first && (window->pixels || !k->last)), last = !tmo_adds_sums() || k->last,
                low = k->op->act_min, high = k->op->act_max;
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    int32_t r1_0 = 0, r1_1 = 0, r1_2 = 0, r1_3 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      const int32_t *const at0 = &sums[c];
      int32_t r2_0 = at0[0], r2_1 = at0[1], r2_2 = at0[2], r2_3 = at0[3];
      r1_0 = r2_0;
      r1_1 = r2_1;
      r1_2 = r2_2;
      r1_3 = r2_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        const int8_t *const at0 = &x[p][(int32_t)(c + channels * t + offset)];
        int32_t r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3];
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r3_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r3_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r3_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r3_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1_0;
      sums[(int32_t)(1 + c)] = (int32_t)r1_1;
      sums[(int32_t)(2 + c)] = (int32_t)r1_2;
      sums[(int32_t)(3 + c)] = (int32_t)r1_3;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4_0 = (int32_t)((uint32_t)r1_0 - (uint32_t)(int32_t)(area * zero_in)),
              r4_1 = (int32_t)((uint32_t)r1_1 - (uint32_t)(int32_t)(area * zero_in)),
              r4_2 = (int32_t)((uint32_t)r1_2 - (uint32_t)(int32_t)(area * zero_in)),
              r4_3 = (int32_t)((uint32_t)r1_3 - (uint32_t)(int32_t)(area * zero_in)),
              r5_0 = tmo_rescale(r4_0, (int32_t)(multiplier), (int32_t)(shift)),
              r5_1 = tmo_rescale(r4_1, (int32_t)(multiplier), (int32_t)(shift)),
              r5_2 = tmo_rescale(r4_2, (int32_t)(multiplier), (int32_t)(shift)),
              r5_3 = tmo_rescale(r4_3, (int32_t)(multiplier), (int32_t)(shift)),
              r6_0 = (int32_t)((uint32_t)r5_0 + (uint32_t)(int32_t)(zero_out)),
              r6_1 = (int32_t)((uint32_t)r5_1 + (uint32_t)(int32_t)(zero_out)),
              r6_2 = (int32_t)((uint32_t)r5_2 + (uint32_t)(int32_t)(zero_out)),
              r6_3 = (int32_t)((uint32_t)r5_3 + (uint32_t)(int32_t)(zero_out)), r7_0 = (r6_0 > (int32_t)(low) ? r6_0 : (int32_t)(low)),
              r7_1 = (r6_1 > (int32_t)(low) ? r6_1 : (int32_t)(low)), r7_2 = (r6_2 > (int32_t)(low) ? r6_2 : (int32_t)(low)),
              r7_3 = (r6_3 > (int32_t)(low) ? r6_3 : (int32_t)(low)), r8_0 = (r7_0 < (int32_t)(high) ? r7_0 : (int32_t)(high)),
              r8_1 = (r7_1 < (int32_t)(high) ? r7_1 : (int32_t)(high)), r8_2 = (r7_2 < (int32_t)(high) ? r7_2 : (int32_t)(high)),
              r8_3 = (r7_3 < (int32_t)(high) ? r7_3 : (int32_t)(high)), r9_0 = r8_0, r9_1 = r8_1, r9_2 = r8_2, r9_3 = r8_3, r10_0 = r9_0,
              r10_1 = r9_1, r10_2 = r9_2, r10_3 = r9_3;
      y[c] = (int8_t)r10_0;
      y[(int32_t)(1 + c)] = (int8_t)r10_1;
      y[(int32_t)(2 + c)] = (int8_t)r10_2;
      y[(int32_t)(3 + c)] = (int8_t)r10_3;
    }
  }
  for (; c < channels; ++c) {
    int32_t r1 = 0;
    if ((uint32_t)((int32_t)(first)) < 1) {
      int32_t r2 = sums[c];
      r1 = r2;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        int32_t r3 = x[p][(int32_t)(c + channels * t + offset)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      sums[c] = (int32_t)r1;
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      int32_t r4 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(area * zero_in)),
              r5 = tmo_rescale(r4, (int32_t)(multiplier), (int32_t)(shift)), r6 = (int32_t)((uint32_t)r5 + (uint32_t)(int32_t)(zero_out)),
              r7 = (r6 > (int32_t)(low) ? r6 : (int32_t)(low)), r8 = (r7 < (int32_t)(high) ? r7 : (int32_t)(high)), r9 = r8, r10 = r9;
      y[c] = (int8_t)r10;
    }
  }
}
