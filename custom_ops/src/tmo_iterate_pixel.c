/* SPDX-License-Identifier: Apache-2.0 */
/* This file runs iterations that compute one pixel. For a single pixel, the address computation of tmo_iterate.c would take as long as the kernel. To
 * save time, the functions of this file set only the arguments that a kernel reads. */
#include "tmo/iterate.h"

#if TMO_RUNS_PACKED

#include "tmo/pixel.h"

/* Returns the address of the pixel of a tensor in row y and column x. The condition is_plain() must hold for the tensor. */
static TMO_ALWAYS_INLINE int8_t *find_pixel(const tmo_run_state *run, const tmo_tensor *t, uint32_t y, uint32_t x) {
  const tmo_row_pixels pixels = tmo_row_pixels_of(run->program, t, t->channels, run->current.stripe, (uint16_t)y);
  return (int8_t *)(uintptr_t)(tmo_base_of(run, t) + tmo_pixel_offset(&pixels, x));
}

TMO_OWN_FRAME static int8_t *pixel_of(const tmo_run_state *run, const tmo_tensor *t, uint32_t y, uint32_t x) { return find_pixel(run, t, y, x); }

#if TMO_RUNS_MVE
static TMO_ALWAYS_INLINE tmo_taps rows_of(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in) {
  return tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
}

static TMO_ALWAYS_INLINE tmo_taps columns_of(const tmo_op *op, const tmo_tensor *in, uint32_t x) {
  return tmo_clip((int32_t)(x * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, in->width);
}

/* Sets all fields of a window. For an input without column windows, the function fills `whole`, a column window that holds the whole tensor. */
static TMO_ALWAYS_INLINE void set_window(tmo_mve_window *w, const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, tmo_taps rows, tmo_taps columns, tmo_column_window *whole) {
  const tmo_row_place first = tmo_find_row(run->program, in, run->current.stripe, rows.start, whole);
  w->column_window = first.column_window;
  w->column = first.column + columns.start;
  w->row = first.row;
  w->first = first.first;
  w->end = first.end;
  w->width = first.width;
  w->rows = rows.count;
  w->pixel = in->channels;
  w->base = tmo_base_of(run, in);
  w->columns = columns.count;
  w->dilation_w = op->dilation_w;
  w->dilation_h = op->dilation_h;
}

/* Copies the input values under a window from whole rows. */
TMO_OWN_FRAME static void take_whole_rows(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, tmo_taps rows, tmo_taps columns, int8_t *to) {
  enum { ROWS = 16 }; /* number of rows that are listed at once */
  const int8_t *list[ROWS];
  const uint32_t pixel = in->channels, row = op->kernel_w * pixel;
  const int8_t *const base = tmo_base_of(run, in) + columns.start * pixel;
  for (uint32_t n; rows.count > 0; rows.count -= n, rows.start += n * op->dilation_h, to += n * row) {
    n = rows.count < ROWS ? rows.count : ROWS;
    tmo_list_row_pixels(in, base, false, rows.start, op->dilation_h, n, 1, 0, list);
    const tmo_mve_rows some = {list, n, columns.count * pixel, row, 0};
    tmo_mve_copy(to, &some, 0, 1);
  }
}

/* Copies the input values under the window of the output pixel in column x to the address `to`. */
TMO_OWN_FRAME static void take_window(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, uint32_t x, int8_t *to) {
  const tmo_taps rows = rows_of(run, op, in), columns = columns_of(op, in, x);
  if (rows.count < op->kernel_h || columns.count < op->kernel_w) {
    tmo_mve_fill(to, op->input_zero_point[0], 16 * tmo_mve_turns(op, in->channels));
    if (rows.count == 0 || columns.count == 0) return;
  }
  to += (rows.first * op->kernel_w + columns.first) * in->channels;
  if (!tmo_has_column_windows(in) && op->dilation_w == 1) {
    take_whole_rows(run, op, in, rows, columns, to);
    return;
  }
  tmo_column_window whole;
  tmo_mve_window w;
  set_window(&w, run, op, in, rows, columns, &whole);
  w.gap = (op->kernel_w - w.columns) * w.pixel;
  tmo_mve_take(to, &w);
}

/* Returns the argument `at` if the coordinate `at` is inside the input, and otherwise 0. */
static TMO_ALWAYS_INLINE uint32_t inside(uint32_t at, uint32_t size) { return at < size ? at : 0; }

/* Returns the address of the input pixel that a convolution with a 1x1 kernel reads for the output pixel in column x. */
static TMO_ALWAYS_INLINE const int8_t *point_under(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, uint32_t x) {
  return pixel_of(run, in, inside(run->current.row * op->stride_h - op->pad_top, in->height), inside(x * op->stride_w - op->pad_left, in->width));
}

/* Computes one pixel of a convolution that is packed for Helium. */
TMO_OWN_FRAME static tmo_status multiply_mve(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const int8_t *bytes;
  if (tmo_packed_direct(op, in->channels, out->channels, 1)) {
    bytes = point_under(run, op, in, run->current.tile);
  } else {
    int8_t *const taken = (int8_t *)run->workspace + op->scratch;
    take_window(run, op, in, run->current.tile, taken);
    bytes = taken;
  }
  tmo_mve_job job;
  tmo_mve_conv *core = tmo_mve_relu_1;
  job.out = find_pixel(run, out, run->current.row, run->current.tile);
  job.scales = (const int32_t *)tmo_constant(run->program, op->scales);
  job.turns = tmo_mve_turns(op, in->channels);
  job.channels = out->channels;
  job.least = op->act_min;
  if (TMO_TWINS || job.channels % 8 != 0 || !tmo_mve_gives_relu(op)) { /* the C version of tmo_mve_relu_1() reads the same fields as tmo_mve_conv_1() */
    job.step = 0;
    job.zero = op->output_zero_point;
    job.most = op->act_max;
    job.pairs = 1;
    core = tmo_mve_one_for(&job);
  }
  core(bytes, 0, tmo_weights_of(run, op), &job);
  return TMO_OK;
}

/* Writes the addresses of the pixels under a window to a list with an entry for each tap. */
static TMO_ALWAYS_INLINE void list_addresses(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, tmo_taps rows, tmo_taps columns, const int8_t **taps) {
  tmo_column_window whole;
  tmo_mve_window w;
  set_window(&w, run, op, in, rows, columns, &whole);
  w.gap = (op->kernel_w - w.columns) * sizeof *taps;
  tmo_mve_list(taps, &w);
}

/* Computes one pixel of a depthwise convolution for which tmo_mve_has_nine() is true. Taps outside the input are listed as a pixel of zero points. */
TMO_OWN_FRAME static tmo_status multiply_nine(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const tmo_taps rows = rows_of(run, op, in), columns = columns_of(op, in, run->current.tile);
  const int8_t *taps[9];
  if (rows.count * columns.count < 9) {
    int8_t *const zero = (int8_t *)run->workspace + op->scratch;
    tmo_fill(zero, op->input_zero_point[0], in->channels);
    TMO_UNROLLED for (uint32_t t = 0; t < 9; ++t) taps[t] = zero;
  }
  if (rows.count > 0 && columns.count > 0) list_addresses(run, op, in, rows, columns, taps + 3 * rows.first + columns.first);
  tmo_depthwise_nine(tmo_weights_of(run, op), out->channels, taps, find_pixel(run, out, run->current.row, run->current.tile));
  return TMO_OK;
}

/* Computes a tile of a convolution that is packed for Helium, up to column `end` - 1. */
static TMO_ALWAYS_INLINE void multiply_tile(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out, uint32_t end) {
  const tmo_kernel k = kernel_of(run, op, in, out);
  const uint32_t values = 16 * tmo_mve_turns(op, in->channels), most = tmo_packed_pixels(op, values, op->tile);
  const bool direct = tmo_packed_direct(op, in->channels, out->channels, 1);
  const tmo_row_pixels row = tmo_row_pixels_of(run->program, out, out->channels, run->current.stripe, run->current.row);
  int8_t *const base = (int8_t *)(uintptr_t)tmo_base_of(run, out), *const taken = (int8_t *)k.scratch;
  for (uint32_t x = tmo_first_column(op, &run->current), n; x < end; x += n) {
    n = most > 1 && end - x > 1 ? 2 : 1;
    const uint32_t at[2] = {tmo_pixel_offset(&row, x), tmo_pixel_offset(&row, x + n - 1)};
    uint32_t low = at[1] < at[0] ? 1 : 0; /* The kernel needs the pixel with the lower address first. */
    const int8_t *bytes = taken;
    uint32_t apart = values;
    if (direct) {
      const int8_t *const points[2] = {point_under(run, op, in, x), point_under(run, op, in, x + n - 1)};
      if (points[1 - low] < points[low]) {
        n = 1;
        low = 0;
      }
      bytes = points[low];
      apart = (uint32_t)(points[1 - low] - bytes);
    } else {
      for (uint32_t p = 0; p < n; ++p) take_window(run, op, in, x + p, taken + (p ^ low) * values);
    }
    tmo_conv_mve_multiply(&k, bytes, apart, n, base + at[low], at[1 - low] - at[low]);
  }
}

/* Returns whether multiply_vectors() computes the pixels of an operator. */
static TMO_ALWAYS_INLINE bool has_vectors(const tmo_op *op) {
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV)) return true;
  return tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) && (!tmo_has_part(TMO_PART_TAPS) || tmo_mve_has_nine(op));
}

static TMO_ALWAYS_INLINE tmo_status multiply_vectors(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ? multiply_mve(run, op, in, out) : multiply_nine(run, op, in, out);
}

TMO_OWN_FRAME bool tmo_iterate_vectors(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  if (!has_vectors(op) || !is_plain(run, in) || !tmo_is_ascending(out) || (has_whole_rows(run, in) && has_whole_rows(run, out))) return false;
  const uint32_t end = tmo_end_column(op, out, &run->current);
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV)) {
    multiply_tile(run, op, in, out, end);
  } else {
    tmo_run_state one = *run;
    one.current.tile = (uint16_t)tmo_first_column(op, &run->current);
    for (; one.current.tile < end; ++one.current.tile) (void)multiply_nine(&one, op, in, out);
  }
  return true;
}
#endif

#if TMO_RUNS_DSP
TMO_OWN_FRAME static void convolve(const tmo_run_state *run, const pixel_window *w, tmo_kernel *k, int8_t *to) {
  const int8_t *taps[TMO_MAX_TAPS];
  if (w->rows.count * w->columns.count == (uint32_t)w->op->kernel_h * w->op->kernel_w && k->in_channels % 4 == 0) {
    list_window(run, w, 0, taps);
    tmo_dsp_widen_taps(taps, w->rows.count * w->columns.count, (int16_t *)k->scratch, k->in_channels);
  } else {
    gather_pixel(run, w, k, taps, 0, 1);
  }
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
  const bool dense = tmo_is_packed_as(w->op, TMO_PACKING_DSP_DENSE);
  const uint32_t wide = w->op->kernel_w, all = dense ? w->op->kernel_h * wide : tmo_depthwise_taps(k);
  if (w->rows.count * w->columns.count != all) tmo_depthwise_clear(k, taps, all);
  const int8_t **const first = taps + w->rows.first * wide + w->columns.first;
#if TMO_RUNS_MVE
  if (w->rows.count > 0 && w->columns.count > 0) list_addresses(run, w->op, w->in, w->rows, w->columns, first);
#else
  list_window(run, w, wide - w->columns.count, first);
#endif
#if TMO_RUNS_DSP
  if (dense) {
    tmo_conv_dsp_taps(k, taps, to);
    return;
  }
#endif
  tmo_depthwise_multiply(k, taps, to);
}

#if TMO_RUNS_DSP
static TMO_ALWAYS_INLINE void multiply_pixel(const tmo_run_state *run, const pixel_window *w, const tmo_kernel *k, tmo_kernel_s8 *multiply, int8_t *to) {
  const int8_t *const pixel = pixel_of(run, w->in, w->rows.start, w->columns.start);
  const tmo_window window = {&pixel, 1, 1, 0, 0, 0, 1};
  multiply(k, &window, to);
}
#endif

static TMO_ALWAYS_INLINE void call_kernel(const tmo_run_state *run, const pixel_window *w, const tmo_tensor *out, int8_t *to) {
  const tmo_op *const op = w->op;
  tmo_kernel k = kernel_of(run, op, w->in, out);
#if TMO_RUNS_DSP
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    if (!tmo_packed_direct(op, k.in_channels, k.out_channels, 1)) {
      convolve(run, w, &k, to);
      return;
    }
    multiply_pixel(run, w, &k, tmo_conv_dsp_direct, to);
    return;
  }
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE) && op->kernel_h * op->kernel_w == 1) {
    multiply_pixel(run, w, &k, tmo_conv_dsp_dense, to);
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

#if TMO_FAST_PIXELS
static TMO_ALWAYS_INLINE bool is_pool(const tmo_op *op) {
  return tmo_is_kind(op, TMO_OP_MAX_POOL) || tmo_is_kind(op, TMO_OP_AVERAGE_POOL) || tmo_is_kind(op, TMO_OP_MEAN);
}

/* Returns whether the kernel needs only the first pixel of each row under a window, instead of a list of all pixels under the window. The result of a
 * pool does not depend on the order of the pixels. If `backwards` is true, the last pixel of a row has the lowest address. */
static TMO_ALWAYS_INLINE bool takes_rows(const tmo_op *op, const tmo_kernel *k, bool backwards) {
  if (is_pool(op)) return true;
  if (backwards) return false;
#if TMO_CORE_DSP
  if (op->kind == TMO_OP_DEPTHWISE) return k->in_channels == k->out_channels && tmo_makes_fours(k);
#else
  (void)k;
#endif
  return op->kind == TMO_OP_CONV;
}

TMO_OWN_FRAME static tmo_status call_plain_kernel(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const uint8_t *const program = run->program;
  const pixel_window w = window_under(run, op, in);
  const int8_t *taps[TMO_MAX_TAPS];
  tmo_kernel k; /* fields that the called kernel does not read stay unset */
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
    const bool backwards = tmo_is_backwards(in);
    if (!k.whole_rows) k.whole_rows = takes_rows(op, &k, backwards);
    const uint32_t at = backwards && k.whole_rows ? w.columns.start + w.columns.count - 1u : w.columns.start;
    const uint32_t first = (backwards ? in->width - 1u - at : at) * k.in_channels;
    const int8_t *const base = tmo_base_of(run, in);
    if (k.whole_rows) {
      window.count = (uint16_t)w.rows.count;
      window.offset = first;
      tmo_list_row_pixels(in, base, tmo_is_reversed(in), w.rows.start, op->dilation_h, w.rows.count, 1, 0, taps);
    } else {
      const int32_t apart = (int32_t)(op->dilation_w * k.in_channels);
      tmo_list_row_pixels(in, base + first, tmo_is_reversed(in), w.rows.start, op->dilation_h, w.rows.count, w.columns.count, backwards ? -apart : apart, taps);
    }
  }
  int8_t *const to = pixel_of(run, out, run->current.row, run->current.tile);
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

#if TMO_CORE_DSP
static TMO_ALWAYS_INLINE bool is_pointwise(const tmo_op *op) {
  return op->kernel_h == 1 && op->kernel_w == 1 && tmo_is_kind(op, TMO_OP_CONV) && op->packing == TMO_PACKING_NONE && op->access == 0 &&
         !tmo_iterative(op) && !tmo_sums_channel_groups(op);
}

static TMO_ALWAYS_INLINE int8_t *grouped_pixel(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *out) {
  const tmo_iteration *const at = &run->current;
  const tmo_row_pixels pixels = tmo_row_pixels_of(run->program, out, tmo_pixel_bytes(op, out, true), at->stripe, at->row);
  return (int8_t *)(uintptr_t)(tmo_base_of(run, out) + tmo_pixel_offset(&pixels, at->tile) + tmo_channel_group_offset(op, out, true, at->channel_group));
}

/* Computes one pixel from the input pixel at `from`, or returns false if tmo_conv_points() cannot compute the pixel. */
TMO_OWN_FRAME static bool convolve_few_channels(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out, const int8_t *from) {
  tmo_kernel k;
  k.op = op;
  k.in_channels = k.tap_step = in->channels;
  k.out_channels = out->channels;
  k.bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) : NULL;
  k.sums = NULL;
  if (!tmo_makes_points(&k)) return false;
  k.weights = tmo_weights_of(run, op);
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  tmo_conv_points(&k, from, 0, 1, pixel_of(run, out, run->current.row, run->current.tile), 0);
  return true;
}

/* Computes one pixel of a convolution with a 1x1 kernel, faster than call_plain_kernel(). Returns false without computing anything if the convolution
 * has padding, or if only call_plain_kernel() supports the convolution. */
static TMO_ALWAYS_INLINE bool convolve_point(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out, bool is_grouped) {
  const uint32_t y = run->current.row * op->stride_h, x = run->current.tile * op->stride_w;
  const tmo_channels written = tmo_channels_of(op, out, is_grouped, run->current.channel_group);
  tmo_kernel k;
  k.op = op;
  k.in_channels = k.tap_step = in->channels;
  k.out_channels = written.count;
  k.bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) + written.first : NULL;
  k.sums = NULL;
  if (op->pad_top + op->pad_left > 0 || y >= in->height || x >= in->width || tmo_has_nibbles(op)) return false;
  if (!tmo_makes_fours(&k)) return !is_grouped && convolve_few_channels(run, op, in, out, pixel_of(run, in, y, x));
  const uint32_t first_scale = op->flags & TMO_FLAG_PER_CHANNEL ? written.first : 0;
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers) + first_scale;
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts) + first_scale;
  int8_t *const to = is_grouped ? grouped_pixel(run, op, out) : pixel_of(run, out, run->current.row, run->current.tile);
  tmo_conv_fours(&k, find_pixel(run, in, y, x), k.in_channels, tmo_weights_of(run, op) + written.first * k.in_channels, k.in_channels, to);
  return true;
}

TMO_OWN_FRAME static tmo_status convolve_one(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  return convolve_point(run, op, in, out, false) ? TMO_OK : call_plain_kernel(run, op, in, out);
}

TMO_OWN_FRAME static tmo_status convolve_channel_group(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  return convolve_point(run, op, in, out, true) ? TMO_OK : tmo_iterate_any(run, op);
}

TMO_OWN_FRAME static tmo_status convolve_channels_one(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  tmo_kernel k;
  k.op = op;
  k.in_channels = k.tap_step = in->channels;
  k.out_channels = out->channels;
  k.bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) : NULL;
  k.sums = NULL;
  if (k.in_channels != k.out_channels || tmo_has_nibbles(op) || !tmo_makes_fours(&k)) return call_plain_kernel(run, op, in, out);
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  k.weights = tmo_weights_of(run, op);
  k.whole_rows = false;
  const int8_t *taps[TMO_MAX_TAPS];
  const pixel_window w = window_under(run, op, in);
  const tmo_window window = listed_window(&w, taps);
  if (window.count > 0) {
    tmo_column_window unused;
    tmo_row_place place = tmo_find_row(run->program, in, run->current.stripe, w.rows.start, &unused);
    place.column += w.columns.start;
    tmo_list_rows(place, tmo_base_of(run, in), k.in_channels, w.rows.count, w.columns.count, op->dilation_h, op->dilation_w, 0, false, taps);
  }
  tmo_depthwise_fours(&k, &window, pixel_of(run, out, run->current.row, run->current.tile));
  return TMO_OK;
}
#endif

static TMO_ALWAYS_INLINE bool holds_pixels(const tmo_run_state *run, const tmo_tensor *t) {
  return !tmo_in_rolling_buffer(t) && !tmo_is_source(run->program, t);
}

/* Returns whether an iteration only adds a pixel to the sums of a mean or an average pool with one output column. The first iteration also sets the
 * sums, and the last iteration also computes the outputs. */
static TMO_ALWAYS_INLINE bool adds_to_sums(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  if (!tmo_iterative(op) || !(tmo_is_kind(op, TMO_OP_AVERAGE_POOL) || tmo_is_kind(op, TMO_OP_MEAN)) || tmo_channel_groups(op) > 1) return false;
  if (out->width > 1 || op->pad_left > 0 || op->dilation_w > 1 || op->kernel_w < in->width || !holds_pixels(run, in)) return false;
  return !tmo_starts_sums(&run->current) && !tmo_ends_sums(op, in, &run->current);
}

#if TMO_CORE_DSP
bool tmo_iterate_point_s16(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  if (!tmo_is_pointwise(op) || tmo_channel_groups(op) > 1 || in->channels > 2 * TMO_NARROW_VALUES) return false;
  const int8_t *const from = tmo_adjacent_pixels(run, in, 0, 1);
  int8_t *const to = tmo_adjacent_pixels(run, out, 0, 1);
  if (from == NULL || to == NULL) return false;
  tmo_kernel k;
  k.op = op;
  k.tap_step = in->channels / 2;
  k.out_channels = out->channels;
  k.bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) : NULL;
  k.weights = tmo_weights_of(run, op);
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  tmo_conv_point_s16(&k, from, to);
  return true;
}

/* Adds a pixel of one operand to a pixel of the other operand. An operand with only one row, column or channel is repeated. */
TMO_OWN_FRAME static tmo_status add_pixels(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const out = &tensors[op->output];
  const int8_t *pixels[2];
  const tmo_window window = {pixels, 2, 0, 0, 0, 0, 0};
  tmo_kernel k;
  for (uint32_t i = 0; i < 2; ++i) {
    const tmo_tensor *const in = &tensors[op->input[i]];
    pixels[i] = pixel_of(run, in, in->height > 1 ? run->current.row : 0, in->width > 1 ? run->current.tile : 0);
    k.pixel_step[i] = 0;
    k.channel_step[i] = in->channels == out->channels ? 1 : 0;
  }
  k.op = op;
  k.out_width = 1;
  k.out_channels = out->channels;
  k.multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers);
  k.shifts = (const int8_t *)tmo_constant(run->program, op->shifts);
  tmo_add_s8(&k, &window, pixel_of(run, out, run->current.row, run->current.tile));
  return TMO_OK;
}

static TMO_ALWAYS_INLINE bool adds_pixels(const tmo_run_state *run, const tmo_op *op) {
  if (op->packing != TMO_PACKING_NONE || op->access != 0 || !tmo_is_kind(op, TMO_OP_ADD) || tmo_channel_groups(op) > 1) return false;
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  return holds_pixels(run, &tensors[op->input[0]]) && holds_pixels(run, &tensors[op->input[1]]) && holds_pixels(run, &tensors[op->output]);
}
#endif

static TMO_ALWAYS_INLINE bool is_plain_window(const tmo_op *op) {
  const bool plain = op->packing == TMO_PACKING_NONE && op->access == 0 && tmo_channel_groups(op) == 1 && !tmo_iterative(op);
  return plain && (tmo_is_kind(op, TMO_OP_CONV) || tmo_is_kind(op, TMO_OP_DEPTHWISE) || is_pool(op) || tmo_is_kind(op, TMO_OP_LOOKUP));
}
#endif

/* Returns whether a function of this file supports the window of a packed operator. For the DSP extension, tmo_iterate.c runs convolutions that
 * compute whole rows with windows of several columns. */
static TMO_ALWAYS_INLINE bool has_window(const tmo_op *op, const tmo_tensor *in) {
  const bool one = op->kernel_w == 1 && (op->kernel_h == 1 ? in->channels % 4 == 0 : in->channels >= 4);
  return (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && (one || !tmo_by_row(op))) || tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE) ||
         tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) ||
         tmo_is_packed_as(op, TMO_PACKING_ESP_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
}

TMO_OWN_FRAME static tmo_status iterate_packed(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  const bool adds = tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  const bool plain = is_plain(run, in) && (adds ? is_plain(run, &tensors[op->input[1]]) : has_window(op, in)) && tmo_is_ascending(out);
  if (!plain) return tmo_iterate_any(run, op);
  int8_t *const to = pixel_of(run, out, run->current.row, run->current.tile);
#if TMO_RUNS_DSP
  if (adds) {
    const int32_t *const scales = (const int32_t *)tmo_constant(run->program, op->scales);
    const int8_t *const second = pixel_of(run, &tensors[op->input[1]], run->current.row, run->current.tile);
    tmo_packed_add(pixel_of(run, in, run->current.row, run->current.tile), second, to, out->channels, scales, op);
    return TMO_OK;
  }
#endif
  const pixel_window w = window_under(run, op, in);
  call_kernel(run, &w, out, to);
  return TMO_OK;
}

/* tmo_iterate_pixel() needs no stack frame, because only the functions that it calls have large arrays. */
tmo_status tmo_iterate_pixel(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
#if TMO_RUNS_MVE
  if (has_vectors(op) && is_plain(run, in) && tmo_is_ascending(out)) return multiply_vectors(run, op, in, out);
#endif
#if TMO_FAST_PIXELS
  if (is_plain_window(op) && holds_pixels(run, in) && holds_pixels(run, out)) {
#if TMO_CORE_DSP
    if (tmo_is_kind(op, TMO_OP_CONV) && op->kernel_h == 1 && op->kernel_w == 1) return convolve_one(run, op, in, out);
    if (tmo_is_kind(op, TMO_OP_DEPTHWISE) && tmo_has_column_windows(in)) return convolve_channels_one(run, op, in, out);
#endif
    return call_plain_kernel(run, op, in, out);
  }
  if (adds_to_sums(run, op, in, out)) {
    tmo_add_bytes((int32_t *)(void *)(run->workspace + op->scratch), pixel_of(run, in, run->current.row, run->current.tile), in->channels);
    return TMO_OK;
  }
#if TMO_CORE_DSP
  if (tmo_channel_groups(op) > 1 && is_pointwise(op) && holds_pixels(run, in) && holds_pixels(run, out)) return convolve_channel_group(run, op, in, out);
  if (adds_pixels(run, op)) return add_pixels(run, op);
#endif
#endif
  return iterate_packed(run, op, in, out);
}

#endif
