/* SPDX-License-Identifier: Apache-2.0 */
/* This file runs one iteration of an operator. The functions of this file set the arguments of the operator's kernel, and call the kernel for the
 * rows, tiles or pixels of the iteration. The order of iterations does not change the result of an iteration. */
#include <string.h>

#include "tmo/iterate.h"

#include "tmo/calls.h"
#include "tmo/elements.h"
#include "tmo/operands.h"

/* Moves the kernel's pointers to the bias and the scale of output channel `first_out`. Moves the kernel's pointer to the weight that connects input
 * channel `first_in` with output channel `first_out`. */
TMO_OWN_FRAME static void skip_channels(tmo_kernel *k, uint32_t first_in, uint32_t first_out) {
  const tmo_op *op = k->op;
  if (k->bias != NULL) k->bias += first_out;
  if (op->flags & TMO_FLAG_PER_CHANNEL) {
    k->multipliers += first_out;
    k->shifts += first_out;
  }
  if (!tmo_is_in(TMO_BUILT(TMO_WEIGHTED_KINDS), op->kind)) return;
  const bool filtered = tmo_is_in(TMO_FILTERED_KINDS, op->kind);
  const uint32_t first = filtered ? first_out : first_out * op->kernel_h * op->kernel_w * k->tap_step + first_in;
  if (tmo_has_nibbles(op)) {
    k->first_weight = first;
  } else {
    k->weights += first;
  }
}

static void set_row(execution *f) {
  const tmo_run_state *run = f->run;
  if (!HAS_ACCESS || f->kernel.op->access == 0) return;
  f->kernel.row = run->current.row;
  f->kernel.first_row = tmo_accessed_rows(run->program, f->kernel.op, 0, run->current.row).first;
}

/* Sets the distances in bytes between the pixels and between the channels of two operands. The distance is 0 if an operand repeats its only column or
 * its only channel. A comparison of int32 or float32 reads four bytes for each byte that it writes. */
static void step_through_operands(execution *f) {
  const uint32_t channels = f->out.tensor->channels * (tmo_is_kind(f->kernel.op, TMO_OP_COMPARE_32) ? 4u : 1u);
  for (uint8_t k = 0; k < 2; ++k) {
    const tmo_tensor *in = &tmo_tensors(f->run->program)[f->kernel.op->input[k]];
    f->kernel.pixel_step[k] = in->width > 1 ? in->channels : 0;
    f->kernel.channel_step[k] = in->channels == channels ? 1 : 0;
  }
}

/* Sets the arguments that only kernels of unpacked operators read, for the iteration's channel group. k->sums becomes the address of the iteration's
 * int32 sums. If the operator adds up channel groups, each row of a stripe has its own sums. */
static void set_up_plain(execution *f) {
  const tmo_op *op = f->kernel.op;
  const tmo_iteration *at = &f->run->current;
  tmo_kernel *k = &f->kernel;
  if (op->bias == 0) k->bias = NULL;
  k->first_weight = 0;
  k->multipliers = (const int32_t *)tmo_constant(f->run->program, op->multipliers);
  k->shifts = (const int8_t *)tmo_constant(f->run->program, op->shifts);
  if (tmo_is_in(TMO_BUILT(TMO_WEIGHTED_KINDS), op->kind)) {
    k->tap_step = (tmo_is_in(TMO_FILTERED_KINDS, op->kind) ? &f->out : &f->in)->tensor->channels / tmo_element_bytes(op);
  }
  if (tmo_channel_groups(op) > 1) {
    const tmo_channels read = narrow(f->run, op, &f->in, tmo_reads_channel_group(op));
    const tmo_channels written = narrow(f->run, op, &f->out, tmo_writes_channel_group(op));
    k->in_channels = read.count;
    k->out_channels = written.count;
    if (read.first + written.first > 0) skip_channels(k, read.first, written.first);
  }
  set_row(f);
  if (HAS_BINARY && op->n_inputs > 1) step_through_operands(f);
  k->first = k->last = true;
  if (tmo_iterative(op)) {
    k->sums = (int32_t *)k->scratch;
    k->first = tmo_starts_sums(at);
    k->last = tmo_ends_sums(op, f->in.tensor, at);
  } else if (tmo_sums_channel_groups(op)) {
    k->sums = (int32_t *)k->scratch + tmo_channel_group_sum(op, f->out.tensor, at);
    k->first = at->channel_group == 0;
    k->last = at->channel_group + 1 == tmo_passes(op);
  }
}

TMO_OWN_FRAME static void set_up(execution *f) {
  const tmo_run_state *run = f->run;
  tmo_kernel *k = &f->kernel;
  const tmo_op *op = k->op;
  f->in = tmo_view_of(run, op->input[0]);
  const tmo_tensor *const out = &tmo_tensors(run->program)[op->output];
  const tmo_view made = {out, tmo_output_base(run, out), out->channels};
  f->out = made;
  k->in_width = f->in.tensor->width;
  k->whole_rows = tmo_by_row(op);
  k->out_width = tmo_by_row(op) ? f->out.tensor->width : 1;
  k->in_channels = f->in.pixel;
  k->out_channels = f->out.pixel;
  k->bias = (const int32_t *)tmo_constant(run->program, op->bias);
  k->weights = tmo_weights_of(run, op);
  k->scratch = run->workspace + op->scratch;
  k->sums = NULL;
  if (!TMO_RUNS_PACKED || op->packing == TMO_PACKING_NONE) set_up_plain(f);
}

static TMO_ALWAYS_INLINE void set_up_for(execution *f, const tmo_run_state *run, const tmo_op *op) {
  f->run = run;
  f->kernel.op = op;
  set_up(f);
}

/* Computes the output pixel in column x, or the whole output row in a group without tiles. The array `pixels` has room for the addresses of the
 * inputs. */
TMO_OWN_FRAME static void compute_window(const execution *f, uint32_t x, const int8_t *pixels[]) {
  const tmo_op *op = f->kernel.op;
  const tmo_window window = read_under(f, x, pixels);
  int8_t *out = output_pixel(f, tmo_iterative(op) ? 0 : f->run->current.row, x);
  if (tmo_by_row(op)) {
    call_row_kernel(&f->kernel, &window, out);
  } else {
    call_pixel_kernel(&f->kernel, &window, out);
  }
}

TMO_OWN_FRAME static void iterate_window(const execution *f, uint32_t x) {
  const int8_t *pixels[TMO_MAX_TAPS];
  compute_window(f, x, pixels);
}

static TMO_ALWAYS_INLINE void iterate_row(const execution *f) {
  enum { FEW_ROWS = 7 }; /* an array of 7 addresses takes less stack than an array of TMO_MAX_TAPS addresses */
  const int8_t *rows[FEW_ROWS];
  if (tmo_lacks_access(f->kernel.op) && f->kernel.op->kernel_h <= FEW_ROWS) {
    compute_window(f, 0, rows);
  } else {
    iterate_window(f, 0);
  }
}

#if TMO_RUNS_PACKED
/* Counts at most n output pixels whose addresses are equally far apart, beginning with pixel x. */
static uint32_t even_pixels(const place *row, uint32_t x, uint32_t n, uint32_t *step) {
  const uint32_t first = tmo_pixel_offset(&row->pixels, x);
  uint32_t even = 1, next = first;
  for (; even < n; ++even) {
    const uint32_t before = next;
    next = tmo_pixel_offset(&row->pixels, x + even);
    if (even == 1) *step = next - before;
    if (next <= before || next - before != *step) break;
  }
  return even;
}
TMO_OWN_FRAME static void gather_pixels(const execution *f, uint32_t x, uint32_t end, const int8_t **pixels) {
  tile_pixels tile;
  tile.pixels = pixels;
  tile.room = TMO_MAX_TAPS;
  for (uint32_t first = x, p = x, listed; p < end; p += listed) {
    listed = read_tile(f, p, end, &tile);
    for (uint32_t i = p; i < p + listed; ++i) {
      const tmo_window window = window_in(f, &tile, p, i);
      gather_packed(&f->kernel, &window, i - first, end - first);
    }
  }
}

/* Computes the output columns of one or more tiles, up to column `end` - 1. */
TMO_OWN_FRAME static void iterate_packed_tile(execution *f, uint32_t end) {
  tmo_kernel *k = &f->kernel;
  const uint32_t values = tmo_packed_values(k->op, k->in_channels), most = tmo_packed_pixels(k->op, values, k->op->tile);
  const bool in_row = has_whole_rows(f->run, f->out.tensor), whole = has_whole_rows(f->run, f->in.tensor);
  const place row = row_of(f->run, &f->out, f->run->current.row);
  const int8_t *pixels[TMO_MAX_TAPS];
  tmo_window rows;
  k->out_width = f->out.tensor->width;
  k->whole_rows = whole;
  if (whole) rows = read_rows(f, pixels);
  for (uint32_t x = tmo_first_column(k->op, &f->run->current), n; x < end; x += n) {
    uint32_t step = k->out_channels;
    n = in_row && whole ? end - x : tmo_packed_pixels(k->op, values, end - x);
    if (n > most && !(in_row && whole)) n = most;
    if (!in_row && n > 1) n = even_pixels(&row, x, n, &step);
    int8_t *const out = (int8_t *)(uintptr_t)(row.base + tmo_pixel_offset(&row.pixels, x));
    if (whole) {
      const tmo_columns_job columns = {x, x + n, most, out, step};
      make_columns(k, &rows, &columns);
    } else {
      gather_pixels(f, x, x + n, pixels);
      multiply_packed(k, n, out, step);
    }
  }
}

static bool is_packed_conv(const tmo_op *op) { return tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_packs_bytes(op); }
#endif

/* Returns whether each output pixel of an operator needs only the pixel at the same place in its only operand. */
static bool is_pixelwise(const tmo_op *op) {
  return tmo_is_in(TMO_BUILT(TMO_PIXELWISE_KINDS), op->kind) && op->n_inputs == 1 && tmo_channel_groups(op) == 1;
}

/* Returns whether the pixels of each row of a tensor are adjacent in memory, in ascending or descending order. */
static TMO_ALWAYS_INLINE bool has_adjacent_columns(const tmo_run_state *run, const tmo_tensor *t) {
  return !tmo_has_column_windows(t) && !tmo_in_rolling_buffer(t) && !tmo_is_source(run->program, t);
}

/* Returns whether iterate_inside() computes adjacent pixels of an operator. Builds for small cores call iterate_inside() only for int16 and float32. */
static TMO_ALWAYS_INLINE bool steps_inside(const tmo_run_state *run, const tmo_op *op) {
  const bool fast = TMO_FAST_PIXELS || tmo_element_bytes(op) > 1;
  return fast && op->packing == TMO_PACKING_NONE && has_adjacent_columns(run, &tmo_tensors(run->program)[op->input[0]]);
}

#if TMO_CORE_DSP
static bool makes_two_pixels(const execution *f) {
  return tmo_is_kind(f->kernel.op, TMO_OP_CONV_S16) && f->kernel.sums == NULL && !tmo_has_column_windows(f->out.tensor) && tmo_conv_makes_two_s16(&f->kernel);
}
#endif

/* Returns the number of windows, from output column x to column `end` - 1, whose columns are all inside the input. */
static uint32_t windows_inside(const execution *f, uint32_t x, uint32_t end) {
  const tmo_op *const op = f->kernel.op;
  const uint32_t width = f->in.tensor->width, start = x * op->stride_w - op->pad_left, wide = (op->kernel_w - 1u) * op->dilation_w + 1;
  if (start > width || wide > width - start) return 0; /* the first column of a window that begins in the padding wraps to a large number */
  const uint32_t n = tmo_quotient(width - start - wide, op->stride_w) + 1;
  return n < end - x ? n : end - x;
}

TMO_OWN_FRAME static place current_row(const execution *f, const tmo_view *v) { return row_of(f->run, v, f->run->current.row); }

/* Computes n output columns, beginning with column x. The conditions windows_inside() and steps_inside() must hold for the n columns. The
 * function lists the pixels under the first window, and adds a constant number of bytes to each address for the next window. */
TMO_OWN_FRAME static void iterate_inside(execution *f, uint32_t x, uint32_t n, tile_pixels *tile) {
  const place row = current_row(f, &f->out);
  const bool backwards = tmo_is_backwards(f->in.tensor);
  const int32_t apart = (int32_t)(f->kernel.op->stride_w * f->in.pixel), step = backwards ? -apart : apart;
#if TMO_CORE_DSP
  const bool two = makes_two_pixels(f);
#endif
  (void)read_tile(f, x, x + 1, tile);
  const tmo_window window = taps_window(tile->pixels, tile->rows, tile->first_row, tile->columns);
  for (const uint32_t end = x + n; x < end; x += n) {
    int8_t *const out = (int8_t *)(uintptr_t)(row.base + tmo_pixel_offset(&row.pixels, x));
    n = 1;
#if TMO_CORE_DSP
    if (two && x + 1 < end) {
      tmo_conv_two_s16(&f->kernel, &window, (uint32_t)step, (uint32_t)(row.base + tmo_pixel_offset(&row.pixels, x + 1) - out), out);
      n = 2;
    }
#endif
    if (n == 1) call_pixel_kernel(&f->kernel, &window, out);
    if (tmo_has_sums(&f->kernel)) f->kernel.sums += f->kernel.out_channels;
    if (x + n == end) return;
    for (const int8_t **pixel = tile->pixels, **const last = pixel + window.count; pixel != last; ++pixel) *pixel += (int32_t)n * step;
  }
}

/* Computes the output columns from x to `end` - 1 of an operator for which is_pixelwise() is true. The input must not be a streamed or external input. */
TMO_OWN_FRAME static void iterate_pixelwise(execution *f, uint32_t x, uint32_t end) {
  const place from = current_row(f, &f->in), to = current_row(f, &f->out);
  const tmo_taps one = {0, 1, 0};
  const int8_t *pixel;
  const tmo_window window = taps_window(&pixel, 1, 0, one);
  const bool whole = has_whole_rows(f->run, f->in.tensor) && has_whole_rows(f->run, f->out.tensor);
  const uint32_t n = whole ? end - x : 1;
  f->kernel.out_width = (uint16_t)n;
  for (; x < end; x += n) {
    pixel = from.base + tmo_pixel_offset(&from.pixels, x);
    call_pixel_kernel(&f->kernel, &window, (int8_t *)(uintptr_t)(to.base + tmo_pixel_offset(&to.pixels, x)));
  }
}

/* Returns whether an operator is a pool whose outputs do not depend on the order of the pixels under a window. If a build lacks the part
 * TMO_PART_WHOLE_POOLS, the function returns true only for int16 pools. */
static TMO_ALWAYS_INLINE bool is_unordered_pool(const tmo_op *op) {
  const bool s8 = tmo_has_part(TMO_PART_WHOLE_POOLS) && (tmo_is_kind(op, TMO_OP_MAX_POOL) || tmo_is_kind(op, TMO_OP_AVERAGE_POOL) || tmo_is_kind(op, TMO_OP_MEAN));
  return s8 || tmo_is_kind(op, TMO_OP_MAX_POOL_S16) || tmo_is_kind(op, TMO_OP_AVERAGE_POOL_S16) || tmo_is_kind(op, TMO_OP_MEAN_S16);
}

#if TMO_CORE_DSP
/* Returns whether tmo_conv_columns_s8() computes the pixels of each row of a CONV operator. */
static bool has_conv_columns(const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  if (op->packing != TMO_PACKING_NONE || tmo_has_nibbles(op) || tmo_iterative(op) || tmo_channel_groups(op) > 1) return false;
  if (tmo_makes_few(op, out->channels)) return true;
  if (op->kernel_h * op->kernel_w > 1 || op->pad_top + op->pad_left > 0 || out->channels < 4 || op->bias == 0) return false;
  return (out->height - 1u) * op->stride_h < in->height && (out->width - 1u) * op->stride_w < in->width;
}
#endif

/* Returns whether the operator is a convolution whose kernel computes adjacent columns. */
static TMO_ALWAYS_INLINE bool convolves_columns(const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
#if TMO_CORE_DSP
  return tmo_is_kind(op, TMO_OP_CONV) ? has_conv_columns(op, in, out) : tmo_depthwise_makes_columns(op, in->channels, out->channels);
#else
  (void)op, (void)in, (void)out;
  return false;
#endif
}

/* Computes adjacent pixels of a CONV, DEPTHWISE or DEPTHWISE_S16 operator for which convolves_columns() is true. Returns false without computing anything if the
 * operator has another kind. */
static TMO_ALWAYS_INLINE bool convolve_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
#if TMO_CORE_DSP
  if (tmo_is_kind(k->op, TMO_OP_DEPTHWISE)) {
    tmo_depthwise_columns_s8(k, rows, columns);
    return true;
  }
  if (tmo_is_kind(k->op, TMO_OP_CONV)) {
    tmo_conv_columns_s8(k, rows, columns);
    return true;
  }
  if (tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16)) {
    tmo_depthwise_columns_s16(k, rows, columns);
    return true;
  }
#else
  (void)k, (void)rows, (void)columns;
#endif
  return false;
}

/* Returns whether iterate_adjacent() can compute the operator. */
static bool makes_columns(const tmo_run_state *run, const tmo_op *op) {
  const bool pools = is_unordered_pool(op) && tmo_channel_groups(op) == 1 && !tmo_iterative(op);
  if (!pools && !(TMO_CORE_DSP && (tmo_is_kind(op, TMO_OP_CONV) || tmo_is_kind(op, TMO_OP_DEPTHWISE) || tmo_is_kind(op, TMO_OP_DEPTHWISE_S16)))) return false;
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  return has_adjacent_columns(run, in) && has_adjacent_columns(run, out) && (pools || convolves_columns(op, in, out));
}

/* Computes the output columns from x to `end` - 1 of an operator for which makes_columns() is true. */
TMO_OWN_FRAME static void iterate_adjacent(execution *f, uint32_t x, uint32_t end) {
  const tmo_tensor *const in = f->in.tensor;
  const tmo_op *const op = f->kernel.op;
  const int8_t *pixels[TMO_MAX_TAPS];
  const tmo_taps rows = rows_under(f);
  const bool backwards = tmo_is_backwards(in);
  const int32_t pixel = (int32_t)f->out.pixel, step = tmo_is_backwards(f->out.tensor) ? -pixel : pixel;
  int8_t *const out = (int8_t *)(uintptr_t)pixel_at(f, &f->out, f->run->current.row, x);
  const tmo_window window = rows_window(pixels, rows);
  const tmo_adjacent_columns columns = {x, end, out, step, backwards};
  for (uint32_t r = 0; r < rows.count; ++r) pixels[r] = pixel_at(f, &f->in, rows.start + r * op->dilation_h, backwards ? in->width - 1u : 0);
  f->kernel.whole_rows = true;
  if (convolve_columns(&f->kernel, &window, &columns)) return;
  (tmo_is_s16(op) ? tmo_pool_columns_s16 : tmo_pool_columns_s8)(&f->kernel, &window, &columns);
}

/* Computes the output columns from x to `end` - 1 of an operator with one operand. */
TMO_OWN_FRAME static void iterate_windows(execution *f, uint32_t x, uint32_t end) {
  const place row = row_of(f->run, &f->out, f->run->current.row);
  const int8_t *pixels[TMO_MAX_TAPS];
  tile_pixels tile;
  tile.pixels = pixels;
  tile.room = TMO_MAX_TAPS;
  const bool adjacent = steps_inside(f->run, f->kernel.op);
  for (uint32_t n; x < end; x += n) {
    n = adjacent ? windows_inside(f, x, end) : 0;
    if (n > 1) {
      iterate_inside(f, x, n, &tile);
      continue;
    }
    n = read_tile(f, x, adjacent ? x + 1 : end, &tile);
    for (uint32_t p = x; p < x + n; ++p) {
      const tmo_window window = window_in(f, &tile, x, p);
      call_pixel_kernel(&f->kernel, &window, (int8_t *)(uintptr_t)(row.base + tmo_pixel_offset(&row.pixels, p)));
      if (tmo_has_sums(&f->kernel)) f->kernel.sums += f->kernel.out_channels;
    }
  }
}

static void iterate_columns(execution *f, uint32_t end) {
  const tmo_op *op = f->kernel.op;
#if TMO_RUNS_PACKED
  if (is_packed_conv(op) && !tmo_packed_direct(op, f->kernel.in_channels, f->kernel.out_channels, op->tile)) {
    iterate_packed_tile(f, end);
    return;
  }
#endif
  uint32_t x = tmo_first_column(op, &f->run->current);
  if (op->access == 0 && op->n_inputs == 1) {
    if (is_pixelwise(op) && !tmo_is_source(f->run->program, f->in.tensor)) {
      iterate_pixelwise(f, x, end);
    } else if (makes_columns(f->run, op)) {
      iterate_adjacent(f, x, end);
    } else {
      iterate_windows(f, x, end);
    }
    return;
  }
  for (; x < end; ++x) {
    iterate_window(f, x);
    if (tmo_has_sums(&f->kernel)) f->kernel.sums += f->kernel.out_channels;
  }
}

/* Calls the kernel of an iterative operator with an empty window. If `first` is true, the kernel sets the sums to their initial values, and otherwise
 * it writes the outputs. */
static void iterate_empty(execution *f, bool first) {
  tmo_kernel *k = &f->kernel;
  int32_t *const sums = k->sums;
  k->first = first;
  k->last = !first;
  for (uint16_t x = 0; x < f->out.tensor->width; ++x, k->sums += tmo_accumulators(k->op, k->out_channels)) {
    const tmo_window window = {.area = (uint32_t)k->op->kernel_h * tmo_columns(k, x).count};
    call_pixel_kernel(k, &window, output_pixel(f, 0, x));
  }
  k->sums = sums;
  k->first = k->last = false;
}

static void add_pixel(execution *f, uint32_t x) {
  tmo_kernel *k = &f->kernel;
  const tmo_op *op = k->op;
  const uint16_t y = f->run->current.row;
  const uint32_t padded = x + op->pad_left, extent = (uint32_t)(op->kernel_w - 1) * op->dilation_w + 1;
  const int8_t *in = pixel_at(f, &f->in, y, x);
  make_int8(f, f->in.tensor, &in, 1, f->in.pixel, 0);
  int32_t *const sums = k->sums;
  int8_t unwritten = 0; /* the called kernels write only sums, but C requires a valid address for the outputs, too */
  const bool sums_bytes = tmo_is_kind(op, TMO_OP_AVERAGE_POOL) || tmo_is_kind(op, TMO_OP_MEAN);
  for (uint32_t ox = padded < extent ? 0 : (padded - extent) / op->stride_w + 1; ox < f->out.tensor->width; ++ox) {
    if (padded < ox * op->stride_w) break;
    const uint32_t distance = padded - ox * op->stride_w;
    if (distance % op->dilation_w != 0) continue;
    const tmo_window window = {&in, 1, 1, y, (uint16_t)(distance / op->dilation_w), 0, 0};
    k->sums = sums + ox * tmo_accumulators(op, k->out_channels);
    if (sums_bytes) {
      tmo_add_bytes(k->sums, in, k->out_channels);
    } else {
      call_pixel_kernel(k, &window, &unwritten);
    }
  }
  k->sums = sums;
}

TMO_OWN_FRAME static void iterate_accumulated_tile(execution *f) {
  const bool closes = f->kernel.last;
  const uint32_t end = tmo_end_column(f->kernel.op, f->in.tensor, &f->run->current);
  if (f->kernel.first) iterate_empty(f, true);
  f->kernel.last = false;
  for (uint32_t x = tmo_first_column(f->kernel.op, &f->run->current); x < end; ++x) add_pixel(f, x);
  if (closes) iterate_empty(f, false);
}

/* Copies a row of a GATHER operator's table. The index of the row is at the address `index`. Returns false if the table has no row with the index. */
static TMO_ALWAYS_INLINE bool copy_table_row(const tmo_kernel *k, const int8_t *index, int8_t *out) {
  const int32_t row = tmo_int32_at(index);
  if ((uint32_t)row >= (uint32_t)k->op->table_rows) return false;
  tmo_gather_pixel_s8(k, row, out);
  return true;
}

/* Copies n rows of a GATHER operator's table. The n indices begin at the address `from` and are `step` bytes apart. Returns false if an index is
 * outside the GATHER operator's table. If `words` is true, each address and each number of bytes is a multiple of 4. */
static TMO_ALWAYS_INLINE bool copy_table(const tmo_op *op, const int8_t *table, uint32_t bytes, const int8_t *from, int32_t step, int8_t *to,
                                         int32_t to_step, uint32_t n, bool words) {
  const uint32_t rows = (uint32_t)op->table_rows;
  for (; n > 0; --n, from += step, to += to_step) {
    const uint32_t row = (uint32_t)tmo_int32_at(from);
    if (row >= rows) return false;
    if (words) {
      tmo_copy_words(to, table + row * bytes, bytes & ~3u);
    } else if (bytes == 1) {
      *to = table[row];
    } else {
      tmo_copy_bytes(to, table + row * bytes, bytes);
    }
  }
  return true;
}

/* Runs a GATHER operator whose indices or output pixels are not adjacent in memory. */
TMO_OWN_FRAME static tmo_status gather_apart(const tmo_run_state *run, const tmo_kernel *k, uint32_t end) {
  const tmo_view in = tmo_view_of(run, k->op->input[0]), out = tmo_view_of(run, k->op->output);
  const bool by_row = tmo_by_row(k->op);
  const uint32_t first = by_row ? 0 : tmo_first_column(k->op, &run->current), columns = by_row ? out.tensor->width : end;
  for (uint32_t y = run->current.row, last = by_row ? end : y + 1; y < last; ++y) {
    const place from = row_of(run, &in, y), to = row_of(run, &out, y);
    for (uint32_t x = first; x < columns; ++x) {
      int8_t *const pixel = (int8_t *)(uintptr_t)(to.base + tmo_pixel_offset(&to.pixels, x));
      if (!copy_table_row(k, from.base + tmo_pixel_offset(&from.pixels, x), pixel)) return TMO_ERROR_INDEX;
    }
  }
  return TMO_OK;
}

/* Runs a GATHER operator up to column `end` - 1 of the current row. In a group without tiles, runs the operator up to row `end` - 1. */
static tmo_status gather(const tmo_run_state *run, const tmo_op *op, uint32_t end) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const uint32_t y = run->current.row, bytes = out->channels;
  const int8_t *const table = (const int8_t *)tmo_constant(run->program, op->weights);
  const int32_t step = tmo_is_ascending(in) ? TMO_INDEX_BYTES : -TMO_INDEX_BYTES, to_step = tmo_is_ascending(out) ? (int32_t)bytes : -(int32_t)bytes;
  const int8_t *const from = tmo_by_row(op) ? tmo_adjacent_pixels(run, in, y, end) : NULL;
  int8_t *const to = from ? tmo_adjacent_pixels(run, out, y, end) : NULL;
  if (to == NULL) {
    tmo_kernel k; /* fields that the kernel does not read stay unset */
    k.op = op;
    k.weights = table;
    k.out_channels = bytes;
    return gather_apart(run, &k, end);
  }
  const uint32_t n = (end - y) * out->width;
  const bool words = (((uintptr_t)table | (uintptr_t)to | bytes) & 3) == 0;
  const bool found = words ? copy_table(op, table, bytes, from, step, to, to_step, n, true) : copy_table(op, table, bytes, from, step, to, to_step, n, false);
  return found ? TMO_OK : TMO_ERROR_INDEX;
}

/* Copies the pixels of operand 0 that the indices in operand 1 select. */
TMO_OWN_FRAME static tmo_status gather_nd(const tmo_run_state *run, const tmo_op *op) {
  execution f;
  set_up_for(&f, run, op);
  const int8_t *rows[2];
  const tmo_window window = read_by_access(&f, rows, false);
  const uint32_t depth = tmo_tensors(run->program)[op->input[1]].channels / TMO_INDEX_BYTES;
  const uint32_t pixels = tmo_tensors(run->program)[op->input[0]].width;
  const int8_t *index = window.pixels[1];
  int8_t *out = output_pixel(&f, 0, 0);
  for (uint32_t x = 0; x < f.out.tensor->width; ++x, out += f.kernel.out_channels) {
    uint64_t at = 0; /* `at` is unsigned, because it may wrap in a damaged program */
    for (uint32_t k = 0; k < depth; ++k, index += TMO_INDEX_BYTES) at += (uint64_t)((int64_t)tmo_int32_at(index) * f.kernel.bias[k]);
    if (at >= pixels) return TMO_ERROR_INDEX;
    memmove(out, window.pixels[0] + at * f.kernel.out_channels, f.kernel.out_channels); /* in a damaged program, the output pixel may overlap the copied pixel */
  }
  return TMO_OK;
}

#ifndef TMO_WITHIN_CORES
bool tmo_iterates_along_row(const tmo_run_state *run, const tmo_op *op) {
#if TMO_RUNS_PACKED
  if (op->packing != TMO_PACKING_NONE) {
    const tmo_tensor *const in = &tmo_tensors(run->program)[op->input[0]], *const out = &tmo_tensors(run->program)[op->output];
    if (tmo_by_row(op) || !is_packed_conv(op) || tmo_packed_direct(op, in->channels, out->channels, op->tile)) return false;
    return has_whole_rows(run, in) && has_whole_rows(run, out);
  }
#else
  (void)run;
#endif
  return !tmo_iterative(op);
}

static TMO_ALWAYS_INLINE bool prefers_rows(const tmo_op *op) {
  const tmo_kinds pools = tmo_has_part(TMO_PART_WHOLE_POOLS) ? TMO_POOL_KINDS : tmo_both(TMO_POOL_KINDS, TMO_S16_KINDS);
  return tmo_is_in(TMO_BUILT(pools), op->kind) || (TMO_CORE_DSP && tmo_is_kind(op, TMO_OP_CONV_S16));
}

static bool makes_whole_rows(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  const tmo_tensor *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  if (!(prefers_rows(op) || is_pixelwise(op) || convolves_columns(op, in, out)) || tmo_channel_groups(op) > 1) return false;
  return has_whole_rows(run, in) && has_whole_rows(run, out);
}

bool tmo_makes_rows(const tmo_run_state *run, tmo_op *own) {
  if (!makes_whole_rows(run, own)) return makes_columns(run, own);
  own->tile = 0;
  return true;
}

TMO_OWN_FRAME static tmo_status iterate_whole_row(const tmo_run_state *run, const tmo_op *op) {
  tmo_op own = *op;
  execution f;
  own.tile = 0;
  set_up_for(&f, run, &own);
  iterate_window(&f, 0);
  return TMO_OK;
}

TMO_OWN_FRAME static tmo_status iterate_to(const tmo_run_state *run, const tmo_op *op, uint32_t end) {
  execution f;
  set_up_for(&f, run, op);
  iterate_columns(&f, end);
  return TMO_OK;
}

tmo_status tmo_iterate_along_row(tmo_run_state *run, const tmo_op *op, uint32_t end) {
  if (tmo_is_kind(op, TMO_OP_GATHER)) return gather(run, op, end);
  if (prefers_rows(op)) {
    const bool is_whole = run->current.tile == 0 && end == tmo_tensors(run->program)[op->output].width;
    if (is_whole && makes_whole_rows(run, op)) return iterate_whole_row(run, op);
  }
#if TMO_FAST_PIXELS
  enum { FEW = 4 }; /* for up to FEW pixels, iterate_inside() does not save time */
  if (op->packing == TMO_PACKING_NONE && op->tile == 1 && !is_pixelwise(op) && tmo_element_bytes(op) == 1) {
    const bool steps = tmo_is_kind(op, TMO_OP_DEPTHWISE) && end - run->current.tile > FEW && steps_inside(run, op);
    if (!steps && !makes_columns(run, op)) {
      for (; run->current.tile < end; ++run->current.tile) (void)tmo_iterate_pixel(run, op);
      return TMO_OK;
    }
  }
#endif
  return iterate_to(run, op, end);
}

/* The kernels of int8 and int16 convolutions compute the pixels of a row one after another. */
static bool is_point(const tmo_op *op) {
  return (tmo_is_kind(op, TMO_OP_CONV_S16) || tmo_is_kind(op, TMO_OP_CONV)) && tmo_channel_groups(op) == 1 && tmo_is_pointwise(op);
}

/* Returns the result of tmo_adjacent_pixels() for the tensor of a view with all channels. */
static TMO_ALWAYS_INLINE int8_t *adjacent_pixels(const execution *f, const tmo_view *v, uint32_t first, uint32_t end) {
  const tmo_tensor *const t = v->tensor;
  const bool plain = tmo_is_ascending(t) && end <= t->depth && !tmo_has_column_windows(t) && !tmo_is_source(f->run->program, t);
  return plain ? (int8_t *)(uintptr_t)v->base + (t->offset + first * tmo_row_bytes(t)) : tmo_adjacent_pixels(f->run, t, first, end);
}

/* Computes the rows from run->current to row `end` - 1 as one long row. Returns false without computing anything if the pixels of an operand or of
 * the output are not adjacent, or if an output pixel needs several pixels of an operand. */
TMO_OWN_FRAME static bool iterate_as_one_row(execution *f, uint32_t end) {
  const tmo_op *op = f->kernel.op;
  const tmo_tensor *const out = f->out.tensor;
  const uint32_t y = f->run->current.row, pixels = (end - y) * out->width;
  const bool binary = tmo_is_in(TMO_BUILT(TMO_BINARY_KINDS), op->kind) && tmo_channel_groups(op) == 1;
  const int8_t *operands[2];
  if (!(binary || is_pixelwise(op) || tmo_only_limits(op) || is_point(op)) || pixels > UINT16_MAX || !tmo_is_ascending(out)) return false;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const tmo_tensor *const in = &tmo_tensors(f->run->program)[op->input[k]];
    const bool repeated = in->height == 1 && in->width == 1; /* the only pixel of the operand is repeated */
    if (!repeated && (in->height != out->height || in->width != out->width || !tmo_is_ascending(in))) return false;
    const uint32_t first = repeated ? 0 : y, last = repeated ? 1 : end;
    operands[k] = k == 0 ? adjacent_pixels(f, &f->in, first, last) : tmo_adjacent_pixels(f->run, in, first, last);
    if (operands[k] == NULL) return false;
    if (binary && !repeated) f->kernel.pixel_step[k] = in->channels;
  }
  int8_t *const to = adjacent_pixels(f, &f->out, y, end);
  if (to == NULL) return false;
  f->kernel.out_width = f->kernel.in_width = (uint16_t)pixels;
  const tmo_taps one = {0, 1, 0};
  const tmo_window window = taps_window(operands, op->n_inputs, 0, one);
  call_row_kernel(&f->kernel, &window, to);
  return true;
}

/* Returns how many rows of operand 0 each iteration reads. Returns 0 if several buffers hold the rows of operand 0, or the iterations read different
 * rows of another operand. */
static uint32_t rows_that_move(const execution *f) {
  const tmo_op *const op = f->kernel.op;
  const tmo_access *const access = (const tmo_access *)tmo_constant(f->run->program, op->access);
  bool moves = has_whole_rows(f->run, f->in.tensor) && f->in.tensor->depth >= f->in.tensor->height;
  for (uint8_t k = 1; k < op->n_inputs; ++k) {
    moves = moves && access[k].mul == 0 && access[k].table == 0 && has_whole_rows(f->run, &tmo_tensors(f->run->program)[op->input[k]]);
  }
  return moves ? access->extent : 0;
}

TMO_OWN_FRAME static void iterate_accessed_rows(execution *f, tmo_run_state *run, uint32_t end) {
  const int8_t *pixels[TMO_MAX_TAPS];
  const uint32_t moving = rows_that_move(f);
  const int32_t bytes = (int32_t)tmo_row_bytes(f->in.tensor), last = (int32_t)(f->in.tensor->height - moving);
  tmo_window window = read_by_access(f, pixels, false);
  for (;;) {
    call_row_kernel(&f->kernel, &window, output_pixel(f, run->current.row, 0));
    if (++run->current.row >= end) return;
    const int32_t before = f->kernel.first_row;
    set_row(f);
    const int32_t first = f->kernel.first_row;
    if (moving > 0 && before >= 0 && before <= last && first >= 0 && first <= last) {
      const int32_t step = (tmo_is_reversed(f->in.tensor) ? before - first : first - before) * bytes;
      for (uint32_t r = 0; r < moving; ++r) pixels[r] += step;
    } else {
      window = read_by_access(f, pixels, true);
    }
  }
}

TMO_OWN_FRAME bool tmo_iterate_column(tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  if (!tmo_lacks_access(op) || tmo_channel_groups(op) > 1 || in->width > 1 || op->kernel_w > 1 || op->pad_left > 0) return false;
  const bool backwards = !tmo_is_ascending(in), ascending = !backwards && tmo_is_ascending(out);
  if (!ascending && !convolves_columns(op, in, out)) return false;
  const int8_t *const from = tmo_adjacent_pixels(run, in, backwards ? in->height - 1u : 0, in->height);
  int8_t *const to = tmo_adjacent_pixels(run, out, 0, out->height);
  if (from == NULL || to == NULL) return false;
  const tmo_taps one = {0, 1, 0};
  const tmo_window window = rows_window(&from, one);
  tmo_op own = *op;
  own.tile = own.pad_top = 0;
  own.kernel_h = 1;
  own.kernel_w = op->kernel_h;
  own.stride_w = op->stride_h;
  own.dilation_w = op->dilation_h;
  own.pad_left = op->pad_top;
  execution f;
  set_up_for(&f, run, &own);
  f.kernel.in_width = in->height;
  f.kernel.out_width = out->height;
  if (ascending) {
    call_row_kernel(&f.kernel, &window, to);
  } else {
    const int32_t pixel = (int32_t)out->channels;
    const tmo_adjacent_columns columns = {0, out->height, to, tmo_is_ascending(out) ? pixel : -pixel, backwards};
    (void)convolve_columns(&f.kernel, &window, &columns);
  }
  run->current.row = out->height;
  return true;
}

TMO_OWN_FRAME static tmo_status iterate_each_row(tmo_run_state *run, const tmo_op *op, uint32_t end) {
  execution f;
  set_up_for(&f, run, op);
  if (HAS_ACCESS && op->access != 0) {
    iterate_accessed_rows(&f, run, end);
    return TMO_OK;
  }
  if (!iterate_as_one_row(&f, end)) {
    const bool whole = tmo_by_row(op) || !makes_columns(run, op);
    for (; run->current.row < end; ++run->current.row) {
      if (whole) {
        iterate_window(&f, 0);
      } else {
        iterate_adjacent(&f, 0, f.out.tensor->width);
      }
    }
  }
  run->current.row = (uint16_t)end;
  return TMO_OK;
}

tmo_status tmo_iterate_rows(tmo_run_state *run, const tmo_op *op, uint32_t end) {
  if (tmo_is_kind(op, TMO_OP_GATHER)) return gather(run, op, end);
  if (tmo_is_kind(op, TMO_OP_COPY)) {
    if (tmo_copy_rows(run, op, end)) return TMO_OK;
    if (tmo_iterative(op)) {
      for (; run->current.row < end; ++run->current.row) (void)tmo_iterate_any(run, op);
      return TMO_OK;
    }
  }
  return iterate_each_row(run, op, end);
}
#endif

#if TMO_RUNS_DSP && !defined(TMO_WITHIN_CORES)
/* Lists the input rows of two output rows: the row before run->current, and the row of run->current. Each output row uses one half of the array
 * `pixels`. */
static TMO_ALWAYS_INLINE void read_two_rows(execution *f, tmo_run_state *run, const tmo_op *op, const int8_t **pixels, uint32_t room, tmo_window *rows, int8_t **outs) {
  set_up_for(f, run, op);
  rows[1] = read_rows(f, pixels + room);
  outs[1] = output_pixel(f, run->current.row, 0);
  --run->current.row;
  rows[0] = read_rows(f, pixels);
  outs[0] = output_pixel(f, run->current.row, 0);
}

TMO_OWN_FRAME static void convolve_two_rows(tmo_run_state *run, const tmo_op *op) {
  enum { ROOM = TMO_FIVE_VALUES / 4 }; /* a window of at most TMO_FIVE_VALUES values has at most ROOM rows of four or more values */
  const int8_t *pixels[2 * ROOM];
  tmo_window rows[2];
  int8_t *outs[2];
  execution f;
  read_two_rows(&f, run, op, pixels, ROOM, rows, outs);
  tmo_conv_dsp_two_rows(&f.kernel, rows, outs);
}

void tmo_iterate_two_rows(tmo_run_state *run, const tmo_op *op) {
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) {
    convolve_two_rows(run, op);
    return;
  }
  enum { ROWS = 3 };
  const int8_t *pixels[2 * ROWS];
  tmo_window rows[2];
  int8_t *outs[2];
  execution f;
  read_two_rows(&f, run, op, pixels, ROWS, rows, outs);
  tmo_depthwise_two_rows(&f.kernel, rows, outs);
}
#endif

/* Runs a GATHER, GATHER_ND or COPY operator without setting the arguments of a kernel, or returns false for any other operator. */
static TMO_ALWAYS_INLINE bool iterate_moved(const tmo_run_state *run, const tmo_op *op, tmo_status *status) {
  *status = TMO_OK;
  if (tmo_is_kind(op, TMO_OP_GATHER)) {
    const uint32_t end = tmo_end_column(op, &tmo_tensors(run->program)[op->output], &run->current);
    *status = gather(run, op, tmo_by_row(op) ? run->current.row + 1u : end);
  } else if (tmo_is_kind(op, TMO_OP_GATHER_ND)) {
    *status = gather_nd(run, op);
  } else {
    return tmo_is_kind(op, TMO_OP_COPY) && tmo_copy_rows(run, op, run->current.row + 1u);
  }
  return true;
}

tmo_status tmo_iterate_any(const tmo_run_state *run, const tmo_op *op) {
  tmo_status status;
  if (op->packing == TMO_PACKING_NONE && iterate_moved(run, op, &status)) return status;
  execution f; /* set_up() sets only the fields that the operator's kernel reads */
  set_up_for(&f, run, op);
  if (tmo_by_row(op)) {
    iterate_row(&f);
  } else if (tmo_iterative(op)) {
    iterate_accumulated_tile(&f);
  } else {
    iterate_columns(&f, tmo_end_column(op, f.out.tensor, &run->current));
  }
  return TMO_OK;
}
