#include <string.h>

#include "tmo/kernels.h"

/* The first of the greatest channels of each pixel, or of the smallest ones. TFLM: ArgMinMax, kernels/internal/reference/arg_min_max.h. */
void tmo_arg_max_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const bool smallest = k->op->param != 0;
  const int8_t *x = window->pixels[0];
  for (uint32_t pixel = 0; pixel < k->out_width; ++pixel, x += k->in_channels, out += TMO_INDEX_BYTES) {
    int32_t best = 0;
    for (uint32_t c = 1; c < k->in_channels; ++c) {
      if (smallest ? x[c] < x[best] : x[c] > x[best]) best = (int32_t)c;
    }
    memcpy(out, &best, sizeof best);
  }
}
