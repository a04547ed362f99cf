/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header find the input pixels and the windows of iterations that compute one output pixel or a few output pixels. */
#ifndef TMO_PIXEL_H_
#define TMO_PIXEL_H_

#include "packed.h"
#include "vectors.h"
#include "view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether a tensor is in the arena, with rows and pixels in ascending order. */
static TMO_ALWAYS_INLINE bool is_plain(const tmo_run_state *run, const tmo_tensor *t) {
  return tmo_is_ascending(t) && !tmo_is_source(run->program, t);
}

/* The rows and columns under an operator's window that are inside the input. */
typedef struct {
  const tmo_op *op;
  const tmo_tensor *in;
  tmo_taps rows, columns;
} pixel_window;

static TMO_ALWAYS_INLINE pixel_window window_under(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *in) {
  pixel_window w = {op, in, {0, 0, 0}, {0, 0, 0}};
  w.rows = tmo_clip((int32_t)(run->current.row * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, in->height);
  w.columns = tmo_clip((int32_t)(run->current.tile * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, in->width);
  return w;
}

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
/* Copies the input values under the window of one output pixel to the scratch memory. The argument `pixels` is the number of output pixels that are
 * computed together. The array `taps` has room for the addresses of the input pixels. */
static TMO_ALWAYS_INLINE void gather_pixel(const tmo_run_state *run, const pixel_window *w, tmo_kernel *k, const int8_t **taps, uint32_t pixel, uint32_t pixels) {
  k->whole_rows = !tmo_has_column_windows(w->in) && k->in_channels % 4 != 0; /* whole rows are copied if a pixel's size is not a multiple of 4 bytes */
  if (k->whole_rows) {
    tmo_list_row_pixels(w->in, tmo_base_of(run, w->in), false, w->rows.start, w->op->dilation_h, w->rows.count, 1, 0, taps);
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
#endif

/* Returns the arguments of a packed kernel, with only the fields that packed kernels read. */
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

#ifdef __cplusplus
}
#endif

#endif /* TMO_PIXEL_H_ */
