/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes CONV_S16 operators and rows of DEPTHWISE_S16 operators with the DSP extension, which computes two products per instruction. */
#include <stddef.h>

#include "tmo/packed.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

enum {
  PIXELS = 2,
  VALUES = TMO_WIDE_VALUES, /* two pixels are computed together if a window has at most VALUES values */
  COPIED_VALUES = 96,              /* largest number of values that are copied at once for one pixel */
  SHORT_TAP = 8,                /* taps of less than SHORT_TAP values are copied */
  NARROW = TMO_NARROW_VALUES
};

_Static_assert(TMO_TWINS || (offsetof(tmo_wide_job, multipliers) == 4 && offsetof(tmo_wide_job, out) == 12 && offsetof(tmo_wide_job, low) == 16 &&
               offsetof(tmo_wide_job, x) == 24 && offsetof(tmo_wide_job, weights) == 32 && offsetof(tmo_wide_job, filter) == 36 &&
               offsetof(tmo_wide_job, sums) == 40 && offsetof(tmo_wide_job, channels) == 44 && offsetof(tmo_wide_job, apart) == 48 &&
               offsetof(tmo_wide_job, rest) == 52 && offsetof(tmo_wide_job, biased) == 56 && offsetof(tmo_wide_job, scaled) == 57 &&
               offsetof(tmo_wide_job, first) == 58 && offsetof(tmo_wide_job, last) == 59 && offsetof(tmo_wide_job, rows) == 60 &&
               offsetof(tmo_wide_job, offset) == 68 && offsetof(tmo_wide_job, singles) == 76 && offsetof(tmo_wide_job, row) == 84), "tmo_dsp_wide.S");

_Static_assert(TMO_TWINS || (offsetof(tmo_wide_taps, multipliers) == 4 && offsetof(tmo_wide_taps, out) == 12 && offsetof(tmo_wide_taps, low) == 16 &&
               offsetof(tmo_wide_taps, weights) == 24 && offsetof(tmo_wide_taps, rows) == 32 && offsetof(tmo_wide_taps, offset) == 40 &&
               offsetof(tmo_wide_taps, columns) == 48 && offsetof(tmo_wide_taps, skipped) == 52 && offsetof(tmo_wide_taps, channels) == 56 &&
               offsetof(tmo_wide_taps, biased) == 60 && offsetof(tmo_wide_taps, scaled) == 61), "tmo_dsp_wide.S");

typedef struct {
  tmo_wide_job job;
  const tmo_kernel *k;
  const tmo_window *window;
  int32_t offset;           /* distance in bytes from an address in the window's list to the values of the current pixel */
  uint32_t row;             /* number of weights that a channel has in one row of the window */
  uint32_t values;          /* number of input values under the window of one pixel */
  int32_t sums[4];
  int32_t x[COPIED_VALUES / 2];
} wide_pixels;

/* Copies four values as two words: values 0 and 2, then values 1 and 3. The function tmo_even_bytes() puts weights 0 and 2 into one word. */
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

/* Copies up to n adjacent values under the window of a pixel, beginning with the value at index `at`. Values outside the input are 0. Returns the
 * number of copied values. */
TMO_OWN_FRAME static uint32_t copy_run(const wide_pixels *v, uint32_t at, uint32_t n, int8_t *to) {
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
    tmo_copy_unaligned(to, from + v->offset + 2 * value, 2 * n);
  }
  return n;
}

/* Copies all values under the window of a pixel, from a list of the window's taps. Values outside the input are 0. */
TMO_OWN_FRAME static void copy_taps(const wide_pixels *v, int8_t *to) {
  const tmo_window *window = v->window;
  const int8_t *const *pixel = window->pixels, *const *const end = pixel + window->count;
  const uint32_t tap = v->k->tap_step, columns = v->k->op->kernel_w;
  while (pixel != end) {
    for (uint32_t column = 0 - (uint32_t)window->first_column, c = columns; c > 0; --c, ++column) {
      const int8_t *from = column < window->columns ? *pixel++ + v->offset : NULL;
      for (const int8_t *const tap_end = to + 2 * tap; to != tap_end; to += 2) {
        tmo_put_int16(to, from == NULL ? 0 : tmo_int16_at(from));
        if (from != NULL) from += 2;
      }
    }
  }
}

/* Copies a part of the values under the window of a pixel: from value `start` to value `end` - 1. Values outside the input are 0. */
TMO_OWN_FRAME static void copy_values_s16(const wide_pixels *v, uint32_t start, uint32_t end, int8_t *to) {
  if (end - start == v->values && (v->row == v->k->tap_step || !tmo_reads_rows(v->k))) {
    copy_taps(v, to);
    return;
  }
  for (uint32_t n; start < end; start += n, to += 2 * n) n = copy_run(v, start, end - start, to);
}

/* Returns whether the taps of a window with one column are adjacent in memory. Each tap takes `bytes` bytes. */
static bool is_one_run(const tmo_window *window, uint32_t bytes) {
  for (uint32_t i = 1; i < window->count; ++i) {
    if (window->pixels[i] != window->pixels[i - 1] + bytes) return false;
  }
  return window->columns == 1;
}

/* Writes the input values of two pixels to v->x in the order of pair_four(). The number of zeros before the values of each pixel is `zeros`. The
 * windows of the two pixels are `apart` bytes apart. */
TMO_OWN_FRAME static void take_two(wide_pixels *v, int32_t apart, uint32_t zeros) {
  const tmo_window *window = v->window;
  const uint32_t n = zeros + v->values;
  const bool lists_row = window->count == 1 && (window->columns == 1 || (tmo_reads_rows(v->k) && v->k->op->dilation_w == 1));
  const bool adjacent = lists_row ? window->columns == v->k->op->kernel_w : v->row == v->k->tap_step && is_one_run(window, 2 * v->row);
  for (int32_t *x = v->x; x != v->x + VALUES; x += VALUES / 2, v->offset += apart) {
    if (adjacent) {
      pair_after_zeros(window->pixels[0] + v->offset, zeros, n, x);
    } else {
      x[0] = x[1] = 0;
      copy_values_s16(v, 0, v->values, (int8_t *)x + 2 * zeros);
      pair_values((const int8_t *)x, n, x);
    }
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

/* Sets the input rows that a job multiplies. Each of the `count` rows has n adjacent values, and begins `offset` bytes after an address in a list. */
static TMO_ALWAYS_INLINE void set_rows(tmo_wide_job *job, const int8_t *const *rows, uint32_t count, uint32_t offset, uint32_t n) {
  job->rows = rows;
  job->count = count;
  job->offset = offset;
  job->fours = n / 4 * 8;
  job->singles = 2 * (n % 4);
}

/* Computes all channels of one pixel from rows of adjacent values. The argument `w` points to the weights of the first row and channel. */
static TMO_ALWAYS_INLINE void multiply_rows(wide_pixels *v, const int8_t *w) {
  v->job.weights = w;
  v->job.first = v->job.last = 1;
  tmo_dsp_wide_one(&v->job);
}

/* Multiplies at most NARROW values of a window by the weights of up to four channels, and adds the products to 64-bit sums. */
TMO_OWN_FRAME static void add_part(wide_pixels *v, const int8_t *w, int64_t *sums) {
  const int32_t channels = v->job.channels;
  v->job.weights = w;
  v->job.first = 1;
  v->job.last = 0;
  tmo_dsp_wide_one(&v->job);
  v->job.channels = channels;
  for (uint32_t i = 0; i < 4; ++i) sums[i] += v->sums[i];
}

/* Writes the outputs of up to four 64-bit sums of one pixel. */
TMO_OWN_FRAME static void write_wide(wide_pixels *v, const int64_t *sums) {
  bool fits = true;
  for (uint32_t i = 0; i < 4; ++i) {
    v->sums[i] = (int32_t)sums[i];
    if (v->sums[i] != sums[i]) fits = false;
  }
  if (!fits) {
    write_quad(&v->job, 1, sums);
    return;
  }
  v->job.count = 0;
  v->job.first = 0;
  v->job.last = 1;
  tmo_dsp_wide_one(&v->job);
}

/* Computes one output pixel, one part of the window after another. Callers use the function for windows with more than NARROW values, and for windows
 * that are copied part by part. If `rows` is NULL, the function copies the values. Otherwise, the function reads `count` rows of n adjacent values.
 * The weights of two adjacent rows are v->row weights apart. The argument `w` points to the weights of the first row and channel. */
TMO_OWN_FRAME static void convolve_parts(wide_pixels *v, const int8_t *w, const int8_t *const *rows, uint32_t count, uint32_t n) {
  enum { MOST = NARROW / 4 * 4 };
  const int8_t *const copy = (const int8_t *)v->x;
  const uint32_t at_once = rows && n > 0 && n < MOST ? tmo_quotient(MOST, n) : 1, filter = 4 * v->job.filter;
  for (int32_t left = v->job.channels; left > 0; left -= 4, w += filter) {
    int64_t sums[4] = {0};
    v->job.channels = left < 4 ? left : 4;
    for (uint32_t r = 0; r < count; r += at_once) {
      for (uint32_t at = 0, some; at < n; at += some) {
        some = n - at < (rows ? MOST : COPIED_VALUES) ? n - at : rows ? MOST : COPIED_VALUES;
        if (rows) {
          set_rows(&v->job, rows + r, count - r < at_once ? count - r : at_once, v->window->offset + 2 * at, some);
        } else {
          copy_values_s16(v, at, at + some, (int8_t *)v->x);
          set_rows(&v->job, &copy, 1, 0, some);
        }
        add_part(v, w + r * v->row + at, sums);
      }
    }
    write_wide(v, sums);
  }
}

/* Computes one pixel without copying its input values, or returns false if the values of a row or tap are not adjacent. */
static TMO_ALWAYS_INLINE bool convolve_rows(wide_pixels *v, const int8_t *w) {
  const tmo_kernel *k = v->k;
  const tmo_window *window = v->window;
  const uint32_t tap = k->tap_step, columns = window->columns;
  uint32_t count = window->count, n = tap, row = tap;
  if (tmo_reads_rows(k)) {
    if (columns > 1 && k->op->dilation_w > 1) return false;
    n = columns * tap;
    row = v->row;
  } else if (count > 1 && (tap < SHORT_TAP || (count > columns && columns < k->op->kernel_w))) {
    return false;
  }
  w += window->first_column * tap;
  v->job.skip = row - n;
  if (count > 1 && n == row && is_one_run(window, 2 * n)) {
    n *= count;
    count = 1;
  }
  if (v->job.filter > NARROW) {
    v->row = row;
    convolve_parts(v, w, window->pixels, count, n);
  } else {
    set_rows(&v->job, window->pixels, count, window->offset, n);
    multiply_rows(v, w);
  }
  return true;
}

/* Sets the fields of a job that do not depend on the input. */
static TMO_ALWAYS_INLINE void set_outputs(tmo_wide_job *job, const tmo_kernel *k, int8_t *out, int32_t *sums, tmo_dsp_scales *scales) {
  static const int32_t none[2 * 4] = {0};
  job->bias = k->bias ? k->bias : none;
  job->biased = k->bias != NULL;
  job->scaled = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  tmo_dsp_set_scales(k, &job->multipliers, &job->shifts, scales);
  job->out = out;
  job->low = tmo_low_halves(k->op->range_s16, k->op->range_s16);
  job->high = tmo_high_halves(k->op->range_s16, k->op->range_s16);
  job->rest = write_rest;
  job->channels = (int32_t)(k->out_channels / 2);
  job->sums = sums;
}

static TMO_ALWAYS_INLINE void begin(wide_pixels *v, const tmo_kernel *k, const tmo_window *window, int8_t *out, tmo_dsp_scales *scales) {
  v->k = k;
  v->window = window;
  v->offset = (int32_t)window->offset;
  v->row = k->op->kernel_w * k->tap_step;
  v->job.filter = k->op->kernel_h * v->row;
  set_outputs(&v->job, k, out, v->sums, scales);
}

static TMO_ALWAYS_INLINE uint32_t values_under(const wide_pixels *v) {
  const tmo_window *window = v->window;
  const bool by_row = tmo_reads_rows(v->k) || window->columns == 0;
  return (by_row ? window->count : tmo_quotient(window->count, window->columns)) * v->row;
}

TMO_OWN_FRAME static void convolve_one_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  wide_pixels v;
  tmo_dsp_scales scales;
  begin(&v, k, window, out, &scales);
  const int8_t *const w = k->weights + window->first_row * v.row, *const copy = (const int8_t *)v.x;
  if (convolve_rows(&v, w)) return;
  v.values = values_under(&v);
  v.job.skip = 0;
  if (v.values > COPIED_VALUES) {
    convolve_parts(&v, w, NULL, 1, v.values);
  } else {
    copy_values_s16(&v, 0, v.values, (int8_t *)v.x);
    set_rows(&v.job, &copy, 1, 0, v.values);
    multiply_rows(&v, w);
  }
}

/* Computes two pixels whose windows have at most VALUES values. The windows of the two pixels are `apart` bytes apart, and the outputs are `out_apart`
 * bytes apart. */
TMO_OWN_FRAME static void convolve_two_s16(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t out_apart, int8_t *out) {
  wide_pixels v;
  tmo_dsp_scales scales;
  begin(&v, k, window, out, &scales);
  v.values = values_under(&v);
  const uint32_t zeros = (0 - v.values) % 4;
  take_two(&v, (int32_t)apart, zeros);
  v.job.apart = (int32_t)out_apart;
  v.job.x = v.x;
  v.job.end = v.x + (zeros + v.values) / 2;
  v.job.weights = k->weights + window->first_row * v.row - zeros;
  tmo_dsp_wide_two(&v.job);
}

/* Returns whether the kernels of this file compute the operator. The kernels read up to 3 bytes before the weights of a channel, so the weights must
 * not be copies in the workspace. */
static bool is_summed(const tmo_kernel *k) {
  const bool starts = (k->op->weights >= 4 && !tmo_copies_weights(k->op)) || k->op->kernel_w * k->tap_step % 4 == 0;
  return starts && !tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && 2 * k->tap_step == k->in_channels;
}

bool tmo_conv_makes_two_s16(const tmo_kernel *k) { return is_summed(k) && (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step <= VALUES; }

/* Computes all channels of a pixel with 64-bit sums. */
TMO_OWN_FRAME static void multiply_wide(const tmo_wide_taps *job) {
  for (int32_t c = 0; c < job->channels; ++c) {
    const int8_t *w = job->weights + c;
    uint64_t sum;
    memcpy(&sum, job->bias + (job->biased ? 2 * c : 0), sizeof sum);
    for (uint32_t r = 0; r < job->count; ++r, w += job->skipped) {
      const int8_t *x = job->rows[r] + job->offset + 2 * c;
      for (uint32_t n = job->columns; n > 0; --n, x += (int32_t)job->apart, w += job->tap) sum += (uint64_t)(int64_t)(tmo_int16_at(x) * *w);
    }
    const int32_t s = job->scaled ? c : 0, value = tmo_rescale_wide((int64_t)sum, job->multipliers[s], job->shifts[s]);
    tmo_put_int16(job->out + 2 * c, value < job->low ? job->low : value > job->high ? job->high : value);
  }
}

void tmo_depthwise_columns_s16(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
  static const int32_t none[2 * 4] = {0};
  const tmo_op *const op = k->op;
  const int8_t *const w = k->weights + rows->first_row * op->kernel_w * k->tap_step;
  const uint32_t pixel = k->in_channels, apart = op->dilation_w * pixel, last = (k->in_width - 1u) * pixel;
  int8_t *out = columns->out;
  tmo_dsp_scales scales;
  tmo_wide_taps first;
  tmo_dsp_set_scales(k, &first.multipliers, &first.shifts, &scales);
  first.bias = k->bias ? k->bias : none;
  first.low = (int16_t)(op->range_s16 & 0xFFFF);
  first.high = op->range_s16 >> 16;
  first.tap = k->tap_step;
  first.rows = rows->pixels;
  first.apart = columns->backwards ? 0 - apart : apart;
  first.channels = (int32_t)(k->out_channels / 2);
  first.biased = k->bias != NULL;
  first.scaled = op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  for (uint32_t x = columns->x; x < columns->end; ++x, out += columns->step) {
    const tmo_taps taps = tmo_columns(k, (uint16_t)x);
    first.out = out;
    first.weights = w + taps.first * k->tap_step;
    first.count = taps.count > 0 ? rows->count : 0;
    first.offset = columns->backwards ? last - taps.start * pixel : taps.start * pixel;
    first.columns = taps.count;
    first.skipped = (op->kernel_w - taps.count) * k->tap_step;
    tmo_wide_taps job = first;
    if (first.count * taps.count > NARROW || !tmo_dsp_wide_taps(&job)) multiply_wide(&first);
  }
}

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && tmo_depthwise_makes_columns(k->op, k->in_channels, k->out_channels) && !tmo_has_sums(k)) {
    const tmo_adjacent_columns all = {0, k->out_width, out, (int32_t)k->out_channels, false};
    tmo_depthwise_columns_s16(k, window, &all);
    return;
  }
  if (!is_summed(k)) {
    tmo_make_row(k, window, out, tmo_conv_kernel_s16(k));
    return;
  }
  const bool by_two = tmo_conv_makes_two_s16(k);
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    const tmo_window column = tmo_column(k, window, (uint16_t)x);
    n = 1;
    if (by_two && x + 1 < k->out_width) {
      const tmo_taps next = tmo_columns(k, (uint16_t)(x + 1));
      if (next.count == column.columns && next.first == column.first_column) {
        convolve_two_s16(k, &column, next.start * k->in_channels - column.offset, k->out_channels, out);
        n = PIXELS;
        continue;
      }
    }
    convolve_one_s16(k, &column, out);
  }
}

void tmo_conv_two_s16(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t out_apart, int8_t *out) {
  convolve_two_s16(k, window, apart, out_apart, out);
}

void tmo_conv_point_s16(const tmo_kernel *k, const int8_t *from, int8_t *out) {
  tmo_wide_job job;
  tmo_dsp_scales scales;
  int32_t sums[4];
  set_outputs(&job, k, out, sums, &scales);
  set_rows(&job, &from, 1, 0, k->tap_step);
  job.filter = k->tap_step;
  job.skip = 0;
  job.weights = k->weights;
  job.first = job.last = 1;
  tmo_dsp_wide_one(&job);
}

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (is_summed(k)) {
    convolve_one_s16(k, window, out);
  } else {
    tmo_conv_kernel_s16(k)(k, window, 0, out);
  }
}

#endif
