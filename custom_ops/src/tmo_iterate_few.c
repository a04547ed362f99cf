/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes a few pixels at once for operators packed for the DSP extension. tmo_iterate.c runs all other iterations. */
#include <string.h>

#include "tmo/iterate.h"

#if TMO_RUNS_DSP

#include "tmo/dsp.h"
#include "tmo/pixel.h"

/* Iterations of an operator that are computed together, one pixel each. */
typedef struct {
  const tmo_iteration *iterations;
  uint32_t n;
  int8_t *outs[TMO_PACKED_PIXELS];
} pixels_at_once;

enum { ZERO_BYTES = 64 }; /* pixels with more than ZERO_BYTES channels are not copied tap by tap */

/* Widens the bytes of one tap of one pixel to int16, and writes the int16 values to a tile of n pixels. */
static void widen_tap(const int8_t *from, int16_t *to, uint32_t n, uint32_t bytes) {
  for (; bytes >= 4; bytes -= 4, from += 4, to += 4 * n) {
    const int32_t word = tmo_word(from), even = tmo_even_bytes(0, word), odd = tmo_odd_bytes(0, word);
    memcpy(to, &even, sizeof even);
    memcpy(to + 2 * n, &odd, sizeof odd);
  }
  if (bytes > 0) to[0] = from[0];
  if (bytes > 1) to[2 * n] = from[1];
  if (bytes > 2) to[1] = from[2];
}

/* Widens the bytes of one tap of n pixels to int16, and returns the address after the last written value. */
static TMO_ALWAYS_INLINE int16_t *widen_each(const int8_t *const *from, int16_t *tile, uint32_t n, uint32_t bytes) {
  const ptrdiff_t apart = from[1] - from[0];
  const bool fits = bytes >= 4 && apart == (int32_t)apart; /* on a host, the distance to a pixel on the stack may not fit int32_t */
  if (tmo_has_part(TMO_PART_DSP_PAIRS_4) && n == 4) {
    if (bytes % 4 == 0) return tmo_dsp_widen_each(from, tile, bytes);
    if (fits && from[2] - from[1] == apart && from[3] - from[2] == apart) return tmo_dsp_widen_4(from[0], (uint32_t)apart, tile, bytes);
  } else if (tmo_has_part(TMO_PART_DSP_PAIRS_2) && n == 2) {
    if (fits) return tmo_dsp_widen_2(from[0], (uint32_t)apart, tile, bytes);
  } else if (tmo_has_part(TMO_PART_DSP_PAIRS_3) && fits && from[2] - from[1] == apart) {
    return tmo_dsp_widen_3(from[0], (uint32_t)apart, tile, bytes);
  }
  for (uint32_t p = 0; p < n; ++p) widen_tap(from[p], tile + 2 * p, n, bytes);
  return tile + n * ((bytes + 3) / 4 * 4);
}

/* Addresses of the input pixels under the windows of several output pixels. */
typedef struct {
  const int8_t *pixels[TMO_MAX_TAPS];
  int8_t *zero;  /* pixel of zero points that stands for the padding */
  uint32_t room; /* size of the array `zero` in bytes */
  uint32_t width; /* number of input columns that are listed */
} pixel_list;

/* Lists the input pixels under a block of output pixels row by row, beginning with entry `first` of the list. A pixel under several windows is listed
 * once. The block of output pixels begins in column x and row run->current.row. Returns the number of listed pixels, or 0 if the list or the padding
 * pixel is too small. */
TMO_OWN_FRAME static uint32_t list_block(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t columns, uint32_t rows, pixel_list *list, uint32_t first) {
  const tmo_op *const op = k->op;
  const uint32_t wide = (columns - 1) * op->stride_w + op->kernel_w, all = ((rows - 1) * op->stride_h + op->kernel_h) * wide, pixel = k->in_channels;
  const tmo_taps across = tmo_clip((int32_t)(x * op->stride_w) - op->pad_left, (uint16_t)wide, op->dilation_w, in->width);
  const tmo_taps down = tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, (uint16_t)((rows - 1) * op->stride_h + op->kernel_h), op->dilation_h, in->height);
  const int8_t **const to = list->pixels + first;
  if (all > TMO_MAX_TAPS - first || (columns > 1 && op->dilation_w > 1) || (rows > 1 && op->dilation_h > 1)) return 0;
  list->width = wide;
  if (across.count * down.count != all) {
    if (pixel > list->room) return 0;
    memset(list->zero, op->input_zero_point[0], pixel);
    for (uint32_t i = 0; i < all; ++i) to[i] = list->zero;
    if (across.count == 0 || down.count == 0) return all;
  }
  tmo_column_window whole;
  tmo_row_place place = tmo_find_row(run->program, in, run->current.stripe, down.start, &whole);
  place.column += across.start;
  tmo_list_rows(place, tmo_base_of(run, in), pixel, down.count, across.count, op->dilation_h, op->dilation_w, wide - across.count, true, to + down.first * wide + across.first);
  return all;
}

static TMO_ALWAYS_INLINE bool are_in_column(const tmo_iteration *a, const tmo_iteration *b) { return a->tile == b->tile && a->stripe == b->stripe; }

/* Returns the number of output pixels that are below each other in one column, beginning with the pixel with the index p. The iterations of a stripe
 * go down one column, and then continue at the top of the next column. */
static TMO_ALWAYS_INLINE uint32_t pixels_below(const pixels_at_once *a, uint32_t p) {
  const tmo_iteration *const first = &a->iterations[p];
  uint32_t n = a->n - p;
  while (!are_in_column(first, &first[n - 1])) --n;
  return n;
}

TMO_OWN_FRAME static void find_pixels(const tmo_run_state *run, const tmo_tensor *t, const pixels_at_once *a, const int8_t **pixels) {
  for (uint32_t p = 0, n; p < a->n; p += n) {
    const tmo_iteration *const at = &a->iterations[p];
    tmo_column_window whole;
    tmo_row_place place = tmo_find_row(run->program, t, at->stripe, at->row, &whole);
    place.column += at->tile;
    n = pixels_below(a, p);
    tmo_list_rows(place, tmo_base_of(run, t), t->channels, n, 1, 1, 1, 0, false, pixels + p);
  }
}

/* Lists the input pixels under the window of each output pixel. For each output pixel, the array `windows` has the address of the list entry with the
 * first input pixel. Returns false if the list or the padding pixel is too small. */
TMO_OWN_FRAME static bool list_windows(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a, pixel_list *list, const int8_t *const **windows) {
  const uint32_t apart = k->op->stride_h * k->op->kernel_w;
  for (uint32_t p = 0, first = 0, n, listed; p < a->n; p += n, first += listed) {
    n = k->op->dilation_h > 1 || k->op->stride_h > k->op->kernel_h ? 1 : pixels_below(a, p);
    run->current = a->iterations[p];
    listed = list_block(run, k, in, run->current.tile, 1, n, list, first);
    if (listed == 0) return false;
    for (uint32_t i = 0; i < n; ++i) windows[p + i] = list->pixels + first + i * apart;
  }
  return true;
}

/* For an input of whole rows, lists the rows under windows that are completely inside the input. Each row is listed by the address of its first
 * pixel under the window. Returns false if a window is not completely inside the input. */
TMO_OWN_FRAME static bool list_rows_inside(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a, pixel_list *list, const int8_t *const **windows) {
  const tmo_op *const op = k->op;
  const int8_t *const base = tmo_base_of(run, in), **rows = list->pixels, **const end = rows + TMO_MAX_TAPS;
  if (op->dilation_w > 1 || op->dilation_h > 1 || tmo_has_column_windows(in)) return false;
  for (uint32_t p = 0, n, high; p < a->n; p += n, rows += high) {
    n = pixels_below(a, p);
    high = (n - 1) * op->stride_h + op->kernel_h;
    /* A coordinate in the padding wraps to a large number. */
    const uint32_t x = a->iterations[p].tile * op->stride_w - op->pad_left, y = a->iterations[p].row * op->stride_h - op->pad_top;
    if (x >= in->width || x + op->kernel_w > in->width || y >= in->height || y + high > in->height || high > (uint32_t)(end - rows)) return false;
    tmo_list_row_pixels(in, base + x * k->in_channels, false, y, 1, high, 1, 0, rows);
    for (uint32_t i = 0; i < n; ++i) windows[p + i] = rows + i * op->stride_h;
  }
  return true;
}

/* Copies the input values of an output pixel from taps of three bytes. The argument `apart` is the number of int16 values between two words of the
 * pixel in the tile. */
static TMO_ALWAYS_INLINE void gather_threes(const int8_t *const *tap, uint32_t taps, int16_t *to, uint32_t apart) {
  for (const int8_t *const *const end = tap + taps; tap != end; ++tap) {
    const int8_t *const bytes = *tap;
    const uint32_t even = (uint16_t)bytes[0] | (uint32_t)bytes[2] << 16, odd = (uint16_t)bytes[1];
    memcpy(to, &even, sizeof even);
    to += apart;
    memcpy(to, &odd, sizeof odd);
    to += apart;
  }
}

/* Copies the input values of n pixels from the addresses of their taps. Each tap has `bytes` bytes. */
TMO_OWN_FRAME static void gather_windows(const tmo_kernel *k, const int8_t *const *const *windows, uint32_t taps, uint32_t bytes, uint32_t n) {
  int16_t *tile = (int16_t *)k->scratch;
  if (bytes == 3) {
    for (uint32_t p = 0; p < n; ++p) gather_threes(windows[p], taps, tile + 2 * p, 2 * n);
    return;
  }
  for (uint32_t t = 0; t < taps; ++t) {
    const int8_t *from[TMO_PACKED_PIXELS] = {windows[0][t], windows[1][t]};
    for (uint32_t p = 2; p < n; ++p) from[p] = windows[p][t];
    tile = widen_each(from, tile, n, bytes);
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

/* Copies the input values of several output pixels, or returns false without copying anything. */
TMO_OWN_FRAME static bool gather_at_once(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  const uint32_t high = k->op->kernel_h, wide = k->op->kernel_w, channels = k->in_channels;
  const int8_t *const *windows[TMO_PACKED_PIXELS];
  int8_t zero[ZERO_BYTES];
  pixel_list list;
  list.zero = zero;
  list.room = ZERO_BYTES;
  if (list_rows_inside(run, k, in, a, &list, windows)) {
    gather_windows(k, windows, high, wide * channels, a->n);
    return true;
  }
  if (channels % 4 != 0 || !list_windows(run, k, in, a, &list, windows)) return false;
  gather_windows(k, windows, high * wide, channels, a->n);
  return true;
}

static void convolve_at_once(tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, const tmo_tensor *out, const pixels_at_once *a) {
  if (tmo_is_pointwise(k->op) && out->height <= in->height && out->width <= in->width) {
    const int8_t *pixels[TMO_PACKED_PIXELS];
    find_pixels(run, in, a, pixels);
    (void)widen_each(pixels, (int16_t *)k->scratch, a->n, k->in_channels);
  } else if (!gather_at_once(run, k, in, a)) {
    gather_each(run, k, in, a);
  }
  tmo_conv_dsp_scatter(k, a->n, a->outs);
}

TMO_OWN_FRAME static void list_runs(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a, tmo_dsp_run *runs) {
  const int8_t *const *windows[TMO_PACKED_PIXELS];
  pixel_list list;
  list.zero = (int8_t *)k->scratch;
  list.room = k->in_channels;
  (void)list_windows(run, k, in, a, &list, windows); /* the list has room for four windows of nine taps */
  for (uint32_t p = 0; p < a->n; ++p, ++runs) {
    runs->out = a->outs[p];
    runs->pixels = 1;
    TMO_UNROLLED for (uint32_t t = 0; t < 9; ++t) runs->taps[t] = windows[p][t];
  }
}

TMO_OWN_FRAME static void convolve_channels_at_once(tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const pixels_at_once *a) {
  tmo_dsp_run runs[TMO_DSP_RUNS];
  list_runs(run, k, in, a, runs);
  tmo_dsp_nine(runs, runs + a->n, k->weights, k->out_channels, 0);
  for (uint32_t p = 0; p < a->n; ++p) tmo_packed_clamp(k->op, a->outs[p], k->out_channels);
}

/* The function is_plain() must be true for the tensor. */
static void list_pixels_of_row(const tmo_run_state *run, const tmo_tensor *t, uint32_t y, uint32_t x, uint32_t n, int8_t **pixels) {
  const uint32_t channels = t->channels;
  const int8_t *const base = tmo_base_of(run, t);
  if (!tmo_has_column_windows(t)) {
    int8_t *pixel = (int8_t *)(uintptr_t)base + t->offset + tmo_remainder(y, t->depth) * tmo_row_bytes(t) + x * channels;
    for (int8_t **const end = pixels + n; pixels != end; pixel += channels) *pixels++ = pixel;
    return;
  }
  const tmo_row_pixels row = tmo_row_pixels_of(run->program, t, channels, run->current.stripe, (uint16_t)y);
  const uint32_t at = tmo_remainder(row.first + x * row.step, row.depth) * channels;
  tmo_list_rolling_buffer(base + row.offset, row.depth * channels, at, row.step * channels, n, (const int8_t **)pixels);
}

/* Copies the input values of two to four pixels of a convolution with a 1x1 kernel. Returns false without copying anything if tmo_is_pointwise() is
 * false, or if a pixel is outside the input. */
static TMO_ALWAYS_INLINE bool gather_pointwise(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n) {
  int8_t *pixels[TMO_PACKED_PIXELS];
  if (!tmo_is_pointwise(k->op) || x + n > in->width || run->current.row >= in->height) return false;
  list_pixels_of_row(run, in, run->current.row, x, n, pixels);
  (void)widen_each((const int8_t *const *)pixels, (int16_t *)k->scratch, n, k->in_channels);
  return true;
}

/* Copies the input values of two to four pixels tap by tap, or returns false without copying anything. */
TMO_OWN_FRAME static bool gather_grid(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n) {
  const uint32_t channels = k->in_channels, stride = k->op->stride_w, wide = k->op->kernel_w;
  int8_t zero[ZERO_BYTES];
  pixel_list grid;
  int16_t *tile = (int16_t *)k->scratch;
  grid.zero = zero;
  grid.room = ZERO_BYTES;
  if (channels < 4 || (channels % 4 != 0 && wide > 1) || list_block(run, k, in, x, n, 1, &grid, 0) == 0) return false;
  const int8_t *const *row = grid.pixels;
  const bool fours = tmo_has_part(TMO_PART_DSP_PAIRS_4) && n == TMO_PACKED_PIXELS && channels % 4 == 0 && stride == 1;
  for (uint32_t ky = k->op->kernel_h; ky > 0; --ky, row += grid.width) {
    if (fours) {
      for (const int8_t *const *pixels = row; pixels != row + wide; ++pixels) tile = tmo_dsp_widen_each(pixels, tile, channels);
      continue;
    }
    for (uint32_t kx = 0; kx < wide; ++kx) {
      const int8_t *from[TMO_PACKED_PIXELS];
      const int8_t *const *pixels = row + kx;
      if (stride > 1) {
        from[0] = pixels[0];
        from[1] = pixels[stride];
        for (uint32_t p = 2; p < n; ++p) from[p] = pixels[p * stride];
        pixels = from;
      }
      tile = widen_each(pixels, tile, n, channels);
    }
  }
  return true;
}

/* Copies the input values of n pixels of a packed convolution from whole input rows. n must be at least 2. */
TMO_OWN_FRAME static void gather_rows(const tmo_run_state *run, tmo_kernel *k, const tmo_tensor *in, uint32_t x, uint32_t n) {
  const tmo_op *const op = k->op;
  const int8_t *pixels[TMO_MAX_TAPS];
  const tmo_taps rows = tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  const tmo_window window = {pixels, (uint16_t)rows.count, 1, (uint16_t)rows.first, 0, 0, rows.count};
  const uint32_t start = x * op->stride_w - op->pad_left; /* The column `start` wraps to a large number if the first window begins in the padding. */
  tmo_list_row_pixels(in, tmo_base_of(run, in), false, rows.start, op->dilation_h, rows.count, 1, 0, pixels);
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
  if (!gather_pointwise(run, k, in, x, n) && !gather_grid(run, k, in, x, n)) {
    if (tmo_has_column_windows(in)) return false;
    gather_rows(run, k, in, x, n);
  }
  tmo_conv_dsp_scatter(k, n, outs);
  return true;
}

/* Computes n pixels of a packed depthwise convolution with 3x3 taps and stride 1. n must be at least 3. The array `grid` has the addresses of three
 * rows of six input pixels. */
static void convolve_four(const tmo_kernel *k, const int8_t *const *grid, uint32_t n, int8_t **outs) {
  if (n < TMO_PACKED_PIXELS) outs[3] = outs[2]; /* The kernel always computes four pixels. If pixel 3 is not needed, pixel 2 overwrites pixel 3. */
  tmo_dsp_four(grid, outs, k->weights, k->out_channels);
  if (tmo_packed_clamps(k->op)) {
    for (uint32_t p = 0; p < n; ++p) tmo_packed_clamp(k->op, outs[p], k->out_channels);
  }
}

/* Computes n adjacent pixels of a packed depthwise convolution with nine taps. The array `grid` has the addresses of input rows of `width` pixels. */
static void convolve_nine(const tmo_kernel *k, const int8_t *const *grid, uint32_t width, uint32_t n, int8_t *const *outs) {
  const tmo_op *const op = k->op;
  tmo_dsp_run runs[TMO_DSP_RUNS];
  for (uint32_t p = 0; p < n; ++p) {
    const int8_t *const *row = grid + p * op->stride_w;
    runs[p].out = outs[p];
    runs[p].pixels = 1;
    if (op->kernel_w == 3) {
      TMO_UNROLLED for (uint32_t t = 0; t < 9; ++t) runs[p].taps[t] = row[t / 3 * width + t % 3];
    } else {
      const uint32_t wide = op->kernel_w;
      for (uint32_t t = 0; t < 9; t += wide, row += width) {
        for (uint32_t c = 0; c < wide; ++c) runs[p].taps[t + c] = row[c];
      }
    }
  }
  tmo_dsp_nine(runs, runs + n, k->weights, k->out_channels, 0);
  for (uint32_t p = 0; p < n; ++p) tmo_packed_clamp(op, outs[p], k->out_channels);
}

/* Computes n adjacent pixels in each of `rows` rows of a packed depthwise convolution, one row after another. The number of pixels n is at most
 * TMO_PACKED_PIXELS. Returns false without computing anything if the caller must compute the pixels with another function. */
TMO_OWN_FRAME static bool convolve_depthwise(const tmo_run_state *run, const tmo_kernel *k, const tmo_tensor *in, const tmo_tensor *out, uint32_t x, uint32_t n, uint32_t rows) {
  const tmo_op *const op = k->op;
  const bool four = n > 2 && op->kernel_w == 3 && op->stride_w == 1;
  int8_t *outs[TMO_PACKED_PIXELS];
  pixel_list grid;
  grid.zero = (int8_t *)k->scratch;
  grid.room = k->out_channels;
  if (!tmo_has_part(TMO_PART_DSP_NINE) || list_block(run, k, in, x, four ? TMO_PACKED_PIXELS : n, rows, &grid, 0) == 0) return false;
  const int8_t *const *first = grid.pixels;
  for (uint32_t y = run->current.row, end = y + rows; y < end; ++y, first += op->stride_h * grid.width) {
    list_pixels_of_row(run, out, y, x, n, outs);
    if (four) {
      convolve_four(k, first, n, outs);
    } else {
      convolve_nine(k, first, grid.width, n, outs);
    }
  }
  return true;
}

/* Returns whether n listed pixels of a row are adjacent in memory, in ascending order. */
static TMO_ALWAYS_INLINE bool are_adjacent(int8_t *const *pixels, uint32_t n, uint32_t bytes) {
  return n == 1 || (pixels[1] - pixels[0] == (ptrdiff_t)bytes && pixels[n - 1] - pixels[0] == (ptrdiff_t)((n - 1) * bytes));
}

TMO_OWN_FRAME static void add_few(const tmo_run_state *run, const tmo_kernel *k, uint32_t x, uint32_t n, int8_t *const *outs) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  int8_t *a[TMO_PACKED_PIXELS], *b[TMO_PACKED_PIXELS];
  list_pixels_of_row(run, &tensors[k->op->input[0]], run->current.row, x, n, a);
  list_pixels_of_row(run, &tensors[k->op->input[1]], run->current.row, x, n, b);
  const uint32_t bytes = k->out_channels, together = are_adjacent(outs, n, bytes) && are_adjacent(a, n, bytes) && are_adjacent(b, n, bytes) ? n : 1;
  for (uint32_t p = 0; p < n; p += together) tmo_packed_add(a[p], b[p], outs[p], together * bytes, k->bias, k->op);
}

/* Returns whether the scratch memory has room for the input values of n pixels of a packed convolution. */
static TMO_ALWAYS_INLINE bool has_room(const tmo_op *op, uint32_t in_channels, uint32_t n) {
  const uint32_t values = tmo_packed_values(op, in_channels);
  const bool few = op->tile <= TMO_PACKED_PIXELS && op->tile * values <= TMO_PACKED_TILE / 8 * 3; /* the scratch memory has room for a whole tile */
  return few || n <= tmo_packed_pixels(op, values, op->tile);
}

TMO_OWN_FRAME bool tmo_iterate_tile(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const bool convolves = tmo_is_packed_as(op, TMO_PACKING_DSP_CONV), adds = tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  const uint32_t end = tmo_end_column(op, out, &run->current);
  uint32_t x = tmo_first_column(op, &run->current), n;
  int8_t *outs[TMO_PACKED_PIXELS];
  if (!is_plain(run, in) || !tmo_is_ascending(out) || (adds ? !is_plain(run, &tensors[op->input[1]]) : !convolves && !tmo_has_nine_taps(op))) return false;
  if (convolves && op->kernel_w > 1 && in->channels % 4 != 0 && tmo_has_column_windows(in)) return false;
  if (convolves && (end - x < 2 || !has_room(op, in->channels, end - x))) return false;
  tmo_kernel k = kernel_of(run, op, in, out);
  for (; x < end; x += n) {
    n = end - x < TMO_PACKED_PIXELS ? end - x : TMO_PACKED_PIXELS;
    if (!convolves && !adds) {
      if (!convolve_depthwise(run, &k, in, out, x, n, 1)) return false;
      continue;
    }
    list_pixels_of_row(run, out, run->current.row, x, n, outs);
    if (adds) {
      add_few(run, &k, x, n, outs);
    } else if (!convolve_few(run, &k, in, x, n, outs)) {
      return false;
    }
  }
  return true;
}

uint32_t tmo_iterate_tiles_below(const tmo_run_state *run, const tmo_op *op, uint32_t rows) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const uint32_t x = tmo_first_column(op, &run->current), n = tmo_end_column(op, out, &run->current) - x;
  const uint32_t wide = TMO_PACKED_PIXELS * op->stride_w + op->kernel_w, room = TMO_MAX_TAPS / wide; /* largest number of input rows in a list */
  if (room < op->kernel_h || !is_plain(run, in) || !tmo_is_ascending(out)) return 0;
  const uint32_t most = (room - op->kernel_h) / op->stride_h + 1;
  if (rows > most) rows = most;
  const tmo_kernel k = kernel_of(run, op, in, out);
  return rows > 1 && convolve_depthwise(run, &k, in, out, x, n, rows) ? rows : 0;
}

uint32_t tmo_iterates_at_once(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  return is_plain(run, &tensors[op->input[0]]) && tmo_is_ascending(&tensors[op->output]) ? tmo_at_once(op) : 1;
}

void tmo_iterate_pixels(tmo_run_state *run, const tmo_op *op, const tmo_iteration *iterations, uint32_t n) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  pixels_at_once a = {iterations, n, {NULL}};
  find_pixels(run, out, &a, (const int8_t **)a.outs);
  tmo_kernel k = kernel_of(run, op, in, out);
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    convolve_at_once(run, &k, in, out, &a);
  } else {
    convolve_channels_at_once(run, &k, in, &a);
  }
}
#endif
