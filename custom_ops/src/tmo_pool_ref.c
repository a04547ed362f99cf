/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "tmo/dsp.h"
#include "tmo/elements.h"
#include "tmo/packed.h"
#include "tmo/vectors.h"

static bool is_extreme(const tmo_op *op) { return tmo_has_kind(TMO_OP_MAX_POOL) && op->kind == TMO_OP_MAX_POOL; }

static bool is_mean(const tmo_op *op) { return tmo_has_kind(TMO_OP_MEAN) && op->kind == TMO_OP_MEAN; }

static tmo_make_pixel *pool_of(const tmo_op *op) {
  if (is_extreme(op)) return op->smallest ? tmo_min_pool : tmo_max_pool;
  return is_mean(op) || !tmo_has_kind(TMO_OP_AVERAGE_POOL) ? tmo_mean : tmo_average_pool;
}

/* Computes output pixels of a pool that keeps no sums between iterations. The function `pool` computes one pixel. */
TMO_OWN_FRAME static void pool_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns, tmo_kernel_s8 *pool) {
  const tmo_op *const op = k->op;
  tmo_window v = *rows;
  int8_t *out = columns->out;
  for (uint32_t x = columns->x; x < columns->end; ++x, out += columns->step) {
    const tmo_taps taps = tmo_clip((int32_t)(x * op->stride_w) - op->pad_left, op->kernel_w, op->dilation_w, k->in_width);
    v.columns = (uint16_t)taps.count;
    v.offset = (columns->backwards ? k->in_width - taps.start - taps.count : taps.start) * k->in_channels;
    v.area = v.count * taps.count;
    pool(k, &v, out);
  }
}

/* Computes a row of a pool that keeps no sums between iterations. */
static void pool_row(const tmo_kernel *k, const tmo_window *rows, tmo_kernel_s8 *pool, int8_t *out) {
  const tmo_adjacent_columns columns = {0, k->out_width, out, (int32_t)k->out_channels, false};
  pool_columns(k, rows, &columns, pool);
}

#if TMO_CORE_DSP
enum { MOST_ADDED = 256 }; /* the sum of at most 256 bytes fits int16 */

static TMO_ALWAYS_INLINE int32_t greatest_word(const tmo_window *v, uint32_t c, uint32_t columns, uint32_t channels) {
  int32_t greatest = (int32_t)0x80808080u;
  for (const int8_t *const *row = v->pixels, *const *const end = row + v->count; row != end; ++row) {
    const int8_t *x = *row + v->offset + c;
    for (uint32_t t = columns; t > 0; --t, x += channels) greatest = tmo_greater_bytes(greatest, tmo_word(x));
  }
  return greatest;
}

/* Adds four channels of adjacent pixels to four int16 sums. The words `even` and `odd` have two of the sums each. */
static TMO_ALWAYS_INLINE void add_words(int32_t *even, int32_t *odd, const int8_t *x, uint32_t pixels, uint32_t channels) {
  for (; pixels > 0; --pixels, x += channels) {
    const int32_t word = tmo_word(x);
    *even = tmo_even_bytes(*even, word);
    *odd = tmo_odd_bytes(*odd, word);
  }
}

static TMO_ALWAYS_INLINE int32_t average_word(const tmo_window *v, uint32_t c, uint32_t columns, uint32_t channels) {
  const int32_t area = (int32_t)v->area;
  int32_t even = 0, odd = 0;
  for (const int8_t *const *row = v->pixels, *const *const end = row + v->count; row != end; ++row) {
    add_words(&even, &odd, *row + v->offset + c, columns, channels);
  }
  const uint32_t low = (uint8_t)tmo_divide_rounded((int16_t)even, area) | (uint32_t)tmo_divide_rounded(even >> 16, area) << 16;
  const uint32_t high = (uint8_t)tmo_divide_rounded((int16_t)odd, area) | (uint32_t)tmo_divide_rounded(odd >> 16, area) << 16;
  return (int32_t)((low & 0x00FF00FFu) | high << 8);
}

/* Loads one to three channels of a pixel as the lowest bytes of a word. */
static TMO_ALWAYS_INLINE int32_t channels_at(const int8_t *x, uint32_t n) {
  if (n == 1) return x[0];
  const uint32_t two = (uint16_t)tmo_int16_at(x);
  return (int32_t)(n == 2 ? two : two | (uint32_t)(uint8_t)x[2] << 16);
}

/* Computes an output pixel of n channels. The number n is at most 3. */
static TMO_ALWAYS_INLINE void pool_few(const tmo_kernel *k, const tmo_window *v, uint32_t n, bool extreme, int8_t *out) {
  const uint32_t bytes = n * (tmo_reads_rows(k) ? v->columns : 1u), offset = v->offset;
  int32_t greatest = (int32_t)0x80808080u, even = 0, odd = 0;
  for (const int8_t *const *row = v->pixels, *const *const end = row + v->count; row != end; ++row) {
    const int8_t *x = *row + offset;
    for (const int8_t *const last = x + bytes; x != last; x += n) {
      const int32_t word = channels_at(x, n);
      if (extreme) {
        greatest = tmo_greater_bytes(greatest, word);
      } else {
        even = tmo_even_bytes(even, word);
        if (n > 1) odd = tmo_odd_bytes(odd, word);
      }
    }
  }
  const int32_t area = (int32_t)v->area, low = k->op->act_min, high = k->op->act_max;
  TMO_UNROLLED for (uint32_t c = 0; c < n; ++c, greatest >>= 8) {
    const int32_t sum = c == 1 ? (int16_t)odd : c == 2 ? even >> 16 : (int16_t)even;
    out[c] = (int8_t)tmo_clamp(extreme ? (int8_t)greatest : tmo_divide_rounded(sum, area), low, high);
  }
}

TMO_OWN_FRAME static void max_one(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 1, true, out); }
TMO_OWN_FRAME static void max_two(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 2, true, out); }
TMO_OWN_FRAME static void max_three(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 3, true, out); }
TMO_OWN_FRAME static void average_one(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 1, false, out); }
TMO_OWN_FRAME static void average_two(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 2, false, out); }
TMO_OWN_FRAME static void average_three(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_few(k, v, 3, false, out); }

/* The output pixel must have at least four channels. */
TMO_OWN_FRAME static void pool_words(const tmo_kernel *k, const tmo_window *v, int8_t *out) {
  const uint32_t channels = k->out_channels, columns = tmo_reads_rows(k) ? v->columns : 1u;
  for (uint32_t c = 0;; c = c + 8 <= channels ? c + 4 : channels - 4) {
    const int32_t word = is_extreme(k->op) ? greatest_word(v, c, columns, channels) : average_word(v, c, columns, channels);
    memcpy(out + c, &word, sizeof word);
    if (c + 4 == channels) break;
  }
  tmo_packed_clamp(k->op, out, channels);
}

/* Returns the function that computes one pixel of an int8 pool with the DSP extension, or NULL if there is none for the pool. */
static tmo_kernel_s8 *pool_bytes_of(const tmo_kernel *k) {
  const tmo_op *const op = k->op;
  if (!tmo_has_part(TMO_PART_WHOLE_POOLS) || tmo_has_sums(k)) return NULL;
  if (is_extreme(op) ? op->smallest : is_mean(op) || (uint32_t)op->kernel_h * op->kernel_w > MOST_ADDED) return NULL;
  static tmo_kernel_s8 *const few[2][3] = {{average_one, average_two, average_three}, {max_one, max_two, max_three}};
  return k->out_channels >= 4 ? pool_words : few[is_extreme(op)][k->out_channels - 1];
}

/* Limits and sizes for an output pixel of an int16 pool. */
typedef struct {
  const int8_t *const *rows, *const *end; /* addresses of the input rows */
  uint32_t offset, bytes; /* offset and number of the bytes under the window in each input row */
  uint32_t pixel;         /* distance in bytes between two adjacent pixels */
  int32_t least, most;    /* limits of the outputs, each stored in both halves of a word */
  bool limited;           /* whether the limits are narrower than the range of int16 */
  int32_t area;           /* number of pixels under the window */
} pool_pixels;

/* Computes n channels (1, 2 or 4) of an output pixel of an int16 pool, beginning with byte c of the pixel. */
static TMO_ALWAYS_INLINE void pool_halves(const pool_pixels *p, uint32_t c, uint32_t n, bool greatest, int8_t *out) {
  const uint32_t offset = p->offset + c;
  int32_t pools[2] = {(int32_t)0x80008000u, (int32_t)0x80008000u}, sums[4] = {0, 0, 0, 0};
  for (const int8_t *const *row = p->rows; row != p->end; ++row) {
    const int8_t *x = *row + offset;
    for (const int8_t *const last = x + p->bytes; x != last; x += p->pixel) {
      TMO_UNROLLED for (uint32_t i = 0; i < n; i += 2) {
        const int32_t two = n == 1 ? tmo_int16_at(x) : tmo_word(x + 2 * i);
        if (greatest) {
          pools[i / 2] = tmo_greater_halves(pools[i / 2], two);
        } else {
          sums[i] = tmo_wrapping_add(sums[i], (int16_t)two);
          if (n > 1) sums[i + 1] = tmo_wrapping_add(sums[i + 1], two >> 16);
        }
      }
    }
  }
  if (!greatest) {
    TMO_UNROLLED for (uint32_t i = 0; i < n; ++i) sums[i] = tmo_divide_rounded(sums[i], p->area);
  }
  TMO_UNROLLED for (uint32_t i = 0; i < n; i += 2) {
    const int32_t pool = greatest ? pools[i / 2] : tmo_low_halves(sums[i], sums[i + 1]);
    const int32_t two = p->limited ? tmo_lesser_halves(tmo_greater_halves(pool, p->least), p->most) : pool;
    if (n == 1) {
      tmo_put_int16(out + c, two);
    } else {
      tmo_put_int32(out + c + 2 * i, two);
    }
  }
}

static TMO_ALWAYS_INLINE void pool_each(const tmo_kernel *k, const tmo_window *v, bool greatest, int8_t *out) {
  const uint32_t bytes = k->out_channels;
  const int32_t range = k->op->range_s16;
  const pool_pixels p = {
      v->pixels, v->pixels + v->count, v->offset, bytes * (tmo_reads_rows(k) ? v->columns : 1u), bytes,
      tmo_low_halves(range, range), tmo_high_halves(range, range), (uint32_t)range != 0x7FFF8000u, (int32_t)v->area,
  };
  uint32_t c = 0;
  for (; c + 8 <= bytes; c += 8) pool_halves(&p, c, 4, greatest, out);
  if (bytes & 4) {
    pool_halves(&p, c, 2, greatest, out);
    c += 4;
  }
  if (bytes & 2) pool_halves(&p, c, 1, greatest, out);
}

TMO_OWN_FRAME static void max_pool_halves(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_each(k, v, true, out); }
TMO_OWN_FRAME static void average_halves(const tmo_kernel *k, const tmo_window *v, int8_t *out) { pool_each(k, v, false, out); }

#endif

#if TMO_CORE_MVE || TMO_CORE_DSP
static void add_adjacent(int32_t *sums, const int8_t *bytes, uint32_t channels, uint32_t pixels) {
#if TMO_CORE_MVE
  tmo_mve_add_pixels(sums, bytes, channels, pixels);
#else
  for (uint32_t c = 0, n; c < channels; c += n, bytes += n, sums += n) {
    n = channels - c < 4 || pixels > MOST_ADDED ? 1 : 4;
    if (n == 1) {
      for (uint32_t p = 0; p < pixels; ++p) *sums += bytes[p * channels];
      continue;
    }
    int32_t even = 0, odd = 0;
    add_words(&even, &odd, bytes, pixels, channels);
    sums[0] += (int16_t)even;
    sums[1] += (int16_t)odd;
    sums[2] += even >> 16;
    sums[3] += odd >> 16;
  }
#endif
}

/* Adds the pixels under a window to the sums of an average pool or a mean. If k->last is true, the sums are complete, and the function writes the
 * output. */
static void add_to_sums(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  int32_t *const sums = k->sums + i;
  const uint32_t channels = k->out_channels, adjacent = tmo_reads_rows(k) ? v->columns : 1u;
  if (k->first) tmo_fill((int8_t *)sums, 0, channels * sizeof *sums);
  for (uint32_t p = 0; p < v->count; ++p) add_adjacent(sums, v->pixels[p] + v->offset, channels, adjacent);
  if (!k->last) return;
  if (is_mean(k->op)) {
    tmo_window no_pixels = *v;
    no_pixels.pixels = NULL;
    no_pixels.count = 0;
    tmo_mean(k, &no_pixels, i, out);
    return;
  }
  out += i;
  for (uint32_t c = 0; c < channels; ++c) out[c] = tmo_clamp(tmo_divide_rounded(sums[c], (int32_t)v->area), k->op->act_min, k->op->act_max);
}
#endif

void tmo_add_bytes(int32_t *sums, const int8_t *bytes, uint32_t n) {
#if TMO_CORE_MVE
  tmo_mve_add_pixels(sums, bytes, n, 1);
#else
  for (; n >= 4; n -= 4, sums += 4, bytes += 4) {
    const int32_t a = bytes[0], b = bytes[1], c = bytes[2], d = bytes[3];
    sums[0] += a;
    sums[1] += b;
    sums[2] += c;
    sums[3] += d;
  }
  for (; n > 0; --n) *sums++ += *bytes++;
#endif
}

/* TFLM's pooling functions (kernels/internal/reference/integer_ops/pooling.h) return the same values as pool_pixel(). For MEAN, TFLM's function
 * QuantizedMeanOrSum (kernels/internal/reference/reduce.h) returns the same values as pool_pixel(). Element i of the output is the first channel of
 * the pixel. */
static void pool_pixel(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
#if TMO_CORE_MVE || TMO_CORE_DSP
  if (tmo_has_sums(k) && !is_extreme(k->op)) {
    add_to_sums(k, v, i, out);
    return;
  }
#endif
#if TMO_CORE_DSP
  if (!tmo_has_part(TMO_PART_WHOLE_POOLS) && !is_extreme(k->op) && !is_mean(k->op)) return;
  tmo_kernel_s8 *const pool = pool_bytes_of(k);
  if (pool != NULL) {
    pool(k, v, out + i);
    return;
  }
#endif
  pool_of(k->op)(k, v, i, out);
}

void tmo_pool_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (tmo_pool_row_vectors(k, window, out)) return;
#if TMO_CORE_DSP
  tmo_kernel_s8 *const pool = pool_bytes_of(k);
  if (pool != NULL) {
    pool_row(k, window, pool, out);
    return;
  }
#endif
  if (tmo_has_part(TMO_PART_WHOLE_POOLS) && !tmo_has_sums(k)) {
    pool_row(k, window, tmo_pool_pixel_s8, out);
    return;
  }
  tmo_make_row(k, window, out, pool_pixel);
}

void tmo_pool_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { pool_pixel(k, window, 0, out); }

void tmo_pool_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
#if TMO_CORE_DSP
  tmo_kernel_s8 *const pool = pool_bytes_of(k);
  if (pool != NULL) {
    pool_columns(k, rows, columns, pool);
    return;
  }
#endif
  pool_columns(k, rows, columns, tmo_pool_pixel_s8);
}

static tmo_make_pixel *pool_s16_of(const tmo_op *op) {
  if (tmo_is_kind(op, TMO_OP_MAX_POOL_S16)) return tmo_max_pool_s16;
  return tmo_is_kind(op, TMO_OP_MEAN_S16) || !tmo_has_kind(TMO_OP_AVERAGE_POOL_S16) ? tmo_mean_s16 : tmo_average_pool_s16;
}

#if TMO_CORE_DSP
/* Returns the function that computes one pixel of a pool with the DSP extension, or NULL if there is none for the pool. */
static tmo_kernel_s8 *pool_halves_of(const tmo_kernel *k) {
  if (tmo_has_sums(k)) return NULL;
  return tmo_is_kind(k->op, TMO_OP_MAX_POOL_S16) ? max_pool_halves : tmo_is_kind(k->op, TMO_OP_AVERAGE_POOL_S16) ? average_halves : NULL;
}
#endif

#if TMO_CORE_DSP
static TMO_ALWAYS_INLINE void limit_word(const int8_t *x, int32_t least, int32_t most, int8_t *out) {
  tmo_put_int32(out, tmo_lesser_halves(tmo_greater_halves(tmo_word(x), least), most));
}
#endif

/* Limits the pixels of a row, or a single pixel, to the range of a pool. tmo_only_limits() must be true for the pool. */
TMO_OWN_FRAME static void limit_pixels_s16(const tmo_kernel *k, const int8_t *x, int8_t *out) {
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16;
  uint32_t n = k->out_width * k->out_channels;
#if TMO_CORE_DSP
  const int32_t least = tmo_low_halves(low, low), most = tmo_low_halves(high, high);
  for (; n >= 16; n -= 16, x += 16, out += 16) {
    TMO_UNROLLED for (uint32_t i = 0; i < 16; i += 4) limit_word(x + i, least, most, out + i);
  }
  for (; n >= 4; n -= 4, x += 4, out += 4) limit_word(x, least, most, out);
#endif
  for (; n > 0; n -= 2, x += 2, out += 2) {
    const int32_t value = tmo_int16_at(x);
    tmo_put_int16(out, value < low ? low : value > high ? high : value);
  }
}

void tmo_pool_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (window->count == 1 && tmo_only_limits(k->op) && k->in_width >= k->out_width) {
    limit_pixels_s16(k, window->pixels[0], out);
    return;
  }
#if TMO_CORE_DSP
  tmo_kernel_s8 *const pool = pool_halves_of(k);
  if (pool != NULL) {
    pool_row(k, window, pool, out);
    return;
  }
#endif
  tmo_make_row(k, window, out, pool_s16_of(k->op));
}

void tmo_pool_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (window->count == 1 && tmo_only_limits(k->op)) {
    limit_pixels_s16(k, window->pixels[0], out);
    return;
  }
#if TMO_CORE_DSP
  tmo_kernel_s8 *const pool = pool_halves_of(k);
  if (pool != NULL) {
    pool(k, window, out);
    return;
  }
#endif
  pool_s16_of(k->op)(k, window, 0, out);
}

void tmo_pool_columns_s16(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns) {
#if TMO_CORE_DSP
  tmo_kernel_s8 *const pool = pool_halves_of(k);
  if (pool != NULL) {
    pool_columns(k, rows, columns, pool);
    return;
  }
#endif
  pool_columns(k, rows, columns, tmo_pool_pixel_s16);
}
