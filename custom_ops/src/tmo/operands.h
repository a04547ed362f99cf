/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this file, which only tmo_iterate.c includes, find the rows and pixels that an iteration reads and writes. */
#ifndef TMO_OPERANDS_H_
#define TMO_OPERANDS_H_

#include "kernels.h"
#include "packed.h"
#include "source.h"
#include "view.h"

#define HAS_BINARY (!tmo_is_empty(TMO_BUILT(TMO_BINARY_KINDS)) || tmo_has_packing(TMO_PACKING_DSP_ADD) || TMO_OWN)
#define HAS_ACCESS (!tmo_is_empty(TMO_BUILT(TMO_ACCESS_KINDS)))

typedef struct {
  const tmo_run_state *run; /* state of the run; the field run->current is the position of the iteration */
  tmo_view in;
  tmo_view out;
  tmo_kernel kernel; /* arguments of the kernel, whose pointer to the sums advances with each pixel */
} execution;

/* If the argument `grouped` is true, narrow() restricts the tensor view `v` to the iteration's channel group. narrow() returns the tensor's channels
 * that remain in the view. */
static tmo_channels narrow(const tmo_run_state *run, const tmo_op *op, tmo_view *v, bool grouped) {
  v->base += tmo_channel_group_offset(op, v->tensor, grouped, run->current.channel_group);
  v->pixel = tmo_pixel_bytes(op, v->tensor, grouped);
  return tmo_channels_of(op, v->tensor, grouped, run->current.channel_group);
}

/* The position of a tensor's row in memory. Pixel x of the row is at the address base + tmo_pixel_offset(&pixels, x). */
typedef struct {
  const int8_t *base;
  tmo_row_pixels pixels;
} place;

/* Finds row y of a tensor if the rows of the tensor are not all in one buffer of the arena. Rows of an external input are in the caller's memory.
 * Rows of a streamed input are in the last push or in a rolling buffer. */
TMO_OWN_FRAME static place row_elsewhere(const tmo_run_state *run, const tmo_view *v, uint32_t y) {
  const tmo_tensor *const t = v->tensor;
  place p = {v->base, {0, 0, 1, t->width, t->channels}};
  if (!tmo_is_source(run->program, t)) {
    const uint32_t state = tmo_state_base(run->program);
    if ((int32_t)y < 0 || t->base == state) {
      p.base = (const int8_t *)run->io[state - 1];
      p.pixels.offset = tmo_rolling_buffer_offset(run->program, p.base, t, y);
      return p;
    }
  } else if (tmo_input_of(run->program) == TMO_INPUT_EXTERNAL) {
    p.base = tmo_source_row((const tmo_source *)run->io[0], t->channels, y);
    return p;
  } else {
    const uint32_t first = run->rows - t->pushed;
    if (y >= first) {
      p.pixels.offset = (y - first) * tmo_row_bytes(t);
      return p;
    }
    if (t->depth == 0) return p;
    p.base = (const int8_t *)run->workspace;
  }
  p.pixels.offset = tmo_row_offset(t, y);
  return p;
}

/* Returns the position of row y of a tensor in memory. row_of() converts y to int32_t, because rows of earlier inferences have negative indices. */
static TMO_ALWAYS_INLINE place row_of(const tmo_run_state *run, const tmo_view *v, uint32_t y) {
  if (tmo_is_source(run->program, v->tensor) || tmo_in_rolling_buffer(v->tensor)) return row_elsewhere(run, v, y);
  const place p = {v->base, tmo_row_pixels_of(run->program, v->tensor, v->pixel, run->current.stripe, (uint16_t)y)};
  return p;
}

TMO_OWN_FRAME static const int8_t *pixel_at(const execution *f, const tmo_view *v, uint32_t y, uint32_t x) {
  const place p = row_of(f->run, v, y);
  return p.base + tmo_pixel_offset(&p.pixels, x);
}

static TMO_ALWAYS_INLINE int8_t *output_pixel(const execution *f, uint32_t y, uint32_t x) {
  const tmo_tensor *const t = f->out.tensor;
  const bool plain = tmo_is_ascending(t) && !tmo_has_column_windows(t);
  return (int8_t *)(uintptr_t)(plain ? f->out.base + tmo_row_offset(t, y) + x * f->out.pixel : pixel_at(f, &f->out, y, x));
}

TMO_OWN_FRAME static uint32_t convert_pieces(const execution *f, const tmo_tensor *t, const int8_t **pieces, uint32_t n, uint32_t bytes, uint32_t done) {
  const tmo_source *source = (const tmo_source *)f->run->io[0];
  if (source->format == TMO_FORMAT_INT8 || tmo_reads_wide(f->kernel.op)) return done;
  int8_t *to = (int8_t *)f->run->workspace + t->offset + done;
  for (uint32_t i = 0; i < n; ++i, to += bytes) {
    tmo_to_int8(source, pieces[i], bytes, to);
    pieces[i] = to;
  }
  return done + n * bytes;
}

/* Converts n ranges of an external input to int8. Each range has `bytes` bytes. The argument `done` is the number of bytes that the iteration
 * converted before the call. Returns the number of bytes that the iteration has converted so far. */
static TMO_ALWAYS_INLINE uint32_t make_int8(const execution *f, const tmo_tensor *t, const int8_t **pieces, uint32_t n, uint32_t bytes, uint32_t done) {
  if (t->base != 1 || tmo_input_of(f->run->program) != TMO_INPUT_EXTERNAL) return done;
  return convert_pieces(f, t, pieces, n, bytes, done);
}

TMO_OWN_FRAME static void list_pixels(const execution *f, tmo_taps rows, tmo_taps columns, const int8_t **pixels) {
  const uint32_t step_h = f->kernel.op->dilation_h, step_w = f->kernel.op->dilation_w;
  for (uint32_t r = rows.count; r > 0; --r, rows.start += step_h) {
    const place p = row_of(f->run, &f->in, rows.start);
    const uint32_t pixel = f->in.pixel, at = tmo_remainder(p.pixels.first + columns.start * p.pixels.step, p.pixels.depth) * pixel;
    pixels = tmo_list_rolling_buffer(p.base + p.pixels.offset, p.pixels.depth * pixel, at, step_w * p.pixels.step * pixel, columns.count, pixels);
  }
}

static TMO_ALWAYS_INLINE tmo_taps rows_under(const execution *f) {
  const tmo_op *op = f->kernel.op;
  const tmo_tensor *in = f->in.tensor;
  const uint16_t y = f->run->current.row;
  tmo_taps rows = {y, 1, y};
  if (!tmo_iterative(op)) {
    const uint32_t older = tmo_older_rows(in);
    const int32_t start = (int32_t)((uint32_t)y * op->stride_h + older) - op->pad_top;
    rows = tmo_clip(start, op->kernel_h, op->dilation_h, (uint16_t)(in->height + older));
    rows.start -= older;
  }
  if (tmo_writes_sums(op, f->run->current.channel_group)) rows.count = 0;
  return rows;
}

static TMO_ALWAYS_INLINE void list_inside(const execution *f, tmo_taps rows, tmo_taps columns, const int8_t **pixels) {
  const uint32_t n = rows.count * columns.count;
  if (n == 1) {
    *pixels = pixel_at(f, &f->in, rows.start, columns.start);
  } else if (tmo_has_column_windows(f->in.tensor) && n > 0) {
    tmo_list_pixels(f->run, f->kernel.op, &f->in, &rows, &columns, 0, pixels);
  } else {
    list_pixels(f, rows, columns, pixels);
  }
  make_int8(f, f->in.tensor, pixels, n, f->in.pixel, 0);
}

static TMO_ALWAYS_INLINE tmo_window taps_window(const int8_t *const *pixels, uint32_t rows, uint32_t first_row, tmo_taps columns) {
  const uint32_t n = rows * columns.count;
  const tmo_window window = {pixels, (uint16_t)n, (uint16_t)columns.count, (uint16_t)first_row, (uint16_t)columns.first, 0, n};
  return window;
}

static TMO_ALWAYS_INLINE tmo_window rows_window(const int8_t *const *pixels, tmo_taps rows) {
  const tmo_taps whole = {0, 1, 0};
  return taps_window(pixels, rows.count, rows.first, whole);
}

TMO_OWN_FRAME static tmo_window read_rows_elsewhere(const execution *f, const int8_t *pixels[]) {
  const tmo_taps rows = rows_under(f);
  for (uint32_t r = 0; r < rows.count; ++r) pixels[r] = pixel_at(f, &f->in, rows.start + r * f->kernel.op->dilation_h, 0);
  make_int8(f, f->in.tensor, pixels, rows.count, tmo_row_bytes(f->in.tensor), 0);
  return rows_window(pixels, rows);
}

TMO_OWN_FRAME static tmo_window read_rows(const execution *f, const int8_t *pixels[]) {
  const tmo_op *op = f->kernel.op;
  const tmo_tensor *in = f->in.tensor;
  tmo_taps rows;
  if (!has_whole_rows(f->run, in)) return read_rows_elsewhere(f, pixels);
  if (!tmo_iterative(op) && !tmo_sums_channel_groups(op)) { /* for most operators, this call of tmo_clip() replaces the slower rows_under() */
    rows = tmo_clip((int32_t)((uint32_t)f->run->current.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  } else {
    rows = rows_under(f);
  }
  if (tmo_is_reversed(in)) {
    tmo_list_row_pixels(in, f->in.base, true, rows.start, op->dilation_h, rows.count, 1, 0, pixels);
  } else {
    tmo_list_row_pixels(in, f->in.base, false, rows.start, op->dilation_h, rows.count, 1, 0, pixels);
  }
  return rows_window(pixels, rows);
}

/* Addresses of the pixels under the windows of adjacent output columns. A pixel under several windows is listed once. */
typedef struct {
  const int8_t **pixels;       /* addresses of the pixels, row by row */
  uint32_t room;               /* maximum number of addresses in the list `pixels` */
  uint16_t rows, first_row;    /* number of input rows under the windows, and kernel row for the first input row */
  tmo_taps columns;            /* input columns under the first window */
  uint32_t width;              /* number of input columns whose pixels are in the list */
} tile_pixels;

/* Lists the pixels under the windows of the output columns from x to `end` - 1, and returns the number of windows that fit into the list. */
TMO_OWN_FRAME static uint32_t read_tile(const execution *f, uint32_t x, uint32_t end, tile_pixels *t) {
  const tmo_op *op = f->kernel.op;
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w;
  uint32_t n = 1;
  t->columns = tmo_columns(&f->kernel, (uint16_t)x);
  const tmo_taps rows = rows_under(f);
  t->rows = (uint16_t)rows.count;
  t->first_row = (uint16_t)rows.first;
  tmo_taps listed = t->columns;
  if (end - x > 1 && op->dilation_w == 1 && 2 * taps < t->room && t->rows > 0 && !tmo_is_source(f->run->program, f->in.tensor)) {
    n = tmo_quotient(tmo_quotient(t->room - taps, t->rows) - op->kernel_w, op->stride_w) + 1;
    if (n > end - x) n = end - x;
    const tmo_taps last = tmo_columns(&f->kernel, (uint16_t)(x + n - 1));
    if (listed.count == 0 || last.count == 0) {
      n = 1;
    } else {
      listed.count = last.start + last.count - listed.start;
    }
  }
  t->width = listed.count;
  list_inside(f, rows, listed, t->pixels);
  return n;
}

/* Returns the window of output column x. The argument `t` lists the pixels of the windows from output column `first` on. */
TMO_OWN_FRAME static tmo_window window_in(const execution *f, tile_pixels *t, uint32_t first, uint32_t x) {
  if (t->columns.count == t->width && x == first) return taps_window(t->pixels, t->rows, t->first_row, t->columns);
  const tmo_taps columns = tmo_columns(&f->kernel, (uint16_t)x);
  const int8_t *const *row = t->pixels + (columns.start - t->columns.start);
  const int8_t **const pixels = t->pixels + t->room - (uint32_t)f->kernel.op->kernel_h * f->kernel.op->kernel_w, **to = pixels;
  for (uint32_t r = t->rows; r > 0; --r, row += t->width) {
    for (uint32_t c = 0; c < columns.count; ++c) *to++ = row[c];
  }
  return taps_window(pixels, t->rows, t->first_row, columns);
}

/* Returns a tmo_window with the addresses `pixels` for an operator whose kernel has no window. window_of() sets each field separately, because
 * compilers call memset() for an initializer. */
static tmo_window window_of(const int8_t *const *pixels, uint32_t n) {
  tmo_window window;
  window.pixels = pixels;
  window.count = (uint16_t)n;
  window.columns = window.first_row = window.first_column = 0;
  window.offset = window.area = 0;
  return window;
}

/* Lists one pixel of each operand for output column x. If the iteration computes a row, read_operands() lists one row of each operand. */
TMO_OWN_FRAME static tmo_window read_operands(const execution *f, uint32_t x, const int8_t *pixels[]) {
  const tmo_op *op = f->kernel.op;
  uint32_t converted = 0;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    tmo_view v = tmo_view_of(f->run, op->input[k]);
    const tmo_tensor *in = v.tensor;
    if (tmo_channel_groups(op) > 1) narrow(f->run, op, &v, tmo_reads_channel_group(op));
    pixels[k] = pixel_at(f, &v, in->height > 1 ? f->run->current.row : 0, in->width > 1 ? x : 0);
    converted = make_int8(f, in, &pixels[k], 1, tmo_by_row(op) ? tmo_row_bytes(in) : v.pixel, converted);
  }
  return window_of(pixels, op->n_inputs);
}

/* Lists the rows of all operands that the operator's access records select. For a row that does not exist, the list has the address NULL. If
 * `again` is true, the list still has the rows of the previous iteration, so operands of which every iteration reads the same rows are not listed
 * again. */
TMO_OWN_FRAME static tmo_window read_by_access(const execution *f, const int8_t *rows[], bool again) {
  const tmo_op *op = f->kernel.op;
  uint32_t n = 0, converted = 0;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const tmo_view v = tmo_view_of(f->run, op->input[k]);
    const tmo_tensor *in = v.tensor;
    const tmo_access *access = (const tmo_access *)tmo_constant(f->run->program, op->access) + k;
    if (again && access->mul == 0 && access->table == 0 && has_whole_rows(f->run, in)) {
      n += access->extent;
      continue;
    }
    const tmo_rows read = tmo_accessed_rows(f->run->program, op, k, f->run->current.row);
    const int32_t oldest = -(int32_t)tmo_older_rows(in);
    if (has_whole_rows(f->run, in) && read.count == access->extent && read.first >= 0 && read.first + access->extent <= in->height) {
      tmo_list_row_pixels(in, v.base, tmo_is_reversed(in), (uint32_t)read.first, 1, read.count, 1, 0, rows + n);
      n += read.count;
      continue;
    }
    for (uint16_t r = 0; r < access->extent; ++r) {
      const int32_t row = read.first + r;
      const bool there = r < read.count && row >= oldest && row < in->height;
      rows[n] = NULL;
      if (there) {
        rows[n] = pixel_at(f, &v, (uint32_t)row, 0);
        converted = make_int8(f, in, &rows[n], 1, tmo_row_bytes(in), converted);
      }
      ++n;
    }
  }
  return window_of(rows, n);
}

static tmo_window read_under(const execution *f, uint32_t x, const int8_t *pixels[]) {
  if (HAS_ACCESS && f->kernel.op->access != 0) return read_by_access(f, pixels, false);
  if (HAS_BINARY && f->kernel.op->n_inputs > 1) return read_operands(f, x, pixels);
  return read_rows(f, pixels);
}

#endif /* TMO_OPERANDS_H_ */
