/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns") /* without reordering, GCC keeps sums in registers */
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_depthwise_sums(const tmo_kernel *k, const tmo_window *window, uint32_t from, uint32_t to, uint32_t n, uint32_t *totals) {
  const int8_t *const *const x = window->pixels;
  int32_t *const sums = (int32_t *)totals;
  const int8_t *const w = k->weights + tmo_first_tap(k, window) + to;
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, channels = n;
  const int32_t zero_in = k->op->input_zero_point[0], next_row = k->op->tile == 0 ? 1 : window->columns,
                next_column = k->op->tile == 0 ? 0 : 1, apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels) : 0,
                offset = (int32_t)(window->offset + from), row_weights = (int32_t)(k->op->kernel_w * k->tap_step),
                tap_weights = (int32_t)k->tap_step;
  uint32_t c = 0;
#if TMO_MANY_REGISTERS
  for (; c + 8 <= channels; c += 8) {
    const int32_t *const at0 = &sums[c];
    int32_t r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3], r1_4 = at0[4], r1_5 = at0[5], r1_6 = at0[6], r1_7 = at0[7];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        const int8_t *const at1 = &x[next_column * s + next_row * r][(int32_t)(apart * s + c + offset)];
        const int8_t *const at2 = &w[(int32_t)(c + r * row_weights + s * tap_weights)];
        int32_t r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3], r2_4 = at1[4], r2_5 = at1[5], r2_6 = at1[6], r2_7 = at1[7],
                r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)),
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)),
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in)),
                r3_3 = (int32_t)((uint32_t)r2_3 - (uint32_t)(int32_t)(zero_in)),
                r3_4 = (int32_t)((uint32_t)r2_4 - (uint32_t)(int32_t)(zero_in)),
                r3_5 = (int32_t)((uint32_t)r2_5 - (uint32_t)(int32_t)(zero_in)),
                r3_6 = (int32_t)((uint32_t)r2_6 - (uint32_t)(int32_t)(zero_in)),
                r3_7 = (int32_t)((uint32_t)r2_7 - (uint32_t)(int32_t)(zero_in)), r4_0 = at2[0], r4_1 = at2[1], r4_2 = at2[2], r4_3 = at2[3],
                r4_4 = at2[4], r4_5 = at2[5], r4_6 = at2[6], r4_7 = at2[7];
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r3_0 * (uint32_t)r4_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r3_1 * (uint32_t)r4_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r3_2 * (uint32_t)r4_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r3_3 * (uint32_t)r4_3);
        r1_4 = (int32_t)((uint32_t)r1_4 + (uint32_t)r3_4 * (uint32_t)r4_4);
        r1_5 = (int32_t)((uint32_t)r1_5 + (uint32_t)r3_5 * (uint32_t)r4_5);
        r1_6 = (int32_t)((uint32_t)r1_6 + (uint32_t)r3_6 * (uint32_t)r4_6);
        r1_7 = (int32_t)((uint32_t)r1_7 + (uint32_t)r3_7 * (uint32_t)r4_7);
      }
    }
    sums[c] = (int32_t)r1_0;
    sums[(int32_t)(1 + c)] = (int32_t)r1_1;
    sums[(int32_t)(2 + c)] = (int32_t)r1_2;
    sums[(int32_t)(3 + c)] = (int32_t)r1_3;
    sums[(int32_t)(4 + c)] = (int32_t)r1_4;
    sums[(int32_t)(5 + c)] = (int32_t)r1_5;
    sums[(int32_t)(6 + c)] = (int32_t)r1_6;
    sums[(int32_t)(7 + c)] = (int32_t)r1_7;
  }
#endif
  for (; c + 4 <= channels; c += 4) {
    const int32_t *const at0 = &sums[c];
    int32_t r1_0 = at0[0], r1_1 = at0[1], r1_2 = at0[2], r1_3 = at0[3];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        const int8_t *const at1 = &x[next_column * s + next_row * r][(int32_t)(apart * s + c + offset)];
        const int8_t *const at2 = &w[(int32_t)(c + r * row_weights + s * tap_weights)];
        int32_t r2_0 = at1[0], r2_1 = at1[1], r2_2 = at1[2], r2_3 = at1[3], r3_0 = (int32_t)((uint32_t)r2_0 - (uint32_t)(int32_t)(zero_in)),
                r3_1 = (int32_t)((uint32_t)r2_1 - (uint32_t)(int32_t)(zero_in)),
                r3_2 = (int32_t)((uint32_t)r2_2 - (uint32_t)(int32_t)(zero_in)),
                r3_3 = (int32_t)((uint32_t)r2_3 - (uint32_t)(int32_t)(zero_in)), r4_0 = at2[0], r4_1 = at2[1], r4_2 = at2[2], r4_3 = at2[3];
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r3_0 * (uint32_t)r4_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r3_1 * (uint32_t)r4_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r3_2 * (uint32_t)r4_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r3_3 * (uint32_t)r4_3);
      }
    }
    sums[c] = (int32_t)r1_0;
    sums[(int32_t)(1 + c)] = (int32_t)r1_1;
    sums[(int32_t)(2 + c)] = (int32_t)r1_2;
    sums[(int32_t)(3 + c)] = (int32_t)r1_3;
  }
  for (; c < channels; ++c) {
    int32_t r1 = sums[c];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        int32_t r2 = x[next_column * s + next_row * r][(int32_t)(apart * s + c + offset)],
                r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in)), r4 = w[(int32_t)(c + r * row_weights + s * tap_weights)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3 * (uint32_t)r4);
      }
    }
    sums[c] = (int32_t)r1;
  }
}

void tmo_depthwise_repeated(const tmo_kernel *k, const tmo_window *window, uint32_t from, uint32_t to, uint32_t n, uint32_t *totals) {
  const int8_t *const *const x = window->pixels;
  int32_t *const sums = (int32_t *)totals;
  const int8_t *const w = k->weights + tmo_first_tap(k, window) + to;
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, channels = n;
  const int32_t zero_in = k->op->input_zero_point[0], next_row = k->op->tile == 0 ? 1 : window->columns,
                next_column = k->op->tile == 0 ? 0 : 1, apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels) : 0,
                offset = (int32_t)(window->offset + from), row_weights = (int32_t)(k->op->kernel_w * k->tap_step),
                tap_weights = (int32_t)k->tap_step;
  uint32_t c = 0;
  for (; c + 2 <= channels; c += 2) {
    const int32_t *const at0 = &sums[c];
    int32_t r1_0 = at0[0], r1_1 = at0[1];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        const int8_t *const at1 = &w[(int32_t)(c + r * row_weights + s * tap_weights)];
        int32_t r2 = x[next_column * s + next_row * r][(int32_t)(apart * s + offset)],
                r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in)), r4_0 = at1[0], r4_1 = at1[1];
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r3 * (uint32_t)r4_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r3 * (uint32_t)r4_1);
      }
    }
    sums[c] = (int32_t)r1_0;
    sums[(int32_t)(1 + c)] = (int32_t)r1_1;
  }
  for (; c < channels; ++c) {
    int32_t r1 = sums[c];
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        int32_t r2 = x[next_column * s + next_row * r][(int32_t)(apart * s + offset)],
                r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in)), r4 = w[(int32_t)(c + r * row_weights + s * tap_weights)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3 * (uint32_t)r4);
      }
    }
    sums[c] = (int32_t)r1;
  }
}
