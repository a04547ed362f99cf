/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and fully connected layers for any core. Several output channels of a pixel share each byte that is read. */
#include "tmo/backend.h"
#include "tmo/kernels.h"
#include "tmo/vectors.h"

#if TMO_EIGHT_REGISTERS

enum { FILTERS = 4 }; /* channels at once */

/* Adds the products of a run for four channels. If fewer exist, the last of `channels` stands in for the rest. */
static void add_products(const tmo_runs *r, const int8_t *w, uint32_t channels, uint32_t *sums) {
  for (uint32_t part = 0; part < r->parts; ++part) {
    const int8_t *const *at = r->at + part * r->next_at, *tap = w + part * r->next_row;
    for (uint32_t left = r->count; left > 0; --left, at += r->stride, tap += r->row) {
      const int8_t *of[FILTERS] = {tap, tap, tap, tap};
      for (uint32_t c = 1; c < FILTERS; ++c) of[c] = of[c - 1] + (c < channels ? r->filter : 0);
      tmo_thumb_four(*at + r->offset + part * r->next_offset, of, r->bytes, r->zero_point, (int32_t)r->step, sums);
    }
  }
}

#else

enum { FILTERS = TMO_STACK_SUMS }; /* channels at once */
#define add_products tmo_conv_sums

#endif

/* The distance between neighbouring pixels in a window with `columns` columns; 0 if it varies. */
static uint32_t distance_of(const int8_t *const *pixels, uint32_t count, uint32_t columns) {
  uint32_t distance = 0;
  for (uint32_t i = 1, c = 1; i < count; ++i, ++c) {
    if (c == columns) c = 0;
    const uint32_t d = (uint32_t)((uintptr_t)pixels[i] - (uintptr_t)pixels[i - 1]);
    if (c > 0 && distance != 0 && d != distance) return 0;
    if (c > 0) distance = d;
  }
  return distance;
}

/* Lists the bytes under a window as few runs. A row is one run if its bytes are adjacent, or if its pixels have one byte at equal distances.
 * Otherwise a part is a column in a row group; in a tiled group it is all pixels, or the pixels of a row if the window is clipped. */
static tmo_runs find_runs(const tmo_kernel *k, const tmo_window *v) {
  const tmo_op *op = k->op;
  const bool by_row = op->tile == 0;
  const uint32_t channels = k->in_channels, row = op->kernel_w * k->tap_step, columns = v->columns;
  const uint32_t next = op->dilation_w * channels, distance = by_row ? next : distance_of(v->pixels, v->count, columns);
  tmo_runs r = {v->pixels, 1, v->count, 1, 0, next, k->tap_step, v->offset, channels, 1, row, op->kernel_h * row, op->input_zero_point[0]};
  if (columns == 0) {
    r.parts = 0;
  } else if (k->tap_step == channels && (distance == channels || (channels == 1 && distance != 0))) {
    if (!by_row) {
      r.stride = v->columns;
      r.count /= v->columns;
    }
    r.bytes = columns * channels;
    if (channels == 1) r.step = distance;
  } else if (by_row) {
    r.parts = v->columns;
  } else {
    r.row = k->tap_step;
    if (columns < op->kernel_w) {
      r.parts = r.count / v->columns;
      r.count = r.next_at = v->columns;
      r.next_offset = 0;
      r.next_row = row;
    }
  }
  return r;
}

/* One output pixel; its channels are outputs i, i + 1, ..
 * TFLM: ConvPerChannel, kernels/internal/reference/integer_ops/conv.h. */
static void conv(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
#if TMO_HAS_BACKEND
  if (tmo_is_run(k, v)) {
    tmo_conv_backend(k, v->pixels[0] + v->offset, out + i);
    return;
  }
#endif
  if (tmo_conv_vectors(k, v, i, out)) return;
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  const tmo_runs r = find_runs(k, v);
  for (uint32_t oc = 0; oc < k->out_channels; oc += FILTERS, w += FILTERS * r.filter) {
    const uint32_t left = k->out_channels - oc, n = left < FILTERS ? left : FILTERS;
    uint32_t sums[FILTERS];
    tmo_begin_sums(k, sums, n, oc, i + oc);
    add_products(&r, w, n, sums);
    tmo_end_sums(k, sums, n, oc, i + oc, out);
  }
}

void tmo_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!tmo_conv_row_vectors(k, window, out)) tmo_make_row(k, window, out, conv);
}

void tmo_conv_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { conv(k, window, 0, out); }
