/* SPDX-License-Identifier: Apache-2.0 */
/* This file multiplies matrices with the DSP extension. The window has the addresses of the rows of the right matrix or of its transpose. */
#include "tmo/kernels.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-schedule-insns", "no-ivopts", "no-tree-reassoc") /* The options make GCC keep sums in registers. */
#endif

static TMO_ALWAYS_INLINE const int8_t *at(const tmo_kernel *k, const tmo_window *window, uint32_t i, uint32_t column, uint32_t bytes) {
  return k->op->transposed ? window->pixels[1 + column] + i * bytes : window->pixels[1 + i] + column * bytes;
}

TMO_OWN_FRAME static int64_t sum_s16(const tmo_kernel *k, const tmo_window *window, uint32_t column) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < k->in_channels / 2; ++i) sum += tmo_int16_at(window->pixels[0] + 2 * i) * tmo_int16_at(at(k, window, i, column, 2));
  return sum;
}

static int32_t add_column_s8(const tmo_kernel *k, const tmo_window *window, uint32_t column, int32_t sum) {
  const int32_t zero = k->op->input_zero_point[0];
  for (uint32_t i = 0; i < k->in_channels; ++i) sum = tmo_wrapping_add(sum, (window->pixels[0][i] - zero) * *at(k, window, i, column, 1));
  return sum;
}

/* Adds up the values of the left row. The argument `zero` holds the negated zero point in both halves of the word. */
static int32_t sum_of_left(const int8_t *x, uint32_t values, int32_t zero) {
  int32_t sum = 0;
  for (; values >= 4; values -= 4, x += 4) {
    sum = tmo_add_two(tmo_add_two(sum, tmo_even_bytes(zero, tmo_word(x)), 0x10001), tmo_odd_bytes(zero, tmo_word(x)), 0x10001);
  }
  for (; values > 0; --values) sum += *x++ + (int16_t)zero;
  return sum;
}

/* Multiplies the left row `x` by four rows of the transposed right matrix, and begins all four sums with sums[0]. */
TMO_OWN_FRAME static void rows_s8(const int8_t *x, const int8_t *const *rows, uint32_t values, int32_t zero, int32_t sums[4]) {
  const int8_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  int32_t s0 = *sums, s1 = s0, s2 = s0, s3 = s0;
  for (; values >= 4; values -= 4, x += 4, a += 4, b += 4, c += 4, d += 4) {
    const int32_t even = tmo_even_bytes(zero, tmo_word(x)), odd = tmo_odd_bytes(zero, tmo_word(x));
    s0 = tmo_add_two(tmo_add_two(s0, tmo_even_bytes(0, tmo_word(a)), even), tmo_odd_bytes(0, tmo_word(a)), odd);
    s1 = tmo_add_two(tmo_add_two(s1, tmo_even_bytes(0, tmo_word(b)), even), tmo_odd_bytes(0, tmo_word(b)), odd);
    s2 = tmo_add_two(tmo_add_two(s2, tmo_even_bytes(0, tmo_word(c)), even), tmo_odd_bytes(0, tmo_word(c)), odd);
    s3 = tmo_add_two(tmo_add_two(s3, tmo_even_bytes(0, tmo_word(d)), even), tmo_odd_bytes(0, tmo_word(d)), odd);
  }
  for (; values > 0; --values) {
    const int32_t left = *x++ + (int16_t)zero;
    s0 = tmo_wrapping_add(s0, left * *a++);
    s1 = tmo_wrapping_add(s1, left * *b++);
    s2 = tmo_wrapping_add(s2, left * *c++);
    s3 = tmo_wrapping_add(s3, left * *d++);
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

/* Multiplies the left row by four adjacent columns of the right matrix, and adds the products to one sum for each column. */
TMO_OWN_FRAME static void columns_s8(const int8_t *x, const int8_t *const *rows, uint32_t column, uint32_t values, int32_t zero, int32_t sums[4]) {
  int32_t s0 = *sums, s1 = s0, s2 = s0, s3 = s0;
  for (; values >= 4; values -= 4, x += 4) {
    const int32_t left = tmo_even_bytes(zero, tmo_word(x)), right = tmo_odd_bytes(zero, tmo_word(x));
    TMO_UNROLLED for (uint32_t i = 0; i < 4; ++i) {
      const int32_t word = tmo_word(*rows++ + column), even = tmo_even_bytes(0, word), odd = tmo_odd_bytes(0, word);
      const int32_t x_i = i % 2 == 0 ? left : right;
      s0 = i < 2 ? tmo_add_low_low(s0, even, x_i) : tmo_add_low_high(s0, even, x_i);
      s1 = i < 2 ? tmo_add_low_low(s1, odd, x_i) : tmo_add_low_high(s1, odd, x_i);
      s2 = i < 2 ? tmo_add_high_low(s2, even, x_i) : tmo_add_high_high(s2, even, x_i);
      s3 = i < 2 ? tmo_add_high_low(s3, odd, x_i) : tmo_add_high_high(s3, odd, x_i);
    }
  }
  for (; values > 0; --values) {
    const int32_t left = *x++ + (int16_t)zero;
    const int8_t *const row = *rows++ + column;
    s0 = tmo_wrapping_add(s0, left * row[0]);
    s1 = tmo_wrapping_add(s1, left * row[1]);
    s2 = tmo_wrapping_add(s2, left * row[2]);
    s3 = tmo_wrapping_add(s3, left * row[3]);
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

/* The function computes four output columns at once. The last four columns may include columns that were already computed. */
void tmo_batch_matmul_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0], *const *const right = window->pixels + 1;
  const int32_t zero = (int32_t)((uint32_t)(uint16_t)-k->op->input_zero_point[0] * 0x10001u), right_zero = k->op->input_zero_point[1];
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0], zero_out = k->op->output_zero_point;
  const uint32_t values = k->in_channels, columns = k->out_channels, at_once = columns < 4 ? columns : 4;
  const uint32_t left = right_zero != 0 ? (uint32_t)sum_of_left(x, values, zero) : 0;
  const int32_t start = (int32_t)(0u - left * (uint32_t)right_zero);
  for (uint32_t n = 0;; n = n + 8 <= columns ? n + 4 : columns - 4) {
    int32_t sums[4] = {start};
    int8_t four[4];
    if (at_once < 4) {
      for (uint32_t c = 0; c < at_once; ++c) sums[c] = add_column_s8(k, window, c, start);
    } else if (k->op->transposed) {
      rows_s8(x, right + n, values, zero, sums);
    } else {
      columns_s8(x, right, n, values, zero, sums);
    }
    TMO_UNROLLED for (uint32_t c = 0; c < 4; ++c) {
      four[c] = (int8_t)tmo_saturated_byte(tmo_wrapping_add(tmo_rescale(sums[c], multiplier, shift), zero_out));
    }
    if (at_once < 4) {
      memcpy(out, four, at_once);
      return;
    }
    memcpy(out + n, four, sizeof four);
    if (n + 4 == columns) return;
  }
}

/* Multiplies a sum by a factor, divides the product by 2^32 with halves rounded up, and saturates the result to int16. */
static TMO_ALWAYS_INLINE int32_t output_s16(int64_t sum, uint32_t factor) {
  const uint64_t low = (uint64_t)(uint32_t)sum * factor + ((uint32_t)1 << 31);
  return tmo_saturated_half((int32_t)((uint32_t)(low >> 32) + (uint32_t)((uint64_t)sum >> 32) * factor));
}

/* Computes at least two output columns, by multiplying four values of two columns in each turn of the loop. If the number of columns is odd, the last
 * two columns include a column that was already computed. */
static TMO_ALWAYS_INLINE void multiply_s16(const tmo_kernel *k, const tmo_window *window, uint32_t factor, int8_t *out, bool transposed) {
  const uint32_t columns = k->out_channels, bytes = k->in_channels;
  for (uint32_t n = 0;; n = n + 8 <= columns ? n + 4 : columns - 4) {
    const int8_t *x = window->pixels[0], *const end = x + bytes / 8 * 8, *const last = x + bytes, *const *rows = window->pixels + 1;
    int64_t s = 0, t = 0;
    if (transposed) {
      const int8_t *a = rows[n / 2], *b = rows[n / 2 + 1];
      for (; x != end; x += 8, a += 8, b += 8) {
        const int32_t first = tmo_word(x), second = tmo_word(x + 4);
        s = tmo_add_two_wide(tmo_add_two_wide(s, tmo_word(a), first), tmo_word(a + 4), second);
        t = tmo_add_two_wide(tmo_add_two_wide(t, tmo_word(b), first), tmo_word(b + 4), second);
      }
      for (; x != last; x += 2, a += 2, b += 2) {
        s += tmo_int16_at(x) * tmo_int16_at(a);
        t += tmo_int16_at(x) * tmo_int16_at(b);
      }
    } else {
      for (; x != end; rows += 4) {
        TMO_UNROLLED for (uint32_t i = 0; i < 4; i += 2, x += 4) {
          const int32_t left = tmo_word(x), a = tmo_word(rows[i] + n), b = tmo_word(rows[i + 1] + n);
          s = tmo_add_two_wide(s, tmo_low_halves(a, b), left);
          t = tmo_add_two_wide(t, tmo_high_halves(a, b), left);
        }
      }
      for (; x != last; x += 2, ++rows) {
        const int32_t left = tmo_int16_at(x), two = tmo_word(*rows + n);
        s += left * (int16_t)two;
        t += left * (two >> 16);
      }
    }
    const int32_t two = tmo_low_halves(output_s16(s, factor), output_s16(t, factor));
    memcpy(out + n, &two, sizeof two);
    if (n + 4 == columns) break;
  }
}

TMO_OWN_FRAME static void columns_s16(const tmo_kernel *k, const tmo_window *window, uint32_t factor, int8_t *out) {
  multiply_s16(k, window, factor, out, false);
}

TMO_OWN_FRAME static void rows_s16(const tmo_kernel *k, const tmo_window *window, uint32_t factor, int8_t *out) {
  multiply_s16(k, window, factor, out, true);
}

void tmo_batch_matmul_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0];
  const uint32_t columns = k->out_channels / 2, left = (uint32_t)(shift + 17);
  if (columns >= 2 && left <= 15) {
    const uint32_t factor = (uint32_t)tmo_reduced(multiplier) << left;
    (k->op->transposed ? rows_s16 : columns_s16)(k, window, factor, out);
    return;
  }
  for (uint32_t n = 0; n < columns; ++n, out += 2) {
    tmo_put_int16(out, tmo_saturated_half(tmo_rescale_wide(sum_s16(k, window, n), multiplier, shift)));
  }
}

#endif
