/* Firings for Helium that make a single pixel, which takes no longer than to find out where everything is. So only what the kernels look at is set up,
 * and a core copies windows out of their lanes. All else is as in tmo_fire.c. */
#include "tmo/fire.h"
#include "tmo/packed.h"
#include "tmo/view.h"

#if TMO_RUNS_MVE

/* Pixel (x, y) of a tensor that is no frame. */
static TMO_ALWAYS_INLINE const int8_t *pixel_at(const tmo_run_state *run, const tmo_view *v, uint32_t y, uint32_t x) {
  const tmo_line line = tmo_line_of(run->program, v->tensor, v->pixel, run->unit.strip, (uint16_t)y);
  return v->base + tmo_pixel_offset(&line, x);
}

static int8_t *output_pixel(const tmo_run_state *run, const tmo_view *v) {
  return (int8_t *)(uintptr_t)pixel_at(run, v, run->unit.row, run->unit.tile);
}

/* Copies the pixels of a window to where they are multiplied. A tensor without lanes is one whose only row is in one lane, again and again. */
static void take_window(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_taps *rows, const tmo_taps *columns, int8_t *to) {
  const tmo_tensor *t = in->tensor;
  tmo_lane whole;
  tmo_mve_window w;
  if (tmo_has_lanes(t)) {
    const tmo_lane_row first = tmo_lane_row_of(run->program, t, run->unit.strip, (uint16_t)rows->start);
    w.lane = first.lane;
    w.column = first.period * t->width + columns->start;
    w.row = first.row;
    w.first = tmo_lanes(run->program, t);
    w.end = w.first + t->n_lanes;
    w.width = tmo_recomputes(t) ? 0 : t->width; /* there are no periods */
  } else {
    whole.offset = t->offset;
    whole.depth = (uint32_t)t->depth * t->width;
    whole.rows = 1;
    w.lane = w.first = &whole;
    w.column = rows->start * t->width + columns->start;
    w.row = 0;
    w.end = &whole + 1;
    w.width = t->width;
  }
  w.rows = rows->count;
  w.pixel = in->pixel;
  w.base = in->base;
  w.columns = columns->count;
  w.dilation_w = op->dilation_w;
  w.dilation_h = op->dilation_h;
  w.gap = (op->kernel_w - columns->count) * w.pixel;
  tmo_mve_take(to + (rows->first * op->kernel_w + columns->first) * w.pixel, &w);
}

static void convolve(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_view *out) {
  tmo_kernel k; /* what such a kernel looks at */
  k.op = op;
  k.weights = (const int8_t *)tmo_constant(run->program, op->weights);
  k.bias = (const int32_t *)tmo_constant(run->program, op->bias);
  k.scratch = run->workspace + op->accumulator;
  k.in_channels = in->pixel;
  k.out_channels = out->pixel;
  const uint32_t x = run->unit.tile, y = run->unit.row;
  const tmo_taps rows = tmo_clip((int32_t)(y * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->tensor->height);
  const tmo_taps columns = tmo_clip((int32_t)(x * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, in->tensor->width);
  const int8_t *bytes = (const int8_t *)k.scratch;
  if (tmo_packed_direct(op, k.in_channels, k.out_channels, 1)) {
    bytes = pixel_at(run, in, rows.start, columns.start);
  } else {
    const bool clipped = rows.count < op->kernel_h || columns.count < op->kernel_w;
    if (clipped) tmo_mve_fill((int8_t *)k.scratch, op->input_zero_point[0], (uint32_t)tmo_packed_values(op, k.in_channels));
    if (rows.count > 0 && columns.count > 0) take_window(run, op, in, &rows, &columns, (int8_t *)k.scratch);
  }
  tmo_conv_mve_pixel(&k, bytes, output_pixel(run, out));
}

static void add(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_view *out) {
  const tmo_view second = tmo_view_of(run, op->input[1]);
  const int8_t *const pixels[2] = {pixel_at(run, in, run->unit.row, run->unit.tile), pixel_at(run, &second, run->unit.row, run->unit.tile)};
  tmo_window window; /* what such a kernel looks at, here, too */
  tmo_kernel k;
  k.op = op;
  k.bias = (const int32_t *)tmo_constant(run->program, op->bias);
  k.out_width = 1;
  k.out_channels = out->pixel;
  window.pixels = pixels;
  tmo_add_packed(&k, &window, output_pixel(run, out));
}

bool tmo_fire_mve(const tmo_run_state *run, const tmo_op *op) {
  const bool adds = tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  if (!adds && !tmo_is_packed_as(op, TMO_PACKING_MVE_CONV)) return false;
  const tmo_view in = tmo_view_of(run, op->input[0]), out = tmo_view_of(run, op->output);
  if (tmo_is_frame(run->program, in.tensor)) return false;
  if (adds) {
    if (tmo_is_frame(run->program, &tmo_tensors(run->program)[op->input[1]])) return false;
    add(run, op, &in, &out);
  } else {
    if (in.tensor->layout != TMO_LAYOUT_HWC) return false;
    convolve(run, op, &in, &out);
  }
  return true;
}

#endif

typedef int tmo_fire_mve_is_not_empty; /* ISO C wants something in every file */
