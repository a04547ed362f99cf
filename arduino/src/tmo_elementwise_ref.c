#include "tmo/kernels.h"

/* (x - zero point) << left, scaled. */
static int32_t add_operand(const tmo_kernel *k, uint32_t operand, int8_t x) {
  const int32_t centred = x - k->op->input_zero_point[operand];
  const int32_t shifted = (int32_t)((uint32_t)centred << k->op->param);
  return tmo_rescale(shifted, k->multipliers[operand], k->shifts[operand]);
}

/* TFLM: AddFunc, kernels/internal/reference/integer_ops/add.h. */
void tmo_add_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *a = window->pixels[0], *b = window->pixels[1];
  const uint32_t n = k->out_width * k->out_channels;
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t sum = tmo_wrapping_add(add_operand(k, 0, a[i]), add_operand(k, 1, b[i]));
    out[i] = tmo_output(k, tmo_rescale(sum, k->multipliers[2], k->shifts[2]));
  }
}

void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *x = window->pixels[0], *table = k->weights - INT8_MIN;
  const uint32_t n = k->out_width * k->out_channels;
  for (uint32_t i = 0; i < n; ++i) out[i] = table[x[i]];
}
