/* A step of an LSTM of int8, whose cells are int16. TFLM: LstmStep, micro/kernels/lstm_eval.h. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

enum { FORGET, LET_IN, NEW, LET_OUT, GATES }; /* in the order in which the program has them */

/* Scales: of each gate two; of what is left of a cell, of what is added to it, of the output; the last one brings a cell to the curve's units. */
enum { FORGOTTEN = 2 * GATES, ADDED, MADE, CURVED };

#define SIGMOID_BITS 10 /* that a curve of 2^25 has more than int16 */
#define TANH_BITS 9
#define LAST 0x1FDFF    /* behind it, curves are level */

TMO_OWN_FRAME static int32_t saturate(int32_t x) { return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x; }

/* 2^(25 - bits) / (1 + e^(-x / 2^13)) for x >= 0, by a table of 256 values that are 2^9 apart; for x < 0 what is left of 1. A hyperbolic tangent
 * is twice that, less 1, of twice its argument. TFLM: Logistic and Tanh of int16, kernels/internal/reference/integer_ops. */
static int32_t curve(const uint16_t *table, int32_t x, uint32_t bits) {
  uint32_t size = (x < 0 ? 0u - (uint32_t)x : (uint32_t)x) << (SIGMOID_BITS - bits);
  if (size > LAST) size = LAST;
  table += size >> 9;
  int32_t value = (int32_t)(((uint32_t)table[0] << 9) + (size & 511) * (uint32_t)(table[1] - table[0]));
  if (x < 0) value = ((int32_t)1 << 25) - 1 - value;
  if (bits == TANH_BITS) value -= (int32_t)1 << 24;
  return (value + ((int32_t)1 << (bits - 1))) >> bits;
}

/* a * b, scaled and saturated; modulo 2^32 where the table is damaged. */
static int32_t product(const tmo_kernel *k, uint32_t scale, int32_t a, int32_t b) {
  return saturate(tmo_rescale((int32_t)((uint32_t)a * (uint32_t)b), k->multipliers[scale], k->shifts[scale]));
}

/* Those that come next. */
typedef struct {
  const int8_t *weights;
  const int32_t *bias;
} constants;

TMO_OWN_FRAME static int32_t dot(constants *o, const int8_t *x, uint32_t n) {
  const int8_t *w = o->weights;
  uint32_t sum = (uint32_t)*o->bias++;
  o->weights += n;
  for (uint32_t i = 0; i < n; ++i) sum += (uint32_t)(x[i] * w[i]);
  return (int32_t)sum;
}

/* Operands: the input, what came out before, and the cells, which are two bytes each. These two are written anew. */
void tmo_lstm_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint16_t *table = (const uint16_t *)k->bias;
  const int32_t low = (int16_t)(k->op->param & 0xFFFF), high = k->op->param >> 16;
  const uint32_t factor = (uint32_t)k->multipliers[CURVED], right = k->shifts[CURVED] & 15;
  int8_t *cells = (int8_t *)(uintptr_t)window->pixels[2];
  constants o = {k->weights, k->bias + TMO_CURVE_WORDS};
  if (window->pixels[0] == NULL || window->pixels[1] == NULL || cells == NULL) return; /* the program is damaged */
  for (uint32_t i = 0; i < k->out_channels; ++i, cells += 2) {
    int16_t kept;
    int32_t gates[GATES];
    for (uint32_t g = 0; g < GATES; ++g) {
      const int32_t new = product(k, 2 * g, dot(&o, window->pixels[0], k->in_channels), 1);
      const int32_t old = product(k, 2 * g + 1, dot(&o, window->pixels[1], k->out_channels), 1);
      gates[g] = curve(table, 3 * saturate(new + old), g == NEW ? TANH_BITS : SIGMOID_BITS);
    }
    memcpy(&kept, cells, sizeof kept);
    int32_t cell = product(k, FORGOTTEN, gates[FORGET], kept) + product(k, ADDED, gates[LET_IN], gates[NEW]);
    cell = cell > high ? high : cell < low ? low : cell;
    kept = (int16_t)cell;
    memcpy(cells, &kept, sizeof kept);
    const int32_t scaled = (int32_t)((uint32_t)cell * factor + ((uint32_t)1 << right >> 1)) >> right;
    out[i] = tmo_output(k, product(k, MADE, curve(table, scaled, TANH_BITS), gates[LET_OUT]));
  }
  memcpy((int8_t *)(uintptr_t)window->pixels[1], out, k->out_channels);
}
