#include <string.h>

#include "tmo/kernels.h"

/* TFLM: Gather, micro/kernels/gather.cc. The table has op->param rows. */
bool tmo_gather_pixel_s8(const tmo_kernel *k, const int8_t *index, int8_t *out) {
  int32_t row;
  memcpy(&row, index, sizeof row);
  if (row < 0 || row >= k->op->param) return false;
  memcpy(out, k->weights + (uint32_t)row * k->out_channels, k->out_channels);
  return true;
}
