/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/vectors.h"

/* One output pixel; its channels are outputs i, i + 1, .. Channel ic * multiplier + m reads channel ic. */
static void depthwise(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (tmo_depthwise_vectors(k, v, i, out)) return;
  const bool repeated = k->out_channels != k->in_channels;
  const uint32_t all = repeated ? k->out_channels / k->in_channels : k->out_channels;
  for (uint32_t x = 0, m = 0, n, oc = 0; oc < k->out_channels; oc += n) {
    uint32_t sums[TMO_STACK_SUMS];
    n = all - m < TMO_STACK_SUMS ? all - m : TMO_STACK_SUMS;
    tmo_begin_sums(k, sums, n, oc, i + oc);
    (repeated ? tmo_depthwise_repeated : tmo_depthwise_sums)(k, v, x + (repeated ? 0 : oc), oc, n, sums);
    tmo_end_sums(k, sums, n, oc, i + oc, out);
    m += n;
    if (m == all) ++x, m = 0;
  }
}

void tmo_depthwise_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, depthwise); }

void tmo_depthwise_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { depthwise(k, window, 0, out); }
