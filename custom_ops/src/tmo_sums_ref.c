/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes partial sums over the input channels of one device, and adds up partial sums of several devices. A partial sum takes as many
 * bytes as its range of values needs. */
#include <stddef.h>

#include "tmo/kernels.h"

static int8_t *put_sum(int8_t *out, uint32_t sum, uint32_t bytes) {
  for (; bytes > 0; --bytes, sum >>= 8) *out++ = (int8_t)sum;
  return out;
}

/* Reads a partial sum, whose last byte contains the sign. */
static uint32_t get_sum(const int8_t *in, uint32_t bytes) {
  uint32_t sum = (uint32_t)in[--bytes];
  while (bytes > 0) sum = sum << 8 | (uint8_t)in[--bytes];
  return sum;
}

/* Computes the partial sums of one output pixel, like a convolution without scaling. The first byte of the pixel is byte i of the output. */
static void make_sums(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  int32_t sums[TMO_STACK_SUMS];
  tmo_kernel part = *k;
  const uint32_t bytes = (uint32_t)k->op->sum_bytes, filter = (uint32_t)k->op->kernel_h * k->op->kernel_w * k->tap_step;
  part.sums = sums;
  part.last = false;
  out += i;
  for (uint32_t left = k->out_channels / bytes; left > 0; left -= part.out_channels) {
    part.out_channels = left < TMO_STACK_SUMS ? left : TMO_STACK_SUMS;
    tmo_conv_pixel_s8(&part, window, NULL);
    for (uint32_t c = 0; c < part.out_channels; ++c) out = put_sum(out, (uint32_t)sums[c], bytes);
    part.weights += part.out_channels * filter;
  }
}

void tmo_sums_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, make_sums); }

void tmo_sums_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { make_sums(k, window, 0, out); }

void tmo_add_sums_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint32_t made = tmo_sum_bytes(k->op, TMO_MAX_INPUTS), channels = made > 0 ? k->out_channels / made : k->out_channels;
  for (uint32_t at = 0, x = k->out_width; x > 0; --x) {
    for (uint32_t c = 0; c < channels; ++c, ++at) {
      uint32_t sum = k->bias != NULL ? (uint32_t)k->bias[c] : 0;
      for (uint32_t n = 0; n < window->count; ++n) {
        const uint32_t bytes = tmo_sum_bytes(k->op, n);
        if (window->pixels[n] != NULL) sum += get_sum(window->pixels[n] + at * bytes, bytes);
      }
      if (made > 0) {
        out = put_sum(out, sum, made);
      } else {
        *out++ = tmo_channel_output(k, c, sum);
      }
    }
  }
}
