/* Sums over a window that slides: they outlive the run, new rows are added, and those that leave are taken off. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

/* Output i's share of n rows: of each, every `step`-th byte. A row that is not there, in a damaged program, is none. */
TMO_OWN_FRAME static uint32_t add_up(const int8_t *const *rows, uint32_t n, uint32_t i, uint32_t step, uint32_t end) {
  uint32_t sum = 0;
  for (; n > 0; --n, ++rows) {
    for (uint32_t at = i; *rows != NULL && at < end; at += step) sum += (uint32_t)(*rows)[at];
  }
  return sum;
}

/* Operands: the new rows, as many that leave, the sums, which are written anew, and, perhaps, rows that count in this run alone. */
void tmo_sliding_sum_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const int32_t area = op->kernel_h * op->kernel_w;
  const uint32_t n = op->stride_h, bytes = k->in_width * k->in_channels, outputs = k->out_width * k->out_channels;
  const int8_t *const *const sums_at = window->pixels + 2 * n;
  int8_t *sums = (int8_t *)(uintptr_t)*sums_at;
  if (sums == NULL) return; /* the program is damaged */
  for (uint32_t i = 0; i < outputs; ++i, sums += sizeof(uint32_t)) {
    uint32_t sum;
    memcpy(&sum, sums, sizeof sum);
    sum += add_up(window->pixels, n, i, outputs, bytes);
    const uint32_t kept = sum - add_up(window->pixels + n, n, i, outputs, bytes);
    memcpy(sums, &kept, sizeof kept);
    sum += add_up(sums_at + 1, window->count - 2 * n - 1, i, outputs, bytes);
    if (op->param != 0) {
      out[i] = tmo_clamp(tmo_average((int32_t)sum, area), op->act_min, op->act_max);
    } else {
      out[i] = tmo_channel_output(k, 0, sum - (uint32_t)(op->input_zero_point[0] * area));
    }
  }
}
