/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on Cortex-M cores with the
 * DSP extension or Helium. */
#include "tmo/packed.h"

#if TMO_CORE_MVE

#include <arm_mve.h>

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const int8_t *const half = tmo_half(scales) ? b : a;
  const int8_t *const other = tmo_half(scales) ? a : b;
  int8_t *const y = out;
  const int32_t factor_half = 1 << tmo_half_shift(scales + 4 * tmo_half(scales)),
                offset_half = -op->input_zero_point[tmo_half(scales)] * factor_half, factor_other = 1 << scales[4 - 4 * tmo_half(scales)],
                offset_other = -op->input_zero_point[1 - tmo_half(scales)] * factor_other,
                scale_other = (int32_t)((uint32_t)scales[5 - 4 * tmo_half(scales)] >> 1), right_other = scales[7 - 4 * tmo_half(scales)],
                zero_out = op->output_zero_point, scale_out = (int32_t)((uint32_t)scales[8] >> 1), right_out = scales[10],
                low = op->act_min, high = op->act_max;
  const int8_t *half_0 = &half[0];
  const int8_t *other_1 = &other[0];
  int8_t *y_2 = &y[0];
#ifdef __clang__
  for (uint32_t i_left = n; i_left > 0; i_left = i_left > 4 ? i_left - 4 : 0, half_0 += 4, other_1 += 4, y_2 += 4) {
    const mve_pred16_t there = vctp32q(i_left);
    int32x4_t r1 = vldrbq_z_s32(&half_0[0], there);
    int32x4_t r2 = vmlasq_n_s32(r1, vdupq_n_s32((int32_t)(factor_half)), (int32_t)(offset_half));
    int32x4_t r3 = vldrbq_z_s32(&other_1[0], there);
    int32x4_t r4 = vmlasq_n_s32(r3, vdupq_n_s32((int32_t)(factor_other)), (int32_t)(offset_other));
    int32x4_t scale_right0_sign = vshrq_n_s32(r4, 31);
    int32x4_t scale_right0_product = vqrdmulhq_n_s32(r4, (int32_t)(scale_other));
    int32x4_t scale_right0_moved = vaddq_s32(scale_right0_product, scale_right0_sign);
    int32x4_t r5 = vrshlq_n_s32(scale_right0_moved, -(int32_t)(right_other));
    int32x4_t r6 = vaddq_s32(r2, r5);
    int32x4_t scale_right1_sign = vshrq_n_s32(r6, 31);
    int32x4_t scale_right1_product = vqrdmulhq_n_s32(r6, (int32_t)(scale_out));
    int32x4_t scale_right1_moved = vaddq_s32(scale_right1_product, scale_right1_sign);
    int32x4_t scale_right1_scaled = vrshlq_n_s32(scale_right1_moved, -(int32_t)(right_out));
    int32x4_t r7 = vaddq_n_s32(scale_right1_scaled, (int32_t)(zero_out));
    int32x4_t r8 = vmaxq_s32(r7, vdupq_n_s32((int32_t)(low)));
    int32x4_t r9 = vminq_s32(r8, vdupq_n_s32((int32_t)(high)));
    int32x4_t r10 = r9;
    vstrbq_p_s32(&y_2[0], r10, there);
  }
#else
  register uint32_t i_left __asm__("lr");
  __asm__ volatile("dlstp.32 %0, %1" : "=r"(i_left) : "r"(n) : "memory");
  i_turn: {
    int32x4_t r1 = vldrbq_s32(&half_0[0]);
    int32x4_t r2 = vmlasq_n_s32(r1, vdupq_n_s32((int32_t)(factor_half)), (int32_t)(offset_half));
    int32x4_t r3 = vldrbq_s32(&other_1[0]);
    int32x4_t r4 = vmlasq_n_s32(r3, vdupq_n_s32((int32_t)(factor_other)), (int32_t)(offset_other));
    int32x4_t scale_right0_sign = vshrq_n_s32(r4, 31);
    int32x4_t scale_right0_product = vqrdmulhq_n_s32(r4, (int32_t)(scale_other));
    int32x4_t scale_right0_moved = vaddq_s32(scale_right0_product, scale_right0_sign);
    int32x4_t r5 = vrshlq_n_s32(scale_right0_moved, -(int32_t)(right_other));
    int32x4_t r6 = vaddq_s32(r2, r5);
    int32x4_t scale_right1_sign = vshrq_n_s32(r6, 31);
    int32x4_t scale_right1_product = vqrdmulhq_n_s32(r6, (int32_t)(scale_out));
    int32x4_t scale_right1_moved = vaddq_s32(scale_right1_product, scale_right1_sign);
    int32x4_t scale_right1_scaled = vrshlq_n_s32(scale_right1_moved, -(int32_t)(right_out));
    int32x4_t r7 = vaddq_n_s32(scale_right1_scaled, (int32_t)(zero_out));
    int32x4_t r8 = vmaxq_s32(r7, vdupq_n_s32((int32_t)(low)));
    int32x4_t r9 = vminq_s32(r8, vdupq_n_s32((int32_t)(high)));
    int32x4_t r10 = r9;
    vstrbq_s32(&y_2[0], r10);
    half_0 += 4;
    other_1 += 4;
    y_2 += 4;
  }
  __asm__ volatile goto("letp %0, %l[i_turn]" : "+r"(i_left) : : "memory" : i_turn);
#endif
}

void tmo_mve_add_pixels(int32_t *sums, const int8_t *x, uint32_t channels, uint32_t n) {
  int32_t *sums_0 = &sums[0];
  const int8_t *x_1 = &x[0];
  for (uint32_t c_left = channels / 16; c_left > 0; --c_left, sums_0 += 16, x_1 += 16) {
    int32x4_t r1_0 = vldrwq_s32(&sums_0[0]);
    int32x4_t r1_1 = vldrwq_s32(&sums_0[4]);
    int32x4_t r1_2 = vldrwq_s32(&sums_0[8]);
    int32x4_t r1_3 = vldrwq_s32(&sums_0[12]);
    for (uint32_t p = 0; p < n; ++p) {
      int32x4_t r2_0 = vldrbq_s32(&x_1[channels * p]);
      int32x4_t r2_1 = vldrbq_s32(&x_1[4 + channels * p]);
      int32x4_t r2_2 = vldrbq_s32(&x_1[8 + channels * p]);
      int32x4_t r2_3 = vldrbq_s32(&x_1[12 + channels * p]);
      r1_0 = vaddq_s32(r1_0, r2_0);
      r1_1 = vaddq_s32(r1_1, r2_1);
      r1_2 = vaddq_s32(r1_2, r2_2);
      r1_3 = vaddq_s32(r1_3, r2_3);
    }
    vstrwq_s32(&sums_0[0], r1_0);
    vstrwq_s32(&sums_0[4], r1_1);
    vstrwq_s32(&sums_0[8], r1_2);
    vstrwq_s32(&sums_0[12], r1_3);
  }
  for (uint32_t c_left = channels % 16; c_left > 0; c_left = c_left > 4 ? c_left - 4 : 0, sums_0 += 4, x_1 += 4) {
    const mve_pred16_t there = vctp32q(c_left);
    int32x4_t r1 = vldrwq_z_s32(&sums_0[0], there);
    for (uint32_t p = 0; p < n; ++p) {
      int32x4_t r2 = vldrbq_z_s32(&x_1[channels * p], there);
      r1 = vaddq_s32(r1, r2);
    }
    vstrwq_p_s32(&sums_0[0], r1, there);
  }
}

#elif TMO_RUNS_DSP

#include "tmo/dsp.h"

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const int8_t *const half = tmo_half(scales) ? b : a;
  const int8_t *const other = tmo_half(scales) ? a : b;
  int8_t *const y = out;
  const int32_t factor_half = 1 << tmo_half_shift(scales + 4 * tmo_half(scales)),
                offset_half = -op->input_zero_point[tmo_half(scales)] * factor_half, factor_other = 1 << scales[4 - 4 * tmo_half(scales)],
                offset_other = -op->input_zero_point[1 - tmo_half(scales)] * factor_other,
                scale_other = (int32_t)((uint32_t)scales[5 - 4 * tmo_half(scales)] >> 1), right_other = scales[7 - 4 * tmo_half(scales)],
                zero_out = op->output_zero_point, scale_out = (int32_t)((uint32_t)scales[8] >> 1), right_out = scales[10];
  const int8_t *half_0 = &half[0];
  const int8_t *other_1 = &other[0];
  int8_t *y_2 = &y[0];
  for (uint32_t i_left = n / 4; i_left > 0; --i_left, half_0 += 4, other_1 += 4, y_2 += 4) {
    int32_t r1_0 = half_0[0], r1_1 = half_0[1], r1_2 = half_0[2], r1_3 = half_0[3],
            r2_0 = (int32_t)((uint32_t)r1_0 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half)),
            r2_1 = (int32_t)((uint32_t)r1_1 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half)),
            r2_2 = (int32_t)((uint32_t)r1_2 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half)),
            r2_3 = (int32_t)((uint32_t)r1_3 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half)), r3_0 = other_1[0],
            r3_1 = other_1[1], r3_2 = other_1[2], r3_3 = other_1[3],
            r4_0 = (int32_t)((uint32_t)r3_0 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other)),
            r4_1 = (int32_t)((uint32_t)r3_1 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other)),
            r4_2 = (int32_t)((uint32_t)r3_2 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other)),
            r4_3 = (int32_t)((uint32_t)r3_3 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other)),
            scale_right0_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1), scale_right0_point = (int32_t)((uint32_t)0 << 1),
            scale_right0_odd = (int32_t)((uint32_t)scale_right0_point + (uint32_t)1),
            scale_right0_raised = (int32_t)((uint32_t)scale_right0_odd << (int32_t)(right_other)),
            scale_right0_half = (scale_right0_raised >> 1), scale_right0_sign = (r4_0 >> 31),
            scale_right0_total = (int32_t)((uint32_t)r4_0 + (uint32_t)scale_right0_half),
            scale_right0_moved = (int32_t)((uint32_t)scale_right0_total + (uint32_t)scale_right0_sign),
            scale_right0_product = tmo_high_add(scale_right0_moved, r4_0, scale_right0_twice),
            r5_0 = (scale_right0_product >> (int32_t)(right_other)), scale_right1_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1),
            scale_right1_point = (int32_t)((uint32_t)0 << 1), scale_right1_odd = (int32_t)((uint32_t)scale_right1_point + (uint32_t)1),
            scale_right1_raised = (int32_t)((uint32_t)scale_right1_odd << (int32_t)(right_other)),
            scale_right1_half = (scale_right1_raised >> 1), scale_right1_sign = (r4_1 >> 31),
            scale_right1_total = (int32_t)((uint32_t)r4_1 + (uint32_t)scale_right1_half),
            scale_right1_moved = (int32_t)((uint32_t)scale_right1_total + (uint32_t)scale_right1_sign),
            scale_right1_product = tmo_high_add(scale_right1_moved, r4_1, scale_right1_twice),
            r5_1 = (scale_right1_product >> (int32_t)(right_other)), scale_right2_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1),
            scale_right2_point = (int32_t)((uint32_t)0 << 1), scale_right2_odd = (int32_t)((uint32_t)scale_right2_point + (uint32_t)1),
            scale_right2_raised = (int32_t)((uint32_t)scale_right2_odd << (int32_t)(right_other)),
            scale_right2_half = (scale_right2_raised >> 1), scale_right2_sign = (r4_2 >> 31),
            scale_right2_total = (int32_t)((uint32_t)r4_2 + (uint32_t)scale_right2_half),
            scale_right2_moved = (int32_t)((uint32_t)scale_right2_total + (uint32_t)scale_right2_sign),
            scale_right2_product = tmo_high_add(scale_right2_moved, r4_2, scale_right2_twice),
            r5_2 = (scale_right2_product >> (int32_t)(right_other)), scale_right3_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1),
            scale_right3_point = (int32_t)((uint32_t)0 << 1), scale_right3_odd = (int32_t)((uint32_t)scale_right3_point + (uint32_t)1),
            scale_right3_raised = (int32_t)((uint32_t)scale_right3_odd << (int32_t)(right_other)),
            scale_right3_half = (scale_right3_raised >> 1), scale_right3_sign = (r4_3 >> 31),
            scale_right3_total = (int32_t)((uint32_t)r4_3 + (uint32_t)scale_right3_half),
            scale_right3_moved = (int32_t)((uint32_t)scale_right3_total + (uint32_t)scale_right3_sign),
            scale_right3_product = tmo_high_add(scale_right3_moved, r4_3, scale_right3_twice),
            r5_3 = (scale_right3_product >> (int32_t)(right_other)), r6_0 = (int32_t)((uint32_t)r2_0 + (uint32_t)r5_0),
            r6_1 = (int32_t)((uint32_t)r2_1 + (uint32_t)r5_1), r6_2 = (int32_t)((uint32_t)r2_2 + (uint32_t)r5_2),
            r6_3 = (int32_t)((uint32_t)r2_3 + (uint32_t)r5_3), scale_right4_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1),
            scale_right4_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
            scale_right4_odd = (int32_t)((uint32_t)scale_right4_point + (uint32_t)1),
            scale_right4_raised = (int32_t)((uint32_t)scale_right4_odd << (int32_t)(right_out)),
            scale_right4_half = (scale_right4_raised >> 1), scale_right4_sign = (r6_0 >> 31),
            scale_right4_total = (int32_t)((uint32_t)r6_0 + (uint32_t)scale_right4_half),
            scale_right4_moved = (int32_t)((uint32_t)scale_right4_total + (uint32_t)scale_right4_sign),
            scale_right4_product = tmo_high_add(scale_right4_moved, r6_0, scale_right4_twice),
            r7_0 = (scale_right4_product >> (int32_t)(right_out)), scale_right5_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1),
            scale_right5_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
            scale_right5_odd = (int32_t)((uint32_t)scale_right5_point + (uint32_t)1),
            scale_right5_raised = (int32_t)((uint32_t)scale_right5_odd << (int32_t)(right_out)),
            scale_right5_half = (scale_right5_raised >> 1), scale_right5_sign = (r6_1 >> 31),
            scale_right5_total = (int32_t)((uint32_t)r6_1 + (uint32_t)scale_right5_half),
            scale_right5_moved = (int32_t)((uint32_t)scale_right5_total + (uint32_t)scale_right5_sign),
            scale_right5_product = tmo_high_add(scale_right5_moved, r6_1, scale_right5_twice),
            r7_1 = (scale_right5_product >> (int32_t)(right_out)), scale_right6_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1),
            scale_right6_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
            scale_right6_odd = (int32_t)((uint32_t)scale_right6_point + (uint32_t)1),
            scale_right6_raised = (int32_t)((uint32_t)scale_right6_odd << (int32_t)(right_out)),
            scale_right6_half = (scale_right6_raised >> 1), scale_right6_sign = (r6_2 >> 31),
            scale_right6_total = (int32_t)((uint32_t)r6_2 + (uint32_t)scale_right6_half),
            scale_right6_moved = (int32_t)((uint32_t)scale_right6_total + (uint32_t)scale_right6_sign),
            scale_right6_product = tmo_high_add(scale_right6_moved, r6_2, scale_right6_twice),
            r7_2 = (scale_right6_product >> (int32_t)(right_out)), scale_right7_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1),
            scale_right7_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
            scale_right7_odd = (int32_t)((uint32_t)scale_right7_point + (uint32_t)1),
            scale_right7_raised = (int32_t)((uint32_t)scale_right7_odd << (int32_t)(right_out)),
            scale_right7_half = (scale_right7_raised >> 1), scale_right7_sign = (r6_3 >> 31),
            scale_right7_total = (int32_t)((uint32_t)r6_3 + (uint32_t)scale_right7_half),
            scale_right7_moved = (int32_t)((uint32_t)scale_right7_total + (uint32_t)scale_right7_sign),
            scale_right7_product = tmo_high_add(scale_right7_moved, r6_3, scale_right7_twice),
            r7_3 = (scale_right7_product >> (int32_t)(right_out)), r8_0 = tmo_saturated_byte(r7_0), r8_1 = tmo_saturated_byte(r7_1),
            r8_2 = tmo_saturated_byte(r7_2), r8_3 = tmo_saturated_byte(r7_3);
    y_2[0] = (int8_t)r8_0;
    y_2[1] = (int8_t)r8_1;
    y_2[2] = (int8_t)r8_2;
    y_2[3] = (int8_t)r8_3;
  }
  for (uint32_t i_left = n % 4; i_left > 0; --i_left, half_0 += 1, other_1 += 1, y_2 += 1) {
    int32_t r1 = half_0[0], r2 = (int32_t)((uint32_t)r1 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half)),
            r3 = other_1[0], r4 = (int32_t)((uint32_t)r3 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other)),
            scale_right8_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1), scale_right8_point = (int32_t)((uint32_t)0 << 1),
            scale_right8_odd = (int32_t)((uint32_t)scale_right8_point + (uint32_t)1),
            scale_right8_raised = (int32_t)((uint32_t)scale_right8_odd << (int32_t)(right_other)),
            scale_right8_half = (scale_right8_raised >> 1), scale_right8_sign = (r4 >> 31),
            scale_right8_total = (int32_t)((uint32_t)r4 + (uint32_t)scale_right8_half),
            scale_right8_moved = (int32_t)((uint32_t)scale_right8_total + (uint32_t)scale_right8_sign),
            scale_right8_product = tmo_high_add(scale_right8_moved, r4, scale_right8_twice),
            r5 = (scale_right8_product >> (int32_t)(right_other)), r6 = (int32_t)((uint32_t)r2 + (uint32_t)r5),
            scale_right9_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1),
            scale_right9_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
            scale_right9_odd = (int32_t)((uint32_t)scale_right9_point + (uint32_t)1),
            scale_right9_raised = (int32_t)((uint32_t)scale_right9_odd << (int32_t)(right_out)),
            scale_right9_half = (scale_right9_raised >> 1), scale_right9_sign = (r6 >> 31),
            scale_right9_total = (int32_t)((uint32_t)r6 + (uint32_t)scale_right9_half),
            scale_right9_moved = (int32_t)((uint32_t)scale_right9_total + (uint32_t)scale_right9_sign),
            scale_right9_product = tmo_high_add(scale_right9_moved, r6, scale_right9_twice),
            r7 = (scale_right9_product >> (int32_t)(right_out)), r8 = tmo_saturated_byte(r7);
    y_2[0] = (int8_t)r8;
  }
  tmo_packed_clamp(op, out, n);
}

#endif

#if TMO_RUNS_DSP

void tmo_add_packed(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  tmo_packed_add(window->pixels[0], window->pixels[1], out, k->out_width * k->out_channels, k->bias, k->op);
}

#endif

#if TMO_TWINS

void tmo_dsp_pairs_in_c(uint32_t pixels, const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t pairs, int32_t step) {
  const int16_t *const w = (const int16_t *)(const void *)weights;
  const uint32_t twos = values / 2;
  for (uint32_t k = 0; k < pairs; ++k) {
    for (uint32_t p = 0; p < pixels; ++p) {
      int32_t r1 = scales[8 * k], r2 = scales[(int32_t)(1 + 8 * k)];
      for (uint32_t t = 0; t < twos; ++t) {
        for (uint32_t i = 0; i < 2; ++i) {
          int32_t r3 = tile[(int32_t)(i + 2 * p + 2 * pixels * t)], r4 = w[(int32_t)(i + 2 * k * twos + 2 * t)],
                  r5 = (int32_t)((uint32_t)r4 << 24), r6 = (r5 >> 24);
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3 * (uint32_t)r6);
          r2 = (int32_t)((uint32_t)r2 + (uint32_t)r3 * (uint32_t)r4);
        }
      }
      int32_t r7 = (int32_t)((uint32_t)r2 - (uint32_t)r1), r8 = (r7 >> 8), r9 = scales[(int32_t)(2 + 8 * k)],
              r10 = scales[(int32_t)(3 + 8 * k)], r11 = scales[(int32_t)(4 + 8 * k)], r12 = (int32_t)((uint32_t)r1 + (uint32_t)r10),
              r13 = (r1 >> 31), r14 = (int32_t)((uint32_t)r12 + (uint32_t)r13), r15 = tmo_high_add(r14, r1, r9), r16 = (r15 >> r11),
              r17 = tmo_saturated_byte(r16);
      y[(int32_t)(2 * k + p * step)] = (int8_t)r17;
      int32_t r18 = scales[(int32_t)(5 + 8 * k)], r19 = scales[(int32_t)(6 + 8 * k)], r20 = scales[(int32_t)(7 + 8 * k)],
              r21 = (int32_t)((uint32_t)r8 + (uint32_t)r19), r22 = (r8 >> 31), r23 = (int32_t)((uint32_t)r21 + (uint32_t)r22),
              r24 = tmo_high_add(r23, r8, r18), r25 = (r24 >> r20), r26 = tmo_saturated_byte(r25);
      y[(int32_t)(1 + 2 * k + p * step)] = (int8_t)r26;
    }
  }
}

static void direct_ways(const int8_t *x, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t groups, uint32_t ways) {
  const int16_t *const w = (const int16_t *)(const void *)weights;
  const uint32_t fours = values / 4;
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t k = 0; k < ways; ++k) {
      int32_t r1 = scales[(int32_t)(8 * g * ways + 8 * k)], r2 = scales[(int32_t)(1 + 8 * g * ways + 8 * k)];
      for (uint32_t t = 0; t < fours; ++t) {
        for (uint32_t i = 0; i < 2; ++i) {
          for (uint32_t j = 0; j < 2; ++j) {
            int32_t r3 = x[(int32_t)(i + 2 * j + 4 * t)], r4 = w[(int32_t)(4 * fours * g * ways + 2 * i * ways + j + 2 * k + 4 * t * ways)],
                    r5 = (int32_t)((uint32_t)r4 << 24), r6 = (r5 >> 24);
            r1 = (int32_t)((uint32_t)r1 + (uint32_t)r3 * (uint32_t)r6);
            r2 = (int32_t)((uint32_t)r2 + (uint32_t)r3 * (uint32_t)r4);
          }
        }
      }
      int32_t r7 = (int32_t)((uint32_t)r2 - (uint32_t)r1), r8 = (r7 >> 8), r9 = scales[(int32_t)(2 + 8 * g * ways + 8 * k)],
              r10 = scales[(int32_t)(3 + 8 * g * ways + 8 * k)], r11 = scales[(int32_t)(4 + 8 * g * ways + 8 * k)],
              r12 = (int32_t)((uint32_t)r1 + (uint32_t)r10), r13 = (r1 >> 31), r14 = (int32_t)((uint32_t)r12 + (uint32_t)r13),
              r15 = tmo_high_add(r14, r1, r9), r16 = (r15 >> r11), r17 = tmo_saturated_byte(r16);
      y[(int32_t)(2 * g * ways + 2 * k)] = (int8_t)r17;
      int32_t r18 = scales[(int32_t)(5 + 8 * g * ways + 8 * k)], r19 = scales[(int32_t)(6 + 8 * g * ways + 8 * k)],
              r20 = scales[(int32_t)(7 + 8 * g * ways + 8 * k)], r21 = (int32_t)((uint32_t)r8 + (uint32_t)r19), r22 = (r8 >> 31),
              r23 = (int32_t)((uint32_t)r21 + (uint32_t)r22), r24 = tmo_high_add(r23, r8, r18), r25 = (r24 >> r20),
              r26 = tmo_saturated_byte(r25);
      y[(int32_t)(1 + 2 * g * ways + 2 * k)] = (int8_t)r26;
    }
  }
}

void tmo_dsp_direct(const int8_t *x, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t pairs) {
  direct_ways(x, weights, scales, y, values, pairs, 1);
}

void tmo_dsp_dense(const int8_t *x, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t triples) {
  direct_ways(x, weights, scales, y, values, triples, 3);
}

void tmo_dsp_dense_one_scale(const int8_t *x, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t triples) {
  direct_ways(x, weights, scales, y, values, triples, 3);
}

void tmo_dsp_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t turns, uint32_t fours, int32_t first) {
  const int32_t *const bias = constants;
  const int16_t *const both = (const int16_t *)(const void *)(constants + 4);
  const int16_t *const third = (const int16_t *)(const void *)(constants + 8);
  const int32_t *const scales = constants + 4 + 6 * turns;
  const int32_t words = (int32_t)(16 + 6 * turns);
  for (uint32_t g = 0; g < fours; ++g) {
    for (uint32_t u = 0; u < 2; ++u) {
      for (uint32_t v = 0; v < 2; ++v) {
        int32_t r1 = bias[(int32_t)(g * words + 2 * u + v)];
        for (uint32_t t = 0; t < turns; ++t) {
          int32_t r2 = x[3 * t][(int32_t)(first + 4 * g + 2 * u + v)], r3 = both[(int32_t)(2 * g * words + 12 * t + 4 * u + 2 * v)];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r2 * (uint32_t)r3);
          int32_t r4 = x[1 + 3 * t][(int32_t)(first + 4 * g + 2 * u + v)], r5 = both[(int32_t)(1 + 2 * g * words + 12 * t + 4 * u + 2 * v)];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r4 * (uint32_t)r5);
          int32_t r6 = x[2 + 3 * t][(int32_t)(first + 4 * g + 2 * u + v)], r7 = third[(int32_t)(2 * g * words + 12 * t + u + 2 * v)];
          r1 = (int32_t)((uint32_t)r1 + (uint32_t)r6 * (uint32_t)r7);
        }
        int32_t r8 = scales[(int32_t)(g * words + 6 * u + 3 * v)], r9 = scales[(int32_t)(1 + g * words + 6 * u + 3 * v)],
                r10 = scales[(int32_t)(2 + g * words + 6 * u + 3 * v)], r11 = (int32_t)((uint32_t)r1 + (uint32_t)r9), r12 = (r1 >> 31),
                r13 = (int32_t)((uint32_t)r11 + (uint32_t)r12), r14 = tmo_high_add(r13, r1, r8), r15 = (r14 >> r10),
                r16 = tmo_saturated_byte(r15);
        y[(int32_t)(4 * g + 2 * u + v)] = (int8_t)r16;
      }
    }
  }
}

static void mve_conv_pixels(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job, uint32_t pixels) {
  const int8_t *const x = bytes;
  int8_t *const y = job->out;
  const int8_t *const w = weights;
  const int32_t *const scales = job->scales;
  const uint32_t fours = job->channels / 4, turns = job->turns;
  const int32_t apart = (int32_t)step, next_out = (int32_t)job->step, zero_out = job->zero, low = job->least, high = job->most;
  for (uint32_t f = 0; f < fours; ++f) {
    for (uint32_t c = 0; c < 4; ++c) {
      for (uint32_t p = 0; p < pixels; ++p) {
        int32_t r1 = scales[(int32_t)(c + 12 * f)];
        for (uint32_t t = 0; t < turns; ++t) {
          for (uint32_t i = 0; i < 16; ++i) {
            int32_t r2 = x[(int32_t)(apart * p + i + 16 * t)], r3 = w[(int32_t)(16 * c + 64 * f * turns + i + 64 * t)];
            r1 = (int32_t)((uint32_t)r1 + (uint32_t)r2 * (uint32_t)r3);
          }
        }
        int32_t r4 = scales[(int32_t)(4 + c + 12 * f)], r5 = scales[(int32_t)(8 + c + 12 * f)], r6 = (int32_t)((uint32_t)0 - (uint32_t)r5),
                scale_right0_twice = (int32_t)((uint32_t)r4 << 1), scale_right0_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
                scale_right0_odd = (int32_t)((uint32_t)scale_right0_point + (uint32_t)1),
                scale_right0_raised = (int32_t)((uint32_t)scale_right0_odd << r6), scale_right0_half = (scale_right0_raised >> 1),
                scale_right0_sign = (r1 >> 31), scale_right0_total = (int32_t)((uint32_t)r1 + (uint32_t)scale_right0_half),
                scale_right0_moved = (int32_t)((uint32_t)scale_right0_total + (uint32_t)scale_right0_sign),
                scale_right0_product = tmo_high_add(scale_right0_moved, r1, scale_right0_twice), r7 = (scale_right0_product >> r6),
                r8 = (r7 > (int32_t)(low) ? r7 : (int32_t)(low)), r9 = (r8 < (int32_t)(high) ? r8 : (int32_t)(high)), r10 = r9;
        y[(int32_t)(c + 4 * f + next_out * p)] = (int8_t)r10;
      }
    }
  }
}

void tmo_mve_conv_1(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) { mve_conv_pixels(bytes, step, weights, job, 1); }

void tmo_mve_conv_2(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) {
  mve_conv_pixels(bytes, step, weights, job, 2 * job->pairs);
}

void tmo_mve_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t taps, uint32_t sixteens, uint32_t fours, int32_t first, const int8_t *range) {
  const int8_t *const w = (const int8_t *)(constants + 16);
  const int32_t *const bias = constants;
  const int32_t *const multipliers = constants + 16 + (taps + 1) / 2 * 8;
  const int32_t *const shifts = multipliers + 16;
  const int32_t words = (int32_t)(48 + (taps + 1) / 2 * 8), zero_out = range[0], low = range[1], high = range[2];
  for (uint32_t g = 0; g < sixteens; ++g) {
    for (uint32_t k = 0; k < fours; ++k) {
      for (uint32_t v = 0; v < 2; ++v) {
        for (uint32_t u = 0; u < 2; ++u) {
          int32_t r1 = bias[(int32_t)(g * words + k + 8 * u + 4 * v)];
          for (uint32_t t = 0; t < taps; ++t) {
            int32_t r2 = x[t][(int32_t)(first + 16 * g + 4 * k + u + 2 * v)], r3 = w[(int32_t)(4 * g * words + 4 * k + 16 * t + u + 2 * v)];
            r1 = (int32_t)((uint32_t)r1 + (uint32_t)r2 * (uint32_t)r3);
          }
          int32_t r4 = multipliers[(int32_t)(g * words + k + 8 * u + 4 * v)], r5 = shifts[(int32_t)(g * words + k + 8 * u + 4 * v)],
                  r6 = (int32_t)((uint32_t)0 - (uint32_t)r5), scale_right0_twice = (int32_t)((uint32_t)r4 << 1),
                  scale_right0_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1),
                  scale_right0_odd = (int32_t)((uint32_t)scale_right0_point + (uint32_t)1),
                  scale_right0_raised = (int32_t)((uint32_t)scale_right0_odd << r6), scale_right0_half = (scale_right0_raised >> 1),
                  scale_right0_sign = (r1 >> 31), scale_right0_total = (int32_t)((uint32_t)r1 + (uint32_t)scale_right0_half),
                  scale_right0_moved = (int32_t)((uint32_t)scale_right0_total + (uint32_t)scale_right0_sign),
                  scale_right0_product = tmo_high_add(scale_right0_moved, r1, scale_right0_twice), r7 = (scale_right0_product >> r6),
                  r8 = (r7 > (int32_t)(low) ? r7 : (int32_t)(low)), r9 = (r8 < (int32_t)(high) ? r8 : (int32_t)(high)), r10 = r9;
          y[(int32_t)(16 * g + 4 * k + u + 2 * v)] = (int8_t)r10;
        }
      }
    }
  }
}

#endif
