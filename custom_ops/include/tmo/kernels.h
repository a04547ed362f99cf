/* The kernels, and the contract between them and the executor. Internal: applications need tmo/tmo.h only.
 *
 * A call computes one output row, or adds one input row to the sums of an output row. Kernels keep no state, allocate nothing and check
 * nothing: tmo_check() has proved every length. The output row must not overlap the input rows, except that ADD and REQUANT read each
 * byte before they write it, front to back: their output row may be the input row.
 *
 * x_ref.c is the plain truth that faster variants are compared with. */
#ifndef TMO_KERNELS_H_
#define TMO_KERNELS_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/fixed.h"
#include "tmo/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const tmo_op *op; /* kind, window, zero points, activation range, param */
  const int8_t *weights;
  const int32_t *bias; /* or NULL */
  const int32_t *multipliers;
  const int8_t *shifts;
  int32_t *sums; /* iterative operators: the caller's partial sums, [out_width * out_channels]; else NULL */
  uint32_t in_channels;
  uint32_t out_channels;
  uint16_t in_width;
  uint16_t out_width;
  uint16_t first_tap; /* rows[i] lies under row first_tap + i of the kernel window; the others fall into the padding */
  uint16_t n_taps;
} tmo_kernel;

/* rows: of a window its n_taps input rows, of ADD its two operands. out: out_width * out_channels bytes. */
typedef void tmo_row_kernel(const tmo_kernel *k, const int8_t *const rows[], int8_t *out);

tmo_row_kernel tmo_conv_row_s8;      /* CONV */
tmo_row_kernel tmo_depthwise_row_s8; /* DEPTHWISE */
tmo_row_kernel tmo_add_row_s8;       /* ADD */
tmo_row_kernel tmo_pool_row_s8;      /* AVERAGE_POOL, MAX_POOL, MEAN */
tmo_row_kernel tmo_softmax_row_s8;   /* SOFTMAX */
tmo_row_kernel tmo_requant_row_s8;   /* REQUANT */

/* A run of kernel taps that lie inside the input, along one axis. */
typedef struct {
  uint16_t first; /* tap */
  uint16_t count;
  uint32_t start; /* input coordinate under the first tap */
} tmo_taps;

/* Clip a window that starts at `start` (negative: in the padding) to an input of `size`. */
static inline tmo_taps tmo_clip(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const int32_t first = start < 0 ? (dilation - 1 - start) / dilation : 0;
  const int32_t inside = start < size ? ((int32_t)size - start + dilation - 1) / dilation : 0;
  const int32_t last = inside < kernel ? inside : kernel;
  tmo_taps taps = {0, 0, 0};
  if (first < last) {
    taps.first = (uint16_t)first;
    taps.count = (uint16_t)(last - first);
    taps.start = (uint32_t)(start + first * (int32_t)dilation);
  }
  return taps;
}

/* The taps of output column x. */
static inline tmo_taps tmo_columns(const tmo_kernel *k, uint16_t x) {
  const int32_t start = (int32_t)((uint32_t)x * k->op->stride_w) - k->op->pad_left;
  return tmo_clip(start, k->op->kernel_w, k->op->dilation_w, k->in_width);
}

/* Sum i of the output row, to go on from: `initial` in the first call for that row. */
static inline uint32_t tmo_sum_begin(const tmo_kernel *k, uint32_t i, uint32_t initial) {
  return k->sums && k->first_tap > 0 ? (uint32_t)k->sums[i] : initial;
}

/* Keep sum i for the next call; true when it is complete, and output i is to be written. */
static inline bool tmo_sum_end(const tmo_kernel *k, uint32_t i, uint32_t sum) {
  if (!k->sums) return true;
  k->sums[i] = (int32_t)sum;
  return (uint32_t)k->first_tap + 1 == k->op->kernel_h;
}

static inline int8_t tmo_output(const tmo_kernel *k, int32_t value) {
  return tmo_clamp(tmo_wrapping_add(value, k->op->output_zero_point), k->op->act_min, k->op->act_max);
}

/* A convolution's sum, scaled for its channel. */
static inline int8_t tmo_channel_output(const tmo_kernel *k, uint32_t channel, uint32_t sum) {
  const uint32_t c = k->op->flags & TMO_FLAG_PER_CHANNEL ? channel : 0;
  return tmo_output(k, tmo_rescale((int32_t)sum, k->multipliers[c], k->shifts[c]));
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_KERNELS_H_ */
