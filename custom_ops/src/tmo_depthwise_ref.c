/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/packed.h"
#include "tmo/vectors.h"

#if TMO_CORE_DSP

_Static_assert(TMO_TWINS || (offsetof(tmo_dsp_window_job, taps) == 48 && offsetof(tmo_dsp_window_job, rows) == 52 &&
               offsetof(tmo_dsp_window_job, columns) == 56 && offsetof(tmo_dsp_window_job, skipped) == 60 &&
               offsetof(tmo_dsp_window_job, offset) == 64 && offsetof(tmo_dsp_window_job, apart) == 68), "tmo_dsp_sums.S");

#endif

#if TMO_CORE_DSP
/* Computes the channels of a pixel four at a time. The fields `weights` and `out` of the job belong to the first channel. tmo_makes_fours() must be
 * true. The number of output channels for each input channel must be 1 or a multiple of 4. */
static TMO_ALWAYS_INLINE void four_channels(const tmo_kernel *k, tmo_dsp_window_job *o, uint32_t multiplier) {
  const int8_t *const w = o->job.weights;
  int8_t *const out = o->job.out;
  const uint32_t offset = o->offset;
  o->job.bias = k->bias;
  if (o->job.each != 0) {
    o->job.multipliers = k->multipliers;
    o->job.shifts = k->shifts;
  }
  if (multiplier == 1) {
    o->job.groups = k->out_channels / 4;
    tmo_dsp_window_outputs(o);
    o->offset = offset + k->out_channels - 4;
    if (tmo_dsp_moves_to_rest(&o->job, k, w, 1, out)) tmo_dsp_window_outputs(o);
  } else {
    for (; o->offset < offset + k->in_channels; ++o->offset) {
      o->job.groups = multiplier / 4;
      tmo_dsp_repeated_outputs(o);
    }
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}

void tmo_depthwise_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
  const tmo_op *const op = k->op;
  const int8_t *const w = k->weights + rows->first_row * op->kernel_w * k->tap_step;
  const uint32_t channels = k->in_channels, multiplier = k->out_channels == channels ? 1 : tmo_quotient(k->out_channels, channels);
  const uint32_t apart = op->dilation_w * channels, last = (k->in_width - 1u) * channels;
  const bool few = tmo_has_part(TMO_PART_DEPTHWISE_SUMS) && k->out_channels < 4;
  int8_t *out = columns->out;
  tmo_dsp_scales scales;
  tmo_dsp_window_job o;
  if (few) {
    tmo_dsp_set_few(&o.job, k, w, k->tap_step, out, &scales);
  } else {
    tmo_dsp_set(&o.job, k, w, k->tap_step, out, &scales);
  }
  o.taps = rows->pixels;
  o.apart = columns->backwards ? 0 - apart : apart;
  for (uint32_t x = columns->x; x < columns->end; ++x, out += columns->step) {
    const tmo_taps taps = tmo_columns(k, (uint16_t)x);
    o.columns = taps.count;
    o.rows = taps.count > 0 ? rows->count : 0;
    o.skipped = (op->kernel_w - taps.count) * k->tap_step;
    o.offset = columns->backwards ? last - taps.start * channels : taps.start * channels;
    o.job.weights = w + taps.first * k->tap_step;
    o.job.out = out;
    if (few) {
      tmo_dsp_few_taps(&o);
      tmo_packed_clamp(op, out, k->out_channels);
    } else {
      four_channels(k, &o, multiplier);
    }
  }
}

/* Computes a pixel if the number of output channels for each input channel is a multiple of 4. tmo_makes_fours() must be true. */
TMO_OWN_FRAME static void repeated_fours(const tmo_kernel *k, const tmo_window *v, uint32_t multiplier, int8_t *out) {
  tmo_dsp_scales scales;
  tmo_dsp_window_job o;
  tmo_dsp_set_window(&o, k, v, k->weights + tmo_first_tap(k, v), out, &scales);
  four_channels(k, &o, multiplier);
}
#endif

/* Computes one output pixel of a depthwise convolution, whose first channel is element i of the output. Output channel c reads input channel c /
 * multiplier, rounded down. */
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

void tmo_depthwise_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
#if TMO_CORE_DSP
  if (tmo_depthwise_makes_columns(k->op, k->in_channels, k->out_channels) && !tmo_has_sums(k)) {
    const tmo_adjacent_columns all = {0, k->out_width, out, (int32_t)k->out_channels, false};
    tmo_depthwise_columns_s8(k, window, &all);
    return;
  }
#endif
  tmo_make_row(k, window, out, depthwise);
}

void tmo_depthwise_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { depthwise(k, window, 0, out); }
