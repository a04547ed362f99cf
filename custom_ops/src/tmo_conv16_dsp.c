/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes CONV_S16 operators with the DSP extension, which computes two products per instruction. */
#include <stddef.h>

#include "tmo/packed.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

enum {
  PIXELS = 2,
  VALUES = TMO_WIDE_VALUES, /* number of values of a pixel that are multiplied at once if there are two pixels; a single pixel has twice as many values */
  QUADS = 6,                /* the kernel computes 4 * QUADS sums at once */
  WIDE_QUADS = 2,           /* the kernel computes 4 * WIDE_QUADS 64-bit sums at once */
  NARROW = 511              /* the sum of at most NARROW products fits 32 bits */
};

_Static_assert(TMO_TWINS || (offsetof(tmo_wide_job, multipliers) == 4 && offsetof(tmo_wide_job, out) == 12 && offsetof(tmo_wide_job, low) == 16 &&
               offsetof(tmo_wide_job, x) == 24 && offsetof(tmo_wide_job, weights) == 32 && offsetof(tmo_wide_job, filter) == 36 &&
               offsetof(tmo_wide_job, sums) == 40 && offsetof(tmo_wide_job, channels) == 44 && offsetof(tmo_wide_job, apart) == 48 &&
               offsetof(tmo_wide_job, rest) == 52 && offsetof(tmo_wide_job, next) == 56 && offsetof(tmo_wide_job, first) == 60 &&
               offsetof(tmo_wide_job, last) == 61 && offsetof(tmo_wide_job, biased) == 62 && offsetof(tmo_wide_job, scaled) == 63), "tmo_dsp_wide.S");

typedef struct {
  tmo_wide_job job;
  const tmo_kernel *k;
  const tmo_window *window;
  uint32_t pixels;
  int32_t apart;            /* distance in bytes between the input values of the two pixels */
  uint32_t row;             /* number of weights that a channel has in one row of the window */
  uint32_t values;          /* number of input values under the window of one pixel */
  uint32_t zeros;           /* number of zeros before the first value, to make the number of values a multiple of 4 */
  union {
    int32_t narrow[4 * QUADS];
    struct {
      int32_t segment[4 * WIDE_QUADS];
      int64_t whole[4 * WIDE_QUADS];
    } wide; /* sums of more than NARROW products */
  } sums;
  int32_t x[PIXELS * VALUES / 2];
} wide_pixels;

/* Copies four values as two words: values 0 and 2, then values 1 and 3. The function tmo_even_bytes() selects the weights of values 0 and 2. */
static TMO_ALWAYS_INLINE void pair_four(const int8_t *from, int32_t *to) {
  const int32_t first = tmo_word(from), last = tmo_word(from + 4);
  to[0] = tmo_low_halves(first, last);
  to[1] = tmo_high_halves(first, last);
}

/* Copies n values in the order of pair_four(). The number n must be a multiple of 4. */
static void pair_values(const int8_t *from, uint32_t n, int32_t *to) {
  const int32_t *const end = to + n / 2;
  if (n % 8 != 0) {
    pair_four(from, to);
    from += 8;
    to += 2;
  }
  for (; to != end; from += 16, to += 4) {
    pair_four(from, to);
    pair_four(from + 8, to + 2);
  }
}

/* Writes n values in the order of pair_four(). The first `zeros` values are zeros, and the next values are at `from`. The number n must be a multiple
 * of 4. */
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

/* Copies up to n adjacent values under the window of a pixel, from value `at` on. Values outside the input are 0. The argument `offset` is the
 * distance in bytes from an address in the list to the values of the window. Returns the number of copied values. */
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

/* Copies all values under the window of a pixel, from a list of its taps. Values outside the input are 0. The argument `offset` is the distance in
 * bytes from an address in the list to the values of the window. */
TMO_OWN_FRAME static void copy_taps(const wide_pixels *v, int32_t offset, int8_t *to) {
  const tmo_window *window = v->window;
  const int8_t *const *pixel = window->pixels, *const *const end = pixel + window->count;
  const uint32_t tap = v->k->tap_step, columns = v->k->op->kernel_w;
  while (pixel != end) {
    for (uint32_t column = 0 - (uint32_t)window->first_column, c = columns; c > 0; --c, ++column) {
      const int8_t *from = column < window->columns ? *pixel++ + offset : NULL;
      for (const int8_t *const tap_end = to + 2 * tap; to != tap_end; to += 2) {
        tmo_put_int16(to, from == NULL ? 0 : tmo_int16_at(from));
        if (from != NULL) from += 2;
      }
    }
  }
}

/* For each pixel, writes `zeros` zeros and the values from `start` to `end` - 1 to v->x. */
TMO_OWN_FRAME static void take_taps(wide_pixels *v, uint32_t start, uint32_t end, uint32_t zeros) {
  const uint32_t n = zeros + end - start;
  const bool listed = n == v->values && (v->row == v->k->tap_step || !tmo_reads_rows(v->k));
  int32_t *x = v->x, offset = (int32_t)v->window->offset;
  for (uint32_t p = v->pixels; p > 0; --p, x += VALUES / 2, offset += v->apart) {
    x[0] = x[1] = 0;
    int8_t *to = (int8_t *)x + 2 * zeros;
    if (listed) {
      copy_taps(v, offset, to);
    } else {
      for (uint32_t next = start, some; next < end; next += some, to += 2 * some) some = copy_run(v, offset, next, end - next, to);
    }
    pair_values((const int8_t *)x, n, x);
  }
}

/* For each pixel, writes n values to v->x. The first `zeros` values are zeros, and the next values are adjacent in memory. The first value of the
 * first pixel is at the address `from`. */
TMO_OWN_FRAME static void take_adjacent(wide_pixels *v, const int8_t *from, uint32_t n, uint32_t zeros) {
  int32_t *x = v->x;
  for (uint32_t p = v->pixels; p > 0; --p, x += VALUES / 2, from += v->apart) pair_after_zeros(from, zeros, n, x);
}

/* Returns whether the taps of a window with one column are adjacent in memory. Each tap takes `bytes` bytes. */
static bool is_one_run(const tmo_window *window, uint32_t bytes) {
  for (uint32_t i = 1; i < window->count; ++i) {
    if (window->pixels[i] != window->pixels[i - 1] + bytes) return false;
  }
  return window->columns == 1;
}

/* Writes n values of each pixel to v->x, from value `at` on. The first v->zeros values of a pixel are zeros. */
TMO_OWN_FRAME static void take_window_values(wide_pixels *v, uint32_t at, uint32_t n) {
  const tmo_window *window = v->window;
  const uint32_t zeros = at == 0 ? v->zeros : 0, start = at + zeros - v->zeros, end = at + n - v->zeros;
  const bool whole = (tmo_reads_rows(v->k) && v->k->op->dilation_w == 1) || (window->columns == 1 && window->count == 1);
  const uint32_t row = start / v->row, first = row * v->row + window->first_column * v->k->tap_step;
  if (whole && start >= first && end <= first + window->columns * v->k->tap_step) {
    take_adjacent(v, window->pixels[row] + window->offset + 2 * (start - first), n, zeros);
  } else if (v->row == v->k->tap_step && n == v->values && is_one_run(window, 2 * v->row)) {
    take_adjacent(v, window->pixels[0] + window->offset, n, zeros);
  } else {
    take_taps(v, start, end, zeros);
  }
}

TMO_OWN_FRAME static int32_t rescale(int64_t sum, int32_t multiplier, int32_t shift) { return tmo_rescale_wide(sum, multiplier, shift); }

/* Writes the outputs of four sums, and moves the job to the next four sums. The argument `wide` points to four 64-bit sums, or is NULL if the job has
 * the sums. */
TMO_OWN_FRAME static void write_quad(tmo_wide_job *job, uint32_t pixels, const int64_t *wide) {
  const uint32_t each = 4 / pixels, n = (uint32_t)job->channels < each ? (uint32_t)job->channels : each;
  for (uint32_t c = 0; c < n; ++c, job->out += 2) {
    uint64_t bias;
    memcpy(&bias, job->bias + 2 * c, sizeof bias);
    for (uint32_t p = 0; p < pixels; ++p) {
      const int64_t sum = wide ? wide[p * each + c] : job->sums[p * each + c];
      const int32_t value = rescale((int64_t)(bias + (uint64_t)sum), job->multipliers[c], job->shifts[c]);
      const int32_t low = job->low >> 16, high = job->high >> 16;
      tmo_put_int16(job->out + (int32_t)p * job->apart, value < low ? low : value > high ? high : value);
    }
  }
  job->bias += job->biased * 2 * n;
  job->multipliers += job->scaled * n;
  job->shifts += job->scaled * n;
}

static void write_rest(tmo_wide_job *job, uint32_t pixels) { write_quad(job, pixels, NULL); }

static void multiply(wide_pixels *v, const int8_t *w, uint32_t n, uint32_t channels, int32_t *sums) {
  v->job.x = v->x;
  v->job.end = v->x + n / 2;
  v->job.weights = w;
  v->job.channels = (int32_t)channels;
  v->job.sums = sums;
  (v->pixels > 1 ? tmo_dsp_wide_two : tmo_dsp_wide_one)(&v->job);
}

TMO_OWN_FRAME static void write_wide(wide_pixels *v, uint32_t channels) {
  const uint32_t each = 4 / v->pixels;
  bool fits = true;
  for (uint32_t i = 0; i < (channels * v->pixels + 3) / 4 * 4; ++i) {
    v->sums.wide.segment[i] = (int32_t)v->sums.wide.whole[i];
    if (v->sums.wide.segment[i] != v->sums.wide.whole[i]) fits = false;
  }
  if (fits) {
    v->job.first = 0;
    v->job.last = 1;
    multiply(v, v->k->weights, 0, channels, v->sums.wide.segment);
    return;
  }
  for (uint32_t c = 0; c < channels; c += each) {
    v->job.channels = (int32_t)(channels - c);
    write_quad(&v->job, v->pixels, v->sums.wide.whole + v->pixels * c);
  }
}

/* Computes the outputs of several channels. The array v->sums must have room for the sums of all these channels. The argument `w` points to the
 * weights of the first channel. The kernel multiplies the v->zeros bytes before the weights by 0. */
static TMO_ALWAYS_INLINE void convolve_wide(wide_pixels *v, const int8_t *w, uint32_t channels) {
  const uint32_t most = v->pixels > 1 ? VALUES : PIXELS * VALUES;
  const bool wide = v->job.filter > NARROW;
  if (wide) memset(v->sums.wide.whole, 0, sizeof v->sums.wide.whole);
  v->job.next = 4;
  for (uint32_t at = 0, products = 0, n; at < v->values; at += n) {
    n = v->values - at < most ? v->values - at : most;
    take_window_values(v, at, n);
    v->job.first = products == 0;
    v->job.last = !wide && at + n == v->values;
    multiply(v, w + at, n, channels, v->sums.narrow);
    products += n;
    if (wide && (products + most > NARROW || at + n == v->values)) {
      for (uint32_t i = 0; i < (channels * v->pixels + 3) / 4 * 4; ++i) v->sums.wide.whole[i] += v->sums.wide.segment[i];
      products = 0;
    }
  }
  if (wide) write_wide(v, channels);
}

/* Computes one or two pixels. The windows of the two pixels are `apart` bytes apart, and the outputs are `out_apart` bytes apart. */
TMO_OWN_FRAME static void convolve_s16(const tmo_kernel *k, const tmo_window *window, uint32_t pixels, uint32_t apart, uint32_t out_apart, int8_t *out) {
  static const int32_t none[2 * 4] = {0};
  const uint32_t channels = k->out_channels / 2;
  const bool by_row = tmo_reads_rows(k) || window->columns == 0;
  wide_pixels v;
  tmo_dsp_scales scales;
  v.k = k;
  v.window = window;
  v.pixels = pixels;
  v.apart = (int32_t)apart;
  v.row = k->op->kernel_w * k->tap_step;
  v.values = (by_row ? window->count : tmo_quotient(window->count, window->columns)) * v.row;
  v.zeros = (0 - v.values) % 4;
  v.values += v.zeros;
  v.job.filter = k->op->kernel_h * v.row;
  v.job.bias = k->bias ? k->bias : none;
  v.job.biased = k->bias != NULL;
  v.job.scaled = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  tmo_dsp_set_scales(k, &v.job.multipliers, &v.job.shifts, &scales);
  v.job.out = out;
  v.job.apart = (int32_t)out_apart;
  v.job.low = tmo_low_halves(k->op->range_s16, k->op->range_s16);
  v.job.high = tmo_high_halves(k->op->range_s16, k->op->range_s16);
  v.job.rest = write_rest;
  const int8_t *w = k->weights + window->first_row * v.row - v.zeros;
  if (v.values <= (pixels > 1 ? VALUES : PIXELS * VALUES)) {
    take_window_values(&v, 0, v.values);
    v.job.first = v.job.last = 1;
    v.job.next = 0;
    multiply(&v, w, v.values, channels, v.sums.narrow);
    return;
  }
  const uint32_t some = 4 * (v.job.filter > NARROW ? WIDE_QUADS : QUADS) / pixels;
  for (uint32_t c = 0; c < channels; c += some, w += some * v.job.filter) convolve_wide(&v, w, channels - c < some ? channels - c : some);
}

/* Returns whether the kernels of this file compute the operator. The kernels read up to 3 bytes before the weights of a channel, so the weights must
 * not be copies in the workspace. */
static bool is_summed(const tmo_kernel *k) {
  const bool starts = (k->op->weights >= 4 && !tmo_copies_weights(k->op)) || k->op->kernel_w * k->tap_step % 4 == 0;
  return starts && !tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && 2 * k->tap_step == k->in_channels;
}

bool tmo_conv_makes_two_s16(const tmo_kernel *k) { return is_summed(k) && (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step <= VALUES; }

/* Returns whether two adjacent pixels can be computed at once. An output that the kernel writes before it has read all inputs must not overlap an
 * input. The argument `apart` is the distance in bytes between the two pixels. */
TMO_OWN_FRAME static bool makes_two(const tmo_kernel *k, const tmo_window *column, uint32_t apart, const int8_t *out) {
  if (tmo_conv_makes_two_s16(k)) return true;
  const uintptr_t read = apart + ((column->columns - 1u) * k->op->dilation_w + 1) * k->in_channels, written = 2 * k->out_channels;
  for (uint32_t r = 0; r < column->count; ++r) {
    const uintptr_t from = (uintptr_t)(column->pixels[r] + column->offset), to = (uintptr_t)out;
    if (from - to < written || to - from < read) return false;
  }
  return true;
}

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!is_summed(k)) {
    tmo_make_row(k, window, out, tmo_conv_kernel_s16(k));
    return;
  }
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    const tmo_window column = tmo_column(k, window, (uint16_t)x);
    uint32_t apart = 0;
    n = 1;
    if (x + 1 < k->out_width) {
      const tmo_taps next = tmo_columns(k, (uint16_t)(x + 1));
      apart = next.start * k->in_channels - column.offset;
      if (next.count == column.columns && next.first == column.first_column && makes_two(k, &column, apart, out)) n = PIXELS;
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
