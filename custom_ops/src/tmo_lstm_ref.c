/* SPDX-License-Identifier: Apache-2.0 */
/* One step of an int8 LSTM with int16 cells. TFLM: LstmStep, micro/kernels/lstm_eval.h. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

enum { FORGET, LET_IN, NEW, LET_OUT, GATES }; /* in the program's order */

#define LAST 0x1FDFF /* the curves are constant beyond this */

TMO_OWN_FRAME static int32_t saturate(int32_t x) { return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x; }

/* 2^15 / (1 + e^(-x / 2^13)) for x >= 0, interpolated from a table of 256 values that are 2^9 apart; for x < 0, one minus the value of -x. tanh(x)
 * is 2 * curve(2 * x) - 1. TFLM: Logistic and Tanh of int16, kernels/internal/reference/integer_ops. */
static int32_t curve(const uint16_t *table, int32_t x, bool is_tanh) {
  uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
  if (is_tanh) size *= 2;
  if (size > LAST) size = LAST;
  table += size >> 9;
  int32_t value = (int32_t)(((uint32_t)table[0] << 9) + (size & 511) * (uint32_t)(table[1] - table[0]));
  if (x < 0) value ^= ((int32_t)1 << 25) - 1;
  if (is_tanh) value = 2 * value - ((int32_t)1 << 25);
  return (value + 512) >> 10;
}

/* The next constants to read. Each unit has two scales for each gate, then those of the kept part of its cell, of the added part, and of the
 * output. */
typedef struct {
  const int8_t *weights;
  const int32_t *bias;
  const int32_t *multipliers;
  const int8_t *shifts;
} constants;

/* a * b, scaled and saturated. A damaged table makes it wrap modulo 2^32. */
static int32_t product(constants *next, int32_t a, int32_t b) {
  return saturate(tmo_rescale((int32_t)((uint32_t)a * (uint32_t)b), *next->multipliers++, *next->shifts++));
}

/* One part of a gate: its products with the input, or with the previous output. */
static int32_t part(constants *next, const int8_t *x, uint32_t n) {
  const int8_t *w = next->weights;
  uint32_t sum = (uint32_t)*next->bias++;
  for (; n > 0; --n) sum += (uint32_t)(*x++ * *w++);
  next->weights = w;
  return product(next, (int32_t)sum, 1);
}

#if TMO_CORE_DSP
/* Computes the sums of both parts of all gates, in the order in which part() takes them; their weights are read. */
static void sum_gates(constants *next, const int8_t *const *rows, uint32_t in, uint32_t out, int32_t *sums) {
  const uint32_t each = in + out;
  const tmo_runs old = {rows + 1, 1, 1, 1, 0, 0, 0, 0, out, 1, 0, each, 0};
  tmo_runs new = old;
  uint32_t parts[2][GATES];
  TMO_UNROLLED for (uint32_t g = 0; g < 2 * GATES; ++g) parts[g % 2][g / 2] = (uint32_t)*next->bias++;
  new.at = rows;
  new.bytes = in;
  tmo_dsp_sums(&new, next->weights, GATES, parts[0]);
  tmo_dsp_sums(&old, next->weights + in, GATES, parts[1]);
  TMO_UNROLLED for (uint32_t g = 0; g < 2 * GATES; ++g) sums[g] = (int32_t)parts[g % 2][g / 2];
  next->weights += GATES * each;
}
#endif

/* Each operand has a row: the input, the previous output, and the cells of two bytes each. The kernel overwrites the last two. */
void tmo_lstm_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint16_t *table = (const uint16_t *)k->bias;
  const int32_t low = (int16_t)(k->op->cell_range & 0xFFFF), high = k->op->cell_range >> 16;
  const int8_t *const *const rows = window->pixels + window->count - 3; /* the last three, if a damaged program has more rows */
  int8_t *cells = (int8_t *)(uintptr_t)rows[2];
  constants next = {k->weights, k->bias + TMO_CURVE_WORDS, NULL, NULL};
  if (rows[0] == NULL || rows[1] == NULL || cells == NULL) return; /* only in damaged programs */
  for (uint32_t i = 0; i < k->out_channels; ++i, cells += 2) {
    int16_t kept;
    int32_t gates[GATES];
    next.multipliers = k->multipliers;
    next.shifts = k->shifts;
#if TMO_CORE_DSP
    int32_t sums[2 * GATES];
    sum_gates(&next, rows, k->in_channels, k->out_channels, sums);
    const int32_t *const bias = next.bias;
    next.bias = sums;
    const uint32_t in = 0, old = 0; /* more to multiply */
#else
    const uint32_t in = k->in_channels, old = k->out_channels;
#endif
    for (uint32_t g = 0; g < GATES; ++g) {
      const int32_t new = part(&next, rows[0], in);
      gates[g] = curve(table, 3 * saturate(new + part(&next, rows[1], old)), g == NEW);
    }
#if TMO_CORE_DSP
    next.bias = bias;
#endif
    memcpy(&kept, cells, sizeof kept);
    int32_t cell = product(&next, gates[FORGET], kept);
    cell += product(&next, gates[LET_IN], gates[NEW]);
    cell = cell > high ? high : cell < low ? low : cell;
    kept = (int16_t)cell;
    memcpy(cells, &kept, sizeof kept);
    const uint32_t right = next.shifts[1] & 15; /* scales to the curve's units */
    const int32_t scaled = (int32_t)((uint32_t)cell * (uint32_t)next.multipliers[1] + ((uint32_t)1 << right >> 1)) >> right;
    out[i] = tmo_output(k, product(&next, curve(table, scaled, true), gates[LET_OUT]));
  }
  memmove((int8_t *)(uintptr_t)rows[1], out, k->out_channels);
}
