/* SPDX-License-Identifier: Apache-2.0 */
/* A step of an LSTM of int8, whose cells are int16. TFLM: LstmStep, micro/kernels/lstm_eval.h. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

enum { FORGET, LET_IN, NEW, LET_OUT, GATES }; /* in the order in which the program has them */

#define LAST 0x1FDFF /* curves are constant beyond it */

TMO_OWN_FRAME static int32_t saturate(int32_t x) { return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x; }

/* 2^15 / (1 + e^(-x / 2^13)) for x >= 0, by a table of 256 values that are 2^9 apart; for x < 0 what is left of 1. A hyperbolic tangent is twice
 * that, less 1, of twice its argument. TFLM: Logistic and Tanh of int16, kernels/internal/reference/integer_ops. */
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

/* Constants that come next: of a unit, two scales for each gate; for what is left of its cell, what is added to it, and the output. */
typedef struct {
  const int8_t *weights;
  const int32_t *bias;
  const int32_t *multipliers;
  const int8_t *shifts;
} constants;

/* a * b, scaled and saturated; modulo 2^32 where the table is damaged. */
static int32_t product(constants *next, int32_t a, int32_t b) {
  return saturate(tmo_rescale((int32_t)((uint32_t)a * (uint32_t)b), *next->multipliers++, *next->shifts++));
}

/* A part of a gate: of the input, or of what came out before. */
static int32_t part(constants *next, const int8_t *x, uint32_t n) {
  const int8_t *w = next->weights;
  uint32_t sum = (uint32_t)*next->bias++;
  for (; n > 0; --n) sum += (uint32_t)(*x++ * *w++);
  next->weights = w;
  return product(next, (int32_t)sum, 1);
}

/* A row of each operand: the input, what came out before, and the cells, which are two bytes each. These two are overwritten. */
void tmo_lstm_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint16_t *table = (const uint16_t *)k->bias;
  const int32_t low = (int16_t)(k->op->cell_range & 0xFFFF), high = k->op->cell_range >> 16;
  const int8_t *const *const rows = window->pixels + window->count - 3; /* where a damaged program has more rows of the input, the last */
  int8_t *cells = (int8_t *)(uintptr_t)rows[2];
  constants next = {k->weights, k->bias + TMO_CURVE_WORDS, NULL, NULL};
  if (rows[0] == NULL || rows[1] == NULL || cells == NULL) return; /* the program is damaged */
  for (uint32_t i = 0; i < k->out_channels; ++i, cells += 2) {
    int16_t kept;
    int32_t gates[GATES];
    next.multipliers = k->multipliers;
    next.shifts = k->shifts;
    for (uint32_t g = 0; g < GATES; ++g) {
      const int32_t new = part(&next, rows[0], k->in_channels);
      gates[g] = curve(table, 3 * saturate(new + part(&next, rows[1], k->out_channels)), g == NEW);
    }
    memcpy(&kept, cells, sizeof kept);
    int32_t cell = product(&next, gates[FORGET], kept);
    cell += product(&next, gates[LET_IN], gates[NEW]);
    cell = cell > high ? high : cell < low ? low : cell;
    kept = (int16_t)cell;
    memcpy(cells, &kept, sizeof kept);
    const uint32_t right = next.shifts[1] & 15; /* to the curve's units */
    const int32_t scaled = (int32_t)((uint32_t)cell * (uint32_t)next.multipliers[1] + ((uint32_t)1 << right >> 1)) >> right;
    out[i] = tmo_output(k, product(&next, curve(table, scaled, true), gates[LET_OUT]));
  }
  memmove((int8_t *)(uintptr_t)rows[1], out, k->out_channels);
}
