/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "tmo/access.h"
#include "tmo/dsp.h"
#include "tmo/packed.h"
#include "tmo/view.h"

tmo_taps tmo_clip_at_border(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const int32_t first = start < 0 ? (int32_t)tmo_quotient((uint32_t)(dilation - 1 - start), dilation) : 0;
  const int32_t inside = start < size ? (int32_t)tmo_quotient((uint32_t)(size - start + dilation - 1), dilation) : 0;
  const int32_t last = inside < kernel ? inside : kernel;
  tmo_taps taps = {0, 0, 0};
  if (first < last) {
    taps.first = (uint32_t)first;
    taps.count = (uint32_t)(last - first);
    taps.start = (uint32_t)(start + first * (int32_t)dilation);
  }
  return taps;
}

/* Computes the result of tmo_adjacent_pixels() for a tensor whose rows are in descending order or in a rolling buffer. */
TMO_OWN_FRAME static int8_t *descending_pixels(const tmo_run_state *run, const tmo_tensor *t, uint32_t first) {
  if (tmo_in_rolling_buffer(t)) return NULL;
  int8_t *const row = (int8_t *)(uintptr_t)tmo_base_of(run, t) + tmo_row_offset(t, first);
  if (t->layout == TMO_LAYOUT_PIXELS_REVERSED) return row + (tmo_row_bytes(t) - t->channels);
  return t->width == 1 ? row : NULL;
}

int8_t *tmo_adjacent_pixels(const tmo_run_state *run, const tmo_tensor *t, uint32_t first, uint32_t end) {
  if (tmo_has_column_windows(t) || tmo_is_source(run->program, t)) return NULL;
  const uint32_t row = tmo_remainder(first, t->depth);
  if (row + (end - first) > t->depth) return NULL;
  if (!tmo_is_ascending(t)) return descending_pixels(run, t, first);
  return (int8_t *)(uintptr_t)tmo_base_of(run, t) + (t->offset + row * tmo_row_bytes(t));
}

static TMO_ALWAYS_INLINE tmo_taps columns_under(const tmo_kernel *k, uint16_t x) {
  const int32_t start = (int32_t)((uint32_t)x * k->op->stride_w) - k->op->pad_left;
  return tmo_clip(start, k->op->kernel_w, k->op->dilation_w, k->in_width);
}

tmo_taps tmo_columns(const tmo_kernel *k, uint16_t x) { return columns_under(k, x); }

tmo_window tmo_column(const tmo_kernel *k, const tmo_window *rows, uint16_t x) {
  const tmo_taps taps = columns_under(k, x);
  tmo_window window = *rows;
  window.columns = (uint16_t)taps.count;
  window.first_column = (uint16_t)taps.first;
  window.offset = taps.start * k->in_channels;
  window.area = (uint32_t)(tmo_has_sums(k) ? k->op->kernel_h : rows->count) * taps.count;
  return window;
}

void tmo_make_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out, tmo_make_pixel *make) {
  for (uint16_t x = 0; x < k->out_width; ++x) {
    const tmo_window column = tmo_column(k, rows, x);
    make(k, &column, x * k->out_channels, out);
  }
}

#if !TMO_CORE_MVE
TMO_PLAIN_LOOPS void tmo_fill(int8_t *to, int8_t value, uint32_t n) {
  const uint32_t word = (uint8_t)value * 0x01010101u;
  for (; n >= 16; n -= 16, to += 16) {
    TMO_UNROLLED for (uint32_t i = 0; i < 16; i += 4) memcpy(TMO_WORDS(to + i), &word, sizeof word);
  }
  for (; n >= 4; n -= 4, to += 4) memcpy(TMO_WORDS(to), &word, sizeof word);
  for (; n > 0; --n) *to++ = value;
}
#endif

TMO_OWN_FRAME int8_t tmo_output(const tmo_kernel *k, int32_t value) {
  return tmo_clamp(tmo_wrapping_add(value, k->op->output_zero_point), k->op->act_min, k->op->act_max);
}

TMO_OWN_FRAME void tmo_clamp_bytes(const tmo_op *op, int8_t *out, uint32_t n) {
  const int8_t low = op->act_min, high = op->act_max;
#if TMO_CORE_DSP
  const int32_t lows = (int32_t)((uint8_t)low * 0x01010101u), above = ~(int32_t)((uint8_t)high * 0x01010101u);
  for (; n >= 4; n -= 4, out += 4) {
    const int32_t word = tmo_greater_bytes(~tmo_greater_bytes(~tmo_word(out), above), lows);
    memcpy(out, &word, sizeof word);
  }
#endif
  for (; n > 0; --n, ++out) *out = tmo_clamp(*out, low, high);
}

int8_t tmo_channel_output(const tmo_kernel *k, uint32_t channel, uint32_t sum) {
  const uint32_t c = k->op->flags & TMO_FLAG_PER_CHANNEL ? channel : 0;
  return tmo_output(k, tmo_rescale((int32_t)sum, k->multipliers[c], k->shifts[c]));
}

void tmo_begin_sums(const tmo_kernel *k, uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i) {
  const bool first = !tmo_adds_sums() || k->first;
  const int32_t *from = first ? k->bias : k->sums + i;
  uint32_t *const end = sums + n;
  if (from == NULL) {
    while (sums != end) *sums++ = 0;
    return;
  }
  if (first) from += channel;
  for (; end - sums >= 4; sums += 4, from += 4) {
    TMO_UNROLLED for (uint32_t c = 0; c < 4; ++c) sums[c] = (uint32_t)from[c];
  }
  while (sums != end) *sums++ = (uint32_t)*from++;
}

#if TMO_WIDE_MULTIPLY
static inline
#else /* on a core without 64-bit multiplication, an inlined tmo_rescale() would need all registers */
TMO_OWN_FRAME static
#endif
int32_t scaled(int32_t sum, int32_t multiplier, int32_t shift) { return tmo_rescale(sum, multiplier, shift); }

void tmo_end_sums(const tmo_kernel *k, const uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i, int8_t *out) {
  if (tmo_adds_sums() && !k->last) {
    for (uint32_t c = 0; c < n; ++c) k->sums[i + c] = (int32_t)sums[c];
    return;
  }
  const tmo_op *op = k->op;
  const uint32_t step = op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0;
  const int32_t *multiplier = k->multipliers + channel * step;
  const int8_t *shift = k->shifts + channel * step;
  const int32_t zero_point = op->output_zero_point;
#if !TMO_CORE_DSP
  const int32_t low = op->act_min, high = op->act_max;
#endif
  out += i;
  for (const uint32_t *const end = sums + n; sums != end; multiplier += step, shift += step) {
    const int32_t value = tmo_wrapping_add(scaled((int32_t)*sums++, *multiplier, *shift), zero_point);
#if TMO_CORE_DSP
    *out++ = (int8_t)tmo_saturated_byte(value); /* one instruction of the DSP extension saturates to int8; narrower limits apply after the loop */
#else
    *out++ = (int8_t)(value < low ? low : value > high ? high : value);
#endif
  }
  if (TMO_CORE_DSP) tmo_packed_clamp(op, out - n, n);
}
