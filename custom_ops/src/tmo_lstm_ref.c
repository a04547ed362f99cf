/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes one step of an int8 LSTM with int16 cells, like TFLM's function LstmStep (micro/kernels/lstm_eval.h). */
#include <stddef.h>
#include <string.h>

#include "tmo/dsp.h"
#include "tmo/kernels.h"

enum { FORGET, LET_IN, NEW, LET_OUT, GATES }; /* gates of an LSTM, in the order of the program */

#define LAST 0x1FDFF /* the result of curve() is constant for arguments above LAST */

/* For x >= 0, returns `2^15 / (1 + e^(-x / 2^13))`, interpolated between the entries of a table, which are 2^9 apart. For x < 0, returns `2^15 -
 * curve(-x)`. If `is_tanh` is true, the function returns `2 curve(2x) - 2^15`, where curve(2x) is computed with `is_tanh` false. TFLM's int16
 * functions Logistic and Tanh (kernels/internal/reference/integer_ops) return the same values as curve(). */
static TMO_ALWAYS_INLINE int32_t curve(const uint16_t *table, int32_t x, bool is_tanh) {
  uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
  if (is_tanh) size *= 2;
  if (size > LAST) size = LAST;
  table += size >> 9;
  int32_t value = (int32_t)(((uint32_t)table[0] << 9) + (size & 511) * (uint32_t)(table[1] - table[0]));
  if (x < 0) value ^= ((int32_t)1 << 25) - 1;
  if (is_tanh) value = 2 * value - ((int32_t)1 << 25);
  return (value + 512) >> 10;
}

/* Pointers to the next scales of an LSTM operator. Each output channel has two scales for each gate, and one scale each for the kept cell value, the
 * added cell value and the output. */
typedef struct {
  const int32_t *multipliers;
  const int8_t *shifts;
} gate_scales;

#if TMO_WIDE_MULTIPLY
static TMO_ALWAYS_INLINE
#else /* without inlining, the long multiplication takes less flash */
TMO_OWN_FRAME static
#endif
int32_t saturated_scale(gate_scales *next, int32_t x) { return tmo_saturated_half(tmo_rescale(x, *next->multipliers++, *next->shifts++)); }

/* Returns the product of a and b, scaled and saturated. If the table of a damaged program has wrong values, the product of a and b may wrap modulo
 * 2^32. */
static TMO_ALWAYS_INLINE int32_t product(gate_scales *next, int32_t a, int32_t b) { return saturated_scale(next, (int32_t)((uint32_t)a * (uint32_t)b)); }

enum { FROM_INPUT, FROM_OUTPUT, PARTS }; /* each gate has one sum of products with the input, and one sum of products with the previous output */

/* For one output channel, adds the products of inputs and weights to the two sums of each gate. For each gate, `w` has the weights of the input, and
 * then the weights of the previous output. */
static TMO_ALWAYS_INLINE void sum_gates(const int8_t *const *rows, const uint32_t *bytes, const int8_t *w, uint32_t sums[PARTS][GATES]) {
#if TMO_CORE_DSP
  for (uint32_t p = 0; p < PARTS; w += bytes[p++]) {
    const tmo_runs runs = {rows + p, 1, 1, 1, 0, 0, 0, 0, bytes[p], 1, 0, bytes[FROM_INPUT] + bytes[FROM_OUTPUT], 0};
    tmo_dsp_sums(&runs, w, GATES, sums[p]);
  }
#else
  for (uint32_t g = 0; g < GATES; ++g) {
    for (uint32_t p = 0; p < PARTS; ++p) {
      const int8_t *x = rows[p];
      for (uint32_t n = bytes[p]; n > 0; --n) sums[p][g] += (uint32_t)(*x++ * *w++);
    }
  }
#endif
}

/* Computes one row of an LSTM. The operands of an LSTM are the input, the previous output, and the cells. The kernel overwrites the previous output
 * and the cells. */
void tmo_lstm_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint16_t *table = (const uint16_t *)k->bias;
  const int32_t low = (int16_t)(k->op->cell_range & 0xFFFF), high = k->op->cell_range >> 16;
  const int8_t *const *const rows = window->pixels + window->count - 3; /* a window of a damaged program may have more than three rows */
  const uint32_t bytes[PARTS] = {k->in_channels, k->out_channels};
  const int32_t *bias = k->bias + TMO_CURVE_WORDS;
  const int8_t *w = k->weights;
  int8_t *cells = (int8_t *)(uintptr_t)rows[2];
  if (rows[0] == NULL || rows[1] == NULL || cells == NULL) return; /* rows are missing only in damaged programs */
  for (uint32_t i = 0; i < k->out_channels; ++i, cells += 2, w += GATES * (bytes[FROM_INPUT] + bytes[FROM_OUTPUT])) {
    gate_scales next = {k->multipliers, k->shifts};
    uint32_t sums[PARTS][GATES];
    int32_t gates[GATES];
    int16_t kept;
    TMO_UNROLLED for (uint32_t n = 0; n < PARTS * GATES; ++n) sums[n % PARTS][n / PARTS] = (uint32_t)*bias++;
    sum_gates(rows, bytes, w, sums);
    for (uint32_t g = 0; g < GATES; ++g) {
      const int32_t from_input = saturated_scale(&next, (int32_t)sums[FROM_INPUT][g]);
      gates[g] = curve(table, 3 * tmo_saturated_half(from_input + saturated_scale(&next, (int32_t)sums[FROM_OUTPUT][g])), g == NEW);
    }
    memcpy(&kept, cells, sizeof kept);
    int32_t cell = product(&next, gates[FORGET], kept);
    cell += product(&next, gates[LET_IN], gates[NEW]);
    cell = cell > high ? high : cell < low ? low : cell;
    kept = (int16_t)cell;
    memcpy(cells, &kept, sizeof kept);
    const uint32_t right = next.shifts[1] & 15; /* right shift that converts a cell to an argument of curve() */
    const int32_t units = (int32_t)((uint32_t)cell * (uint32_t)next.multipliers[1] + ((uint32_t)1 << right >> 1)) >> right;
    out[i] = tmo_output(k, product(&next, curve(table, units, true), gates[LET_OUT]));
  }
  memmove((int8_t *)(uintptr_t)rows[1], out, k->out_channels);
}
