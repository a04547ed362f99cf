#include <stddef.h>

#include "tmo/kernels.h"

/* Row y of the left matrix, times all of the right one. TFLM: BatchMatMul, kernels/internal/reference/batch_matmul.h. */
void tmo_batch_matmul_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *left = window->pixels[0], *const *right = window->pixels + 1;
  const int32_t left_zero = k->op->input_zero_point[0], right_zero = k->op->input_zero_point[1];
  const bool transposed = k->op->param != 0;
  for (uint32_t j = 0; j < k->out_channels; ++j) {
    uint32_t sum = 0;
    for (uint32_t i = 0; left != NULL && i < k->in_channels; ++i) {
      const int8_t *row = right[transposed ? j : i];
      if (row != NULL) sum += (uint32_t)((left[i] - left_zero) * (row[transposed ? i : j] - right_zero));
    }
    out[j] = tmo_channel_output(k, j, sum);
  }
}
