/* Sums over a window that slides: they outlive the run, new rows are added, and those that leave are taken off. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

/* Operands: the new rows, as many that leave, perhaps rows that count in this run alone, and the sums, which are written anew. */
void tmo_sliding_sum_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint32_t n = k->op->stride_h, outputs = k->out_width * k->out_channels, rows = window->count - 1u;
  const uint32_t bytes = k->in_width * k->in_channels;
  int8_t *sums = (int8_t *)(uintptr_t)window->pixels[rows];
  if (sums == NULL) return; /* the program is damaged */
  for (uint32_t i = 0; i < outputs; ++i, sums += sizeof(uint32_t)) {
    uint32_t kept, older = 0;
    memcpy(&kept, sums, sizeof kept);
    for (uint32_t r = 0; r < rows; ++r) {
      const int8_t *const row = window->pixels[r];
      uint32_t part = 0;
      for (uint32_t at = i; row != NULL && at < bytes; at += outputs) part += (uint32_t)row[at];
      if (r >= n) older += part;
      if (r < n) {
        kept += part;
      } else if (r < 2 * n) {
        kept -= part;
      }
    }
    memcpy(sums, &kept, sizeof kept);
    out[i] = tmo_pool_output(k, kept + older, (uint32_t)k->op->kernel_h * k->op->kernel_w);
  }
}
