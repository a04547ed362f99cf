/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes iterations of a few pixels for operators packed for the DSP extension. tmo_iterate.c computes all other iterations. */
#include <string.h>

#include "tmo/iterate.h"

#if TMO_RUNS_DSP

#include "tmo/pixel.h"

/* This record has the iterations of an operator that one call computes at once. */
typedef struct {
  const tmo_iteration *iterations;
  uint32_t n;
  int8_t *outs[TMO_PACKED_PIXELS];
} pixels_at_once;

enum { ZERO_BYTES = 64 }; /* pixels that are gathered tap by tap have at most this many channels */

/* Widens the bytes of one pixel's tap, and writes them to a tile of n pixels. */
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

/* Gathers windows tap by tap. The number of bytes of a tap must be a multiple of four. */
TMO_OWN_FRAME static void gather_pixel_taps(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const tmo_op *op = k->op;
  const uint32_t wide = op->kernel_w, all = op->kernel_h * wide, channels = k->in_channels, n = a->n;
  const int8_t *taps[TMO_MAX_TAPS], **mine = taps;
  int8_t zero[ZERO_BYTES];
  int16_t *tile = (int16_t *)k->scratch;
  memset(zero, op->input_zero_point[0], channels);
  for (uint32_t p = 0; p < n; ++p, mine += all) {
    run->current = a->iterations[p];
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
    run->current = a->iterations[p];
    const pixel_window w = window_under(run, k->op, in);
    gather_pixel(run, &w, k, taps, p, a->n);
  }
}

/* Computes at least two pixels, which were gathered. */
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
    run->current = a->iterations[p];
    const pixel_window w = window_under(run, k->op, in);
    runs[p].out = a->outs[p];
    runs[p].pixels = 1;
    if (w.rows.count * w.columns.count != 9) tmo_depthwise_clear(k, runs[p].taps, 9);
    list_window(run, &w, wide - w.columns.count, runs[p].taps + w.rows.first * wide + w.columns.first);
  }
  tmo_dsp_nine(runs, runs + a->n, k->weights, k->out_channels, 0);
  for (uint32_t p = 0; p < a->n; ++p) tmo_packed_clamp(k->op, a->outs[p], k->out_channels);
}

/* This list has the pixels under the windows of adjacent output columns, row by row. A pixel under several windows is listed once. */
typedef struct {
  const int8_t *pixels[TMO_MAX_TAPS];
  uint32_t width; /* number of listed columns */
} pixel_grid;

/* Lists the pixels under the windows of n output columns from x on. Pixels outside the input are read from `zero`. Returns false if there are too
 * many pixels, or if a pixel does not fit into the `room` bytes of `zero`. */
TMO_OWN_FRAME static bool list_grid(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *zero, uint32_t room, pixel_grid *grid) {
  const tmo_op *const op = k->op;
  const uint32_t width = (n - 1) * op->stride_w + op->kernel_w, all = op->kernel_h * width, pixel = k->in_channels;
  const int32_t start = (int32_t)(x * op->stride_w) - op->pad_left, beyond = start + (int32_t)width - in->width;
  const uint32_t left = start < 0 ? (uint32_t)-start : 0, right = beyond > 0 ? (uint32_t)beyond : 0;
  const tmo_taps rows = tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, op->kernel_h, 1, in->height);
  const int8_t **to = grid->pixels;
  if (all > TMO_MAX_TAPS || op->dilation_w > 1 || op->dilation_h > 1) return false;
  grid->width = width;
  if (left + right > 0 || rows.count != op->kernel_h) {
    if (pixel > room) return false;
    memset(zero, op->input_zero_point[0], pixel);
    for (uint32_t i = 0; i < all; ++i) to[i] = zero;
    if (rows.count == 0 || left + right >= width) return true;
  }
  tmo_column_window whole;
  tmo_row_place place = tmo_find_row(run->program, in, run->current.stripe, rows.start, &whole);
  place.column += (uint32_t)start + left;
  tmo_list_rows(place, tmo_base_of(run, in), pixel, rows.count, width - left - right, 1, 1, left + right, to + rows.first * width + left);
  return true;
}

/* Widens the bytes of one tap for n pixels. Each pixel has at least four bytes in a tap. */
static TMO_ALWAYS_INLINE void widen_each(const int8_t *const *from, int16_t *tile, uint32_t n, uint32_t bytes) {
  const ptrdiff_t apart = from[1] - from[0];
  const bool fits = apart == (int32_t)apart; /* on a host, the distance from a pixel on the stack may not fit int32_t */
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

/* Gathers two to four pixels, tap by tap. Returns false if the caller has to gather the pixels with another function. */
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

/* Gathers n >= 2 pixels of a packed convolution from whole input rows. */
TMO_OWN_FRAME static void gather_rows(const tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n) {
  const tmo_op *const op = k->op;
  const int8_t *pixels[TMO_MAX_TAPS];
  const tmo_taps rows = tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  const tmo_window window = {pixels, (uint16_t)rows.count, 1, (uint16_t)rows.first, 0, 0, rows.count};
  const uint32_t start = x * op->stride_w - op->pad_left; /* wraps to a large number if the first window begins in the padding */
  tmo_list_row_pixels(in, tmo_base_of(run, in), rows.start, op->dilation_h, rows.count, 1, 0, pixels);
  if (rows.count == op->kernel_h && op->dilation_w == 1 && start < in->width && start + (n - 1) * op->stride_w + op->kernel_w <= in->width) {
    tmo_conv_dsp_gather_inside(k, &window, start * k->in_channels, n);
    return;
  }
  k->in_width = in->width;
  k->out_width = (uint16_t)(x + n);
  k->whole_rows = true;
  k->sums = NULL;
  for (uint32_t p = 0; p < n; ++p) {
    const tmo_window column = tmo_column(k, &window, (uint16_t)(x + p));
    tmo_conv_dsp_gather(k, &column, p, n);
  }
}

static bool convolve_few(const tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t *const *outs) {
  if (!gather_grid(run, k, in, x, n)) {
    if (tmo_has_column_windows(in)) return false;
    gather_rows(run, k, in, x, n);
  }
  multiply_into(k, n, outs);
  return true;
}

/* Computes n >= 3 pixels of a packed depthwise convolution with 3x3 taps and stride 1. Returns false if this function cannot compute the pixels. */
TMO_OWN_FRAME static bool convolve_four(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t **outs) {
  const uint32_t channels = k->out_channels;
  pixel_grid grid;
  if (!list_grid(run, k, in, x, TMO_PACKED_PIXELS, (int8_t *)k->scratch, channels, &grid)) return false;
  if (n < TMO_PACKED_PIXELS) outs[3] = outs[2]; /* pixel 3 does not exist, so its output is overwritten by pixel 2 */
  tmo_dsp_four(grid.pixels, outs, k->weights, channels);
  if (tmo_packed_clamps(k->op)) {
    for (uint32_t p = 0; p < n; ++p) tmo_packed_clamp(k->op, outs[p], channels);
  }
  return true;
}

/* Computes n pixels of a packed depthwise convolution with nine taps. Returns false if this function cannot compute the pixels. */
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

/* Computes n pixels of a packed depthwise convolution with nine taps. Returns false if this function cannot compute the pixels. */
static TMO_ALWAYS_INLINE bool convolve_depthwise(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n, int8_t **outs) {
  if (!tmo_has_part(TMO_PART_DSP_NINE)) return false;
  const bool four = n > 2 && k->op->kernel_w == 3 && k->op->stride_w == 1;
  return four ? convolve_four(run, k, in, x, n, outs) : convolve_nine(run, k, in, x, n, outs);
}

/* Lists the pixels of n columns of a row, from x on. is_plain() must hold for the tensor. */
static void list_pixels_of_row(const tmo_run_state *run, const tmo_tensor *t, uint32_t x, uint32_t n, int8_t **pixels) {
  const tmo_row_pixels row = tmo_row_pixels_of(run->program, t, t->channels, run->current.stripe, run->current.row);
  const uint32_t channels = t->channels, at = tmo_remainder(row.first + x * row.step, row.depth) * channels;
  tmo_list_rolling_buffer(tmo_base_of(run, t) + row.offset, row.depth * channels, at, row.step * channels, n, (const int8_t **)pixels);
}

/* Adds n pixels of two operands. If the pixels are adjacent in both inputs and the output, one call adds them all. */
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
  const uint32_t end = tmo_end_column(op, out, &run->current);
  uint32_t x = tmo_first_column(op, &run->current), n;
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
    } else if (!(convolves ? convolve_few(run, &k, in, x, n, outs) : convolve_depthwise(run, &k, in, x, n, outs))) {
      return false;
    }
  }
  return true;
}

uint32_t tmo_iterates_at_once(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  return is_plain(run, &tensors[op->input[0]]) && tensors[op->output].layout == TMO_LAYOUT_HWC ? tmo_at_once(op) : 1;
}

void tmo_iterate_pixels(tmo_run_state *run, const tmo_op *op, const tmo_iteration *iterations, uint32_t n) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  pixels_at_once a = {iterations, n, {NULL}};
  for (uint32_t p = 0; p < n; ++p) {
    run->current = iterations[p];
    a.outs[p] = pixel_of(run, out, iterations[p].row, iterations[p].tile);
  }
  tmo_kernel k = kernel_of(run, op, in, out);
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    convolve_at_once(run, &k, in, &a);
  } else {
    convolve_channels_at_once(run, &k, in, &a);
  }
}
#endif
