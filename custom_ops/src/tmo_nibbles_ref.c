/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes convolutions with int4 weights. Two weights share a byte, and the first of the two weights is in the lower half of the byte.
 * TFLM's function UnpackDenseInt4IntoInt8 (kernels/internal/portable_tensor_utils.cc) has the same order of weights. */
#include <stddef.h>

#include "tmo/kernels.h"
#include "tmo/packed.h"

static TMO_ALWAYS_INLINE int32_t low_weight(int32_t byte) { return ((byte & 15) ^ 8) - 8; }
static TMO_ALWAYS_INLINE int32_t weight_at(const int8_t *w, uint32_t i) { return i % 2 != 0 ? w[i / 2] >> 4 : low_weight(w[i / 2]); }

/* Returns the sum of the products of n input bytes and n int4 weights, beginning with weight i. The input bytes are `step` bytes apart. */
static uint32_t products(const int8_t *x, uint32_t step, const int8_t *w, uint32_t i, uint32_t n, int32_t zero_point) {
  const ptrdiff_t next = (int32_t)step;
  uint32_t sum = 0;
  if (i % 2 != 0 && n > 0) {
    sum = (uint32_t)((*x - zero_point) * weight_at(w, i++));
    if (--n > 0) x += next;
  }
  for (w += i / 2; n >= 2; n -= 2) {
    const int32_t byte = *w++;
    sum += (uint32_t)((x[0] - zero_point) * low_weight(byte) + (x[next] - zero_point) * (byte >> 4));
    if (n > 2) x += 2 * next;
  }
  return n > 0 ? sum + (uint32_t)((*x - zero_point) * low_weight(*w)) : sum;
}

uint32_t tmo_conv_nibbles(const tmo_runs *r, const int8_t *w, uint32_t first) {
  uint32_t sum = 0;
  for (uint32_t part = 0; part < r->parts; ++part) {
    const int8_t *const *at = r->at + part * r->next_at;
    uint32_t i = first + part * r->next_row;
    for (uint32_t left = r->count; left > 0; --left, at += r->stride, i += r->row) {
      sum += products(*at + r->offset + part * r->next_offset, r->step, w, i, r->bytes, r->zero_point);
    }
  }
  return sum;
}

/* Multiplies the input channels of a tap by their weights, and adds the products to the sums of n output channels. The argument `each` is the
 * number of output channels per input channel. The function skips the first `skipped` output channels of the first input channel, for
 * which `sums` has no entries. */
static TMO_ALWAYS_INLINE void add_tap(const int8_t *x, const int8_t *w, uint32_t i, uint32_t n, uint32_t each, uint32_t skipped, int32_t zero_point,
                                      uint32_t *sums) {
  int32_t value = *x - zero_point;
  for (uint32_t left = each - skipped;; --left, ++i) {
    if (left == 0) {
      value = *++x - zero_point;
      left = each;
    }
    *sums++ += (uint32_t)(value * weight_at(w, i));
    if (--n == 0) return;
  }
}

void tmo_depthwise_nibbles(const tmo_kernel *k, const tmo_window *v, uint32_t channel, uint32_t n, uint32_t *sums) {
  const tmo_op *op = k->op;
  const bool by_row = tmo_reads_rows(k);
  const uint32_t rows = by_row ? v->count : v->columns > 0 ? v->count / v->columns : 0, apart = by_row ? op->dilation_w * k->in_channels : 0;
  const uint32_t each = k->out_channels / k->in_channels, first = channel / each;
  const int8_t *const *at = v->pixels;
  uint32_t i = k->first_weight + tmo_first_tap(k, v) + channel;
  for (uint32_t r = 0; r < rows; ++r, i += op->kernel_w * k->tap_step, at += by_row ? 1 : v->columns) {
    const int32_t zero_point = op->input_zero_point[0];
    uint32_t x = v->offset + first, tap = i;
    for (uint32_t c = 0; c < v->columns; ++c, x += apart, tap += k->tap_step) {
      if (each == 1) {
        add_tap(at[by_row ? 0 : c] + x, k->weights, tap, n, 1, 0, zero_point, sums);
      } else {
        add_tap(at[by_row ? 0 : c] + x, k->weights, tap, n, each, channel % each, zero_point, sums);
      }
    }
  }
}
