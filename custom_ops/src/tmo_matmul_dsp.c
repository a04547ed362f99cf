/* SPDX-License-Identifier: Apache-2.0 */
/* This file multiplies matrices on cores with the DSP extension. A row of the right matrix, or of its transpose, is a pointer in the window. */
#include "tmo/kernels.h"

#if TMO_CORE_DSP

#include "tmo/dsp.h"
#include "tmo/elements.h"

static TMO_ALWAYS_INLINE const int8_t *at(const tmo_kernel *k, const tmo_window *window, uint32_t i, uint32_t column, uint32_t bytes) {
  return k->op->transposed ? window->pixels[1 + column] + i * bytes : window->pixels[1 + i] + column * bytes;
}

/* Multiplies the values of the left row by one column of the right matrix, from value i on, and adds the products to `sum`. */
TMO_OWN_FRAME static int32_t add_rest_s8(const tmo_kernel *k, const tmo_window *window, uint32_t i, uint32_t column, int32_t sum) {
  const int32_t zero = k->op->input_zero_point[0], right_zero = k->op->input_zero_point[1];
  for (; i < k->in_channels; ++i) {
    sum = tmo_wrapping_add(sum, (window->pixels[0][i] - zero) * (*at(k, window, i, column, 1) - right_zero));
  }
  return sum;
}

TMO_OWN_FRAME static int64_t sum_s16(const tmo_kernel *k, const tmo_window *window, uint32_t column) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < k->in_channels / 2; ++i) sum += tmo_int16_at(window->pixels[0] + 2 * i) * tmo_int16_at(at(k, window, i, column, 2));
  return sum;
}

/* Computes the sums of two columns of the transpose, four values at once. */
TMO_OWN_FRAME static void rows_s8(const int8_t *x, const int8_t *a, const int8_t *b, uint32_t fours, int32_t zero, int32_t right_zero, int32_t sums[2]) {
  int32_t s = 0, t = 0;
  for (const int8_t *const end = x + 4 * fours; x != end; x += 4, a += 4, b += 4) {
    const int32_t even = tmo_even_bytes(zero, tmo_word(x)), odd = tmo_odd_bytes(zero, tmo_word(x)), p = tmo_word(a), q = tmo_word(b);
    s = tmo_add_two(tmo_add_two(s, tmo_even_bytes(right_zero, p), even), tmo_odd_bytes(right_zero, p), odd);
    t = tmo_add_two(tmo_add_two(t, tmo_even_bytes(right_zero, q), even), tmo_odd_bytes(right_zero, q), odd);
  }
  sums[0] = s;
  sums[1] = t;
}

/* Computes the sums of four adjacent columns, four rows at once. */
TMO_OWN_FRAME static void columns_s8(const int8_t *x, const int8_t *const *rows, uint32_t column, uint32_t fours, int32_t zero, int32_t right_zero,
                                     int32_t sums[4]) {
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (const int8_t *const end = x + 4 * fours; x != end; x += 4, rows += 4) {
    int32_t left = tmo_even_bytes(zero, tmo_word(x));
    TMO_UNROLLED for (uint32_t i = 0; i < 2; ++i, left = tmo_odd_bytes(zero, tmo_word(x))) {
      const int32_t a = tmo_word(rows[i] + column), b = tmo_word(rows[i + 2] + column);
      const int32_t a_even = tmo_even_bytes(right_zero, a), b_even = tmo_even_bytes(right_zero, b);
      s0 = tmo_add_two(s0, tmo_low_halves(a_even, b_even), left);
      s2 = tmo_add_two(s2, tmo_high_halves(a_even, b_even), left);
      const int32_t a_odd = tmo_odd_bytes(right_zero, a), b_odd = tmo_odd_bytes(right_zero, b);
      s1 = tmo_add_two(s1, tmo_low_halves(a_odd, b_odd), left);
      s3 = tmo_add_two(s3, tmo_high_halves(a_odd, b_odd), left);
    }
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

/* Returns the negated zero point in both halves of a word. */
static int32_t two_zeros(int32_t zero_point) { return (int32_t)((uint32_t)(uint16_t)-zero_point * 0x10001u); }

void tmo_batch_matmul_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0], *const *const right = window->pixels + 1;
  const int32_t zero = two_zeros(k->op->input_zero_point[0]), right_zero = two_zeros(k->op->input_zero_point[1]);
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0], zero_out = k->op->output_zero_point;
  const uint32_t fours = k->in_channels / 4, columns = k->out_channels, most = k->op->transposed ? 2 : 4;
  const bool has_rest = k->in_channels % 4 != 0;
  for (uint32_t n = 0, step; n < columns; n += step) {
    int32_t sums[4] = {0, 0, 0, 0};
    step = columns - n >= most ? most : 1;
    if (k->op->transposed) {
      rows_s8(x, right[n], right[n + step - 1], fours, zero, right_zero, sums);
    } else if (step > 1) {
      columns_s8(x, right, n, fours, zero, right_zero, sums);
    }
    for (uint32_t c = 0; c < step; ++c) {
      const uint32_t done = step == 1 && !k->op->transposed ? 0 : 4 * fours;
      const int32_t sum = has_rest || done == 0 ? add_rest_s8(k, window, done, n + c, sums[c]) : sums[c];
      *out++ = (int8_t)tmo_saturated_byte(tmo_wrapping_add(tmo_rescale(sum, multiplier, shift), zero_out));
    }
  }
}

/* Returns round(sum * factor / 2^32), halves up, saturated to int16. */
static TMO_ALWAYS_INLINE int32_t output_s16(int64_t sum, uint32_t factor) {
  const uint64_t low = (uint64_t)(uint32_t)sum * factor + ((uint32_t)1 << 31);
  return tmo_saturated_half((int32_t)((uint32_t)(low >> 32) + (uint32_t)((uint64_t)sum >> 32) * factor));
}

/* Computes at least two columns, two columns and four values at once. If the number of columns is odd, the last pair repeats a column. */
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
