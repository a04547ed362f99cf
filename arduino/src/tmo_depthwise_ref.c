/* Depthwise convolutions on any core: runs of channels that lie side by side, four or eight at once. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns", "no-tree-vectorize", "no-tree-slp-vectorize") /* sums stay in registers */
#endif

#include "tmo/kernels.h"
#include "tmo/vectors.h"

enum { CHANNELS = TMO_MANY_REGISTERS ? 8 : 4 }; /* at once */

/* The taps of a window: runs of them, whose weights lie at equal distances. */
typedef struct {
  const int8_t *const *at; /* the first tap of each run, or, without a step, each tap */
  uint32_t count;          /* of these pointers */
  uint32_t taps;           /* of a run */
  uint32_t x_step, w_step; /* bytes from tap to tap */
  uint32_t skip;           /* of the weights, after each run */
  int32_t zero_point;
} runs;

/* The core: adds the products of n channels, whose taps are `offset` bytes further. Compiled once for each n. */
static TMO_ALWAYS_INLINE void add_channels(const runs *r, uint32_t offset, const int8_t *w, uint32_t *sums, const uint32_t n) {
  const int32_t zero_point = r->zero_point;
  const uint32_t x_step = r->x_step, w_step = r->w_step;
  const int8_t *const *at = r->at, *const *const end = at + r->count;
  uint32_t sum[CHANNELS];
  TMO_UNROLLED for (uint32_t c = 0; c < n; ++c) sum[c] = sums[c];
#define ADD TMO_UNROLLED for (uint32_t c = 0; c < n; ++c) sum[c] += (uint32_t)(w[c] * (x[c] - zero_point))
  for (; at != end; w += r->skip) {
    if (x_step > 0) {
      const int8_t *x = *at++ + offset;
      for (uint32_t left = r->taps; left > 0; --left, x += x_step, w += w_step) ADD;
    } else {
      for (const int8_t *const *const last = at + r->taps; at != last; w += w_step) {
        const int8_t *x = *at++ + offset;
        ADD;
      }
    }
  }
#undef ADD
  TMO_UNROLLED for (uint32_t c = 0; c < n; ++c) sums[c] = sum[c];
}

#if TMO_MANY_REGISTERS
TMO_OWN_FRAME static void add_eight(const runs *r, uint32_t offset, const int8_t *w, uint32_t *sums) { add_channels(r, offset, w, sums, 8); }
#endif
TMO_OWN_FRAME static void add_four(const runs *r, uint32_t offset, const int8_t *w, uint32_t *sums) { add_channels(r, offset, w, sums, 4); }
TMO_OWN_FRAME static void add_one(const runs *r, uint32_t offset, const int8_t *w, uint32_t *sums) { add_channels(r, offset, w, sums, 1); }

/* How many channels to compute at once, of so many side by side that are left. */
static uint32_t at_once(uint32_t left) { return left >= CHANNELS ? CHANNELS : left >= 4 ? 4 : 1; }

/* One output pixel; its channels are outputs i, i + 1, .. Channel ic * multiplier + m reads channel ic.
 * TFLM: DepthwiseConvPerChannel, kernels/internal/reference/integer_ops/depthwise_conv.h. */
static void depthwise(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (tmo_depthwise_vectors(k, v, i, out)) return;
  const tmo_op *op = k->op;
  const bool by_row = op->tile == 0;
  const bool whole = !by_row && v->columns == op->kernel_w; /* the weights of the rows follow one another */
  const uint32_t multiplier = k->out_channels / k->in_channels;
  const runs r = {v->pixels, v->count, whole ? v->count : v->columns, by_row ? op->dilation_w * k->in_channels : 0,
                  k->tap_step, (uint32_t)(op->kernel_w - v->columns) * k->tap_step, op->input_zero_point[0]};
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  for (uint32_t x = v->offset, m = 0, n, oc = 0; oc < k->out_channels; oc += n, w += n) {
    uint32_t sums[CHANNELS];
    n = multiplier == 1 ? at_once(k->out_channels - oc) : 1;
    tmo_begin_sums(k, sums, n, oc, i + oc);
    if (n == 1) {
      add_one(&r, x, w, sums);
#if TMO_MANY_REGISTERS
    } else if (n == 8) {
      add_eight(&r, x, w, sums);
#endif
    } else {
      add_four(&r, x, w, sums);
    }
    tmo_end_sums(k, sums, n, oc, i + oc, out);
    m += n;
    if (m >= multiplier) x += n, m = 0;
  }
}

void tmo_depthwise_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, depthwise); }

void tmo_depthwise_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { depthwise(k, window, 0, out); }
