/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes convolutions that are packed for Helium. The functions of this file copy the input bytes of a few pixels, multiply the bytes by
 * the weights of several channels, and scale the sums. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_MVE

enum { VECTOR = 16, FOUR = 4, EIGHT = 8 }; /* A vector has 16 bytes. Four channels of two pixels, or eight channels of one pixel, form a group. */

static uint32_t gathered_bytes(const tmo_kernel *k) { return VECTOR * tmo_mve_turns(k->op, k->in_channels); }

static void copy(int8_t *to, const int8_t *const *first, uint32_t n, uint32_t offset, uint32_t bytes, uint32_t step) {
  const tmo_mve_rows rows = {first, n, bytes, step, 0};
  tmo_mve_copy(to, &rows, offset, 1);
}

static void gather_bytes(const tmo_kernel *k, const tmo_window *w, int8_t *to) {
  const tmo_op *op = k->op;
  const uint32_t pixel = k->in_channels, row = op->kernel_w * pixel, columns = w->columns;
  const uint32_t rows = columns == 0 ? 0 : tmo_reads_rows(k) ? w->count : w->count / columns;
  if (rows < op->kernel_h || columns < op->kernel_w) tmo_mve_fill(to, op->input_zero_point[0], gathered_bytes(k));
  if (rows == 0) return;
  to += w->first_row * row + w->first_column * pixel;
  if (!tmo_reads_rows(k) && columns == op->kernel_w) {
    copy(to, w->pixels, w->count, 0, pixel, pixel);
  } else if (!tmo_reads_rows(k)) {
    for (uint32_t r = 0; r < rows; ++r) copy(to + r * row, w->pixels + r * columns, columns, 0, pixel, pixel);
  } else if (op->dilation_w == 1) {
    copy(to, w->pixels, rows, w->offset, columns * pixel, row);
  } else {
    for (uint32_t c = 0; c < columns; ++c) copy(to + c * pixel, w->pixels, rows, w->offset + c * op->dilation_w * pixel, pixel, row);
  }
}

void tmo_conv_mve_gather(const tmo_kernel *k, const tmo_window *w, uint32_t pixel) { gather_bytes(k, w, (int8_t *)k->scratch + pixel * gathered_bytes(k)); }

static tmo_mve_job job_of(const tmo_kernel *k, int8_t *out, uint32_t step) {
  return tmo_mve_job_of(k->op, k->bias, k->in_channels, k->out_channels, out, step);
}

/* The instructions of the assembly code limit the distance between two output pixels. */
static bool is_near(const tmo_mve_job *job) { return job->step < UINT16_MAX - FOUR; }

static tmo_mve_conv *core_of_two(const tmo_mve_job *job) { return tmo_mve_is_relu(job) ? tmo_mve_relu_2 : tmo_mve_conv_2; }

/* Computes two pixels with any number of output channels, four channels at a time. If fewer than four channels are left, their outputs are copied
 * from a buffer. */
static void two_of_any(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) {
  tmo_mve_conv *const core = core_of_two(job);
  const uint32_t fours = job->channels / FOUR * FOUR, left = job->channels - fours;
  int8_t last[2][FOUR];
  tmo_mve_job part = *job;
  part.channels = fours;
  if (fours > 0) core(bytes, step, weights, &part);
  part.scales += 3 * fours;
  part.out = last[0];
  part.step = FOUR;
  part.channels = FOUR;
  core(bytes, step, weights + fours * part.turns * VECTOR, &part);
  const int8_t *const rows[2] = {last[0], last[1]};
  copy(job->out + fours, rows, 2, 0, left, job->step);
}

static tmo_mve_conv *two_for(const tmo_mve_job *job) { return job->channels % FOUR == 0 ? core_of_two(job) : two_of_any; }

/* Computes one pixel with any number of output channels. The kernel computes eight channels at a time. If five to seven channels are left, the kernel
 * computes eight channels, and the needed outputs are copied from a buffer. If up to four channels are left, the kernel for two pixels computes four
 * channels of the same pixel twice. */
void tmo_mve_one_of_any(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) {
  const uint32_t eights = job->channels / EIGHT * EIGHT, left = job->channels - eights;
  int8_t last[EIGHT];
  tmo_mve_job part = *job;
  part.channels = eights;
  if (eights > 0) tmo_mve_one_for(&part)(bytes, step, weights, &part);
  part.scales += 3 * eights;
  part.out = left == FOUR ? job->out + eights : last;
  part.step = 0;
  part.channels = left > FOUR ? EIGHT : FOUR;
  (left > FOUR ? tmo_mve_one_for(&part) : core_of_two(&part))(bytes, 0, weights + eights * part.turns * VECTOR, &part);
  if (left == FOUR) return;
  const int8_t *const row = last;
  copy(job->out + eights, &row, 1, 0, left, EIGHT);
}

void tmo_conv_mve_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step) {
  tmo_mve_job job = job_of(k, out, step);
  if (bytes == NULL) bytes = (const int8_t *)k->scratch;
  const bool pair = pixels == 2 && is_near(&job);
  (pair ? two_for(&job) : tmo_mve_one_for(&job))(bytes, bytes_step, k->weights, &job);
  if (pixels == 1 || pair) return;
  job.out += step;
  tmo_mve_one_for(&job)(bytes + bytes_step, 0, k->weights, &job);
}

/* Computes the first pixels of a row without copying their input bytes. Bytes of a vector that lie after the window have the weight 0. The
 * function returns the number of computed pixels. */
static uint32_t multiply_in_place(const tmo_kernel *k, const int8_t *bytes, tmo_mve_job *job) {
  const uint32_t step = k->op->stride_w * k->in_channels, all = (uint32_t)k->in_width * k->in_channels, values = job->turns * VECTOR;
  const uint32_t inside = all < values ? 0 : (all - values) / step + 1, most = inside < k->out_width ? inside : k->out_width;
  tmo_mve_conv *const two = two_for(job); /* one call of the assembly code computes all pairs of pixels */
  uint32_t x = 0;
  for (uint32_t n; most - x > 1 && is_near(job); x += n, bytes += n * step, job->out += n * job->step) {
    job->pairs = two == two_of_any ? 1 : (most - x) / 2;
    n = 2 * job->pairs;
    two(bytes, step, k->weights, job);
  }
  job->pairs = 1;
  for (; x < most; ++x, bytes += step, job->out += job->step) tmo_mve_one_for(job)(bytes, 0, k->weights, job);
  return most;
}

static void gather_column(const tmo_kernel *k, const tmo_window *rows, uint32_t x, int8_t *to) {
  const tmo_window window = tmo_column(k, rows, (uint16_t)x);
  gather_bytes(k, &window, to);
}

/* Copies the input values of the columns from x to `end` - 1, and computes the output pixels. If `most` is 2, the function computes two pixels at a
 * time. A vector may include bytes of the next window. */
static TMO_ALWAYS_INLINE void gathered(const tmo_kernel *k, const tmo_window *rows, tmo_mve_job *job, uint32_t x, uint32_t end, uint32_t most) {
  const tmo_op *op = k->op;
  const uint32_t values = job->turns * VECTOR, row = op->kernel_w * k->in_channels, step = op->stride_w * k->in_channels;
  tmo_mve_conv *const two = two_for(job);
  const bool pairs = most > 1 && 2 * values <= TMO_MVE_TILE && is_near(job);
  const tmo_run_of_columns inside = tmo_inside(k);
  const bool whole = op->dilation_w == 1 && rows->count == op->kernel_h;
  const uint32_t at_once = most > 1 ? 2 : 1;
  tmo_mve_conv *const core = most > 1 ? two : tmo_mve_one_for(job);
  const uint32_t after = inside.first + inside.count < end ? inside.first + inside.count : end; /* first column whose window extends past the input */
  const uint32_t last = whole && (pairs || most == 1) && after >= at_once ? after - at_once + 1 : 0;
  const tmo_mve_rows windows = {rows->pixels, op->kernel_h, row, row, step};
  int8_t *const tile = (int8_t *)k->scratch;
  while (x < end) {
    uint32_t offset = (x * op->stride_w - op->pad_left) * k->in_channels;
    for (; x >= inside.first && x < last; x += at_once, offset += at_once * step) {
      tmo_mve_copy(tile, &windows, offset, at_once);
      core(tile, op->kernel_h * row, k->weights, job);
      job->out += at_once * job->step;
    }
    if (x == end) break;
    gather_column(k, rows, x++, tile);
    if (pairs && x < end) {
      gather_column(k, rows, x++, tile + values);
      two(tile, values, k->weights, job);
      job->out += 2 * job->step;
    } else {
      tmo_mve_one_for(job)(tile, 0, k->weights, job);
      job->out += job->step;
    }
  }
}

void tmo_conv_mve_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns) {
  tmo_mve_job job = job_of(k, columns->out, columns->step);
  gathered(k, rows, &job, columns->first, columns->end, columns->most);
}

void tmo_conv_mve_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  tmo_mve_job job = job_of(k, out, k->out_channels);
  uint32_t x = 0;
  if (op->kernel_h == 1 && op->kernel_w == 1 && op->pad_left == 0 && rows->count == 1) x = multiply_in_place(k, rows->pixels[0], &job);
  if (x >= k->out_width) return;
  if (op->at_once > TMO_ROOM_FOR_PIXELS) {
    const tmo_columns_job columns = {x, k->out_width, tmo_packed_pixels(op, job.turns * VECTOR, k->out_width), job.out, job.step};
    tmo_conv_mve_columns(k, rows, &columns);
  } else {
    gathered(k, rows, &job, x, k->out_width, TMO_MVE_PIXELS);
  }
}

#if TMO_TWINS

void tmo_mve_copy(int8_t *to, const tmo_mve_rows *rows, uint32_t offset, uint32_t windows) {
  for (; windows > 0; --windows, offset += rows->apart) {
    for (uint32_t r = 0; r < rows->n; ++r, to += rows->step) memmove(to, rows->first[r] + offset, rows->bytes);
  }
}

/* Moves `w` to the next input row under the window. */
static void next_row(tmo_mve_window *w) {
  for (uint32_t d = 0; d < w->dilation_h; ++d) {
    for (++w->row; w->row >= w->column_window->rows; w->row = 0) {
      if (++w->column_window < w->end) continue;
      w->column_window = w->first;
      w->column += w->width;
    }
  }
}

static const int8_t *pixel_in(const tmo_mve_window *w, uint32_t column) {
  const tmo_column_window *const column_window = w->column_window;
  const uint32_t i = ((w->column + column * w->dilation_w) * column_window->rows + w->row) % column_window->depth;
  return w->base + column_window->offset + i * w->pixel;
}

void tmo_mve_take(int8_t *to, const tmo_mve_window *window) {
  tmo_mve_window w = *window;
  for (; w.rows > 0; --w.rows, to += w.gap, next_row(&w)) {
    for (uint32_t c = 0; c < w.columns; ++c, to += w.pixel) memmove(to, pixel_in(&w, c), w.pixel); /* in a damaged program, the source and the target may overlap */
  }
}

void tmo_mve_list(const int8_t **pixels, const tmo_mve_window *window) {
  tmo_mve_window w = *window;
  for (; w.rows > 0; --w.rows, pixels += w.gap / sizeof *pixels, next_row(&w)) {
    for (uint32_t c = 0; c < w.columns; ++c) *pixels++ = pixel_in(&w, c);
  }
}

void tmo_mve_fill(int8_t *to, int8_t value, uint32_t n) { memset(to, value, n); }

/* The last sixteen channels of a pixel may include channels that were already computed. If a pixel has fewer than sixteen channels, four channels are
 * computed together. */
static void depthwise_in_c(uint32_t n_taps, const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t channels,
                           uint32_t step, const int8_t *range) {
  const uint32_t n = channels < VECTOR ? channels : VECTOR, whole = channels / n, last = channels - n, words = 3 * VECTOR + (n_taps + 1) / 2 * 8;
  for (uint32_t p = 0; p < pixels; ++p, out += channels) {
    tmo_mve_depthwise_in_c(taps, (const int32_t *)(const void *)constants, out, n_taps, whole, n / FOUR, (int32_t)(p * step), range);
    if (whole * n == channels) continue;
    tmo_mve_depthwise_in_c(taps, (const int32_t *)(const void *)constants + whole * words, out + last, n_taps, 1, n / FOUR, (int32_t)(p * step + last), range);
  }
}

void tmo_mve_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step, const int8_t *range) {
  depthwise_in_c(2 * turns, taps, constants, out, pixels, channels, step, range);
}

/* If the function were inlined, GCC would warn about fields of `job` that a caller with a list of taps does not set. */
TMO_OWN_FRAME void tmo_mve_depthwise_9(tmo_mve_nine *job, const int8_t *const *taps, int8_t *out) {
  static const int8_t relu[3] = {INT8_MIN, INT8_MIN, INT8_MAX};
  const uint32_t channels = job->first + job->more;
  for (; job->pixels > 0; --job->pixels, job->column += (int32_t)job->stride, out += channels) {
    const int8_t *nine[9];
    for (uint32_t i = 0; i < 9; ++i) {
      const uint32_t column = (uint32_t)job->column + i % 3;
      nine[i] = taps != NULL ? taps[i] : column < job->width ? job->rows[i / 3].first + column * job->rows[i / 3].pixel : job->missing;
    }
    depthwise_in_c(9, nine, job->constants, out, 1, channels, 0, relu);
  }
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_MVE */
