/* SPDX-License-Identifier: Apache-2.0 */
/* Firings for Helium that make a single pixel, which takes no longer than to find out where everything is. So only what the kernels look at is set up,
 * and a core copies windows out of their lanes. All else is as in tmo_fire.c. */
#include "tmo/fire.h"
#include "tmo/packed.h"
#include "tmo/view.h"

#if TMO_RUNS_MVE

/* Pixel (x, y) of a tensor that is no frame. */
static TMO_ALWAYS_INLINE const int8_t *pixel_in_lanes(const tmo_run_state *run, const tmo_view *v, uint32_t y, uint32_t x) {
  const tmo_line line = tmo_line_of(run->program, v->tensor, v->pixel, run->unit.strip, (uint16_t)y);
  return v->base + tmo_pixel_offset(&line, x);
}

/* The pixel that is made. */
TMO_OWN_FRAME static int8_t *output_of(const tmo_run_state *run, const tmo_tensor *t) {
  const tmo_view v = {t, tmo_base_of(run, t), t->channels};
  return (int8_t *)(uintptr_t)pixel_in_lanes(run, &v, run->unit.row, run->unit.tile);
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

/* The bytes of a window: where they are copied to, or where they lie. */
static TMO_ALWAYS_INLINE const int8_t *gathered_window(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, uint32_t out_channels) {
  const uint32_t x = run->unit.tile, y = run->unit.row;
  const tmo_taps rows = tmo_clip((int32_t)(y * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->tensor->height);
  const tmo_taps columns = tmo_clip((int32_t)(x * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, in->tensor->width);
  if (tmo_packed_direct(op, in->pixel, out_channels, 1)) return pixel_in_lanes(run, in, rows.start, columns.start);
  int8_t *const to = (int8_t *)run->workspace + op->accumulator;
  const bool clipped = rows.count < op->kernel_h || columns.count < op->kernel_w;
  if (clipped) tmo_mve_fill(to, op->input_zero_point[0], 16 * tmo_mve_turns(op, in->pixel));
  if (rows.count > 0 && columns.count > 0) take_window(run, op, in, &rows, &columns, to);
  return to;
}

tmo_status tmo_fire_mve_conv(const tmo_run_state *run, const tmo_op *op) {
  const tmo_view in = tmo_view_of(run, op->input[0]);
  if (tmo_is_frame(run->program, in.tensor) || in.tensor->layout != TMO_LAYOUT_HWC) return tmo_fire_any(run, op);
  const tmo_tensor *const out = &tmo_tensors(run->program)[op->output];
  int8_t *const pixel = output_of(run, out);
  const int32_t *const scales = (const int32_t *)tmo_constant(run->program, op->bias);
  const tmo_mve_job job = tmo_mve_job_of(op, scales, in.pixel, out->channels, pixel, 0);
  const int8_t *const bytes = gathered_window(run, op, &in, out->channels);
  tmo_mve_one_for(&job)(bytes, 0, (const int8_t *)tmo_constant(run->program, op->weights), &job);
  return TMO_OK;
}

tmo_status tmo_fire_mve_add(const tmo_run_state *run, const tmo_op *op) {
  const tmo_view first = tmo_view_of(run, op->input[0]), second = tmo_view_of(run, op->input[1]);
  if (tmo_is_frame(run->program, first.tensor) || tmo_is_frame(run->program, second.tensor)) return tmo_fire_any(run, op);
  const uint32_t x = run->unit.tile, y = run->unit.row;
  const tmo_tensor *const out = &tmo_tensors(run->program)[op->output];
  int8_t *const pixel = output_of(run, out);
  const int32_t *const scales = (const int32_t *)tmo_constant(run->program, op->bias);
  tmo_packed_add(pixel_in_lanes(run, &first, y, x), pixel_in_lanes(run, &second, y, x), pixel, out->channels, scales, op);
  return TMO_OK;
}

#endif

typedef int tmo_fire_mve_is_not_empty; /* ISO C wants something in every file */
