/* Depthwise convolutions on any core: runs of channels that lie side by side, four at once. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns", "no-tree-vectorize", "no-tree-slp-vectorize") /* sums stay in registers */
#endif

#include "tmo/kernels.h"

enum { CHANNELS = 4 };

/* The taps of a window, or a part of it: runs of them at equal distances. */
typedef struct {
  const int8_t *const *at; /* the first tap of each run */
  uint32_t count;          /* of these runs */
  uint32_t taps;           /* of a run */
  uint32_t x_step, w_step; /* bytes from tap to tap */
  uint32_t skip;           /* of the weights, after each run */
  int32_t zero_point;
} runs;

/* The core: adds the products of four channels, whose taps are `offset` bytes further. */
TMO_OWN_FRAME static void add_four(const runs *r, uint32_t offset, const int8_t *w, uint32_t sums[CHANNELS]) {
  const int32_t zero_point = r->zero_point;
  const uint32_t w_step = r->w_step, taps = r->taps;
  const int8_t *const *at = r->at, *const *const end = at + r->count;
  uint32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
#define ADD                                    \
  a += (uint32_t)(w[0] * (x[0] - zero_point)); \
  b += (uint32_t)(w[1] * (x[1] - zero_point)); \
  c += (uint32_t)(w[2] * (x[2] - zero_point)); \
  d += (uint32_t)(w[3] * (x[3] - zero_point))
  if (taps == 1) {
    for (const uint32_t step = w_step + r->skip; at != end; w += step) {
      const int8_t *x = *at++ + offset;
      ADD;
    }
  } else {
    for (; at != end; w += r->skip) {
      const int8_t *x = *at++ + offset;
      for (uint32_t n = taps; n > 0; --n, x += r->x_step, w += w_step) {
        ADD;
      }
    }
  }
#undef ADD
  sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

/* The same of one channel. */
static void add_one(const runs *r, uint32_t offset, const int8_t *w, uint32_t *sum) {
  for (uint32_t i = 0; i < r->count; ++i, w += r->skip) {
    const int8_t *x = r->at[i] + offset;
    for (uint32_t n = r->taps; n > 0; --n, x += r->x_step, w += r->w_step) *sum += (uint32_t)(*w * (*x - r->zero_point));
  }
}

/* One output pixel; its channels are outputs i, i + 1, .. Channel ic * multiplier + m reads channel ic.
 * TFLM: DepthwiseConvPerChannel, kernels/internal/reference/integer_ops/depthwise_conv.h. */
static void depthwise(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  const tmo_op *op = k->op;
  const bool by_row = op->tile == 0;
  const uint32_t multiplier = k->out_channels / k->in_channels, row = op->kernel_w * k->tap_step, count = v->count;
  const bool whole = by_row || v->columns == op->kernel_w; /* the weights of the rows follow one another */
  runs r = {v->pixels, whole ? count : v->columns, by_row ? v->columns : 1, op->dilation_w * k->in_channels, k->tap_step, 0, op->input_zero_point[0]};
  if (by_row) r.skip = row - v->columns * k->tap_step;
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  for (uint32_t x = v->offset, m = 0, n, oc = 0; oc < k->out_channels; oc += n, w += n) {
    const bool four = multiplier == 1 && k->out_channels - oc >= CHANNELS;
    const int8_t *taps = w;
    uint32_t sums[CHANNELS];
    n = four ? CHANNELS : 1;
    tmo_begin_sums(k, sums, n, oc, i + oc);
    r.at = v->pixels;
    for (uint32_t p = 0; p < count; p += r.count, r.at += r.count, taps += row) {
      if (four) {
        add_four(&r, x, taps, sums);
      } else {
        add_one(&r, x, taps, sums);
      }
    }
    tmo_end_sums(k, sums, n, oc, i + oc, out);
    m += n;
    if (m >= multiplier) x += n, m = 0;
  }
}

void tmo_depthwise_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, depthwise); }

void tmo_depthwise_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { depthwise(k, window, 0, out); }
