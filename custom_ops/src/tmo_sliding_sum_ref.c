/* SPDX-License-Identifier: Apache-2.0 */
/* This file adds up the rows of a sliding window. The state keeps the sums from one inference to the next. Each inference adds the new rows, and
 * subtracts the rows that leave the window. */
#include <stddef.h>
#include <string.h>

#include "tmo/kernels.h"

static int8_t output(const tmo_kernel *k, uint32_t sum) {
  const tmo_op *op = k->op;
  const uint32_t area = (uint32_t)op->kernel_h * op->kernel_w;
  if (op->multipliers != 0) return tmo_channel_output(k, 0, sum - (uint32_t)(int32_t)op->input_zero_point[0] * area);
  return tmo_output(k, tmo_divide_rounded((int32_t)sum, (int32_t)area) - op->output_zero_point);
}

/* Operand 0 has the rows that enter the window, and operand 1 has equally many rows that leave the window. An optional third operand has rows that
 * count in the current inference only, and are not added to the stored sums. The last operand has the sums, which the kernel updates. */
void tmo_sliding_sum_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint32_t n = k->op->new_rows, outputs = k->out_width * k->out_channels, rows = window->count - 1u;
  const uint32_t bytes = k->in_width * k->in_channels;
  int8_t *sums = (int8_t *)(uintptr_t)window->pixels[rows];
  if (sums == NULL) return; /* rows are missing only in damaged programs */
  for (uint32_t i = 0; i < outputs; ++i, sums += sizeof(uint32_t)) {
    uint32_t kept, all;
    memcpy(&kept, sums, sizeof kept);
    all = kept;
    for (uint32_t r = 0; r < rows; ++r) {
      const int8_t *const row = window->pixels[r];
      uint32_t part = 0;
      for (uint32_t at = i; row != NULL && at < bytes; at += outputs) part += (uint32_t)row[at];
      if (r - n < n) { /* the row leaves the window */
        kept -= part;
      } else {
        all += part;
        if (r < n) kept += part;
      }
    }
    memcpy(sums, &kept, sizeof kept);
    out[i] = output(k, all);
  }
}
