/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations of packed operators, convolutions and depthwise convolutions that compute a single pixel, and those of operators packed for the
 * DSP extension that compute a few. To save time, only the fields that the kernels read are set; the general code for addresses would take as
 * long as the computation. See tmo_iterate.c for all other cases. */
#include <string.h>

#include "tmo/iterate.h"
#include "tmo/packed.h"
#include "tmo/vectors.h"
#include "tmo/view.h"

#if TMO_RUNS_PACKED

/* Whether a tensor's pixels are in column windows or in whole rows of the arena. */
static TMO_ALWAYS_INLINE bool is_plain(const tmo_run_state *run, const tmo_tensor *t) {
  return t->layout == TMO_LAYOUT_HWC && !tmo_is_source(run->program, t);
}

/* Returns the address of pixel (x, y) of a tensor for which is_plain() holds. */
TMO_OWN_FRAME static int8_t *pixel_of(const tmo_run_state *run, const tmo_tensor *t, uint32_t y, uint32_t x) {
  const tmo_line line = tmo_line_of(run->program, t, t->channels, run->unit.stripe, (uint16_t)y);
  return (int8_t *)(uintptr_t)(tmo_base_of(run, t) + tmo_pixel_offset(&line, x));
}

/* The part of a window inside the input. */
typedef struct {
  const tmo_op *op;
  const tmo_tensor *in;
  tmo_taps rows, columns;
} pixel_window;

static TMO_ALWAYS_INLINE pixel_window window_under(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in) {
  pixel_window w = {op, in, {0, 0, 0}, {0, 0, 0}};
  w.rows = tmo_clip((int32_t)(run->unit.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  w.columns = tmo_clip((int32_t)(run->unit.tile * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, in->width);
  return w;
}

#if TMO_RUNS_MVE
/* Copies the pixels of a window to the scratch in which they are multiplied. */
static TMO_ALWAYS_INLINE void take_window(const tmo_run_state *run, const pixel_window *window, int8_t *to) {
  const tmo_op *const op = window->op;
  const tmo_tensor *const t = window->in;
  tmo_column_window whole;
  tmo_mve_window w;
  const tmo_row_place first = tmo_find_row(run->program, t, run->unit.stripe, window->rows.start, &whole);
  w.column_window = first.column_window;
  w.column = first.column + window->columns.start;
  w.row = first.row;
  w.first = first.first;
  w.end = first.end;
  w.width = first.width;
  w.rows = window->rows.count;
  w.pixel = t->channels;
  w.base = tmo_base_of(run, t);
  w.columns = window->columns.count;
  w.dilation_w = op->dilation_w;
  w.dilation_h = op->dilation_h;
  w.gap = (op->kernel_w - w.columns) * w.pixel;
  tmo_mve_take(to + (window->rows.first * op->kernel_w + window->columns.first) * w.pixel, &w);
}
#endif

#if TMO_RUNS_MVE
static TMO_ALWAYS_INLINE void multiply_mve(const tmo_run_state *run, const pixel_window *w, const tmo_tensor *out, const int32_t *scales, int8_t *to) {
  const tmo_op *const op = w->op;
  const uint32_t channels = w->in->channels;
  const int8_t *bytes;
  if (tmo_packed_direct(op, channels, out->channels, 1)) {
    bytes = pixel_of(run, w->in, w->rows.start, w->columns.start);
  } else {
    int8_t *const gathered = (int8_t *)run->workspace + op->scratch;
    if (w->rows.count < op->kernel_h || w->columns.count < op->kernel_w) tmo_mve_fill(gathered, op->input_zero_point[0], 16 * tmo_mve_turns(op, channels));
    if (w->rows.count > 0 && w->columns.count > 0) take_window(run, w, gathered);
    bytes = gathered;
  }
  const tmo_mve_job job = tmo_mve_job_of(op, scales, channels, out->channels, to, 0);
  tmo_mve_one_for(&job)(bytes, 0, tmo_weights_of(run, op), &job);
}
#endif

/* Lists the taps of a window. */
static TMO_ALWAYS_INLINE void list_window(const tmo_run_state *run, const pixel_window *w, uint32_t gap, const int8_t **taps) {
  const tmo_view in = {w->in, tmo_base_of(run, w->in), w->in->channels};
  if (w->rows.count > 0 && w->columns.count > 0) tmo_list_pixels(run, w->op, &in, &w->rows, &w->columns, gap, taps);
}

#if TMO_FAST_PIXELS
static TMO_ALWAYS_INLINE tmo_window listed_window(const pixel_window *w, const int8_t *const *taps) {
  const uint32_t n = w->rows.count * w->columns.count;
  const tmo_window window = {taps, (uint16_t)n, (uint16_t)w->columns.count, (uint16_t)w->rows.first, (uint16_t)w->columns.first, 0, n};
  return window;
}
#endif

#if TMO_RUNS_DSP
/* Gathers pixel `pixel` of `pixels`. taps: room for the taps of its window. */
static TMO_ALWAYS_INLINE void gather_pixel(const tmo_run_state *run, const pixel_window *w, tmo_kernel *k, const int8_t **taps, uint32_t pixel, uint32_t pixels) {
  k->whole_rows = !tmo_has_column_windows(w->in) && k->in_channels % 4 != 0; /* bytes of whole rows do not fill quads */
  if (k->whole_rows) {
    tmo_list_lines(w->in, tmo_base_of(run, w->in), w->rows.start, w->op->dilation_h, w->rows.count, 1, 0, taps);
  } else {
    list_window(run, w, 0, taps);
  }
  tmo_window window = listed_window(w, taps);
  if (k->whole_rows) {
    window.count = (uint16_t)w->rows.count;
    window.offset = w->columns.start * k->in_channels;
  }
  tmo_conv_dsp_gather(k, &window, pixel, pixels);
}

TMO_OWN_FRAME static void convolve(const tmo_run_state *run, const pixel_window *w, tmo_kernel *k, int8_t *to) {
  const int8_t *taps[TMO_MAX_TAPS];
  gather_pixel(run, w, k, taps, 0, 1);
  tmo_conv_dsp_multiply(k, 1, to, 0);
}
#endif

#if TMO_RUNS_ESP
TMO_OWN_FRAME static void convolve_esp(const tmo_run_state *run, const pixel_window *w, const tmo_kernel *k, int8_t *to) {
  const int8_t *taps[TMO_MAX_TAPS];
  list_window(run, w, 0, taps);
  const tmo_window window = listed_window(w, taps);
  tmo_conv_esp_pixel(k, &window, to);
}
#endif

TMO_OWN_FRAME static void convolve_channels(const tmo_run_state *run, const pixel_window *w, const tmo_kernel *k, int8_t *to) {
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const uint32_t all = tmo_depthwise_taps(k), wide = w->op->kernel_w;
  if (w->rows.count * w->columns.count != all) tmo_depthwise_clear(k, taps, all);
  list_window(run, w, wide - w->columns.count, taps + w->rows.first * wide + w->columns.first);
  tmo_depthwise_multiply(k, taps, to);
}

/* Returns the arguments of a packed kernel. Only the fields that it reads are set. */
static TMO_ALWAYS_INLINE tmo_kernel kernel_of(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  tmo_kernel k;
  k.op = op;
  k.in_channels = in->channels;
  k.out_channels = out->channels;
  k.bias = (const int32_t *)tmo_constant(run->program, op->scales);
  k.weights = tmo_weights_of(run, op);
  k.scratch = run->workspace + op->scratch;
  k.whole_rows = false;
  return k;
}

static TMO_ALWAYS_INLINE void call_kernel(const tmo_run_state *run, const pixel_window *w, const tmo_tensor *out, int8_t *to) {
  const tmo_op *const op = w->op;
  tmo_kernel k = kernel_of(run, op, w->in, out);
#if TMO_RUNS_DSP
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    if (!tmo_packed_direct(op, k.in_channels, k.out_channels, 1)) {
      convolve(run, w, &k, to);
      return;
    }
    const int8_t *const pixel = pixel_of(run, w->in, w->rows.start, w->columns.start);
    const tmo_window window = {&pixel, 1, 1, 0, 0, 0, 1};
    tmo_conv_dsp_direct(&k, &window, to);
    return;
  }
#endif
#if TMO_RUNS_ESP
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) {
    convolve_esp(run, w, &k, to);
    return;
  }
#endif
  convolve_channels(run, w, &k, to);
}

#if TMO_RUNS_DSP
/* Units that are computed at once. */
typedef struct {
  const tmo_unit *units;
  uint32_t n;
  int8_t *outs[TMO_PACKED_PIXELS];
} pixels_at_once;

enum { ZERO_BYTES = 64 }; /* maximum number of channels of pixels that are gathered tap by tap */

/* Widens the bytes of a tap into the column of one of n pixels. */
static void widen_tap(const int8_t *from, int16_t *to, uint32_t n, uint32_t bytes) {
  for (; bytes >= 4; bytes -= 4, from += 4, to += 4 * n) {
    to[0] = from[0];
    to[1] = from[2];
    to[2 * n] = from[1];
    to[2 * n + 1] = from[3];
  }
  if (bytes > 0) to[0] = from[0];
  if (bytes > 1) to[2 * n] = from[1];
  if (bytes > 2) to[1] = from[2];
}

/* Gathers windows tap by tap, with taps that fill quads. */
TMO_OWN_FRAME static void gather_pixel_taps(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const tmo_op *op = k->op;
  const uint32_t wide = op->kernel_w, all = op->kernel_h * wide, channels = k->in_channels, n = a->n;
  const int8_t *taps[TMO_MAX_TAPS], **mine = taps;
  int8_t zero[ZERO_BYTES];
  int16_t *tile = (int16_t *)k->scratch;
  memset(zero, op->input_zero_point[0], channels);
  for (uint32_t p = 0; p < n; ++p, mine += all) {
    run->unit = a->units[p];
    const pixel_window w = window_under(run, op, in);
    if (w.rows.count * w.columns.count != all) {
      for (uint32_t t = 0; t < all; ++t) mine[t] = zero;
    }
    list_window(run, &w, wide - w.columns.count, mine + w.rows.first * wide + w.columns.first);
  }
  for (uint32_t t = 0; t < all; ++t, tile += n * channels) {
    if (n == TMO_PACKED_PIXELS) {
      const int8_t *const from[TMO_PACKED_PIXELS] = {taps[t], taps[all + t], taps[2 * all + t], taps[3 * all + t]};
      tmo_dsp_widen_each(from, tile, channels);
    } else {
      for (uint32_t p = 0; p < n; ++p) widen_tap(taps[p * all + t], tile + 2 * p, n, channels);
    }
  }
}

TMO_OWN_FRAME static void gather_each(tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const int8_t *taps[TMO_MAX_TAPS];
  for (uint32_t p = 0; p < a->n; ++p) {
    run->unit = a->units[p];
    const pixel_window w = window_under(run, k->op, in);
    gather_pixel(run, &w, k, taps, p, a->n);
  }
}

/* Computes the n gathered pixels, at least two. */
static void multiply_into(const tmo_kernel *k, uint32_t n, int8_t *const *outs) {
  const int8_t *const first = outs[0];
  bool even = outs[1] > first;
  for (uint32_t p = 2; p < n; ++p) even &= outs[p] == outs[p - 1] + (outs[1] - first);
  if (even) {
    tmo_conv_dsp_multiply(k, n, outs[0], (uint32_t)(outs[1] - first));
  } else {
    tmo_conv_dsp_scatter(k, n, outs);
  }
}

static void convolve_at_once(tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const uint32_t taps = (uint32_t)k->op->kernel_h * k->op->kernel_w;
  if (k->in_channels % 4 == 0 && k->in_channels <= ZERO_BYTES && taps * a->n <= TMO_MAX_TAPS) {
    gather_pixel_taps(run, k, in, a);
  } else {
    gather_each(run, k, in, a);
  }
  multiply_into(k, a->n, a->outs);
}

TMO_OWN_FRAME static void convolve_channels_at_once(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const uint32_t wide = k->op->kernel_w;
  tmo_dsp_run runs[TMO_DSP_RUNS];
  for (uint32_t p = 0; p < a->n; ++p) {
    run->unit = a->units[p];
    const pixel_window w = window_under(run, k->op, in);
    runs[p].out = a->outs[p];
    runs[p].pixels = 1;
    if (w.rows.count * w.columns.count != 9) tmo_depthwise_clear(k, runs[p].taps, 9);
    list_window(run, &w, wide - w.columns.count, runs[p].taps + w.rows.first * wide + w.columns.first);
  }
  tmo_dsp_nine(runs, runs + a->n, k->weights, k->out_channels, 0);
  for (uint32_t p = 0; p < a->n; ++p) tmo_packed_clamp(k->op, a->outs[p], k->out_channels);
}

/* The pixels under the windows of adjacent output columns, row by row, each listed once. */
typedef struct {
  const int8_t *pixels[TMO_MAX_TAPS];
  uint32_t width; /* number of columns */
} pixel_grid;

/* Lists the pixels under the windows of n output columns from x on. Those outside the input are read from `zero`. Returns false if they are too
 * many, or do not fit into the `room` bytes of `zero`. */
TMO_OWN_FRAME static bool list_grid(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *zero, uint32_t room, pixel_grid *grid) {
  const tmo_op *const op = k->op;
  const uint32_t width = (n - 1) * op->stride_w + op->kernel_w, all = op->kernel_h * width;
  const int32_t start = (int32_t)(x * op->stride_w) - op->pad_left, beyond = start + (int32_t)width - in->width;
  const uint32_t left = start < 0 ? (uint32_t)-start : 0, right = beyond > 0 ? (uint32_t)beyond : 0;
  const pixel_window w = {op, in, tmo_clip((int32_t)(run->unit.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height),
                          {left, left + right < width ? width - left - right : 0, (uint32_t)start + left}};
  if (all > TMO_MAX_TAPS || op->dilation_w > 1) return false;
  grid->width = width;
  if (w.rows.count * w.columns.count != all) {
    if (k->in_channels > room) return false;
    memset(zero, op->input_zero_point[0], k->in_channels);
    for (uint32_t i = 0; i < all; ++i) grid->pixels[i] = zero;
  }
  list_window(run, &w, width - w.columns.count, grid->pixels + w.rows.first * width + left);
  return true;
}

/* Widens a tap of n pixels, at least four bytes of each. */
static TMO_ALWAYS_INLINE void widen_each(const int8_t *const *from, int16_t *tile, uint32_t n, uint32_t bytes) {
  const ptrdiff_t apart = from[1] - from[0];
  const bool fits = apart == (int32_t)apart; /* pixels on the stack of a host may be far from the others */
  if (tmo_has_part(TMO_PART_DSP_PAIRS_4) && n == 4 && bytes % 4 == 0) {
    tmo_dsp_widen_each(from, tile, bytes);
  } else if (tmo_has_part(TMO_PART_DSP_PAIRS_3) && n == 3 && fits && from[2] - from[1] == apart) {
    tmo_dsp_widen_3(from[0], (uint32_t)apart, tile, bytes);
  } else if (tmo_has_part(TMO_PART_DSP_PAIRS_2) && n == 2 && fits) {
    tmo_dsp_widen_2(from[0], (uint32_t)apart, tile, bytes);
  } else {
    for (uint32_t p = 0; p < n; ++p) widen_tap(from[p], tile + 2 * p, n, bytes);
  }
}

/* Gathers n pixels, two to four, tap by tap. Returns false if this is not possible. */
TMO_OWN_FRAME static bool gather_grid(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n) {
  const uint32_t channels = k->in_channels, stride = k->op->stride_w, wide = k->op->kernel_w;
  int8_t zero[ZERO_BYTES];
  pixel_grid grid;
  int16_t *tile = (int16_t *)k->scratch;
  if (channels < 4 || (channels % 4 != 0 && wide > 1) || !list_grid(run, k, in, x, n, zero, ZERO_BYTES, &grid)) return false;
  const int8_t *const *row = grid.pixels;
  for (uint32_t ky = k->op->kernel_h; ky > 0; --ky, row += grid.width) {
    for (uint32_t kx = 0; kx < wide; ++kx, tile += n * ((channels + 3) / 4 * 4)) {
      const int8_t *from[TMO_PACKED_PIXELS];
      if (stride == 1) {
        widen_each(row + kx, tile, n, channels);
        continue;
      }
      for (uint32_t p = 0; p < n; ++p) from[p] = row[kx + p * stride];
      widen_each(from, tile, n, channels);
    }
  }
  return true;
}

/* Computes n pixels of a packed convolution, at least two, from whole input rows. */
TMO_OWN_FRAME static void convolve_columns(const tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *const *outs) {
  const tmo_op *const op = k->op;
  const int8_t *pixels[TMO_MAX_TAPS];
  const tmo_taps rows = tmo_clip((int32_t)(run->unit.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  const tmo_window window = {pixels, (uint16_t)rows.count, 1, (uint16_t)rows.first, 0, 0, rows.count};
  tmo_columns_job job = {x, x + n, n, outs[0], (uint32_t)(outs[1] - outs[0]), outs[1] > outs[0] ? NULL : outs};
  for (uint32_t p = 2; p < n; ++p) {
    if (outs[p] != outs[p - 1] + job.step) job.outs = outs;
  }
  k->in_width = in->width;
  k->out_width = (uint16_t)(x + n);
  k->whole_rows = true;
  tmo_list_lines(in, tmo_base_of(run, in), rows.start, op->dilation_h, rows.count, 1, 0, pixels);
  tmo_conv_dsp_columns(k, &window, &job);
}

static bool convolve_few(const tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *const *outs) {
  if (gather_grid(run, k, in, x, n)) {
    multiply_into(k, n, outs);
    return true;
  }
  if (tmo_has_column_windows(in)) return false;
  convolve_columns(run, k, in, x, n, outs);
  return true;
}

/* Computes n pixels of a packed depthwise convolution with nine taps. Returns false if this is not possible for any n. */
TMO_OWN_FRAME static bool convolve_nine(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *const *outs) {
  const tmo_op *const op = k->op;
  const uint32_t channels = k->out_channels;
  pixel_grid grid;
  tmo_dsp_run runs[TMO_DSP_RUNS];
  if (!list_grid(run, k, in, x, n, (int8_t *)k->scratch, channels, &grid)) return false;
  for (uint32_t p = 0; p < n; ++p) {
    const int8_t *const *row = grid.pixels + p * op->stride_w;
    runs[p].out = outs[p];
    runs[p].pixels = 1;
    if (op->kernel_w == 3) {
      TMO_UNROLLED for (uint32_t t = 0; t < 9; ++t) runs[p].taps[t] = row[t / 3 * grid.width + t % 3];
    } else {
      const uint32_t wide = op->kernel_w;
      for (uint32_t t = 0; t < 9; t += wide, row += grid.width) {
        for (uint32_t c = 0; c < wide; ++c) runs[p].taps[t + c] = row[c];
      }
    }
  }
  tmo_dsp_nine(runs, runs + n, k->weights, channels, 0);
  for (uint32_t p = 0; p < n; ++p) tmo_packed_clamp(op, outs[p], channels);
  return true;
}

/* Lists the pixels of n columns of a row for which is_plain() holds, from x on. */
static void list_pixels_of_row(const tmo_run_state *run, const tmo_tensor *t, uint32_t x, uint32_t n, int8_t **pixels) {
  const int8_t *const base = tmo_base_of(run, t);
  const tmo_line line = tmo_line_of(run->program, t, t->channels, run->unit.stripe, run->unit.row);
  for (const uint32_t end = x + n; x < end; ++x) *pixels++ = (int8_t *)(uintptr_t)(base + tmo_pixel_offset(&line, x));
}

/* Adds n pixels, at once if they are adjacent in both inputs and the output. */
TMO_OWN_FRAME static void add_few(const tmo_run_state *run, const tmo_kernel *k, uint32_t x, uint32_t n, int8_t *const *outs) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  const uint32_t channels = k->out_channels;
  int8_t *a[TMO_PACKED_PIXELS], *b[TMO_PACKED_PIXELS];
  bool adjacent = true;
  list_pixels_of_row(run, &tensors[k->op->input[0]], x, n, a);
  list_pixels_of_row(run, &tensors[k->op->input[1]], x, n, b);
  for (uint32_t p = 1; p < n; ++p) adjacent &= outs[p] - outs[p - 1] == (int32_t)channels && a[p] - a[p - 1] == (int32_t)channels && b[p] - b[p - 1] == (int32_t)channels;
  const uint32_t times = adjacent ? 1 : n, bytes = adjacent ? n * channels : channels;
  for (uint32_t p = 0; p < times; ++p) tmo_packed_add(a[p], b[p], outs[p], bytes, k->bias, k->op);
}

TMO_OWN_FRAME bool tmo_iterate_tile(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const bool convolves = tmo_is_packed_as(op, TMO_PACKING_DSP_CONV), adds = tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  const uint32_t end = tmo_unit_column_end(op, out, &run->unit);
  uint32_t x = tmo_unit_column(op, &run->unit), n;
  int8_t *outs[TMO_PACKED_PIXELS];
  if (!is_plain(run, in) || out->layout != TMO_LAYOUT_HWC || (adds ? !is_plain(run, &tensors[op->input[1]]) : !convolves && !tmo_has_nine_taps(op))) return false;
  if (convolves && op->kernel_w > 1 && in->channels % 4 != 0 && tmo_has_column_windows(in)) return false;
  if (convolves && (end - x < 2 || end - x > tmo_packed_pixels(op, tmo_packed_values(op, in->channels), op->tile))) return false;
  tmo_kernel k = kernel_of(run, op, in, out);
  for (; x < end; x += n) {
    n = end - x < TMO_PACKED_PIXELS ? end - x : TMO_PACKED_PIXELS;
    list_pixels_of_row(run, out, x, n, outs);
    if (adds) {
      add_few(run, &k, x, n, outs);
    } else if (!(convolves ? convolve_few(run, &k, in, x, n, outs) : convolve_nine(run, &k, in, x, n, outs))) {
      return false;
    }
  }
  return true;
}

uint32_t tmo_iterates_at_once(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  return is_plain(run, &tensors[op->input[0]]) && tensors[op->output].layout == TMO_LAYOUT_HWC ? tmo_at_once(op) : 1;
}

void tmo_iterate_pixels(tmo_run_state *run, const tmo_op *op, const tmo_unit *units, uint32_t n) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  pixels_at_once a = {units, n, {NULL}};
  for (uint32_t p = 0; p < n; ++p) {
    run->unit = units[p];
    a.outs[p] = pixel_of(run, out, units[p].row, units[p].tile);
  }
  tmo_kernel k = kernel_of(run, op, in, out);
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    convolve_at_once(run, &k, in, &a);
  } else {
    convolve_channels_at_once(run, &k, in, &a);
  }
}
#endif

#if TMO_FAST_PIXELS
/* Whether an unpacked operator's kernel takes whole input rows as well as pixels. */
static TMO_ALWAYS_INLINE bool takes_rows(const tmo_op *op, const tmo_kernel *k) {
#if TMO_CORE_DSP
  if (op->kind == TMO_OP_DEPTHWISE) return k->in_channels == k->out_channels && tmo_makes_fours(k);
#else
  (void)k;
#endif
  return op->kind == TMO_OP_CONV;
}

static TMO_ALWAYS_INLINE bool is_backwards(const tmo_tensor *t) { return tmo_has_part(TMO_PART_REVERSED) && t->layout == TMO_LAYOUT_PIXELS_REVERSED; }

static TMO_ALWAYS_INLINE bool is_pool(const tmo_op *op) {
  return tmo_is_kind(op, TMO_OP_MAX_POOL) || tmo_is_kind(op, TMO_OP_AVERAGE_POOL) || tmo_is_kind(op, TMO_OP_MEAN);
}

#if TMO_CORE_DSP
/* Computes a pixel of a pointwise convolution without padding, which call_plain_kernel() supports, too. Returns false for other operators. */
TMO_OWN_FRAME static bool convolve_one(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const uint32_t y = run->unit.row * op->stride_h, x = run->unit.tile * op->stride_w;
  tmo_kernel k; /* only the fields that the kernel reads */
  k.op = op;
  k.in_channels = k.tap_step = in->channels;
  k.out_channels = out->channels;
  k.bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) : NULL;
  k.sums = NULL;
  if (op->pad_top + op->pad_left > 0 || y >= in->height || x >= in->width || tmo_has_nibbles(op) || !tmo_makes_fours(&k)) {
    return false;
  }
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  int8_t *const to = pixel_of(run, out, run->unit.row, run->unit.tile);
  tmo_dsp_conv_run(&k, pixel_of(run, in, y, x), k.in_channels, tmo_weights_of(run, op), to);
  return true;
}
#endif

/* Calls the kernel of an operator that is not packed for one pixel. */
TMO_OWN_FRAME static tmo_status call_plain_kernel(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const uint8_t *const program = run->program;
  const pixel_window w = window_under(run, op, in);
  const int8_t *taps[TMO_MAX_TAPS];
  tmo_kernel k; /* only the fields that the kernels below read */
  k.op = op;
  k.in_channels = in->channels;
  k.out_channels = out->channels;
  k.tap_step = op->kind == TMO_OP_CONV ? k.in_channels : k.out_channels;
  k.bias = op->bias ? (const int32_t *)tmo_constant(program, op->bias) : NULL;
  k.weights = tmo_weights_of(run, op);
  k.first_weight = 0;
  k.multipliers = (const int32_t *)tmo_constant(program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(program, op->shifts);
  k.sums = NULL;
  k.out_width = 1;
  k.first = k.last = true;
  k.whole_rows = tmo_by_row(op);
  tmo_window window = listed_window(&w, taps);
  if (tmo_has_column_windows(in)) {
    if (window.count == 1) {
      *taps = pixel_of(run, in, w.rows.start, w.columns.start);
    } else {
      list_window(run, &w, 0, taps);
    }
  } else {
    const bool backwards = is_backwards(in);
    const uint32_t first = (backwards ? in->width - 1u - w.columns.start : w.columns.start) * k.in_channels;
    if (!k.whole_rows) k.whole_rows = !backwards && takes_rows(op, &k);
    const int8_t *const base = tmo_base_of(run, in);
    if (k.whole_rows) {
      window.count = (uint16_t)w.rows.count;
      window.offset = first;
      tmo_list_lines(in, base, w.rows.start, op->dilation_h, w.rows.count, 1, 0, taps);
    } else {
      const int32_t apart = (int32_t)(op->dilation_w * k.in_channels);
      tmo_list_lines(in, base + first, w.rows.start, op->dilation_h, w.rows.count, w.columns.count, backwards ? -apart : apart, taps);
    }
  }
  int8_t *const to = pixel_of(run, out, run->unit.row, run->unit.tile);
  if (tmo_is_kind(op, TMO_OP_CONV)) {
    tmo_conv_pixel_s8(&k, &window, to);
  } else if (tmo_is_kind(op, TMO_OP_DEPTHWISE)) {
    tmo_depthwise_pixel_s8(&k, &window, to);
  } else if (tmo_is_kind(op, TMO_OP_LOOKUP)) {
    tmo_lookup_s8(&k, &window, to);
  } else {
    tmo_pool_pixel_s8(&k, &window, to);
  }
  return TMO_OK;
}

/* Whether a tensor's pixels are in the arena or in a complete buffer of the caller. */
static TMO_ALWAYS_INLINE bool holds_pixels(const tmo_run_state *run, const tmo_tensor *t) {
  return !tmo_in_rolling_buffer(t) && !tmo_is_source(run->program, t);
}

/* Adds the pixels of two operands; an operand with one row, column or channel is repeated. */
TMO_OWN_FRAME static tmo_status add_pixels(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const out = &tensors[op->output];
  const int8_t *pixels[2];
  const tmo_window window = {pixels, 2, 0, 0, 0, 0, 0};
  tmo_kernel k; /* only the fields that the kernel reads */
  for (uint32_t i = 0; i < 2; ++i) {
    const tmo_tensor *const in = &tensors[op->input[i]];
    pixels[i] = pixel_of(run, in, in->height > 1 ? run->unit.row : 0, in->width > 1 ? run->unit.tile : 0);
    k.pixel_step[i] = 0;
    k.channel_step[i] = in->channels == out->channels ? 1 : 0;
  }
  k.op = op;
  k.out_width = 1;
  k.out_channels = out->channels;
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  tmo_add_s8(&k, &window, pixel_of(run, out, run->unit.row, run->unit.tile));
  return TMO_OK;
}

/* Whether add_pixels() supports an operator. */
static TMO_ALWAYS_INLINE bool adds_pixels(const tmo_run_state *run, const tmo_op *op) {
  if (op->packing != TMO_PACKING_NONE || op->access != 0 || !tmo_is_kind(op, TMO_OP_ADD) || tmo_channel_groups(op) > 1) return false;
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  return holds_pixels(run, &tensors[op->input[0]]) && holds_pixels(run, &tensors[op->input[1]]) && holds_pixels(run, &tensors[op->output]);
}

/* Whether call_plain_kernel() supports an operator. */
static TMO_ALWAYS_INLINE bool is_plain_window(const tmo_op *op) {
  const bool plain = op->packing == TMO_PACKING_NONE && op->access == 0 && tmo_channel_groups(op) == 1 && !tmo_iterative(op);
  return plain && (tmo_is_kind(op, TMO_OP_CONV) || tmo_is_kind(op, TMO_OP_DEPTHWISE) || is_pool(op) || tmo_is_kind(op, TMO_OP_LOOKUP));
}
#endif

/* Whether a kernel above supports the operator's window. With the DSP extension, rows of one pixel whose windows have several columns take the general
 * path. */
static TMO_ALWAYS_INLINE bool has_window(const tmo_op *op, const tmo_tensor *in) {
  const bool one = op->kernel_w == 1 && (op->kernel_h == 1 || in->channels >= 4);
  return (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && (one || !tmo_by_row(op))) || tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ||
         tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) ||
         tmo_is_packed_as(op, TMO_PACKING_ESP_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
}

TMO_OWN_FRAME static tmo_status iterate_packed(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  const bool adds = tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  const bool plain = is_plain(run, in) && (adds ? is_plain(run, &tensors[op->input[1]]) : has_window(op, in)) && out->layout == TMO_LAYOUT_HWC;
  if (!plain) return tmo_iterate_any(run, op);
  int8_t *const to = pixel_of(run, out, run->unit.row, run->unit.tile);
#if TMO_RUNS_DSP || TMO_RUNS_MVE
  const int32_t *const scales = (const int32_t *)tmo_constant(run->program, op->scales);
#endif
#if TMO_RUNS_DSP
  if (adds) {
    const int8_t *const second = pixel_of(run, &tensors[op->input[1]], run->unit.row, run->unit.tile);
    tmo_packed_add(pixel_of(run, in, run->unit.row, run->unit.tile), second, to, out->channels, scales, op);
    return TMO_OK;
  }
#endif
  const pixel_window w = window_under(run, op, in);
#if TMO_RUNS_MVE
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV)) {
    multiply_mve(run, &w, out, scales, to);
    return TMO_OK;
  }
#endif
  call_kernel(run, &w, out, to);
  return TMO_OK;
}

/* This function has no stack frame of its own, because the functions that it calls have large ones. */
tmo_status tmo_iterate_pixel(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
#if TMO_FAST_PIXELS
  if (is_plain_window(op) && holds_pixels(run, in) && holds_pixels(run, out)) {
#if TMO_CORE_DSP
    if (op->kernel_h == 1 && op->kernel_w == 1 && tmo_is_kind(op, TMO_OP_CONV) && convolve_one(run, op, in, out)) return TMO_OK;
#endif
    return call_plain_kernel(run, op, in, out);
  }
  if (adds_pixels(run, op)) return add_pixels(run, op);
#endif
  return iterate_packed(run, op, in, out);
}

#endif

typedef int tmo_iterate_pixel_is_not_empty; /* ISO C forbids an empty file */
