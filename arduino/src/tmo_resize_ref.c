#include "tmo/kernels.h"

enum { ONE = 1024 };

/* Between a and b, weighted: sums of 20 fractional bits, halves away from zero. */
static int8_t interpolate(int32_t sum) {
  const int32_t one = (int32_t)ONE * ONE;
  return (int8_t)((sum + (sum > 0 ? one / 2 : -one / 2)) / one);
}

/* The position of output coordinate o, in 1/1024 of an input coordinate; before the first one, where both neighbours are the first, on it. */
static int32_t position(const tmo_op *op, uint16_t o, uint16_t scale) {
  const int32_t scaled = (int32_t)((uint32_t)o * scale) + (op->param ? scale / 2 - ONE / 2 : 0);
  return scaled < 0 ? 0 : scaled;
}

/* TFLM: ResizeBilinearInteger, kernels/internal/reference/resize_bilinear.h. Where one of the two neighbours is outside, both are the other. */
void tmo_resize_bilinear_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *top = window->pixels[0] ? window->pixels[0] : window->pixels[1];
  const int8_t *bottom = window->pixels[1] ? window->pixels[1] : top;
  const int32_t down = position(op, k->row, op->stride_h) % ONE;
  for (uint16_t x = 0; x < k->out_width; ++x) {
    const int32_t at = position(op, x, op->stride_w), across = at % ONE;
    const uint32_t left = (uint32_t)(at / ONE), right = left + 1 < k->in_width ? left + 1 : left;
    for (uint32_t c = 0; c < k->out_channels; ++c, ++out) {
      const uint32_t l = left * k->in_channels + c, r = right * k->in_channels + c;
      const int32_t above = top[l] * (ONE - across) + top[r] * across;
      const int32_t below = bottom[l] * (ONE - across) + bottom[r] * across;
      *out = interpolate(above * (ONE - down) + below * down);
    }
  }
}
