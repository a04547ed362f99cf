/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes convolutions and fully connected layers on any core. Each input byte is multiplied by the weights of several output channels. */
#include <stddef.h>
#include <string.h>

#include "tmo/backend.h"
#include "tmo/packed.h"
#include "tmo/vectors.h"

#if TMO_EIGHT_REGISTERS

enum { FILTERS = 4 }; /* number of output channels that are computed together */

/* Multiplies ranges of bytes by the weights of four channels, and adds the products to the sum of each channel. If `channels` is less than four, the
 * function uses the last channel's weights several times. */
static void add_products(const tmo_runs *r, const int8_t *w, uint32_t channels, uint32_t *sums) {
  for (uint32_t part = 0; part < r->parts; ++part) {
    const int8_t *const *at = r->at + part * r->next_at, *tap = w + part * r->next_row;
    for (uint32_t left = r->count; left > 0; --left, at += r->stride, tap += r->row) {
      const int8_t *of[FILTERS] = {tap, tap, tap, tap};
      for (uint32_t c = 1; c < FILTERS; ++c) of[c] = of[c - 1] + (c < channels ? r->filter : 0);
      tmo_thumb_four(*at + r->offset + part * r->next_offset, of, r->bytes, r->zero_point, (int32_t)r->step, sums);
    }
  }
}

#else

#if TMO_CORE_DSP
enum { FILTERS = TMO_STACK_SUMS / 2 }; /* number of output channels that are computed together */
_Static_assert(TMO_TWINS || (offsetof(tmo_runs, stride) == 4 && offsetof(tmo_runs, count) == 6 && offsetof(tmo_runs, parts) == 8 &&
               offsetof(tmo_runs, next_at) == 10 && offsetof(tmo_runs, next_offset) == 12 && offsetof(tmo_runs, next_row) == 16 &&
               offsetof(tmo_runs, offset) == 20 && offsetof(tmo_runs, bytes) == 24 && offsetof(tmo_runs, row) == 32 &&
               offsetof(tmo_runs, filter) == 36 && offsetof(tmo_runs, zero_point) == 40), "tmo_dsp_sums.S");
#else
enum { FILTERS = TMO_STACK_SUMS };
#endif
#define add_products tmo_add_products

#endif

/* Returns the distance in bytes between adjacent pixels of a window with `columns` columns, or 0 if the distances differ. */
static uint32_t distance_of(const int8_t *const *pixels, uint32_t count, uint32_t columns) {
  uint32_t distance = 0;
  for (uint32_t i = 1, c = 1; i < count; ++i, ++c) {
    if (c == columns) c = 0;
    const uint32_t d = (uint32_t)((uintptr_t)pixels[i] - (uintptr_t)pixels[i - 1]);
    if (c > 0 && distance != 0 && d != distance) return 0;
    if (c > 0) distance = d;
  }
  return distance;
}

/* Lists the bytes under a window as ranges of adjacent bytes, with as few ranges as possible. If possible, a range contains a whole row of the
 * window. If a row of the window needs several ranges, each range contains the bytes of one pixel. */
static tmo_runs find_runs(const tmo_kernel *k, const tmo_window *v) {
  const tmo_op *op = k->op;
  const bool by_row = tmo_reads_rows(k);
  const uint32_t channels = k->in_channels, row = op->kernel_w * k->tap_step, columns = v->columns;
  const uint32_t next = op->dilation_w * channels, distance = by_row ? next : distance_of(v->pixels, v->count, columns);
  tmo_runs r = {v->pixels, 1, v->count, 1, 0, next, k->tap_step, v->offset, channels, 1, row, op->kernel_h * row, op->input_zero_point[0]};
  if (columns == 0) {
    r.parts = 0;
  } else if (k->tap_step == channels && (distance == channels || (channels == 1 && distance != 0))) {
    if (!by_row) {
      r.stride = v->columns;
      r.count /= v->columns;
    }
    r.bytes = columns * channels;
    if (channels == 1) r.step = distance;
  } else if (by_row) {
    r.parts = v->columns;
  } else {
    r.row = k->tap_step;
    if (columns < op->kernel_w) {
      r.parts = r.count / v->columns;
      r.count = r.next_at = v->columns;
      r.next_offset = 0;
      r.next_row = row;
    }
  }
  return r;
}

#if TMO_CORE_DSP

_Static_assert(TMO_TWINS || (offsetof(tmo_dsp_job, x) == 0 && offsetof(tmo_dsp_job, bytes) == 4 && offsetof(tmo_dsp_job, weights) == 8 &&
               offsetof(tmo_dsp_job, filter) == 12 && offsetof(tmo_dsp_job, bias) == 16 && offsetof(tmo_dsp_job, groups) == 20 &&
               offsetof(tmo_dsp_job, multipliers) == 24 && offsetof(tmo_dsp_job, shifts) == 28 && offsetof(tmo_dsp_job, out) == 32 &&
               offsetof(tmo_dsp_job, rounding) == 36 && offsetof(tmo_dsp_job, zero_in) == 40 && offsetof(tmo_dsp_job, each) == 44),
               "tmo_dsp_sums.S");

void tmo_dsp_conv_run(const tmo_kernel *k, const int8_t *x, uint32_t bytes, const int8_t *w, int8_t *out) {
  tmo_conv_fours(k, x, bytes, w, k->op->kernel_h * k->op->kernel_w * k->tap_step, out);
}

static TMO_ALWAYS_INLINE bool is_in_place(const tmo_kernel *k, const tmo_window *v) {
  const bool whole = k->op->kernel_h == 1 && v->count == 1 && v->columns == k->op->kernel_w;
  return whole && (v->columns == 1 || (tmo_reads_rows(k) && k->op->dilation_w == 1)) && k->tap_step == k->in_channels && tmo_makes_fours(k);
}

#endif

/* Computes all output channels of a pixel. The pixel's first channel is element i of the output. The argument `some` is the largest number of
 * channels that are computed together, and the size of the array `sums`. The pointer `w` is the address of the first range's weights. */
static TMO_ALWAYS_INLINE void conv_runs(const tmo_kernel *k, const tmo_runs *r, const int8_t *w, uint32_t i, int8_t *out, uint32_t some, uint32_t *sums) {
  for (uint32_t oc = 0; oc < k->out_channels; oc += some, w += some * r->filter) {
    const uint32_t left = k->out_channels - oc, n = left < some ? left : some;
    tmo_begin_sums(k, sums, n, oc, i + oc);
    add_products(r, w, n, sums);
    tmo_end_sums(k, sums, n, oc, i + oc, out);
  }
}

enum { MOST_GATHERED = TMO_CORE_DSP ? TMO_GATHERED_BYTES : TMO_FEW_BYTES };

/* Returns whether conv_small() computes the operator's pixels. The function conv_small() copies the bytes of a window to the stack. is_small()
 * returns false if the bytes do not fit on the stack, or the copy would save no time. */
static bool is_small(const tmo_kernel *k) {
  const tmo_op *op = k->op;
  const uint32_t bytes = (uint32_t)op->kernel_h * op->kernel_w * k->in_channels;
  const bool by_row = tmo_reads_rows(k);
  const bool is_run = op->kernel_h == 1 && (op->kernel_w == 1 || (by_row && op->dilation_w == 1));
  const bool fits = TMO_CORE_DSP && bytes <= (by_row ? TMO_GATHERED_ROWS_BYTES : TMO_GATHERED_BYTES) &&
                    k->out_channels >= (by_row ? TMO_MANY_CHANNELS : TMO_SOME_CHANNELS);
  return (bytes <= TMO_FEW_BYTES || fits) && !is_run && k->tap_step == k->in_channels && tmo_makes_fours(k);
}

/* Copies n ranges of `bytes` bytes to addresses that are `step` bytes apart. Each range begins `offset` bytes after its address in the list `at`. */
static void copy_runs(int8_t *to, const int8_t *const *at, uint32_t n, uint32_t offset, uint32_t bytes, uint32_t step) {
  const int8_t *const *const end = at + n;
  if (bytes == 1) {
    for (; at != end; to += step) *to = (*at++)[offset];
    return;
  }
  if (TMO_UNALIGNED && bytes == 3) { /* three bytes, for example a pixel of three channels */
    for (; at != end; to += step) {
      const int8_t *const from = *at++ + offset;
      memcpy(to, from, 2);
      to[2] = from[2];
    }
    return;
  }
  for (; at != end; to += step) {
    const int8_t *from = *at++ + offset;
    int8_t *next = to;
    uint32_t left = bytes;
    for (; left >= 4; left -= 4, from += 4, next += 4) memcpy(next, from, 4);
    for (; left > 0; --left) *next++ = *from++;
  }
}

/* Copies the input bytes under a window in the order of its weights. The input bytes of the first tap inside the input are copied to the address
 * `to`. */
static TMO_ALWAYS_INLINE void collect_taps(const tmo_kernel *k, const tmo_window *v, uint32_t rows, int8_t *to) {
  const uint32_t pixel = k->in_channels, row = k->op->kernel_w * pixel, apart = k->op->dilation_w * pixel;
  if (!tmo_reads_rows(k)) {
    const int8_t *const *at = v->pixels;
    if (v->columns == k->op->kernel_w) {
      copy_runs(to, at, v->count, 0, pixel, pixel);
    } else {
      for (; rows > 0; --rows, at += v->columns, to += row) copy_runs(to, at, v->columns, 0, pixel, pixel);
    }
  } else if (apart == pixel) {
    copy_runs(to, v->pixels, rows, v->offset, v->columns * pixel, row);
  } else {
    for (uint32_t c = 0; c < v->columns; ++c) copy_runs(to + c * pixel, v->pixels, rows, v->offset + c * apart, pixel, row);
  }
}

/* Computes one output pixel from gathered input bytes. With the DSP extension, the function adds up to three bytes before the gathered bytes, so that
 * the number of all bytes is a multiple of 4. The added bytes are zero points, so they do not change the sums. */
TMO_OWN_FRAME static void conv_small(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t filter = (uint32_t)op->kernel_h * op->kernel_w * k->in_channels;
  const uint32_t rows = v->columns == 0 ? 0 : tmo_reads_rows(k) ? v->count : tmo_quotient(v->count, v->columns);
  const bool whole = rows == op->kernel_h && v->columns == op->kernel_w;
  int8_t gathered[MOST_GATHERED];
  const uint32_t before = TMO_CORE_DSP && op->weights >= 4 && !tmo_copies_weights(op) ? (0 - filter) % 4 : 0;
  if (whole) {
    const uint32_t four = (uint8_t)op->input_zero_point[0] * 0x01010101u;
    memcpy(gathered, &four, sizeof four);
  } else {
    memset(gathered, op->input_zero_point[0], before + filter);
  }
  collect_taps(k, v, rows, gathered + before + tmo_first_tap(k, v));
#if TMO_CORE_DSP
  tmo_dsp_conv_run(k, gathered, before + filter, k->weights - before, out + i);
#else
  enum { SOME = FILTERS < 16 ? FILTERS : 16 }; /* the array of sums is short, because the gathered bytes are on the stack, too */
  uint32_t sums[SOME];
  const int8_t *const at = gathered;
  const tmo_runs r = {&at, 0, 1, 1, 0, 0, 0, 0, filter, 1, 0, filter, op->input_zero_point[0]};
  conv_runs(k, &r, k->weights, i, out, SOME, sums);
#endif
}

TMO_OWN_FRAME static void conv_large(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  const tmo_runs r = find_runs(k, v);
#if TMO_CORE_DSP
  if ((uint32_t)r.parts * r.count == 1 && r.step == 1 && tmo_makes_fours(k)) {
    tmo_dsp_conv_run(k, r.at[0] + r.offset, r.bytes, w, out + i);
    return;
  }
#endif
  uint32_t sums[FILTERS];
  conv_runs(k, &r, w, i, out, FILTERS, sums);
}

#if TMO_CORE_DSP
/* Computes a pixel of a convolution with less than four output channels, or returns false if conv_large() must compute it. */
TMO_OWN_FRAME static bool conv_few(const tmo_kernel *k, const tmo_window *v, int8_t *out) {
  const tmo_runs r = find_runs(k, v);
  if (r.step != 1 || r.stride != 1 || (r.parts > 1 && r.next_at != 0)) return false;
  tmo_dsp_scales scales;
  tmo_dsp_job job;
  tmo_dsp_set_few(&job, k, k->weights + tmo_first_tap(k, v), r.filter, out, &scales);
  tmo_dsp_few(&job, &r);
  tmo_packed_clamp(k->op, out, k->out_channels);
  return true;
}
#endif

static void conv_nibbles(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  const tmo_runs r = find_runs(k, v);
  for (uint32_t oc = 0, first = k->first_weight + tmo_first_tap(k, v); oc < k->out_channels; ++oc, first += r.filter) {
    uint32_t sum;
    tmo_begin_sums(k, &sum, 1, oc, i + oc);
    sum += tmo_conv_nibbles(&r, k->weights, first);
    tmo_end_sums(k, &sum, 1, oc, i + oc, out);
  }
}

/* Computes one output pixel, whose first channel is element i of the output. TFLM's function ConvPerChannel
 * (kernels/internal/reference/integer_ops/conv.h) returns the same values as conv(). */
static void conv(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (tmo_has_nibbles(k->op)) {
    conv_nibbles(k, v, i, out);
    return;
  }
#if TMO_HAS_BACKEND
  if (tmo_is_run(k, v)) {
    tmo_conv_backend(k, v->pixels[0] + v->offset, out + i);
    return;
  }
#endif
  if (tmo_conv_vectors(k, v, i, out)) return;
#if TMO_CORE_DSP
  if (is_in_place(k, v)) {
    tmo_dsp_conv_run(k, v->pixels[0] + v->offset, k->op->kernel_w * k->in_channels, k->weights, out + i);
    return;
  }
#endif
  if (is_small(k)) {
    conv_small(k, v, i, out);
    return;
  }
  if (TMO_CORE_DSP && !tmo_has_part(TMO_PART_CONV_SUMS)) return;
#if TMO_CORE_DSP
  if (k->out_channels < 4 && !tmo_has_sums(k) && conv_few(k, v, out + i)) return;
#endif
  conv_large(k, v, i, out);
}

#if TMO_CORE_DSP
/* Returns whether tmo_conv_points() computes a row of output pixels. */
static bool is_row_of_points(const tmo_kernel *k, const tmo_window *rows) {
  const tmo_op *op = k->op;
  const bool point = op->kernel_h * op->kernel_w == 1 && op->pad_left == 0 && rows->count == 1 && (k->out_width - 1u) * op->stride_w < k->in_width;
  return point && k->tap_step == k->in_channels && tmo_makes_points(k);
}

void tmo_conv_points(const tmo_kernel *k, const int8_t *from, int32_t step, uint32_t n, int8_t *out, int32_t next) {
  const uint32_t channels = k->in_channels;
  if (!tmo_has_part(TMO_PART_CONV_SUMS) || k->out_channels >= 4) {
    for (; n > 0; --n, from += step, out += next) tmo_conv_fours(k, from, channels, k->weights, channels, out);
    return;
  }
  const tmo_runs r = {&from, 1, 1, 1, 0, 0, 0, 0, channels, 1, channels, channels, k->op->input_zero_point[0]};
  tmo_dsp_scales scales;
  tmo_dsp_job job;
  tmo_dsp_set_few(&job, k, k->weights, channels, out, &scales);
  for (; n > 0; --n, from += step, job.out += next) {
    tmo_dsp_few(&job, &r);
    tmo_packed_clamp(k->op, job.out, k->out_channels);
  }
}

/* Computes adjacent pixels of a convolution with less than four output channels. */
TMO_OWN_FRAME static void few_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
  const tmo_op *const op = k->op;
  const uint32_t channels = k->in_channels, row = op->kernel_w * channels, apart = op->dilation_w * channels, last = (k->in_width - 1u) * channels;
  const int8_t *const w = k->weights + rows->first_row * row;
  const bool adjacent = apart == channels && !columns->backwards;
  tmo_runs r = {rows->pixels, 1, rows->count, 1, 0, columns->backwards ? 0 - apart : apart, channels, 0, channels, 1, row, op->kernel_h * row, op->input_zero_point[0]};
  int8_t *out = columns->out;
  tmo_dsp_scales scales;
  tmo_dsp_job job;
  tmo_dsp_set_few(&job, k, w, r.filter, out, &scales);
  for (uint32_t x = columns->x; x < columns->end; ++x, out += columns->step) {
    const tmo_taps taps = tmo_columns(k, (uint16_t)x);
    r.offset = columns->backwards ? last - taps.start * channels : taps.start * channels;
    r.parts = (uint16_t)taps.count;
    if (adjacent) {
      r.parts = taps.count > 0 ? 1 : 0;
      r.bytes = taps.count * channels;
    }
    job.weights = w + taps.first * channels;
    job.out = out;
    tmo_dsp_few(&job, &r);
    tmo_packed_clamp(op, out, k->out_channels);
  }
}

void tmo_conv_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
  if (!is_row_of_points(k, rows)) {
    if (tmo_has_part(TMO_PART_CONV_SUMS)) few_columns(k, rows, columns);
    return;
  }
  const uint32_t x = columns->x * k->op->stride_w, at = columns->backwards ? k->in_width - 1u - x : x;
  const int32_t step = (int32_t)(k->op->stride_w * k->in_channels);
  const int8_t *const from = rows->pixels[0] + at * k->in_channels;
  tmo_conv_points(k, from, columns->backwards ? -step : step, columns->end - columns->x, columns->out, columns->step);
}
#endif

void tmo_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
#if TMO_CORE_DSP
  const bool few = tmo_makes_few(k->op, k->out_channels) && !tmo_has_sums(k) && k->tap_step == k->in_channels;
  if (few || is_row_of_points(k, window)) {
    const tmo_adjacent_columns all = {0, k->out_width, out, (int32_t)k->out_channels, false};
    tmo_conv_columns_s8(k, window, &all);
    return;
  }
#endif
  if (tmo_has_nibbles(k->op) || !tmo_conv_row_vectors(k, window, out)) tmo_make_row(k, window, out, conv);
}

void tmo_conv_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { conv(k, window, 0, out); }
