/* SPDX-License-Identifier: Apache-2.0 */
/* For each output pixel of a transposed convolution, this file adds up the products of all input pixels that influence the output pixel. TFLM's
 * function TransposeConv (kernels/internal/reference/integer_ops/transpose_conv.h) adds each input pixel to several output pixels. */
#include <stddef.h>

#include "tmo/packed.h"

/* Input bytes whose products are added up for an output pixel. The field `runs` has a part for each kernel column. A part has a run of adjacent bytes
 * in each input row. */
typedef struct {
  tmo_runs runs;
  const int8_t *row;    /* weights of the kernel row that multiplies the first input row */
  uint32_t column, tap; /* last input column that can influence the pixel, and the kernel column for it */
} pixel_runs;

/* Sets the fields for an output row and its first pixel. The argument `bytes` is the size of an element in bytes. */
static pixel_runs first_runs(const tmo_kernel *k, const tmo_window *rows, uint32_t bytes) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels / bytes, row = op->kernel_w * channels;
  uint32_t first = 0, n = 0;
  int32_t ky = (int32_t)k->row + op->pad_top - k->first_row * (int32_t)op->stride_h;
  for (; first < rows->count && (rows->pixels[first] == NULL || ky >= op->kernel_h); ++first) ky -= op->stride_h;
  while (first + n < rows->count && rows->pixels[first + n] != NULL && (int32_t)(n * op->stride_h) <= ky) ++n;
  return (pixel_runs){{rows->pixels + first, 1, (uint16_t)n, 0, 0, 0u - channels, op->stride_w * channels, 0, channels, 1,
                       0u - op->stride_h * row, op->kernel_h * row, op->input_zero_point[0]},
                      k->weights + (n > 0 ? (uint32_t)ky * row : 0), op->pad_left / op->stride_w, op->pad_left % op->stride_w};
}

/* Lists the input bytes and weights for a pixel, and moves to the next pixel. Returns the address of the weights for the first column of taps. */
static const int8_t *take_runs(const tmo_kernel *k, pixel_runs *p) {
  const tmo_op *op = k->op;
  const uint32_t stride = op->stride_w, kernel = op->kernel_w, channels = p->runs.bytes;
  uint32_t column = p->column, tap = p->tap, taps = 0;
  if (++p->tap == stride) {
    p->tap = 0;
    ++p->column;
  }
  for (; column >= k->in_width && tap < kernel; --column) tap += stride;
  for (uint32_t next = tap; next < kernel && taps <= column; next += stride) ++taps;
  p->runs.parts = (uint16_t)taps;
  p->runs.offset = column * channels;
  return p->row + (taps > 0 ? tap * channels : 0);
}

#if !TMO_CORE_DSP
/* Returns `sum` plus the products of all runs and the weights of one channel. */
TMO_OWN_FRAME static int32_t add_channel(const tmo_runs *r, const int8_t *w, int32_t sum) {
  const int32_t row = (int32_t)r->row, next = (int32_t)r->next_row, zero = r->zero_point;
  uint32_t total = (uint32_t)sum, offset = r->offset;
  for (uint32_t parts = r->parts; parts > 0; --parts, w += next, offset += r->next_offset) {
    const int8_t *weights = w;
    for (const int8_t *const *at = r->at, *const *const last = at + r->count; at != last; ++at, weights += row) {
      const int8_t *x = *at + offset, *y = weights, *const end = x + r->bytes;
      for (; end - x >= 4; x += 4, y += 4) {
        TMO_UNROLLED for (uint32_t i = 0; i < 4; ++i) total += (uint32_t)((x[i] - zero) * y[i]);
      }
      for (; x != end; ++x, ++y) total += (uint32_t)((*x - zero) * *y);
    }
  }
  return (int32_t)total;
}

/* Computes all channels of a pixel, one after another. */
static TMO_ALWAYS_INLINE void make_channels(const tmo_kernel *k, const tmo_runs *r, const int8_t *w, int8_t *out) {
  const tmo_op *const op = k->op;
  const int32_t zero_out = op->output_zero_point, low = op->act_min, high = op->act_max;
  const uint32_t step = op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  for (uint32_t c = 0, s = 0; c < k->out_channels; ++c, s += step, w += r->filter) {
    const int32_t sum = add_channel(r, w, k->bias != NULL ? k->bias[c] : 0);
    const int32_t value = tmo_wrapping_add(tmo_rescale(sum, k->multipliers[s], k->shifts[s]), zero_out);
    out[c] = (int8_t)(value < low ? low : value > high ? high : value);
  }
}
#endif

/* Computes an output row whose pixels have one to three channels, for which calls of tmo_add_products() would take longer. */
TMO_OWN_FRAME static void make_few_channels(const tmo_kernel *k, pixel_runs *p, int8_t *out) {
  const int8_t *const end = out + k->out_width * k->out_channels;
#if TMO_CORE_DSP
  tmo_dsp_scales scales;
  tmo_dsp_job job;
  tmo_dsp_set_few(&job, k, k->weights, p->runs.filter, out, &scales);
  for (; job.out != end; job.out += k->out_channels) {
    job.weights = take_runs(k, p);
    tmo_dsp_few(&job, &p->runs);
    tmo_packed_clamp(k->op, job.out, k->out_channels);
  }
#else
  for (; out != end; out += k->out_channels) {
    const int8_t *const w = take_runs(k, p);
    make_channels(k, &p->runs, w, out);
  }
#endif
}

void tmo_transpose_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  pixel_runs p = first_runs(k, window, 1);
  if (k->out_channels < 4 && !tmo_has_sums(k)) {
    make_few_channels(k, &p, out);
    return;
  }
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const int8_t *w = take_runs(k, &p);
    for (uint32_t n, c = 0; c < k->out_channels; c += n, w += n * p.runs.filter) {
      uint32_t sums[TMO_STACK_SUMS];
      n = k->out_channels - c < TMO_STACK_SUMS ? k->out_channels - c : TMO_STACK_SUMS;
      tmo_begin_sums(k, sums, n, c, 0);
      tmo_add_products(&p.runs, w, n, sums);
      tmo_end_sums(k, sums, n, c, c, out);
    }
  }
}

void tmo_transpose_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  pixel_runs p = first_runs(k, window, 2);
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const int8_t *const w = take_runs(k, &p);
    tmo_conv_runs_s16(k, &p.runs, w, out);
  }
}
