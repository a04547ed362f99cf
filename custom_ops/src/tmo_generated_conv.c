/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns") /* without reordering, GCC keeps sums in registers */
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_conv_sums(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals) {
  const int8_t *const *const x = r->at;
  int32_t *const sums = (int32_t *)totals;
  const int8_t *const w = weights;
  const uint32_t parts = r->parts, count = r->count, run = r->bytes, filters = channels;
  const int32_t zero_in = r->zero_point, next_at = r->next_at, stride = r->stride, next_offset = (int32_t)r->next_offset,
                step = (int32_t)r->step, offset = (int32_t)r->offset, filter_weights = (int32_t)r->filter,
                part_weights = (int32_t)r->next_row, run_weights = (int32_t)r->row;
  for (uint32_t p = 0; p < parts; ++p) {
    for (uint32_t n = 0; n < count; ++n) {
      uint32_t b = 0;
#if TMO_MANY_REGISTERS
      for (; b + 16 <= run; b += 16) {
        const int8_t *const at0 = &x[n * stride + next_at * p][(int32_t)(b * step + next_offset * p + offset)];
        int32_t r2_0 = at0[0], r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)), r2_1 = at0[step],
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)), r2_2 = at0[2 * step],
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in)), r2_3 = at0[3 * step],
                r3_3 = (int32_t)((uint32_t)r2_3 - (uint32_t)(int32_t)(zero_in)), r2_4 = at0[4 * step],
                r3_4 = (int32_t)((uint32_t)r2_4 - (uint32_t)(int32_t)(zero_in)), r2_5 = at0[5 * step],
                r3_5 = (int32_t)((uint32_t)r2_5 - (uint32_t)(int32_t)(zero_in)), r2_6 = at0[6 * step],
                r3_6 = (int32_t)((uint32_t)r2_6 - (uint32_t)(int32_t)(zero_in)), r2_7 = at0[7 * step],
                r3_7 = (int32_t)((uint32_t)r2_7 - (uint32_t)(int32_t)(zero_in)), r2_8 = at0[8 * step],
                r3_8 = (int32_t)((uint32_t)r2_8 - (uint32_t)(int32_t)(zero_in)), r2_9 = at0[9 * step],
                r3_9 = (int32_t)((uint32_t)r2_9 - (uint32_t)(int32_t)(zero_in)), r2_10 = at0[10 * step],
                r3_10 = (int32_t)((uint32_t)r2_10 - (uint32_t)(int32_t)(zero_in)), r2_11 = at0[11 * step],
                r3_11 = (int32_t)((uint32_t)r2_11 - (uint32_t)(int32_t)(zero_in)), r2_12 = at0[12 * step],
                r3_12 = (int32_t)((uint32_t)r2_12 - (uint32_t)(int32_t)(zero_in)), r2_13 = at0[13 * step],
                r3_13 = (int32_t)((uint32_t)r2_13 - (uint32_t)(int32_t)(zero_in)), r2_14 = at0[14 * step],
                r3_14 = (int32_t)((uint32_t)r2_14 - (uint32_t)(int32_t)(zero_in)), r2_15 = at0[15 * step],
                r3_15 = (int32_t)((uint32_t)r2_15 - (uint32_t)(int32_t)(zero_in));
        for (uint32_t c = 0; c < filters; ++c) {
          const int8_t *const at1 = &w[(int32_t)(b + c * filter_weights + n * run_weights + p * part_weights)];
          int32_t r1 = sums[c], r4_0 = at1[0];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_0 * (uint32_t)r4_0);
          int32_t r4_1 = at1[1];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_1 * (uint32_t)r4_1);
          int32_t r4_2 = at1[2];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_2 * (uint32_t)r4_2);
          int32_t r4_3 = at1[3];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_3 * (uint32_t)r4_3);
          int32_t r4_4 = at1[4];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_4 * (uint32_t)r4_4);
          int32_t r4_5 = at1[5];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_5 * (uint32_t)r4_5);
          int32_t r4_6 = at1[6];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_6 * (uint32_t)r4_6);
          int32_t r4_7 = at1[7];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_7 * (uint32_t)r4_7);
          int32_t r4_8 = at1[8];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_8 * (uint32_t)r4_8);
          int32_t r4_9 = at1[9];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_9 * (uint32_t)r4_9);
          int32_t r4_10 = at1[10];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_10 * (uint32_t)r4_10);
          int32_t r4_11 = at1[11];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_11 * (uint32_t)r4_11);
          int32_t r4_12 = at1[12];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_12 * (uint32_t)r4_12);
          int32_t r4_13 = at1[13];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_13 * (uint32_t)r4_13);
          int32_t r4_14 = at1[14];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_14 * (uint32_t)r4_14);
          int32_t r4_15 = at1[15];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_15 * (uint32_t)r4_15);
#else
      for (; b + 8 <= run; b += 8) {
        const int8_t *const at0 = &x[n * stride + next_at * p][(int32_t)(b * step + next_offset * p + offset)];
        int32_t r2_0 = at0[0], r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)), r2_1 = at0[step],
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)), r2_2 = at0[2 * step],
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in)), r2_3 = at0[3 * step],
                r3_3 = (int32_t)((uint32_t)r2_3 - (uint32_t)(int32_t)(zero_in)), r2_4 = at0[4 * step],
                r3_4 = (int32_t)((uint32_t)r2_4 - (uint32_t)(int32_t)(zero_in)), r2_5 = at0[5 * step],
                r3_5 = (int32_t)((uint32_t)r2_5 - (uint32_t)(int32_t)(zero_in)), r2_6 = at0[6 * step],
                r3_6 = (int32_t)((uint32_t)r2_6 - (uint32_t)(int32_t)(zero_in)), r2_7 = at0[7 * step],
                r3_7 = (int32_t)((uint32_t)r2_7 - (uint32_t)(int32_t)(zero_in));
        for (uint32_t c = 0; c < filters; ++c) {
          const int8_t *const at1 = &w[(int32_t)(b + c * filter_weights + n * run_weights + p * part_weights)];
          int32_t r1 = sums[c], r4_0 = at1[0];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_0 * (uint32_t)r4_0);
          int32_t r4_1 = at1[1];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_1 * (uint32_t)r4_1);
          int32_t r4_2 = at1[2];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_2 * (uint32_t)r4_2);
          int32_t r4_3 = at1[3];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_3 * (uint32_t)r4_3);
          int32_t r4_4 = at1[4];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_4 * (uint32_t)r4_4);
          int32_t r4_5 = at1[5];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_5 * (uint32_t)r4_5);
          int32_t r4_6 = at1[6];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_6 * (uint32_t)r4_6);
          int32_t r4_7 = at1[7];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_7 * (uint32_t)r4_7);
#endif
          sums[c] = (int32_t)r1;
        }
      }
      for (; b + 4 <= run; b += 4) {
        const int8_t *const at0 = &x[n * stride + next_at * p][(int32_t)(b * step + next_offset * p + offset)];
        int32_t r2_0 = at0[0], r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)), r2_1 = at0[step],
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)), r2_2 = at0[2 * step],
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in)), r2_3 = at0[3 * step],
                r3_3 = (int32_t)((uint32_t)r2_3 - (uint32_t)(int32_t)(zero_in));
        for (uint32_t c = 0; c < filters; ++c) {
          const int8_t *const at1 = &w[(int32_t)(b + c * filter_weights + n * run_weights + p * part_weights)];
          int32_t r1 = sums[c], r4_0 = at1[0];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_0 * (uint32_t)r4_0);
          int32_t r4_1 = at1[1];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_1 * (uint32_t)r4_1);
          int32_t r4_2 = at1[2];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_2 * (uint32_t)r4_2);
          int32_t r4_3 = at1[3];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_3 * (uint32_t)r4_3);
          sums[c] = (int32_t)r1;
        }
      }
      for (; b + 3 <= run; b += 3) {
        const int8_t *const at0 = &x[n * stride + next_at * p][(int32_t)(b * step + next_offset * p + offset)];
        int32_t r2_0 = at0[0], r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)), r2_1 = at0[step],
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)), r2_2 = at0[2 * step],
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in));
        for (uint32_t c = 0; c < filters; ++c) {
          const int8_t *const at1 = &w[(int32_t)(b + c * filter_weights + n * run_weights + p * part_weights)];
          int32_t r1 = sums[c], r4_0 = at1[0];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_0 * (uint32_t)r4_0);
          int32_t r4_1 = at1[1];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_1 * (uint32_t)r4_1);
          int32_t r4_2 = at1[2];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3_2 * (uint32_t)r4_2);
          sums[c] = (int32_t)r1;
        }
      }
      for (; b < run; ++b) {
        int32_t r2 = x[n * stride + next_at * p][(int32_t)(b * step + next_offset * p + offset)],
                r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in));
        for (uint32_t c = 0; c < filters; ++c) {
          int32_t r1 = sums[c], r4 = w[(int32_t)(b + c * filter_weights + n * run_weights + p * part_weights)];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3 * (uint32_t)r4);
          sums[c] = (int32_t)r1;
        }
      }
    }
  }
}
