/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes CONV_S16 on cores with the DSP extension, where one instruction computes two products. */
#include "tmo/packed.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

enum {
  PIXELS = 2,
  VALUES = TMO_WIDE_VALUES, /* number of values that are multiplied at once for each of two pixels; for a single pixel, twice as many */
  QUADS = 4,                /* number of quads of sums that are added up at once */
  NARROW = 511              /* the sum of this many products fits 32 bits */
};

/* The windows of adjacent pixels and the sums of their outputs. A quad has the sums of four channels of one pixel, or of two channels of two pixels. */
typedef struct {
  const tmo_kernel *k;
  const tmo_window *window; /* window of the first pixel */
  uint32_t pixels;
  int32_t apart, out_apart; /* bytes from the first pixel to the second pixel, in the input and in the output */
  uint32_t filter;          /* number of weights of a channel */
  uint32_t row;             /* number of weights of a channel in a row of the window */
  uint32_t values;          /* number of values of a pixel under the window */
  uint32_t zeros;           /* number of zeros that complete the first group of four values */
  uint32_t next[3];         /* distances of the weights of channels 1, 2 and 3 of a quad from the weights of channel 0, in bytes */
  union {
    int32_t narrow[4 * QUADS];
    int64_t wide[2 * QUADS]; /* sums of more than NARROW products are int64_t */
  } sums;
  int32_t x[PIXELS * VALUES / 2];
} wide_pixels;

/* Copies n values, a multiple of 4. Every four values become two words: the first and the third value, and then the second and the fourth value.
 * tmo_even_bytes() selects the weights of the first and the third value. */
static void pair_values(const int8_t *from, uint32_t n, int32_t *to) {
  for (const int32_t *const end = to + n / 2; to != end; from += 8, to += 2) {
    const int32_t first = tmo_word(from), last = tmo_word(from + 4);
    to[0] = tmo_low_halves(first, last);
    to[1] = tmo_high_halves(first, last);
  }
}

/* Arranges n values in pairs: `zeros` zeros, and then the values at `from`. n is a multiple of 4. */
TMO_OWN_FRAME static void pair_after_zeros(const int8_t *from, uint32_t zeros, uint32_t n, int32_t *to) {
  if (zeros > 0) {
    const int32_t second = zeros < 2 ? tmo_int16_at(from) : 0, third = zeros < 3 ? tmo_int16_at(from + 2 * (2 - zeros)) : 0;
    const int32_t last = tmo_int16_at(from + 2 * (3 - zeros));
    *to++ = (int32_t)((uint32_t)third << 16);
    *to++ = tmo_low_halves(second, last);
    from += 2 * (4 - zeros);
    n -= 4;
  }
  pair_values(from, n, to);
}

/* Copies up to n adjacent values of a pixel's window, beginning with value `at`. Taps outside the input give 0. offset: bytes from a listed address
 * to the window's values. Returns the number of copied values. */
TMO_OWN_FRAME static uint32_t copy_run(const wide_pixels *v, int32_t offset, uint32_t at, uint32_t n, int8_t *to) {
  const tmo_kernel *k = v->k;
  const tmo_window *window = v->window;
  const uint32_t row = at / v->row, tap = k->tap_step, column = (at - row * v->row) / tap, inside = column - window->first_column;
  uint32_t value = at - row * v->row - column * tap, left = tap - value;
  const int8_t *from = NULL;
  if (inside >= window->columns) {
    if (n > left) n = left;
  } else if (!tmo_reads_rows(k)) {
    from = window->pixels[row * window->columns + inside];
  } else if (k->op->dilation_w == 1) {
    from = window->pixels[row];
    value += inside * tap;
    left += (window->columns - 1 - inside) * tap;
  } else {
    from = window->pixels[row] + inside * k->op->dilation_w * k->in_channels;
  }
  if (n > left) n = left;
  if (from == NULL) {
    for (const int8_t *const end = to + 2 * n; to != end; to += 2) tmo_put_int16(to, 0);
  } else {
    tmo_copy_unaligned(to, from + offset + 2 * value, 2 * n);
  }
  return n;
}

/* Puts values [at, at + n) of each pixel into v->x, where v->zeros zeros come before the window's first value. */
TMO_OWN_FRAME static void take_values(wide_pixels *v, uint32_t at, uint32_t n) {
  const tmo_window *window = v->window;
  const uint32_t zeros = at == 0 ? v->zeros : 0, start = at + zeros - v->zeros, end = at + n - v->zeros;
  const bool whole = (tmo_reads_rows(v->k) && v->k->op->dilation_w == 1) || (window->columns == 1 && window->count == 1);
  const uint32_t row = start / v->row, first = row * v->row + window->first_column * v->k->tap_step;
  const bool inside = whole && start >= first && end <= first + window->columns * v->k->tap_step;
  int32_t *x = v->x;
  int32_t offset = (int32_t)window->offset;
  for (uint32_t p = 0; p < v->pixels; ++p, x += VALUES / 2, offset += v->apart) {
    if (inside) {
      pair_after_zeros(window->pixels[row] + offset + 2 * (start - first), zeros, n, x);
      continue;
    }
    x[0] = x[1] = 0;
    int8_t *to = (int8_t *)x + 2 * zeros;
    for (uint32_t next = start, some; next < end; next += some, to += 2 * some) some = copy_run(v, offset, next, end - next, to);
    pair_values((const int8_t *)x, n, x);
  }
}

/* Sets the distances of the weights in a quad of `channels` channels. In the last quad, the sums after the last channel are arbitrary. */
static TMO_ALWAYS_INLINE void begin_quads(wide_pixels *v, uint32_t channels) {
  for (uint32_t i = 0; i < 3; ++i) v->next[i] = i + 1 < channels ? (i + 1) * v->filter : 0;
}

/* Adds the products of n values with the weights of the next channels to a quad of sums. */
TMO_OWN_FRAME static void multiply(const wide_pixels *v, const int8_t *w, uint32_t n, int32_t *sums) {
  const int32_t *const end = v->x + n / 2;
  if (v->pixels == 1 && v->next[0] == 0) {
    int32_t sum = sums[0];
    for (const int32_t *x = v->x; x != end; x += 2, w += 4) sum = tmo_add_two(tmo_add_two(sum, tmo_even_bytes(0, tmo_word(w)), x[0]), tmo_odd_bytes(0, tmo_word(w)), x[1]);
    sums[0] = sum;
    return;
  }
  if (v->pixels > 1) {
    tmo_dsp_wide_two(v->x, end, w, v->next[0], sums);
  } else {
    tmo_dsp_wide_four(v->x, end, w, v->next, sums);
  }
}

TMO_OWN_FRAME static int32_t rescale(int64_t sum, int32_t multiplier, int32_t shift) { return tmo_rescale_wide(sum, multiplier, shift); }

/* Writes an output from its bias and the sum of its products. factor: 0, or a factor that puts the output into the upper half of a product. range:
 * the least output in the lower half, and the greatest output in the upper half. */
static TMO_ALWAYS_INLINE void write_output(const int32_t *bias, int32_t sum, int32_t factor, const int32_t *multiplier, const int8_t *shift, int32_t range, int8_t *out) {
  int32_t value;
  if (factor != 0 && !__builtin_add_overflow(bias[0], sum, &value)) {
    value = tmo_high_add(0, value, factor);
  } else {
    const uint64_t start = (uint64_t)(uint32_t)bias[1] << 32 | (uint32_t)bias[0];
    value = rescale((int64_t)(start + (uint64_t)(int64_t)sum), *multiplier, *shift);
  }
  const int32_t low = (int16_t)range, high = range >> 16;
  tmo_put_int16(out, value < low ? low : value > high ? high : value);
}

/* Writes the outputs of n channels from a quad of sums. */
TMO_OWN_FRAME static void write_narrow(const wide_pixels *v, const int32_t *sum, uint32_t channel, uint32_t n, int8_t *out) {
  static const int32_t none[2] = {0, 0};
  const tmo_kernel *k = v->k;
  const uint32_t step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, bias_step = k->bias ? 2 : 0;
  const int32_t apart = v->pixels > 1 ? v->out_apart : 0;
  const int32_t *multiplier = k->multipliers + step * channel, *bias = k->bias ? k->bias + 2 * channel : none;
  const int8_t *shift = k->shifts + step * channel;
  const int32_t range = k->op->range_s16;
  out += 2 * channel;
  for (const int32_t *const end = sum + n; sum != end; ++sum, multiplier += step, shift += step, out += 2, bias += bias_step) {
    const uint32_t left = (uint32_t)(*shift + 17);
    const int32_t factor = left <= 16 && bias[1] == bias[0] >> 31 ? (int32_t)((uint32_t)tmo_reduced(*multiplier) << left) : 0;
    write_output(bias, sum[0], factor, multiplier, shift, range, out);
    if (apart != 0) write_output(bias, sum[2], factor, multiplier, shift, range, out + apart);
  }
}

/* Writes the outputs of n channels from a quad of sums of 64 bits. */
TMO_OWN_FRAME static void write_wide(const wide_pixels *v, const int64_t *sum, uint32_t channel, uint32_t n, int8_t *out) {
  const tmo_kernel *k = v->k;
  const uint32_t step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16;
  for (uint32_t c = channel; c < channel + n; ++c, ++sum) {
    uint64_t bias = 0;
    if (k->bias) memcpy(&bias, k->bias + 2 * c, sizeof bias);
    for (uint32_t p = 0; p < v->pixels; ++p) {
      const int32_t value = rescale((int64_t)(bias + (uint64_t)sum[2 * p]), k->multipliers[step * c], k->shifts[step * c]);
      tmo_put_int16(out + 2 * c + (int32_t)p * v->out_apart, value < low ? low : value > high ? high : value);
    }
  }
}

/* Adds the products of n values with the weights of some channels to their sums. */
TMO_OWN_FRAME static void multiply_channels(wide_pixels *v, const int8_t *w, uint32_t n, uint32_t channels, bool wide) {
  const uint32_t each = v->pixels > 1 ? 2 : 4;
  begin_quads(v, each);
  for (uint32_t c = 0, quad = 0; c < channels; c += each, w += each * v->filter, quad += 4) {
    if (channels - c < each) begin_quads(v, channels - c);
    if (!wide) {
      multiply(v, w, n, v->sums.narrow + quad);
      continue;
    }
    int32_t sums[4] = {0, 0, 0, 0};
    multiply(v, w, n, sums);
    for (uint32_t i = 0; i < 4; ++i) v->sums.wide[quad + i] += sums[i];
  }
}

/* Adds up the sums of several channels, at most as many as fit into v->sums. w: weights of the first channel. The v->zeros bytes before w are
 * multiplied by 0. */
TMO_OWN_FRAME static void sum_channels(wide_pixels *v, const int8_t *w, uint32_t channels, bool wide) {
  for (uint32_t i = 0; i < 4 * QUADS; ++i) v->sums.narrow[i] = 0;
  for (uint32_t at = 0, n; at < v->values; at += n) {
    n = v->pixels > 1 ? VALUES : PIXELS * VALUES;
    if (n > v->values - at) n = v->values - at;
    take_values(v, at, n);
    multiply_channels(v, w + at, n, channels, wide);
  }
}

/* Computes the outputs if all values under the window fit v->x at once. */
static TMO_ALWAYS_INLINE void convolve_collected(wide_pixels *v, const int8_t *w, int8_t *out) {
  const uint32_t each = v->pixels > 1 ? 2 : 4, channels = v->k->out_channels / 2;
  int32_t *const sums = v->sums.narrow;
  take_values(v, 0, v->values);
  begin_quads(v, each);
  for (uint32_t c = 0; c < channels; c += each, w += each * v->filter) {
    const uint32_t n = channels - c < each ? channels - c : each;
    if (n < each) begin_quads(v, n);
    for (uint32_t i = 0; i < 4; ++i) sums[i] = 0;
    multiply(v, w, v->values, sums);
    write_narrow(v, sums, c, n, out);
  }
}

/* Computes one or two pixels. The windows of two pixels are `apart` bytes apart, and their outputs are out_apart bytes apart. */
TMO_OWN_FRAME static void convolve_s16(const tmo_kernel *k, const tmo_window *window, uint32_t pixels, uint32_t apart, uint32_t out_apart, int8_t *out) {
  const uint32_t channels = k->out_channels / 2;
  const bool by_row = tmo_reads_rows(k) || window->columns == 0;
  wide_pixels v;
  v.k = k;
  v.window = window;
  v.pixels = pixels;
  v.apart = (int32_t)apart;
  v.out_apart = (int32_t)out_apart;
  v.row = k->op->kernel_w * k->tap_step;
  v.filter = k->op->kernel_h * v.row;
  v.values = (by_row ? window->count : tmo_quotient(window->count, window->columns)) * v.row;
  v.zeros = (0 - v.values) % 4;
  v.values += v.zeros;
  const int8_t *w = k->weights + window->first_row * v.row - v.zeros;
  if (v.values <= (pixels > 1 ? VALUES : PIXELS * VALUES)) {
    convolve_collected(&v, w, out);
    return;
  }
  const bool wide = v.filter > NARROW;
  const uint32_t some = (wide ? 2 : 4) * QUADS / pixels, each = 4 / pixels;
  for (uint32_t c = 0, n; c < channels; c += n, w += n * v.filter) {
    n = channels - c < some ? channels - c : some;
    sum_channels(&v, w, n, wide);
    for (uint32_t i = 0; i < n; i += each) {
      const uint32_t made = n - i < each ? n - i : each;
      if (wide) {
        write_wide(&v, v.sums.wide + pixels * i, c + i, made, out);
      } else {
        write_narrow(&v, v.sums.narrow + pixels * i, c + i, made, out);
      }
    }
  }
}

/* Whether this file's kernels compute the operator. The kernels read up to 3 bytes before the weights of a filter. The bytes before
 * copied weights in the workspace are not readable. */
static bool is_summed(const tmo_kernel *k) {
  const bool starts = (k->op->weights >= 4 && !tmo_copies_weights(k->op)) || k->op->kernel_w * k->tap_step % 4 == 0;
  return starts && !tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && 2 * k->tap_step == k->in_channels;
}

bool tmo_conv_makes_two_s16(const tmo_kernel *k) { return is_summed(k) && (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step <= VALUES; }

/* Whether two adjacent pixels can be computed at once: either all values are read before the first output is written, or the output row overlaps
 * no input row. */
static bool makes_two(const tmo_kernel *k, const tmo_window *window, const int8_t *out) {
  if (tmo_conv_makes_two_s16(k)) return true;
  const uintptr_t to = (uintptr_t)out, read = k->in_width * k->in_channels, written = k->out_width * k->out_channels;
  for (uint32_t r = 0; r < window->count; ++r) {
    const uintptr_t from = (uintptr_t)window->pixels[r];
    if (from - to < written || to - from < read) return false;
  }
  return true;
}

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!is_summed(k)) {
    tmo_make_row(k, window, out, tmo_conv_kernel_s16(k));
    return;
  }
  const bool two = makes_two(k, window, out);
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    const tmo_window column = tmo_column(k, window, (uint16_t)x);
    uint32_t apart = 0;
    n = 1;
    if (two && x + 1 < k->out_width) {
      const tmo_taps next = tmo_columns(k, (uint16_t)(x + 1));
      if (next.count == column.columns && next.first == column.first_column) n = PIXELS;
      apart = next.start * k->in_channels - column.offset;
    }
    convolve_s16(k, &column, n, apart, k->out_channels, out);
  }
}

void tmo_conv_two_s16(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t out_apart, int8_t *out) {
  convolve_s16(k, window, PIXELS, apart, out_apart, out);
}

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (is_summed(k)) {
    convolve_s16(k, window, 1, 0, 0, out);
  } else {
    tmo_conv_kernel_s16(k)(k, window, 0, out);
  }
}

#endif
