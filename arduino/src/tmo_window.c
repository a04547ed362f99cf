#include "tmo/kernels.h"

tmo_taps tmo_clip(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size) {
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

tmo_taps tmo_columns(const tmo_kernel *k, uint16_t x) {
  const int32_t start = (int32_t)((uint32_t)x * k->op->stride_w) - k->op->pad_left;
  return tmo_clip(start, k->op->kernel_w, k->op->dilation_w, k->in_width);
}

tmo_window tmo_column(const tmo_kernel *k, const tmo_window *rows, uint16_t x) {
  const tmo_taps taps = tmo_columns(k, x);
  tmo_window window = *rows;
  window.columns = taps.count;
  window.first_column = taps.first;
  window.offset = taps.start * k->in_channels;
  window.area = (uint32_t)(k->sums ? k->op->kernel_h : rows->count) * taps.count;
  return window;
}
