/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header give the order in which an operator computes output pixels, and find the addresses of pixels.
 *
 * In a group without tiles, each row counts as a stripe with one tile. */
#ifndef TMO_NEST_H_
#define TMO_NEST_H_

#include <stdbool.h>
#include <stdint.h>

#include "access.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order of an operator's iterations. Each iteration computes some pixels of the output. An operator that computes whole rows has stripes of one
 * row and one tile. */
typedef struct {
  const tmo_op *op;
  const tmo_tensor *tensor; /* output of the operator, or input if the operator is iterative */
  uint16_t stripes;
} tmo_nest;

/* Returns the input of an iterative operator, and the output of any other operator. Each iteration of the operator reads or writes some pixels of the
 * returned tensor. */
static inline const tmo_tensor *tmo_iterated(const void *program, const tmo_op *op) {
  return &tmo_tensors(program)[tmo_iterative(op) ? op->input[0] : op->output];
}

static inline tmo_nest tmo_nest_of(const void *program, const tmo_group *group, const tmo_op *op) {
  const tmo_tensor *t = tmo_iterated(program, op);
  const tmo_nest nest = {op, t, tmo_in_tiles(group, op) ? group->stripes : t->height};
  return nest;
}

/* Returns whether each stripe computes all rows that it needs, including rows that the previous stripe has already computed. */
static inline bool tmo_recomputes(const tmo_tensor *t) { return t->rows > t->advance; }

/* A stripe consists of the rows from tmo_stripe_first() to tmo_stripe_end() - 1. */
TMO_LINKAGE int32_t tmo_stripe_first(const tmo_tensor *t, uint16_t stripe);
TMO_LINKAGE int32_t tmo_stripe_end(const tmo_tensor *t, uint16_t stripe);

/* An iteration computes the columns from tmo_first_column() to tmo_end_column() - 1, or all columns if the operator computes whole rows. */
static inline uint32_t tmo_first_column(const tmo_op *op, const tmo_iteration *at) { return (uint32_t)at->tile * op->tile; }
static inline uint32_t tmo_end_column(const tmo_op *op, const tmo_tensor *t, const tmo_iteration *at) {
  const uint32_t end = tmo_first_column(op, at) + op->tile;
  return !tmo_by_row(op) && end < t->width ? end : t->width;
}

/* Moves `at` to the first iteration of the stripe with the index at->stripe. If stripe at->stripe has no rows, `at` moves to the next stripe with
 * rows. If no later stripe has rows, at->stripe becomes `stripes`. */
TMO_LINKAGE void tmo_enter_stripe(const tmo_tensor *t, uint16_t stripes, tmo_iteration *at);

/* Moves `at` to the next iteration of the operator. After the last iteration, at->stripe is nest->stripes. */
static inline void tmo_next_iteration(const tmo_nest *nest, tmo_iteration *at) {
  const tmo_tensor *const t = nest->tensor;
  const bool only_row = t->rows == 1 && at->stripe > 0; /* all stripes except stripe 0 have equally many rows */
  if (!only_row) {
    const uint16_t row = ++at->row; /* the code of tmo_stripe_end() is repeated here to save a function call in each iteration */
    const int32_t end = at->stripe * t->advance + t->end, first = end - t->rows;
    if (row < t->height && row < end) return;
    at->row = first < 0 || (at->stripe == 0 && !tmo_recomputes(t)) ? 0 : (uint16_t)(first < t->height ? first : t->height);
  }
  ++at->tile;
  if (!tmo_by_row(nest->op) && tmo_first_column(nest->op, at) < nest->tensor->width) return;
  at->tile = 0;
  if (++at->channel_group < tmo_passes(nest->op)) return;
  ++at->stripe;
  tmo_enter_stripe(nest->tensor, nest->stripes, at);
}

/* Returns true if the pixels of an iteration are inside the tensor, and the sums of the iteration are inside the accumulator. If
 * tmo_iteration_fits() returns true, the iteration accesses no bytes outside its buffers. */
static inline bool tmo_iteration_fits(const tmo_nest *nest, const tmo_iteration *at) {
  const tmo_tensor *t = nest->tensor;
  if (at->stripe >= nest->stripes || at->row >= t->height || tmo_first_column(nest->op, at) >= t->width) return false;
  if (tmo_channel_groups(nest->op) == 1) return at->channel_group == 0;
  if (at->channel_group >= tmo_passes(nest->op)) return false;
  return !tmo_sums_channel_groups(nest->op) || (at->row >= tmo_stripe_first(t, at->stripe) && at->row < tmo_stripe_end(t, at->stripe));
}

/* tmo_starts_sums() returns whether an iteration of an iterative operator is the first one, which sets the operator's sums to their initial values.
 * tmo_ends_sums() returns whether the iteration is the last one, which writes the operator's output. */
static inline bool tmo_starts_sums(const tmo_iteration *at) { return at->row == 0 && at->tile == 0; }
static inline bool tmo_ends_sums(const tmo_op *op, const tmo_tensor *t, const tmo_iteration *at) {
  return at->row + 1 == t->height && tmo_end_column(op, t, at) == t->width;
}

/* Returns the index of the last row of operand k that an iteration reads, or -1 if the iteration reads no row of operand k. */
static inline int32_t tmo_last_row(const void *program, const tmo_op *op, const tmo_iteration *at, uint8_t k) {
  if (tmo_writes_sums(op, at->channel_group)) return -1;
  if (tmo_iterative(op)) return at->row;
  const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
  if (op->access != 0) {
    const tmo_rows rows = tmo_accessed_rows(program, op, k, at->row);
    const int32_t end = rows.first + rows.count < in->height ? rows.first + rows.count : in->height;
    return end > rows.first ? end - 1 : -1;
  }
  const int32_t last = (int32_t)((uint32_t)at->row * op->stride_h) - op->pad_top + (op->kernel_h - 1) * (int32_t)op->dilation_h;
  return last < in->height ? last : in->height - 1;
}

/* Returns the number of bytes that an iteration converts from an external input to int8, at most UINT32_MAX. */
TMO_LINKAGE uint32_t tmo_converted_bytes(const void *program, const tmo_group *group, const tmo_op *op);

/* For an operator that adds up the products of its channel groups, returns the index of the first int32 sum that an iteration uses. */
static inline uint32_t tmo_channel_group_sum(const tmo_op *op, const tmo_tensor *t, const tmo_iteration *at) {
  const uint32_t row = (uint32_t)(at->row - tmo_stripe_first(t, at->stripe));
  return (row * t->width + tmo_first_column(op, at)) * t->channels;
}

/* The addresses of the pixels in one row of a tensor. Pixel 0 of the row is at position `first` in a buffer of `depth` pixels. Adjacent pixels of the
 * row are `step` positions apart, modulo `depth`. The buffer of the row begins `offset` bytes after the base address of the tensor. */
typedef struct {
  uint32_t offset;
  uint32_t first, step, depth;
  uint32_t pixel;              /* size of a pixel in bytes */
} tmo_row_pixels;

/* The place of a tensor's row in a column window. The field `row` is the index of the row in the column window. The field `period` counts the
 * earlier rows at the same index. */
typedef struct {
  const tmo_column_window *column_window;
  uint32_t row, period;
} tmo_column_window_row;

static inline const tmo_column_window *tmo_column_windows(const void *program, const tmo_tensor *t) { return (const tmo_column_window *)tmo_constant(program, t->column_windows); }

/* Returns the column window of row y. The argument `stripe` is ignored if stripes reuse rows of the previous stripe. */
static inline tmo_column_window_row tmo_column_window_row_of(const void *program, const tmo_tensor *t, uint16_t stripe, uint16_t y) {
  const bool recomputed = tmo_recomputes(t);
  const int32_t from = recomputed ? stripe * t->advance + t->end - t->rows : -t->phase;
  const uint32_t row = (uint32_t)(y - from), period = recomputed ? 0 : tmo_quotient(row, t->rows);
  tmo_column_window_row r = {tmo_column_windows(program, t), recomputed ? tmo_remainder(row, t->rows) : row - period * t->rows, period};
  for (; r.row >= r.column_window->rows; ++r.column_window) r.row -= r.column_window->rows;
  return r;
}

/* Returns the addresses of the pixels of row y. The argument `stripe` is ignored if stripes reuse rows of the previous stripe. */
static inline tmo_row_pixels tmo_row_pixels_of(const void *program, const tmo_tensor *t, uint32_t pixel, uint16_t stripe, uint16_t y) {
  if (!tmo_has_column_windows(t)) {
    const uint32_t last = t->width - 1u; /* adding `width - 1` modulo the width moves a position back by one pixel */
    const bool is_reversed = tmo_is_backwards(t);
    const tmo_row_pixels whole = {tmo_row_offset(t, y), is_reversed ? last : 0, is_reversed ? last : 1, t->width, pixel};
    return whole;
  }
  const tmo_column_window_row r = tmo_column_window_row_of(program, t, stripe, y);
  const tmo_row_pixels p = {r.column_window->offset, r.period * t->width * r.column_window->rows + r.row, r.column_window->rows, r.column_window->depth, pixel};
  return p;
}

/* The place of a row of a tensor in memory, with the data for finding the next rows. In the column window w, pixel x of the row has the index
 * `((column + x) * w.rows + row) % w.depth`. For a tensor without column windows, `whole` is a column window with all rows of the tensor. */
typedef struct {
  const tmo_column_window *column_window, *first, *end;
  uint32_t row;
  uint32_t column;
  uint32_t width; /* increase of `column` from one row to the next row at the same index of the column window */
} tmo_row_place;

static TMO_ALWAYS_INLINE tmo_row_place tmo_find_row(const void *program, const tmo_tensor *t, uint16_t stripe, uint32_t y, tmo_column_window *whole) {
  if (tmo_has_column_windows(t)) {
    const tmo_column_window_row r = tmo_column_window_row_of(program, t, stripe, (uint16_t)y);
    const tmo_column_window *const first = tmo_column_windows(program, t);
    const tmo_row_place place = {r.column_window, first, first + t->n_column_windows, r.row, r.period * t->width, tmo_recomputes(t) ? 0 : t->width};
    return place;
  }
  whole->offset = t->offset;
  whole->depth = (uint32_t)t->depth * t->width;
  whole->rows = 1;
  const tmo_row_place place = {whole, whole, whole + 1, 0, y * t->width, t->width};
  return place;
}

/* Writes the addresses of n pixels of a rolling buffer to a list, beginning with the pixel at byte `at`. The rolling buffer has `bytes` bytes, and
 * the pixels are `step` bytes apart. tmo_list_rolling_buffer() returns the address after the last written entry of the list. */
static TMO_ALWAYS_INLINE const int8_t **tmo_list_rolling_buffer(const int8_t *rolling_buffer, uint32_t bytes, uint32_t at, uint32_t step, uint32_t n, const int8_t **pixels) {
  const uintptr_t end = (uintptr_t)rolling_buffer + bytes;
  step = tmo_remainder(step, bytes);
  uintptr_t pixel = (uintptr_t)rolling_buffer + at;
  for (const int8_t **const last = pixels + n; pixels != last; pixel += step) {
    if (pixel >= end) pixel -= bytes;
    *pixels++ = (const int8_t *)pixel;
  }
  return pixels;
}

/* Lists the addresses of adjacent pixels in several rows. The tensor must have no column windows. The listed rows are `step_h` rows apart, and the
 * pixels of a row are `step` bytes apart. The argument `base` is the tensor's address plus the offset of the first pixel in its row. If `upwards`
 * is true, the rows are stored in reverse order. */
static TMO_ALWAYS_INLINE void tmo_list_row_pixels(const tmo_tensor *t, const int8_t *base, bool upwards, uint32_t y, uint32_t step_h, uint32_t n,
                                                  uint32_t columns, int32_t step, const int8_t **pixels) {
  const uint32_t bytes = tmo_row_bytes(t), depth = t->depth, down = upwards ? 0u - step_h : step_h;
  uint32_t row = upwards ? t->height - 1u - y : y;
  const int8_t *first = base + t->offset + row * bytes;
  for (; n > 0; --n, row += down, first += (int32_t)(down * bytes)) {
    if (row >= depth) {
      row %= depth;
      first = base + t->offset + row * bytes;
    }
    const int8_t *pixel = first;
    for (uint32_t left = columns; left > 0; --left, pixel += step) *pixels++ = pixel;
  }
}

static inline uint32_t tmo_pixel_offset(const tmo_row_pixels *p, uint32_t x) {
  return p->offset + tmo_remainder(p->first + x * p->step, p->depth) * p->pixel;
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_NEST_H_ */
