/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes convolutions and fully connected layers with int16 activations on cores with the DSP extension. Two products take one
 * instruction. */
#include "tmo/packed.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

enum {
  VALUES = 44, /* this many values of each of two pixels, or twice as many of one pixel, are multiplied at once; 32 bits hold the sum of 511 products */
  SOME = 6,    /* number of channels that are summed at once */
  PIXELS = 2
};

typedef struct {
  int64_t of[PIXELS][SOME];
} wide_sums;

/* Copies n values. Four values become two words. The first word has the first and the third value, which tmo_even_bytes() of four weights multiplies.
 * The second word has the other two values. */
static void pair_values(const int8_t *from, uint32_t n, int32_t *to) {
  for (const int32_t *const end = to + n / 4 * 2; to != end; from += 8, to += 2) {
    const int32_t first = tmo_word(from), last = tmo_word(from + 4);
    to[0] = tmo_low_halves(first, last);
    to[1] = tmo_high_halves(first, last);
  }
  int8_t *rest = (int8_t *)to;
  for (n %= 4; n > 0; --n, from += 2, rest += 2) tmo_put_int16(rest, tmo_int16_at(from));
}

/* Adds the products of n values of one pixel or two with the weights of two channels. The second pixel's values are VALUES after the first one's. */
static TMO_ALWAYS_INLINE void multiply_values(const int32_t *x, const int8_t *w, uint32_t filter, uint32_t n, uint32_t pixels, int64_t *sums) {
  int32_t s0 = 0, s1 = 0, t0 = 0, t1 = 0;
  for (const int32_t *const end = x + n / 4 * 2; x != end; x += 2, w += 4) {
    const int32_t even = x[0], odd = x[1], next_even = pixels > 1 ? x[VALUES / 2] : 0, next_odd = pixels > 1 ? x[VALUES / 2 + 1] : 0;
    const int32_t a = tmo_word(w), a_even = tmo_even_bytes(0, a), a_odd = tmo_odd_bytes(0, a);
    s0 = tmo_add_two(tmo_add_two(s0, a_even, even), a_odd, odd);
    if (pixels > 1) t0 = tmo_add_two(tmo_add_two(t0, a_even, next_even), a_odd, next_odd);
    const int32_t b = tmo_word(w + filter), b_even = tmo_even_bytes(0, b), b_odd = tmo_odd_bytes(0, b);
    s1 = tmo_add_two(tmo_add_two(s1, b_even, even), b_odd, odd);
    if (pixels > 1) t1 = tmo_add_two(tmo_add_two(t1, b_even, next_even), b_odd, next_odd);
  }
  const int8_t *rest = (const int8_t *)x;
  for (n %= 4; n > 0; --n, rest += 2, ++w) {
    const int32_t value = tmo_int16_at(rest), next = pixels > 1 ? tmo_int16_at(rest + 2 * VALUES) : 0;
    s0 += value * w[0];
    s1 += value * w[filter];
    t0 += next * w[0];
    t1 += next * w[filter];
  }
  sums[0] += s0;
  sums[1] += s1;
  if (pixels == 1) return;
  sums[SOME] += t0;
  sums[SOME + 1] += t1;
}

TMO_OWN_FRAME static void multiply_one(const int32_t *x, const int8_t *w, uint32_t filter, uint32_t n, int64_t *sums) {
  multiply_values(x, w, filter, n, 1, sums);
}

TMO_OWN_FRAME static void multiply_two(const int32_t *x, const int8_t *w, uint32_t filter, uint32_t n, int64_t *sums) {
  multiply_values(x, w, filter, n, PIXELS, sums);
}

/* Adds the products of n values with the weights of `channels` channels. */
static TMO_ALWAYS_INLINE void multiply(const int32_t *x, const int8_t *w, uint32_t filter, uint32_t n, uint32_t pixels, uint32_t channels, wide_sums *sums) {
  for (uint32_t c = 0; c < channels; c += 2, w += 2 * filter) {
    const uint32_t next = c + 1 < channels ? filter : 0; /* a single channel is computed twice */
    if (pixels > 1) {
      multiply_two(x, w, next, n, sums->of[0] + c);
    } else {
      multiply_one(x, w, next, n, sums->of[0] + c);
    }
  }
}

/* Begins the sums of channels [channel, channel + n) with their biases. */
static void begin_wide_sums(const tmo_kernel *k, wide_sums *sums, uint32_t channel, uint32_t n, uint32_t pixels) {
  for (uint32_t c = 0; c < n; ++c) {
    int64_t first = 0;
    if (k->bias) memcpy(&first, k->bias + 2 * (channel + c), sizeof first);
    sums->of[0][c] = first;
    if (pixels == PIXELS) sums->of[1][c] = first;
  }
}

/* Writes channels [channel, channel + n) of adjacent pixels. */
TMO_OWN_FRAME static void write_outputs(const tmo_kernel *k, const wide_sums *sums, uint32_t channel, uint32_t n, uint32_t pixels, int8_t *out) {
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16;
  const uint32_t step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, apart = k->out_channels;
  const int32_t *multiplier = k->multipliers + step * channel;
  const int8_t *shift = k->shifts + step * channel;
  out += 2 * channel;
  for (const int64_t *sum = sums->of[0], *const end = sum + n; sum != end; ++sum, multiplier += step, shift += step, out += 2) {
    const int32_t by = *multiplier, exponent = *shift, value = tmo_rescale_wide(sum[0], by, exponent);
    tmo_put_int16(out, value < low ? low : value > high ? high : value);
    if (pixels == 1) continue;
    const int32_t next = tmo_rescale_wide(sum[SOME], by, exponent);
    tmo_put_int16(out + apart, next < low ? low : next > high ? high : next);
  }
}

/* The values under the windows of adjacent pixels. */
typedef struct {
  const tmo_window *window; /* window of the first pixel */
  uint32_t pixels;
  uint32_t apart;           /* bytes from a value of the first pixel to the same value of the second pixel */
  uint32_t filter;          /* number of weights of a channel */
  bool collected;           /* whether `x` has all values of the windows */
  int32_t x[PIXELS * VALUES / 2];
} wide_values;

/* Adds the products of a run of adjacent values with n channels' weights. */
static void multiply_run(wide_values *v, const int8_t *from, uint32_t values, const int8_t *w, uint32_t n, wide_sums *sums) {
  for (uint32_t some; values > 0; values -= some, from += 2 * some, w += some) {
    const uint32_t most = v->pixels > 1 ? VALUES : PIXELS * VALUES;
    some = values < most ? values : most;
    for (uint32_t p = 0; p < v->pixels; ++p) pair_values(from + p * v->apart, some, v->x + p * VALUES / 2);
    multiply(v->x, w, v->filter, some, v->pixels, n, sums);
  }
}

/* Adds the products of whole windows with n channels' weights. */
static void multiply_windows(const tmo_kernel *k, wide_values *v, const int8_t *w, uint32_t n, wide_sums *sums) {
  if (v->collected) {
    multiply(v->x, w, v->filter, v->filter, v->pixels, n, sums);
    return;
  }
  const tmo_window *window = v->window;
  const bool by_row = tmo_reads_rows(k), whole = by_row && k->op->dilation_w == 1;
  const uint32_t columns = whole ? 1 : window->columns, values = (whole ? window->columns : 1u) * k->tap_step;
  const uint32_t step = by_row ? k->op->dilation_w * k->in_channels : 0;
  const int8_t *const *at = window->pixels, *const *const end = at + window->count;
  w += tmo_first_tap(k, window);
  for (; at < end && window->columns > 0; w += k->op->kernel_w * k->tap_step, at += by_row) {
    for (uint32_t c = 0; c < columns; ++c) {
      multiply_run(v, (by_row ? *at : *at++) + window->offset + c * step, values, w + c * k->tap_step, n, sums);
    }
  }
}

/* Copies the values under a window that is `apart` bytes after the given one. */
TMO_OWN_FRAME static void collect(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t filter, int32_t *x) {
  const tmo_op *op = k->op;
  const bool is_run = window->count == 1 && op->kernel_h == 1 && window->columns == op->kernel_w &&
                      (op->kernel_w == 1 || (tmo_reads_rows(k) && op->dilation_w == 1));
  if (is_run) {
    pair_values(window->pixels[0] + window->offset + apart, filter, x);
    return;
  }
  if (window->area < (uint32_t)op->kernel_h * op->kernel_w) {
    for (uint32_t i = 0; i < (filter + 1) / 2; ++i) x[i] = 0;
  }
  tmo_window moved = *window;
  moved.offset += apart;
  tmo_collect_taps(k, &moved, (int8_t *)x + 2 * tmo_first_tap(k, window));
  pair_values((const int8_t *)x, filter, x);
}

/* Computes one pixel, or two adjacent pixels whose windows are `apart` bytes apart. */
TMO_OWN_FRAME static void convolve_s16(const tmo_kernel *k, const tmo_window *window, uint32_t pixels, uint32_t apart, int8_t *out) {
  const uint32_t channels = k->out_channels / 2;
  wide_values v;
  v.window = window;
  v.pixels = pixels;
  v.apart = apart;
  v.filter = (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step;
  v.collected = v.filter <= (pixels > 1 ? VALUES : PIXELS * VALUES);
  for (uint32_t p = 0; v.collected && p < pixels; ++p) collect(k, window, p * apart, v.filter, v.x + p * VALUES / 2);
  const int8_t *w = k->weights;
  for (uint32_t c = 0, n; c < channels; c += n, w += n * v.filter) {
    wide_sums sums;
    n = channels - c < SOME ? channels - c : SOME;
    begin_wide_sums(k, &sums, c, n, pixels);
    multiply_windows(k, &v, w, n, &sums);
    write_outputs(k, &sums, c, n, pixels, out);
  }
}

/* Whether this file's kernels compute the operator. */
static bool is_summed(const tmo_kernel *k) { return !tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && 2 * k->tap_step == k->in_channels; }

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!is_summed(k)) {
    tmo_make_row(k, window, out, tmo_conv_kernel_s16(k));
    return;
  }
  tmo_window next = tmo_column(k, window, 0);
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    const tmo_window column = next;
    next = tmo_column(k, window, (uint16_t)(x + 1));
    n = x + 1 < k->out_width && next.columns == column.columns && next.first_column == column.first_column ? PIXELS : 1;
    convolve_s16(k, &column, n, next.offset - column.offset, out);
    if (n > 1) next = tmo_column(k, window, (uint16_t)(x + n));
  }
}

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (is_summed(k)) {
    convolve_s16(k, window, 1, 0, out);
  } else {
    tmo_conv_kernel_s16(k)(k, window, 0, out);
  }
}

#endif
