/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes convolutions that are packed for the DSP extension. The functions gather the input values of a few pixels as int16, and multiply
 * the values by the weights of pairs of channels. */
#include <string.h>

#include "tmo/dsp.h"
#include "tmo/packed.h"

#if TMO_RUNS_DSP

/* MAKES_SINGLE_PIXELS is 1 if gather_inside() also gathers single pixels in this build. */
#define MAKES_SINGLE_PIXELS (tmo_has_part(TMO_PART_DSP_PAIRS_1) || tmo_has_part(TMO_PART_DSP_SMALL) || tmo_has_part(TMO_PART_DSP_NARROW))

static bool has_odd_channels(const tmo_kernel *k) { return tmo_has_part(TMO_PART_DSP_ODD) && k->out_channels % 2 != 0; }

/* The position of a pixel's values in a tile. Each word has two values, and the words of a pixel are `step` int16 values apart. */
typedef struct {
  int16_t *at;
  uint32_t step;
} column;

/* Returns the place of a pixel's input values in the tiles. For five pixels, the first tile has three pixels, and the second tile has two pixels. */
static column column_of(const tmo_kernel *k, uint32_t pixel, uint32_t pixels) {
  enum { FIRST = 3 };
  int16_t *tile = (int16_t *)k->scratch;
  if (tmo_has_part(TMO_PART_DSP_PAIRS_5) && pixels == TMO_FIVE_PIXELS) {
    if (pixel >= FIRST) {
      tile += FIRST * tmo_packed_values(k->op, k->in_channels);
      pixel -= FIRST;
      pixels -= FIRST;
    } else {
      pixels = FIRST;
    }
  }
  const column c = {tile + 2 * pixel, 2 * pixels};
  return c;
}

static void put_quad(int16_t *to, uint32_t step, uint32_t quad) {
  const int32_t even = tmo_even_bytes(0, (int32_t)quad), odd = tmo_odd_bytes(0, (int32_t)quad);
  memcpy(to, &even, sizeof even);
  memcpy(to + step, &odd, sizeof odd);
}

static void put_value(const column *c, uint32_t k, int8_t x) { c->at[(k / 4 * 2 + k % 2) * c->step + k / 2 % 2] = x; }

/* Writes n values of a pixel to the tile, beginning at index k of the pixel. */
static void put(const column *c, uint32_t k, const int8_t *x, uint32_t n) {
  if (k % 4 == 0) {
    const uint32_t step = c->step;
    int16_t *to = c->at + k / 2 * step;
    const int8_t *const end = x + n / 4 * 4;
    k += n / 4 * 4;
    for (; x != end; x += 4, to += 2 * step) {
      uint32_t quad;
      memcpy(&quad, x, sizeof quad);
      put_quad(to, step, quad);
    }
    n %= 4;
  }
  for (; n > 0; --n, ++k, ++x) put_value(c, k, *x);
}

/* Writes n copies of x to a pixel of the tile, beginning at index k of the pixel. */
static void fill(const column *c, uint32_t k, int8_t x, uint32_t n) {
  if (k % 4 == 0) {
    for (; n >= 4; n -= 4, k += 4) put_quad(c->at + k / 2 * c->step, c->step, (uint8_t)x * 0x01010101u);
  }
  for (; n > 0; --n, ++k) put_value(c, k, x);
}

static void put_taps(const tmo_kernel *k, const tmo_window *w, uint32_t r, const column *c, uint32_t at) {
  const tmo_op *op = k->op;
  if (tmo_reads_rows(k) && op->dilation_w == 1) {
    put(c, at, w->pixels[r] + w->offset, w->columns * k->in_channels);
    return;
  }
  for (uint32_t x = 0; x < w->columns; ++x, at += k->in_channels) {
    const int8_t *tap = tmo_reads_rows(k) ? w->pixels[r] + w->offset + x * op->dilation_w * k->in_channels : w->pixels[r * w->columns + x];
    put(c, at, tap, k->in_channels);
  }
}

/* Gathers a single pixel from a list of its taps. The number of bytes of each tap must be a multiple of 4. */
static void gather_taps(const tmo_kernel *k, const tmo_window *w) {
  const tmo_op *op = k->op;
  const uint32_t row = op->kernel_w * k->in_channels;
  int16_t *const tile = (int16_t *)k->scratch, *to = tile + w->first_row * row + w->first_column * k->in_channels;
  if (w->count == (uint32_t)op->kernel_h * op->kernel_w) {
    tmo_dsp_widen_taps(w->pixels, w->count, tile, k->in_channels);
    return;
  }
  const uint32_t zero = (uint16_t)op->input_zero_point[0] * 0x00010001u;
  for (int16_t *at = tile, *const end = tile + op->kernel_h * row; at != end; at += 4) {
    memcpy(at, &zero, sizeof zero);
    memcpy(at + 2, &zero, sizeof zero);
  }
  for (uint32_t i = 0; i < w->count; i += w->columns, to += row) tmo_dsp_widen_taps(w->pixels + i, w->columns, to, k->in_channels);
}

/* Gathers the values of a pixel whose window is completely inside the input. Each row of the window has `taps` bytes. The argument `taps` is at
 * least 3, and is not a multiple of 4. In a long row, the last word begins with bytes that are already widened. A shift removes these bytes and
 * appends zeros, whose weights are 0. */
static TMO_ALWAYS_INLINE void take_short(const tmo_window *w, const column *c, uint32_t taps) {
  const uint32_t step = c->step, left = taps % 4, whole = taps - left;
  int16_t *to = c->at;
  for (const int8_t *const *row = w->pixels, *const *const end = row + w->count; row != end; ++row) {
    const int8_t *from = *row + w->offset;
    for (const int8_t *const last = from + whole; from != last; from += 4, to += 2 * step) put_quad(to, step, (uint32_t)tmo_word(from));
    put_quad(to, step, whole > 0 ? (uint32_t)tmo_word(from + left - 4) >> (32 - 8 * left) : (uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 | (uint32_t)(uint8_t)from[2] << 16);
    to += 2 * step;
  }
}

/* Gathers the input values of one output pixel row by row, for windows with at most TMO_SHORT_ROW bytes per row. To save time, the function pads
 * each row before it widens the bytes of the row. */
TMO_PLAIN_LOOPS static void gather_short(const tmo_kernel *k, const tmo_window *w, const column *c, uint32_t row) {
  const tmo_op *op = k->op;
  const uint32_t left = w->first_column * k->in_channels, taps = w->columns * k->in_channels;
  const uint32_t rows = taps > 0 ? w->count : 0;
  const int8_t zero = op->input_zero_point[0];
  uint32_t words[TMO_SHORT_ROW / 4];
  int8_t *const padded = (int8_t *)words;
  int16_t *to = c->at;
  if (rows == op->kernel_h && taps == op->kernel_w * k->in_channels && taps > 2 && taps < row) {
    take_short(w, c, taps);
    return;
  }
  tmo_fill(padded, zero, row);
  for (uint32_t r = 0 - w->first_row, end = op->kernel_h - w->first_row; r != end; ++r) {
    const int8_t *from = padded;
    if (r >= rows) {
      tmo_fill(padded, zero, row);
    } else if (taps == row) {
      from = w->pixels[r] + w->offset;
    } else {
      const int8_t *const bytes = w->pixels[r] + w->offset;
      for (uint32_t i = 0; i < taps; ++i) padded[left + i] = bytes[i];
    }
    for (const int8_t *const last = from + row; from != last; from += 4, to += 2 * c->step) {
      uint32_t quad;
      memcpy(&quad, from, sizeof quad);
      put_quad(to, c->step, quad);
    }
  }
}

void tmo_conv_dsp_gather(const tmo_kernel *k, const tmo_window *w, uint32_t pixel, uint32_t pixels) {
  const tmo_op *op = k->op;
  if (pixels == 1 && !tmo_reads_rows(k) && k->in_channels % 4 == 0) {
    gather_taps(k, w);
    return;
  }
  const column c = column_of(k, pixel, pixels);
  const int8_t zero = op->input_zero_point[0];
  const uint32_t row = (op->kernel_w * k->in_channels + 3) / 4 * 4;
  if (row <= TMO_SHORT_ROW && tmo_reads_rows(k) && op->dilation_w == 1) {
    gather_short(k, w, &c, row);
    return;
  }
  if (!tmo_has_part(TMO_PART_DSP_GATHER)) return;
  const uint32_t rows = tmo_reads_rows(k) ? w->count : w->columns > 0 ? w->count / w->columns : 0;
  const uint32_t left = w->first_column * k->in_channels, taps = w->columns * k->in_channels, all = op->kernel_w * k->in_channels;
  for (uint32_t ky = 0, at = 0; ky < op->kernel_h; ++ky, at += row) {
    const uint32_t r = ky - w->first_row;
    if (r >= rows || taps == 0) {
      fill(&c, at, zero, row);
      continue;
    }
    if (left > 0) fill(&c, at, zero, left);
    put_taps(k, w, r, &c, at + left);
    if (left + taps < all) fill(&c, at + left + taps, zero, all - left - taps);
  }
}

/* Computes groups of `ways` pairs of channels for one pixel, with less code than the assembly. The values of the pixel are in `tile` if they are
 * int16, or in `bytes` if they are int8. Within a group, the weights of all pairs of channels alternate word by word. */
TMO_OWN_FRAME static void pairs_of_one(const int16_t *tile, const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out,
                                       uint32_t values, uint32_t groups, uint32_t ways) {
  const bool widened = !tmo_has_packing(TMO_PACKING_DSP_DENSE) || tile != NULL;
  for (uint32_t left = ways; groups > 0; out += 2, scales += TMO_PACKED_SCALES) {
    int32_t low = scales[0], all = scales[1];
    const int8_t *w = weights;
    for (uint32_t i = 0; i < values; i += 2, w += 4 * ways) {
      const int32_t word = tmo_word(w);
      int32_t x = tmo_word(widened ? (const int8_t *)(tile + i) : bytes + i / 4 * 4);
      if (!widened) x = i % 4 == 0 ? tmo_even_bytes(0, x) : tmo_odd_bytes(0, x);
      low = tmo_add_two(low, tmo_even_bytes(0, word), x);
      all = tmo_add_two(all, word, x);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      const int32_t sum = i == 0 ? low : (int32_t)((uint32_t)all - (uint32_t)low) >> 8, *const scale = scales + 2 + 3 * i;
      out[i] = (int8_t)tmo_saturated_byte(tmo_high_add(tmo_wrapping_add(sum >> 31, tmo_wrapping_add(sum, scale[1])), sum, scale[0]) >> scale[2]);
    }
    weights += 4;
    if (--left > 0) continue;
    left = ways;
    weights = w - 4 * (ways - 1);
    --groups;
  }
}

static void one_pixel(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                      uint32_t second, uint32_t third, uint32_t fourth) {
  (void)second, (void)third, (void)fourth;
  pairs_of_one(tile, NULL, weights, scales, out, values, pairs, 1);
}

static TMO_ALWAYS_INLINE tmo_dsp_pairs *pairs_of(uint32_t pixels) {
  switch (pixels) {
    TMO_CASE_PART(2, TMO_PART_DSP_PAIRS_2, return tmo_dsp_pairs_2);
    TMO_CASE_PART(3, TMO_PART_DSP_PAIRS_3, return tmo_dsp_pairs_3);
    TMO_CASE_PART(4, TMO_PART_DSP_PAIRS_4, return tmo_dsp_pairs_4);
    TMO_CASE_PART(5, TMO_PART_DSP_PAIRS_5, return tmo_dsp_pairs_5);
    default:
      if (tmo_has_part(TMO_PART_DSP_PAIRS_1)) return tmo_dsp_pairs_1;
      if (tmo_has_part(TMO_PART_DSP_SMALL)) return one_pixel;
  }
  return NULL; /* the header of a damaged program may omit parts of the library that the program needs */
}

static TMO_ALWAYS_INLINE void pairs_from(const tmo_kernel *k, tmo_dsp_pairs *compute, uint32_t first, uint32_t pairs, int8_t *out,
                                         uint32_t second, uint32_t third, uint32_t fourth) {
  const uint32_t values = tmo_packed_values(k->op, k->in_channels);
  const int32_t *const scales = k->bias + TMO_PACKED_SCALES * first;
  compute((const int16_t *)k->scratch, k->weights + (size_t)2 * first * values, scales, out, values, pairs, second, third, fourth);
}

/* Computes the last output channel of each pixel if the number of channels is odd. */
TMO_OWN_FRAME static void multiply_last(const tmo_kernel *k, tmo_dsp_pairs *compute, int8_t *last) {
  pairs_from(k, compute, k->out_channels / 2, 1, last, 2, 4, 6);
}

void tmo_conv_dsp_multiply(const tmo_kernel *k, uint32_t pixels, int8_t *out, uint32_t step) {
  tmo_dsp_pairs *const compute = pairs_of(pixels);
  if (compute == NULL) return;
  if (!tmo_has_part(TMO_PART_DSP_ODD) || k->out_channels > 1) pairs_from(k, compute, 0, k->out_channels / 2, out, step, 2 * step, 3 * step);
  if (has_odd_channels(k)) {
    int8_t last[2 * TMO_FIVE_PIXELS];
    multiply_last(k, compute, last);
    for (uint32_t p = 0; p < pixels; ++p) out[p * step + k->out_channels - 1] = last[2 * p];
  }
  if (!tmo_packed_clamps(k->op)) return;
  for (uint32_t p = 0; p < pixels; ++p) tmo_clamp_bytes(k->op, out + p * step, k->out_channels);
}

void tmo_conv_dsp_scatter(const tmo_kernel *k, uint32_t pixels, int8_t *const *outs) {
  tmo_dsp_pairs *const compute = pairs_of(pixels);
  uint32_t apart[TMO_PACKED_PIXELS] = {0};
  if (compute == NULL) return;
  for (uint32_t p = 1; p < pixels; ++p) apart[p] = (uint32_t)(outs[p] - outs[0]);
  if (!tmo_has_part(TMO_PART_DSP_ODD) || k->out_channels > 1) pairs_from(k, compute, 0, k->out_channels / 2, outs[0], apart[1], apart[2], apart[3]);
  if (has_odd_channels(k)) {
    int8_t last[2 * TMO_PACKED_PIXELS];
    multiply_last(k, compute, last);
    for (uint32_t p = 0; p < pixels; ++p) outs[p][k->out_channels - 1] = last[2 * p];
  }
  if (!tmo_packed_clamps(k->op)) return;
  for (uint32_t p = 0; p < pixels; ++p) tmo_clamp_bytes(k->op, outs[p], k->out_channels);
}

/* The function tmo_dsp_direct() computes at least two pairs of channels. If the number of channels is odd, the last channel is computed together with
 * the previous pair of channels, into a separate buffer. */
void tmo_conv_dsp_direct(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!tmo_has_part(TMO_PART_DSP_DIRECT)) return;
  const int8_t *const bytes = window->pixels[0];
  const uint32_t values = k->in_channels, pairs = k->out_channels / 2;
  tmo_dsp_direct(bytes, k->weights, k->bias, out, values, pairs);
  if (k->out_channels % 2 != 0) {
    int8_t last[4];
    tmo_dsp_direct(bytes, k->weights + (size_t)2 * (pairs - 1) * values, k->bias + TMO_PACKED_SCALES * (pairs - 1), last, values, 2);
    out[2 * pairs] = last[2];
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}

void tmo_conv_dsp_taps(const tmo_kernel *k, const int8_t *const *taps, int8_t *out) {
  const uint32_t n = (uint32_t)k->op->kernel_h * k->op->kernel_w, bytes = k->in_channels, pairs = k->out_channels / 2;
  const uint32_t triples = tmo_dense_triples(pairs), done = 3 * triples;
  if (tmo_has_part(TMO_PART_DSP_TRIPLES) && triples > 0) tmo_dsp_dense_taps(taps, k->weights, k->bias, out, bytes, triples, n);
  if (tmo_has_part(TMO_PART_DSP_DIRECT) && done < pairs) {
    const int8_t *const rest = k->weights + (size_t)2 * done * n * bytes;
    tmo_dsp_direct_taps(taps, rest, k->bias + TMO_PACKED_SCALES * done, out + 2 * done, bytes, pairs - done, n);
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}

void tmo_conv_dsp_dense(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const bytes = window->pixels[0], *const weights = k->weights;
  const uint32_t values = k->in_channels, pairs = k->out_channels / 2, triples = tmo_dense_triples(pairs), done = 3 * triples;
  const bool one_scale = tmo_has_part(TMO_PART_DSP_ONE_SCALE) && (!tmo_has_part(TMO_PART_DSP_TRIPLES) || k->op->one_scale == 1);
  if (one_scale) {
    if (triples > 0) tmo_dsp_dense_one_scale(bytes, weights, k->bias, out, values, triples);
  } else if (tmo_has_part(TMO_PART_DSP_TRIPLES)) {
    if (triples > 0) tmo_dsp_dense(bytes, weights, k->bias, out, values, triples);
  } else if (tmo_has_part(TMO_PART_DSP_SMALL)) {
    pairs_of_one(NULL, bytes, weights, k->bias, out, values, triples, 3);
  }
  const int8_t *const rest = weights + (size_t)2 * done * values;
  const int32_t *const scales = k->bias + TMO_PACKED_SCALES * done;
  if (tmo_has_part(TMO_PART_DSP_DIRECT)) {
    if (done < pairs) tmo_dsp_direct(bytes, rest, scales, out + 2 * done, values, pairs - done);
  } else if (tmo_has_part(TMO_PART_DSP_SMALL)) {
    pairs_of_one(NULL, bytes, rest, scales, out + 2 * done, values, pairs - done, 1);
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}

TMO_OWN_FRAME static void multiply_listed(const tmo_kernel *k, const tmo_window *w, int8_t *out) {
  const int8_t *taps[TMO_PACKED_TAPS];
  const uint32_t wide = k->op->kernel_w, all = k->op->kernel_h * wide;
  if (w->count != all) tmo_depthwise_clear(k, taps, all);
  const int8_t **to = taps + w->first_row * wide + w->first_column;
  for (uint32_t i = 0; i < w->count; i += w->columns, to += wide) {
    for (uint32_t c = 0; c < w->columns; ++c) to[c] = w->pixels[i + c];
  }
  tmo_conv_dsp_taps(k, taps, out);
}

void tmo_conv_dsp_window(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (tmo_has_part(TMO_PART_DSP_WINDOWS) && k->op->kernel_h * k->op->kernel_w > 1) {
    multiply_listed(k, window, out);
  } else {
    tmo_conv_dsp_dense(k, window, out);
  }
}

/* Widens the bytes of two to four input pixels, which are `step` bytes apart. Each pixel has at least four bytes. */
static void widen_inside(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes, uint32_t pixels) {
  const bool five = tmo_has_part(TMO_PART_DSP_PAIRS_5);
  if (pixels == 2) {
    if (five || tmo_has_part(TMO_PART_DSP_PAIRS_2)) tmo_dsp_widen_2(from, step, tile, bytes);
  } else if (pixels == 3) {
    if (five || tmo_has_part(TMO_PART_DSP_PAIRS_3)) tmo_dsp_widen_3(from, step, tile, bytes);
  } else if (pixels == 4 && (tmo_has_part(TMO_PART_DSP_PAIRS_4) || tmo_has_part(TMO_PART_TWO_ROWS))) {
    tmo_dsp_widen_4(from, step, tile, bytes);
  }
}

static void widen_three(const int8_t *from, uint32_t step, const column *c) {
  int16_t *const end = c->at + c->step;
  for (int16_t *to = c->at; to != end; to += 2, from += step) {
    const uint32_t even = (uint16_t)from[0] | (uint32_t)from[2] << 16, odd = (uint16_t)from[1];
    memcpy(to, &even, sizeof even);
    memcpy(to + c->step, &odd, sizeof odd);
  }
}

void tmo_conv_dsp_gather_inside(const tmo_kernel *k, const tmo_window *rows, uint32_t offset, uint32_t pixels) {
  const tmo_op *op = k->op;
  const uint32_t bytes = op->kernel_w * k->in_channels, step = op->stride_w * k->in_channels, row = (bytes + 3) / 4 * 4;
  for (uint32_t p = 0, n; p < pixels; p += n, offset += n * step) {
    column c = column_of(k, p, pixels);
    n = tmo_has_part(TMO_PART_DSP_NARROW) && bytes < 3 ? 1 : tmo_has_part(TMO_PART_DSP_PAIRS_5) ? c.step / 2 : pixels;
    for (uint32_t r = 0; r < op->kernel_h; ++r, c.at += row / 2 * c.step) {
      const int8_t *const from = rows->pixels[r] + offset;
      if (tmo_has_part(TMO_PART_DSP_NARROW) && bytes == 3) {
        widen_three(from, step, &c);
      } else if (MAKES_SINGLE_PIXELS && n == 1) {
        put(&c, 0, from, bytes);
      } else {
        widen_inside(from, step, c.at, bytes, n);
      }
    }
  }
}

/* Gathers the input values of four output pixels, beginning with column x. The windows of the pixels may extend beyond the input. The number of
 * bytes of an input pixel must be a multiple of 4. Padding is read from a pixel of zero points at the end of the tile. The last gathered values
 * overwrite the padding pixel, which is then no longer needed. */
TMO_OWN_FRAME static void gather_four(const tmo_kernel *k, const tmo_window *rows, uint32_t x) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels, step = TMO_PACKED_PIXELS * channels;
  int16_t *tile = (int16_t *)k->scratch;
  int8_t *const zero = (int8_t *)(tile + (uint32_t)op->kernel_h * op->kernel_w * step) - channels;
  tmo_fill(zero, op->input_zero_point[0], channels);
  for (uint32_t ky = 0; ky < op->kernel_h; ++ky) {
    const uint32_t r = ky - rows->first_row;
    uint32_t first = x * op->stride_w - op->pad_left;
    for (uint32_t kx = 0; kx < op->kernel_w; ++kx, first += op->dilation_w, tile += step) {
      const int8_t *from[TMO_PACKED_PIXELS];
      uint32_t column = first;
      for (uint32_t p = 0; p < TMO_PACKED_PIXELS; ++p, column += op->stride_w) {
        from[p] = r < rows->count && column < k->in_width ? rows->pixels[r] + column * channels : zero;
      }
      tmo_dsp_widen_each(from, tile, channels);
    }
  }
}

/* Computes groups of four pixels whose windows are completely inside the input. The code for four pixels takes less than 1 KB, so the code fits in
 * the instruction caches of many boards. The argument `offset` is the distance in bytes from the start of a row to the first window. */
TMO_OWN_FRAME static void inside_fours(const tmo_kernel *k, const tmo_window *rows, uint32_t offset, uint32_t fours, int8_t *out, uint32_t step) {
  const tmo_op *op = k->op;
  const uint32_t bytes = op->kernel_w * k->in_channels, apart = op->stride_w * k->in_channels;
  const uint32_t values = tmo_packed_values(op, k->in_channels), pairs = k->out_channels / 2;
  const int8_t *const *const end = rows->pixels + op->kernel_h;
  const bool whole = !has_odd_channels(k) && !tmo_packed_clamps(op);
  for (; fours > 0; --fours, offset += TMO_PACKED_PIXELS * apart, out += TMO_PACKED_PIXELS * step) {
    int16_t *const tile = (int16_t *)k->scratch, *to = tile;
    for (const int8_t *const *row = rows->pixels; row != end; ++row) to = tmo_dsp_widen_4(*row + offset, apart, to, bytes);
    if (whole) {
      pairs_of(TMO_PACKED_PIXELS)(tile, k->weights, k->bias, out, values, pairs, step, 2 * step, 3 * step);
    } else {
      tmo_conv_dsp_multiply(k, TMO_PACKED_PIXELS, out, step);
    }
  }
}

/* Returns the output columns whose windows are completely inside the input. Returns no columns if an input row is missing or the windows are
 * dilated. */
static tmo_run_of_columns complete_columns(const tmo_kernel *k, const tmo_window *rows) {
  tmo_run_of_columns inside = tmo_inside(k);
  if (k->op->dilation_w > 1 || rows->count < k->op->kernel_h) inside.count = 0;
  return inside;
}

static void gather_columns(const tmo_kernel *k, const tmo_window *rows, tmo_run_of_columns inside, uint32_t x, uint32_t n) {
  const tmo_op *op = k->op;
  if (x >= inside.first && x + n <= inside.first + inside.count) {
    tmo_conv_dsp_gather_inside(k, rows, (x * op->stride_w - op->pad_left) * k->in_channels, n);
  } else if (tmo_has_part(TMO_PART_DSP_CLIPPED) && n == TMO_PACKED_PIXELS && k->in_channels % 4 == 0) {
    gather_four(k, rows, x);
  } else {
    for (uint32_t p = 0; p < n; ++p) {
      const tmo_window window = tmo_column(k, rows, (uint16_t)(x + p));
      tmo_conv_dsp_gather(k, &window, p, n);
    }
  }
}

void tmo_conv_dsp_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns) {
  const tmo_op *op = k->op;
  const uint32_t values = tmo_packed_values(op, k->in_channels);
  const tmo_run_of_columns inside = complete_columns(k, rows);
  const bool wide = !tmo_has_part(TMO_PART_DSP_NARROW) || op->kernel_w * k->in_channels >= 4; /* the function tmo_dsp_widen_4() needs four bytes or more */
  const uint32_t end = columns->end, most = columns->most, step = columns->step;
  int8_t *out = columns->out;
  uint32_t n;
  for (uint32_t x = columns->first; x < end; x += n, out += n * step) {
    n = tmo_packed_pixels(op, values, end - x);
    if (n > most) n = most;
    const uint32_t last = inside.first + inside.count; /* first output column after the columns whose windows are completely inside the input */
    if (tmo_has_part(TMO_PART_DSP_PAIRS_4) && n == TMO_PACKED_PIXELS && wide && x >= inside.first && x + n <= last) {
      uint32_t fours = ((end < last ? end : last) - x) / TMO_PACKED_PIXELS;
      const uint32_t rest = end - x - fours * n;
      if (rest == 1 || (rest == 2 && op->kernel_w == 1)) --fours; /* the last five or six pixels are computed in two parts */
      inside_fours(k, rows, (x * op->stride_w - op->pad_left) * k->in_channels, fours, out, step);
      n *= fours;
      continue;
    }
    gather_columns(k, rows, inside, x, n);
    tmo_conv_dsp_multiply(k, n, out, step);
  }
}

/* Gathers the input values of the last pixels of two output rows into one tile. Each row has five pixels. */
static void gather_last(const tmo_kernel *k, const tmo_window *rows, bool complete) {
  const tmo_op *op = k->op;
  const uint32_t x = k->out_width - 1u, bytes = op->kernel_w * k->in_channels, offset = (x * op->stride_w - op->pad_left) * k->in_channels;
  if (complete && bytes >= 4) {
    int16_t *to = (int16_t *)k->scratch;
    for (uint32_t r = 0; r < op->kernel_h; ++r) {
      const int8_t *const from = rows[0].pixels[r] + offset;
      to = tmo_dsp_widen_2(from, (uint32_t)(rows[1].pixels[r] + offset - from), to, bytes);
    }
    return;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const tmo_window window = tmo_column(k, &rows[i], (uint16_t)x);
    tmo_conv_dsp_gather(k, &window, i, 2);
  }
}

void tmo_conv_dsp_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs) {
  if (!tmo_has_part(TMO_PART_TWO_ROWS)) return;
  const tmo_op *op = k->op;
  const uint32_t values = tmo_packed_values(op, k->in_channels), channels = k->out_channels, pairs = channels / 2;
  const int16_t *const tile = (const int16_t *)k->scratch;
  const int32_t apart = (int32_t)(outs[1] - outs[0]);
  tmo_kernel part = *k;
  bool complete = true;
  for (uint32_t i = 0; i < 2; ++i) {
    const tmo_run_of_columns inside = complete_columns(k, &rows[i]);
    gather_columns(&part, &rows[i], inside, 0, TMO_PACKED_PIXELS);
    part.scratch = (int16_t *)part.scratch + TMO_PACKED_PIXELS * values;
    complete &= k->out_width <= inside.first + inside.count && k->out_width > inside.first;
  }
  gather_last(&part, rows, complete);
  if (pairs > 0) tmo_dsp_pairs_rows(tile, k->weights, k->bias, outs[0], values, pairs, channels, apart);
  if (has_odd_channels(k)) {
    int8_t last[4 * TMO_FIVE_PIXELS];
    tmo_dsp_pairs_rows(tile, k->weights + (size_t)2 * pairs * values, k->bias + TMO_PACKED_SCALES * pairs, last, values, 1, 2, 2 * TMO_FIVE_PIXELS);
    for (uint32_t p = 0; p < 2 * TMO_FIVE_PIXELS; ++p) outs[p / TMO_FIVE_PIXELS][p % TMO_FIVE_PIXELS * channels + 2 * pairs] = last[2 * p];
  }
  for (uint32_t i = 0; i < 2; ++i) tmo_packed_clamp(op, outs[i], TMO_FIVE_PIXELS * channels);
}

void tmo_conv_dsp_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  if (tmo_packed_direct(k->op, k->in_channels, k->out_channels, k->out_width)) {
    tmo_conv_dsp_direct(k, rows, out);
    return;
  }
  const tmo_columns_job all = {0, k->out_width, TMO_FIVE_PIXELS, out, k->out_channels};
  tmo_conv_dsp_columns(k, rows, &all);
}

#if TMO_TWINS

#define PAIRS_IN_C(pixels)                                                                                                                       \
  void tmo_dsp_pairs_##pixels(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,   \
                              uint32_t second, uint32_t third, uint32_t fourth) {                                                                \
    const int32_t apart[] = {0, (int32_t)second, (int32_t)third, (int32_t)fourth};                                                               \
    for (; pairs > 0; --pairs, weights += 2 * values, scales += TMO_PACKED_SCALES, out += 2) {                                                   \
      int8_t made[2 * TMO_PACKED_PIXELS];                                                                                                        \
      tmo_dsp_pairs_in_c(pixels, tile, weights, scales, made, values, 1, 2);                                                                     \
      for (uint32_t p = 0; p < pixels; ++p) memcpy(out + apart[p], made + 2 * p, 2);                                                             \
    }                                                                                                                                            \
  }
PAIRS_IN_C(1)
PAIRS_IN_C(2)
PAIRS_IN_C(3)
PAIRS_IN_C(4)

void tmo_dsp_pairs_5(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                     uint32_t second, uint32_t third, uint32_t fourth) {
  tmo_dsp_pairs_3(tile, weights, scales, out, values, pairs, second, third, fourth);
  tmo_dsp_pairs_2(tile + 3 * values, weights, scales, out + fourth, values, pairs, second, third, fourth);
}

static int16_t *widen_pixels(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes, uint32_t pixels) {
  for (uint32_t p = 0; p < pixels; ++p) {
    const column c = {tile + 2 * p, 2 * pixels};
    put(&c, 0, from + (int32_t)(p * step), bytes);
  }
  return tile + (bytes + 3) / 4 * 4 * pixels;
}

int16_t *tmo_dsp_widen_2(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes) { return widen_pixels(from, step, tile, bytes, 2); }
int16_t *tmo_dsp_widen_3(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes) { return widen_pixels(from, step, tile, bytes, 3); }
int16_t *tmo_dsp_widen_4(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes) { return widen_pixels(from, step, tile, bytes, 4); }

void tmo_dsp_pairs_rows(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                        uint32_t step, int32_t apart) {
  const uint32_t four = TMO_PACKED_PIXELS * values;
  tmo_dsp_pairs_in_c(TMO_PACKED_PIXELS, tile, weights, scales, out, values, pairs, (int32_t)step);
  tmo_dsp_pairs_in_c(TMO_PACKED_PIXELS, tile + four, weights, scales, out + apart, values, pairs, (int32_t)step);
  tmo_dsp_pairs_in_c(2, tile + 2 * four, weights, scales, out + TMO_PACKED_PIXELS * step, values, pairs, apart);
}

static const int8_t *join_taps(int8_t *to, const int8_t *const *taps, uint32_t n, uint32_t bytes) {
  for (uint32_t t = 0; t < n; ++t) memcpy(to + t * bytes, taps[t], bytes);
  return to;
}

void tmo_dsp_dense_taps(const int8_t *const *taps, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t bytes, uint32_t triples,
                        uint32_t n) {
  int8_t values[TMO_PACKED_TILE];
  tmo_dsp_dense(join_taps(values, taps, n, bytes), weights, scales, out, n * bytes, triples);
}

void tmo_dsp_direct_taps(const int8_t *const *taps, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t bytes, uint32_t pairs,
                         uint32_t n) {
  int8_t values[TMO_PACKED_TILE];
  tmo_dsp_direct(join_taps(values, taps, n, bytes), weights, scales, out, n * bytes, pairs);
}

int16_t *tmo_dsp_widen_each(const int8_t *const *from, int16_t *tile, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 4, tile += 4 * TMO_PACKED_PIXELS) {
    uint32_t quads[TMO_PACKED_PIXELS];
    for (uint32_t p = 0; p < TMO_PACKED_PIXELS; ++p) memcpy(&quads[p], from[p] + i, sizeof quads[p]);
    for (uint32_t p = 0; p < TMO_PACKED_PIXELS; ++p) put_quad(tile + 2 * p, 2 * TMO_PACKED_PIXELS, quads[p]);
  }
  return tile;
}

void tmo_dsp_widen_taps(const int8_t *const *taps, uint32_t n, int16_t *tile, uint32_t bytes) {
  const column c = {tile, 2};
  for (uint32_t i = 0; i < n; ++i) put(&c, i * bytes, taps[i], bytes);
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_DSP */
