/* Convolutions of int16 with int8 weights: sums and biases of 64 bits, zero points of 0. A channel takes two bytes of a pixel. */
#include <stddef.h>

#include "tmo/elements.h"
#include "tmo/kernels.h"

/* TFLM: MultiplyByQuantizedMultiplier of an int64, kernels/internal/common.cc; shift in [-31, 7]. */
static int32_t rescale(uint64_t x, int32_t multiplier, int32_t shift) {
  const uint64_t reduced = multiplier < 0x7FFF0000 ? (uint64_t)((multiplier + (1 << 15)) >> 16) : 0x7FFF;
  const uint32_t right = (uint32_t)(15 - shift);
  return (int32_t)((int64_t)(x * reduced + ((uint64_t)1 << (right - 1))) >> right);
}

/* A channel's bias: its lower half, then its upper one. */
static uint64_t bias_of(const tmo_kernel *k, uint32_t channel) {
  if (k->bias == NULL) return 0;
  return (uint32_t)k->bias[2 * channel] | (uint64_t)(uint32_t)k->bias[2 * channel + 1] << 32;
}

static void write(const tmo_kernel *k, uint32_t channel, uint64_t sum, int8_t *out) {
  const uint32_t c = k->op->flags & TMO_FLAG_PER_CHANNEL ? channel : 0;
  const int32_t low = (int16_t)(k->op->param & 0xFFFF), high = k->op->param >> 16;
  const int32_t scaled = rescale(sum, k->multipliers[c], k->shifts[c]);
  tmo_put_int16(out + 2 * channel, scaled < low ? low : scaled > high ? high : scaled);
}

static uint64_t dot(const int8_t *x, const int8_t *w, uint32_t n) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += (uint64_t)(tmo_int16_at(x + 2 * i) * w[i]);
  return sum;
}

/* All taps of a window, for n channels from byte `first` of a pixel on. */
static uint64_t taps_dot(const tmo_kernel *k, const tmo_window *v, uint32_t first, uint32_t n, const int8_t *w) {
  const bool by_row = k->op->tile == 0;
  const uint32_t rows = by_row ? v->count : v->columns > 0 ? (uint32_t)v->count / v->columns : 0;
  uint64_t sum = 0;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < v->columns; ++c) {
      const int8_t *x = by_row ? v->pixels[r] + v->offset + c * k->op->dilation_w * k->in_channels : v->pixels[r * v->columns + c];
      sum += dot(x + first, w + (r * k->op->kernel_w + c) * k->tap_step, n);
    }
  }
  return sum;
}

/* TFLM: ConvPerChannel, kernels/internal/reference/integer_ops/conv.h; DepthwiseConvPerChannel, .../depthwise_conv.h: channel
 * ic * multiplier + m reads channel ic. */
static void filter(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  const bool depthwise = k->op->kind == TMO_OP_DEPTHWISE_S16;
  const uint32_t multiplier = k->out_channels / k->in_channels, n = depthwise ? 1 : k->in_channels / 2;
  const uint32_t step = depthwise ? 1 : (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step;
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  for (uint32_t oc = 0; oc < k->out_channels / 2; ++oc, w += step) {
    write(k, oc, bias_of(k, oc) + taps_dot(k, v, depthwise ? 2 * (oc / multiplier) : 0, n, w), out + i);
  }
}

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, filter); }

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { filter(k, window, 0, out); }

/* The part of one input row, as tmo_transpose_conv_ref.c has it. */
static uint64_t row_sum(const tmo_kernel *k, const int8_t *row, const int8_t *w, uint32_t x) {
  const tmo_op *op = k->op;
  const uint32_t padded = x + op->pad_left;
  uint64_t sum = 0;
  for (uint32_t in = padded / op->stride_w, kx = padded % op->stride_w; kx < op->kernel_w; kx += op->stride_w) {
    if (in < k->in_width) sum += dot(row + in * k->in_channels, w + kx * k->tap_step, k->tap_step);
    if (in-- == 0) break;
  }
  return sum;
}

/* TFLM: TransposeConv, kernels/internal/reference/integer_ops/transpose_conv.h, gathered. */
void tmo_transpose_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t tap_row = op->kernel_w * k->tap_step;
  for (uint16_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    for (uint32_t c = 0; c < k->out_channels / 2; ++c) {
      const int8_t *weights = k->weights + (uint32_t)op->kernel_h * tap_row * c;
      uint64_t sum = bias_of(k, c);
      for (uint16_t r = 0; r < window->count; ++r) {
        const int32_t ky = (int32_t)k->row + op->pad_top - (k->first_row + r) * (int32_t)op->stride_h;
        if (window->pixels[r] != NULL && ky < op->kernel_h) sum += row_sum(k, window->pixels[r], weights + (uint32_t)ky * tap_row, x);
      }
      write(k, c, sum, out);
    }
  }
}
