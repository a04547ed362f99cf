/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_leaky_relu_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 2;
  const int32_t scale_positive = k->multipliers[0], scale_negative = k->multipliers[1], shift_positive = k->shifts[0],
                shift_negative = k->shifts[1];
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r1 = tmo_int16_at(&x[(int32_t)(2 * (i))]), r2 = (r1 < 0), r3 = (r2 ? (int32_t)(scale_negative) : (int32_t)(scale_positive)),
            r4 = (r2 ? (int32_t)(shift_negative) : (int32_t)(shift_positive)), r5 = (r3 < 0), r6 = (int32_t)((uint32_t)0 - (uint32_t)r1),
            r7 = (r5 ? r6 : r1), r8 = (int32_t)((uint32_t)0 - (uint32_t)r3), r9 = (r5 ? r8 : r3), r10 = tmo_rescale(r7, r9, r4),
            r11 = (r10 > -32768 ? r10 : -32768), r12 = (r11 < 32767 ? r11 : 32767), r13 = r12;
    tmo_put_int16(&y[(int32_t)(2 * (i))], r13);
  }
}

void tmo_arg_max_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->in_channels;
  const int32_t step = (k->op->smallest ? 1 : -1) * (int32_t)TMO_MAX_PLACES;
  for (uint32_t p = 0; p < pixels; ++p) {
    int32_t r1 = 2147483647;
    uint32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const int8_t *const at0 = &x[(int32_t)(c + channels * p)];
      int32_t r2_0 = at0[0], r3_0 = (int32_t)((uint32_t)r2_0 * (uint32_t)(int32_t)(step)),
              r4_0 = (int32_t)((uint32_t)r3_0 + (uint32_t)(int32_t)(c));
      r1 = (r1 < r4_0 ? r1 : r4_0);
      int32_t r2_1 = at0[1], r3_1 = (int32_t)((uint32_t)r2_1 * (uint32_t)(int32_t)(step)),
              r4_1 = (int32_t)((uint32_t)r3_1 + (uint32_t)(int32_t)(1 + c));
      r1 = (r1 < r4_1 ? r1 : r4_1);
      int32_t r2_2 = at0[2], r3_2 = (int32_t)((uint32_t)r2_2 * (uint32_t)(int32_t)(step)),
              r4_2 = (int32_t)((uint32_t)r3_2 + (uint32_t)(int32_t)(2 + c));
      r1 = (r1 < r4_2 ? r1 : r4_2);
      int32_t r2_3 = at0[3], r3_3 = (int32_t)((uint32_t)r2_3 * (uint32_t)(int32_t)(step)),
              r4_3 = (int32_t)((uint32_t)r3_3 + (uint32_t)(int32_t)(3 + c));
      r1 = (r1 < r4_3 ? r1 : r4_3);
    }
    for (; c < channels; ++c) {
      int32_t r2 = x[(int32_t)(c + channels * p)], r3 = (int32_t)((uint32_t)r2 * (uint32_t)(int32_t)(step)),
              r4 = (int32_t)((uint32_t)r3 + (uint32_t)(int32_t)(c));
      r1 = (r1 < r4 ? r1 : r4);
    }
    int32_t r5 = (r1 & 8388607);
    tmo_put_int32(&y[(int32_t)(4 * (p))], r5);
  }
}

void tmo_resize_bilinear_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const top = window->pixels[0] ? window->pixels[0] : window->pixels[1];
  const int8_t *const bottom = window->pixels[1] ? window->pixels[1] : window->pixels[0];
  int8_t *const y = out;
  const uint32_t width = k->in_width, channels = k->out_channels, pixels = k->out_width, row = k->row, down_step = k->op->scale_h,
                 across_step = k->op->scale_w;
  const int32_t down_first = k->op->half_pixel_centers ? k->op->scale_h / 2 - 512 : 0,
                across_first = k->op->half_pixel_centers ? k->op->scale_w / 2 - 512 : 0;
  int32_t r1 = ((int32_t)(down_first + down_step * row) > 0 ? (int32_t)(down_first + down_step * row) : 0), r2 = (r1 & 1023),
          r3 = (int32_t)((uint32_t)1024 - (uint32_t)r2);
  for (uint32_t p = 0; p < pixels; ++p) {
    int32_t r4 = ((int32_t)(across_first + across_step * p) > 0 ? (int32_t)(across_first + across_step * p) : 0), r5 = (r4 & 1023),
            r6 = (int32_t)((uint32_t)1024 - (uint32_t)r5), r7 = (r4 >> 10), r8 = (int32_t)((uint32_t)r7 + (uint32_t)1),
            r9 = (r8 < (int32_t)(-1 + width) ? r8 : (int32_t)(-1 + width)), r10 = (int32_t)((uint32_t)r7 * (uint32_t)(int32_t)(channels)),
            r11 = (int32_t)((uint32_t)r9 * (uint32_t)(int32_t)(channels));
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r12 = top[c + r10], r13 = top[c + r11], r14 = (int32_t)((uint32_t)r12 * (uint32_t)r6),
              r15 = (int32_t)((uint32_t)r13 * (uint32_t)r5), r16 = (int32_t)((uint32_t)r14 + (uint32_t)r15), r17 = bottom[c + r10],
              r18 = bottom[c + r11], r19 = (int32_t)((uint32_t)r17 * (uint32_t)r6), r20 = (int32_t)((uint32_t)r18 * (uint32_t)r5),
              r21 = (int32_t)((uint32_t)r19 + (uint32_t)r20), r22 = (int32_t)((uint32_t)r16 * (uint32_t)r3),
              r23 = (int32_t)((uint32_t)r21 * (uint32_t)r2), r24 = (int32_t)((uint32_t)r22 + (uint32_t)r23),
              r25 = tmo_divide_rounded(r24, 1048576);
      y[(int32_t)(c + channels * p)] = (int8_t)r25;
    }
  }
}

void tmo_product_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const left = window->pixels[0];
  const int8_t *const *const right = window->pixels + 1;
  int8_t *const y = out;
  const uint32_t depth = k->in_channels, columns = k->out_channels;
  const int32_t zero_left = k->op->input_zero_point[0], zero_right = k->op->input_zero_point[1], multiplier = k->multipliers[0],
                shift = k->shifts[0], zero_out = k->op->output_zero_point;
  for (uint32_t m = 0; m < 1; ++m) {
    uint32_t n = 0;
    for (; n + 4 <= columns; n += 4) {
      int32_t r1_0 = 0, r1_1 = 0, r1_2 = 0, r1_3 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        const int8_t *const at0 = &right[i][n];
        int32_t r2 = left[(int32_t)(depth * m + i)], r3_0 = at0[0], r3_1 = at0[1], r3_2 = at0[2], r3_3 = at0[3],
                r4 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_left)),
                r5_0 = (int32_t)((uint32_t)r3_0 - (uint32_t)(int32_t)(zero_right)),
                r5_1 = (int32_t)((uint32_t)r3_1 - (uint32_t)(int32_t)(zero_right)),
                r5_2 = (int32_t)((uint32_t)r3_2 - (uint32_t)(int32_t)(zero_right)),
                r5_3 = (int32_t)((uint32_t)r3_3 - (uint32_t)(int32_t)(zero_right));
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r4 * (uint32_t)r5_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r4 * (uint32_t)r5_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r4 * (uint32_t)r5_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r4 * (uint32_t)r5_3);
      }
      int32_t r6_0 = tmo_rescale(r1_0, (int32_t)(multiplier), (int32_t)(shift)),
              r6_1 = tmo_rescale(r1_1, (int32_t)(multiplier), (int32_t)(shift)),
              r6_2 = tmo_rescale(r1_2, (int32_t)(multiplier), (int32_t)(shift)),
              r6_3 = tmo_rescale(r1_3, (int32_t)(multiplier), (int32_t)(shift)),
              r7_0 = (int32_t)((uint32_t)r6_0 + (uint32_t)(int32_t)(zero_out)),
              r7_1 = (int32_t)((uint32_t)r6_1 + (uint32_t)(int32_t)(zero_out)),
              r7_2 = (int32_t)((uint32_t)r6_2 + (uint32_t)(int32_t)(zero_out)),
              r7_3 = (int32_t)((uint32_t)r6_3 + (uint32_t)(int32_t)(zero_out)), r8_0 = (r7_0 > -128 ? r7_0 : -128),
              r8_1 = (r7_1 > -128 ? r7_1 : -128), r8_2 = (r7_2 > -128 ? r7_2 : -128), r8_3 = (r7_3 > -128 ? r7_3 : -128),
              r9_0 = (r8_0 < 127 ? r8_0 : 127), r9_1 = (r8_1 < 127 ? r8_1 : 127), r9_2 = (r8_2 < 127 ? r8_2 : 127),
              r9_3 = (r8_3 < 127 ? r8_3 : 127), r10_0 = r9_0, r10_1 = r9_1, r10_2 = r9_2, r10_3 = r9_3;
      y[(int32_t)(columns * m + n)] = (int8_t)r10_0;
      y[(int32_t)(1 + columns * m + n)] = (int8_t)r10_1;
      y[(int32_t)(2 + columns * m + n)] = (int8_t)r10_2;
      y[(int32_t)(3 + columns * m + n)] = (int8_t)r10_3;
    }
    for (; n < columns; ++n) {
      int32_t r1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = left[(int32_t)(depth * m + i)], r3 = right[i][n], r4 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_left)),
                r5 = (int32_t)((uint32_t)r3 - (uint32_t)(int32_t)(zero_right));
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r4 * (uint32_t)r5);
      }
      int32_t r6 = tmo_rescale(r1, (int32_t)(multiplier), (int32_t)(shift)), r7 = (int32_t)((uint32_t)r6 + (uint32_t)(int32_t)(zero_out)),
              r8 = (r7 > -128 ? r7 : -128), r9 = (r8 < 127 ? r8 : 127), r10 = r9;
      y[(int32_t)(columns * m + n)] = (int8_t)r10;
    }
  }
}

void tmo_transposed_product_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const left = window->pixels[0];
  const int8_t *const *const right = window->pixels + 1;
  int8_t *const y = out;
  const uint32_t depth = k->in_channels, columns = k->out_channels;
  const int32_t zero_left = k->op->input_zero_point[0], zero_right = k->op->input_zero_point[1], multiplier = k->multipliers[0],
                shift = k->shifts[0], zero_out = k->op->output_zero_point;
  for (uint32_t m = 0; m < 1; ++m) {
    uint32_t n = 0;
    for (; n + 4 <= columns; n += 4) {
      int32_t r1_0 = 0, r1_1 = 0, r1_2 = 0, r1_3 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = left[(int32_t)(depth * m + i)], r3_0 = right[n][i], r3_1 = right[1 + n][i], r3_2 = right[2 + n][i],
                r3_3 = right[3 + n][i], r4 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_left)),
                r5_0 = (int32_t)((uint32_t)r3_0 - (uint32_t)(int32_t)(zero_right)),
                r5_1 = (int32_t)((uint32_t)r3_1 - (uint32_t)(int32_t)(zero_right)),
                r5_2 = (int32_t)((uint32_t)r3_2 - (uint32_t)(int32_t)(zero_right)),
                r5_3 = (int32_t)((uint32_t)r3_3 - (uint32_t)(int32_t)(zero_right));
        r1_0 = (int32_t)((uint32_t)r1_0 + (uint32_t)r4 * (uint32_t)r5_0);
        r1_1 = (int32_t)((uint32_t)r1_1 + (uint32_t)r4 * (uint32_t)r5_1);
        r1_2 = (int32_t)((uint32_t)r1_2 + (uint32_t)r4 * (uint32_t)r5_2);
        r1_3 = (int32_t)((uint32_t)r1_3 + (uint32_t)r4 * (uint32_t)r5_3);
      }
      int32_t r6_0 = tmo_rescale(r1_0, (int32_t)(multiplier), (int32_t)(shift)),
              r6_1 = tmo_rescale(r1_1, (int32_t)(multiplier), (int32_t)(shift)),
              r6_2 = tmo_rescale(r1_2, (int32_t)(multiplier), (int32_t)(shift)),
              r6_3 = tmo_rescale(r1_3, (int32_t)(multiplier), (int32_t)(shift)),
              r7_0 = (int32_t)((uint32_t)r6_0 + (uint32_t)(int32_t)(zero_out)),
              r7_1 = (int32_t)((uint32_t)r6_1 + (uint32_t)(int32_t)(zero_out)),
              r7_2 = (int32_t)((uint32_t)r6_2 + (uint32_t)(int32_t)(zero_out)),
              r7_3 = (int32_t)((uint32_t)r6_3 + (uint32_t)(int32_t)(zero_out)), r8_0 = (r7_0 > -128 ? r7_0 : -128),
              r8_1 = (r7_1 > -128 ? r7_1 : -128), r8_2 = (r7_2 > -128 ? r7_2 : -128), r8_3 = (r7_3 > -128 ? r7_3 : -128),
              r9_0 = (r8_0 < 127 ? r8_0 : 127), r9_1 = (r8_1 < 127 ? r8_1 : 127), r9_2 = (r8_2 < 127 ? r8_2 : 127),
              r9_3 = (r8_3 < 127 ? r8_3 : 127), r10_0 = r9_0, r10_1 = r9_1, r10_2 = r9_2, r10_3 = r9_3;
      y[(int32_t)(columns * m + n)] = (int8_t)r10_0;
      y[(int32_t)(1 + columns * m + n)] = (int8_t)r10_1;
      y[(int32_t)(2 + columns * m + n)] = (int8_t)r10_2;
      y[(int32_t)(3 + columns * m + n)] = (int8_t)r10_3;
    }
    for (; n < columns; ++n) {
      int32_t r1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = left[(int32_t)(depth * m + i)], r3 = right[n][i], r4 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_left)),
                r5 = (int32_t)((uint32_t)r3 - (uint32_t)(int32_t)(zero_right));
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r4 * (uint32_t)r5);
      }
      int32_t r6 = tmo_rescale(r1, (int32_t)(multiplier), (int32_t)(shift)), r7 = (int32_t)((uint32_t)r6 + (uint32_t)(int32_t)(zero_out)),
              r8 = (r7 > -128 ? r7 : -128), r9 = (r8 < 127 ? r8 : 127), r10 = r9;
      y[(int32_t)(columns * m + n)] = (int8_t)r10;
    }
  }
}

void tmo_product_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const left = window->pixels[0];
  const int8_t *const *const right = window->pixels + 1;
  int8_t *const y = out;
  const uint32_t depth = k->in_channels / 2, columns = k->out_channels / 2;
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0];
  for (uint32_t m = 0; m < 1; ++m) {
    uint32_t n = 0;
    for (; n + 2 <= columns; n += 2) {
      int64_t r1_0 = 0, r1_1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = tmo_int16_at(&left[(int32_t)(2 * (depth * m + i))]), r3_0 = tmo_int16_at(&right[i][(int32_t)(2 * (n))]),
                r3_1 = tmo_int16_at(&right[i][(int32_t)(2 * (1 + n))]);
        r1_0 = (int64_t)((uint64_t)r1_0 + (uint64_t)(r2 * r3_0));
        r1_1 = (int64_t)((uint64_t)r1_1 + (uint64_t)(r2 * r3_1));
      }
      int32_t r4_0 = tmo_rescale_wide(r1_0, (int32_t)(multiplier), (int32_t)(shift)),
              r4_1 = tmo_rescale_wide(r1_1, (int32_t)(multiplier), (int32_t)(shift)), r5_0 = (r4_0 > -32768 ? r4_0 : -32768),
              r5_1 = (r4_1 > -32768 ? r4_1 : -32768), r6_0 = (r5_0 < 32767 ? r5_0 : 32767), r6_1 = (r5_1 < 32767 ? r5_1 : 32767),
              r7_0 = r6_0, r7_1 = r6_1;
      tmo_put_int16(&y[(int32_t)(2 * (columns * m + n))], r7_0);
      tmo_put_int16(&y[(int32_t)(2 * (1 + columns * m + n))], r7_1);
    }
    for (; n < columns; ++n) {
      int64_t r1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = tmo_int16_at(&left[(int32_t)(2 * (depth * m + i))]), r3 = tmo_int16_at(&right[i][(int32_t)(2 * (n))]);
        r1 = (int64_t)((uint64_t)r1 + (uint64_t)(r2 * r3));
      }
      int32_t r4 = tmo_rescale_wide(r1, (int32_t)(multiplier), (int32_t)(shift)), r5 = (r4 > -32768 ? r4 : -32768),
              r6 = (r5 < 32767 ? r5 : 32767), r7 = r6;
      tmo_put_int16(&y[(int32_t)(2 * (columns * m + n))], r7);
    }
  }
}

void tmo_transposed_product_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const left = window->pixels[0];
  const int8_t *const *const right = window->pixels + 1;
  int8_t *const y = out;
  const uint32_t depth = k->in_channels / 2, columns = k->out_channels / 2;
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0];
  for (uint32_t m = 0; m < 1; ++m) {
    uint32_t n = 0;
    for (; n + 2 <= columns; n += 2) {
      int64_t r1_0 = 0, r1_1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = tmo_int16_at(&left[(int32_t)(2 * (depth * m + i))]), r3_0 = tmo_int16_at(&right[n][(int32_t)(2 * (i))]),
                r3_1 = tmo_int16_at(&right[1 + n][(int32_t)(2 * (i))]);
        r1_0 = (int64_t)((uint64_t)r1_0 + (uint64_t)(r2 * r3_0));
        r1_1 = (int64_t)((uint64_t)r1_1 + (uint64_t)(r2 * r3_1));
      }
      int32_t r4_0 = tmo_rescale_wide(r1_0, (int32_t)(multiplier), (int32_t)(shift)),
              r4_1 = tmo_rescale_wide(r1_1, (int32_t)(multiplier), (int32_t)(shift)), r5_0 = (r4_0 > -32768 ? r4_0 : -32768),
              r5_1 = (r4_1 > -32768 ? r4_1 : -32768), r6_0 = (r5_0 < 32767 ? r5_0 : 32767), r6_1 = (r5_1 < 32767 ? r5_1 : 32767),
              r7_0 = r6_0, r7_1 = r6_1;
      tmo_put_int16(&y[(int32_t)(2 * (columns * m + n))], r7_0);
      tmo_put_int16(&y[(int32_t)(2 * (1 + columns * m + n))], r7_1);
    }
    for (; n < columns; ++n) {
      int64_t r1 = 0;
      for (uint32_t i = 0; i < depth; ++i) {
        int32_t r2 = tmo_int16_at(&left[(int32_t)(2 * (depth * m + i))]), r3 = tmo_int16_at(&right[n][(int32_t)(2 * (i))]);
        r1 = (int64_t)((uint64_t)r1 + (uint64_t)(r2 * r3));
      }
      int32_t r4 = tmo_rescale_wide(r1, (int32_t)(multiplier), (int32_t)(shift)), r5 = (r4 > -32768 ? r4 : -32768),
              r6 = (r5 < 32767 ? r5 : 32767), r7 = r6;
      tmo_put_int16(&y[(int32_t)(2 * (columns * m + n))], r7);
    }
  }
}

void tmo_gather_pixel_s8(const tmo_kernel *k, int32_t row, int8_t *y) {
  const int8_t *const index = (const int8_t *)&row;
  const int8_t *const table = k->weights;
  const uint32_t channels = k->out_channels;
  for (uint32_t p = 0; p < 1; ++p) {
    int32_t r1 = tmo_int32_at(&index[(int32_t)(4 * (p))]), r2 = (int32_t)((uint32_t)r1 * (uint32_t)(int32_t)(channels));
    tmo_copy_bytes(&y[(int32_t)(channels * p)], &table[0 + r2], channels);
  }
}
