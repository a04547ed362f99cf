/* Packed depthwise convolutions: a list of taps, and a core that goes through the channels of a pixel. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_DSP

enum { CHANNELS_AT_ONCE = 4 }; /* of the core for the DSP extension */

/* Taps that a core takes at once. */
static uint32_t turn_of(const tmo_op *op) { return op->packing == TMO_PACKING_DSP_DEPTHWISE ? 3 : 2; }

static uint32_t turns_of(const tmo_op *op) { return ((uint32_t)op->kernel_h * op->kernel_w + turn_of(op) - 1) / turn_of(op); }

/* Where the taps of a window are. Outside of the input, and behind the last one, they are a pixel at the zero point. */
static void list(const tmo_kernel *k, const tmo_window *w, const int8_t **taps) {
  const tmo_op *op = k->op;
  const int8_t *const zero = (const int8_t *)k->scratch;
  const uint32_t rows = op->tile == 0 ? w->count : w->columns > 0 ? w->count / w->columns : 0;
  const int8_t **const end = taps + turn_of(op) * turns_of(op);
  for (uint32_t ky = 0; ky < op->kernel_h; ++ky) {
    const uint32_t r = ky - w->first_row;
    for (uint32_t kx = 0; kx < op->kernel_w; ++kx, ++taps) {
      const uint32_t c = kx - w->first_column;
      if (r >= rows || c >= w->columns) {
        *taps = zero;
      } else if (op->tile == 0) {
        *taps = w->pixels[r] + w->offset + c * op->dilation_w * k->in_channels;
      } else {
        *taps = w->pixels[r * w->columns + c];
      }
    }
  }
  while (taps != end) *taps++ = zero;
}

/* A pixel from its taps, `further` bytes from where they are listed. */
static void compute(const tmo_kernel *k, const int8_t *const *taps, uint32_t further, int8_t *out) {
  const tmo_op *op = k->op;
#if TMO_RUNS_MVE
  if (op->packing == TMO_PACKING_MVE_DEPTHWISE) {
    const int8_t range[3] = {op->output_zero_point, op->act_min, op->act_max};
    tmo_mve_depthwise(taps, k->weights, out, further, turns_of(op), k->out_channels, range);
    return;
  }
#endif
  tmo_dsp_depthwise(taps, k->weights, out, further, turns_of(op), k->out_channels);
  if (op->act_min == INT8_MIN && op->act_max == INT8_MAX) return;
  for (uint32_t c = 0; c < k->out_channels; ++c) out[c] = tmo_clamp(out[c], op->act_min, op->act_max);
}

static void fill_zero(const tmo_kernel *k) { memset(k->scratch, k->op->input_zero_point[0], k->in_channels); }

TMO_OWN_FRAME void tmo_depthwise_packed_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  fill_zero(k);
  list(k, window, taps);
  compute(k, taps, 0, out);
}

/* Windows that lie inside have the taps of the one before, a few pixels further. */
TMO_OWN_FRAME void tmo_depthwise_packed_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const uint32_t step = op->stride_w * k->in_channels;
  uint32_t further = 0;
  bool inside = false;
  fill_zero(k);
  for (uint16_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const tmo_window window = tmo_column(k, rows, x);
    const bool whole = window.columns == op->kernel_w && rows->count == op->kernel_h;
    further += step;
    if (!whole || !inside) {
      list(k, &window, taps);
      further = 0;
    }
    inside = whole;
    compute(k, taps, further, out);
  }
}

#if TMO_TWINS

/* Channels c .. c + 3; gives the next constants. */
static const int8_t *four(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t at, uint32_t n_taps) {
  static const uint8_t order[CHANNELS_AT_ONCE] = {0, 2, 1, 3};
  int32_t bias[CHANNELS_AT_ONCE], scale[3];
  memcpy(bias, constants, sizeof bias);
  constants += sizeof bias;
  uint32_t sums[CHANNELS_AT_ONCE] = {(uint32_t)bias[0], (uint32_t)bias[1], (uint32_t)bias[2], (uint32_t)bias[3]};
  for (uint32_t t = 0; t < n_taps; ++t) {
    for (uint32_t i = 0; i < CHANNELS_AT_ONCE; ++i, constants += sizeof(int16_t)) {
      int16_t w;
      memcpy(&w, constants, sizeof w);
      sums[order[i]] += (uint32_t)(w * taps[t][at + order[i]]);
    }
  }
  for (uint32_t c = 0; c < CHANNELS_AT_ONCE; ++c, constants += sizeof scale) {
    memcpy(scale, constants, sizeof scale);
    out[c] = tmo_packed_output((int32_t)sums[c], scale);
  }
  return constants;
}

void tmo_dsp_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t further, uint32_t turns, uint32_t channels) {
  for (uint32_t c = 0; c < channels; c += CHANNELS_AT_ONCE) {
    if (c + CHANNELS_AT_ONCE > channels) c = channels - CHANNELS_AT_ONCE;
    constants = four(taps, constants, out + c, further + c, 3 * turns);
  }
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_DSP */

typedef int tmo_depthwise_packed_is_not_empty; /* ISO C wants something in every file */
