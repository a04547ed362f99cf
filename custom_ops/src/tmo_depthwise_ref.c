/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/packed.h"
#include "tmo/vectors.h"

#if TMO_CORE_DSP

_Static_assert(TMO_TWINS || (offsetof(tmo_dsp_window_job, taps) == 48 && offsetof(tmo_dsp_window_job, rows) == 52 &&
               offsetof(tmo_dsp_window_job, columns) == 56 && offsetof(tmo_dsp_window_job, skipped) == 60 &&
               offsetof(tmo_dsp_window_job, offset) == 64 && offsetof(tmo_dsp_window_job, apart) == 68), "tmo_dsp_sums.S");

#endif

#if TMO_CORE_DSP
/* Computes a pixel if the number of output channels for each input channel is a multiple of 4. tmo_makes_fours() must be true. */
TMO_OWN_FRAME static void repeated_fours(const tmo_kernel *k, const tmo_window *v, uint32_t multiplier, int8_t *out) {
  tmo_dsp_scales scales;
  tmo_dsp_window_job o;
  tmo_dsp_set_window(&o, k, v, k->weights + tmo_first_tap(k, v), out, &scales);
  for (uint32_t c = 0; c < k->in_channels; ++c, ++o.offset) {
    o.job.groups = multiplier / 4;
    tmo_dsp_repeated_outputs(&o);
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}
#endif

/* Computes one output pixel of a depthwise convolution. The pixel's first channel is element i of the output. Output channel c reads input channel c
 * / multiplier, rounded down. */
static void depthwise(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (tmo_has_nibbles(k->op)) {
    for (uint32_t n, oc = 0; oc < k->out_channels; oc += n) {
      uint32_t sums[TMO_STACK_SUMS];
      n = k->out_channels - oc < TMO_STACK_SUMS ? k->out_channels - oc : TMO_STACK_SUMS;
      tmo_begin_sums(k, sums, n, oc, i + oc);
      tmo_depthwise_nibbles(k, v, oc, n, sums);
      tmo_end_sums(k, sums, n, oc, i + oc, out);
    }
    return;
  }
  if (tmo_depthwise_vectors(k, v, i, out)) return;
#if TMO_CORE_DSP
  if (tmo_makes_fours(k) && k->in_channels == k->out_channels) {
    tmo_depthwise_fours(k, v, out + i);
    return;
  }
#endif
  const bool repeated = k->out_channels != k->in_channels;
  if (repeated ? !tmo_has_part(TMO_PART_DEPTHWISE_REPEATED) : TMO_CORE_DSP && !tmo_has_part(TMO_PART_DEPTHWISE_SUMS)) return;
  const uint32_t all = repeated ? k->out_channels / k->in_channels : k->out_channels;
#if TMO_CORE_DSP
  if (repeated && all % 4 == 0 && tmo_makes_fours(k)) {
    repeated_fours(k, v, all, out + i);
    return;
  }
#endif
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
