/* Packed depthwise convolutions: a list of taps, and a core that goes through the channels of a pixel. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_DSP

enum { CHANNELS_AT_ONCE = 4 }; /* of the core for the DSP extension */

/* Taps that a core takes at once. */
static uint32_t turn_of(const tmo_op *op) { return tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) ? 3 : 2; }

static const int8_t *zero_of(const tmo_kernel *k) { return (const int8_t *)k->scratch; }

#if TMO_RUNS_MVE
/* Whether there is a core for this window, and this range. It alone takes an odd number of taps. */
static bool has_nine(const tmo_kernel *k) {
  const tmo_op *op = k->op;
  const bool relu = op->output_zero_point == INT8_MIN && op->act_min == INT8_MIN && op->act_max == INT8_MAX;
  return relu && tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) && op->kernel_h * op->kernel_w == 9 && k->out_channels % 16 == 0;
}
#endif

/* Taps that the core reads: as many as the window has, or more. */
static uint32_t taps_of(const tmo_kernel *k) {
#if TMO_RUNS_MVE
  if (has_nine(k)) return 9;
#endif
  const uint32_t turn = turn_of(k->op);
  return ((uint32_t)k->op->kernel_h * k->op->kernel_w + turn - 1) / turn * turn;
}

/* Where the taps of the window are that begins at an input column. Outside of the input, and behind the last one, where `all` of a core's turns
 * are not full, they are a pixel at the zero point. */
TMO_OWN_FRAME static void list(const tmo_kernel *k, const tmo_window *rows, uint32_t start, const int8_t **taps, uint32_t all) {
  const tmo_op *op = k->op;
  const int8_t *const zero = zero_of(k);
  const uint32_t channels = k->in_channels, dilation = op->dilation_w, wide = op->kernel_w;
  const int8_t *const *row = rows->pixels;
  for (uint32_t ky = 0; ky < op->kernel_h; ++ky) {
    const bool there = ky - rows->first_row < rows->count;
    const uint32_t width = there ? k->in_width : 0;
    const int8_t *const first = there ? *row++ : zero;
    uint32_t column = start;
    for (const int8_t **const end = taps + wide; taps != end; column += dilation) *taps++ = column < width ? first + column * channels : zero;
  }
  for (all -= op->kernel_h * wide; all > 0; --all) *taps++ = zero;
}

/* The same of a window whose pixels are listed already. */
TMO_OWN_FRAME static void list_pixels(const tmo_kernel *k, const tmo_window *w, const int8_t **taps, uint32_t all) {
  const tmo_op *op = k->op;
  const int8_t *const *pixel = w->pixels, *const *const end = pixel + w->count;
  for (uint32_t ky = 0; ky < op->kernel_h; ++ky) {
    const uint32_t columns = ky >= w->first_row && pixel != end ? w->columns : 0;
    for (uint32_t kx = 0; kx < op->kernel_w; ++kx) *taps++ = kx - w->first_column < columns ? *pixel++ : zero_of(k);
  }
  for (all -= (uint32_t)op->kernel_h * op->kernel_w; all > 0; --all) *taps++ = zero_of(k);
}

/* Pixels side by side: `all` taps of each lie `step` bytes behind those of the one before it. */
static void compute(const tmo_kernel *k, const int8_t *const *taps, uint32_t all, int8_t *out, uint32_t pixels, uint32_t step) {
  const tmo_op *op = k->op;
#if TMO_RUNS_MVE
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE)) {
    const int8_t range[3] = {op->output_zero_point, op->act_min, op->act_max};
    tmo_mve_taps *const core = all % 2 != 0 ? tmo_mve_depthwise_9 : tmo_mve_depthwise;
    core(taps, k->weights, out, pixels, all / 2, k->out_channels, step, range);
    return;
  }
#endif
  tmo_dsp_depthwise(taps, k->weights, out, pixels, all / 3, k->out_channels, step);
  tmo_packed_clamp(op, out, pixels * k->out_channels);
}

static void fill_zero(const tmo_kernel *k) {
  const int8_t zero = k->op->input_zero_point[0];
  uint32_t *word = (uint32_t *)k->scratch;
  for (const uint32_t *const end = word + k->in_channels / 4; word != end;) *word++ = (uint8_t)zero * 0x01010101u;
  for (uint32_t i = k->in_channels / 4 * 4; i < k->in_channels; ++i) ((int8_t *)k->scratch)[i] = zero;
}

TMO_OWN_FRAME void tmo_depthwise_packed_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const int8_t *const *pixels = window->pixels;
  const uint32_t all = taps_of(k);
  if (window->count != all) { /* some are missing */
    fill_zero(k);
    list_pixels(k, window, taps, all);
    pixels = taps;
  }
  compute(k, pixels, all, out, 1, 0);
}

/* Windows that lie inside have the taps of the one before, a few pixels further. */
TMO_OWN_FRAME void tmo_depthwise_packed_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const uint32_t all = taps_of(k);
  tmo_run_of_columns inside = tmo_inside(k);
  if (rows->count < op->kernel_h) inside.count = 0;
  fill_zero(k);
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    n = x == inside.first && inside.count > 0 ? inside.count : 1;
    list(k, rows, x * op->stride_w - op->pad_left, taps, all);
    compute(k, taps, all, out, n, op->stride_w * k->in_channels);
  }
}

#if TMO_TWINS

/* Four channels; gives the next constants. */
static const int8_t *four(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t at, uint32_t n_taps) {
  static const uint8_t order[CHANNELS_AT_ONCE] = {0, 2, 1, 3};
  int32_t bias[CHANNELS_AT_ONCE], scale[3];
  memcpy(bias, constants, sizeof bias);
  constants += sizeof bias;
  uint32_t sums[CHANNELS_AT_ONCE] = {(uint32_t)bias[0], (uint32_t)bias[1], (uint32_t)bias[2], (uint32_t)bias[3]};
  for (uint32_t t = 0; t < n_taps; t += 3) {
    for (uint32_t i = 0; i < 3 * CHANNELS_AT_ONCE; ++i, constants += sizeof(int16_t)) {
      const bool pair = i < 2 * CHANNELS_AT_ONCE;
      const uint32_t c = pair ? i / 2 : order[i % CHANNELS_AT_ONCE];
      int16_t w;
      memcpy(&w, constants, sizeof w);
      sums[c] += (uint32_t)(w * taps[t + (pair ? i % 2 : 2)][at + c]);
    }
  }
  for (uint32_t c = 0; c < CHANNELS_AT_ONCE; ++c, constants += sizeof scale) {
    memcpy(scale, constants, sizeof scale);
    out[c] = tmo_packed_output((int32_t)sums[c], scale);
  }
  return constants;
}

void tmo_dsp_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step) {
  for (uint32_t p = 0; p < pixels; ++p, out += channels) {
    const int8_t *next = constants;
    for (uint32_t c = 0; c < channels; c += CHANNELS_AT_ONCE) {
      if (c + CHANNELS_AT_ONCE > channels) c = channels - CHANNELS_AT_ONCE;
      next = four(taps, next, out + c, p * step + c, 3 * turns);
    }
  }
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_DSP */

typedef int tmo_depthwise_packed_is_not_empty; /* ISO C wants something in every file */
