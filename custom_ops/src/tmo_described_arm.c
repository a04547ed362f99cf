/* Kernels from descriptions (docs/kernel-language.md), for Cortex-M's DSP extension and for Helium. Written by
 * scripts/kernels.py. */
#include "tmo/packed.h"

#if TMO_CORE_MVE

#include <arm_mve.h>

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const int8_t *const half = tmo_half(scales) ? b : a;
  const int8_t *const other = tmo_half(scales) ? a : b;
  int8_t *const y = out;
  const int32_t factor_half = 1 << tmo_half_shift(scales + 4 * tmo_half(scales));
  const int32_t offset_half = -op->input_zero_point[tmo_half(scales)] * factor_half;
  const int32_t factor_other = 1 << scales[4 - 4 * tmo_half(scales)];
  const int32_t offset_other = -op->input_zero_point[1 - tmo_half(scales)] * factor_other;
  const int32_t scale_other = (int32_t)((uint32_t)scales[5 - 4 * tmo_half(scales)] >> 1);
  const int32_t right_other = scales[7 - 4 * tmo_half(scales)];
  const int32_t zero_out = op->output_zero_point;
  const int32_t scale_out = (int32_t)((uint32_t)scales[8] >> 1);
  const int32_t right_out = scales[10];
  const int32_t low = op->act_min;
  const int32_t high = op->act_max;
  const int8_t *half_0 = &half[0];
  const int8_t *other_1 = &other[0];
  int8_t *y_2 = &y[0];
  for (uint32_t i_left = n / 4; i_left > 0; --i_left, half_0 += 4, other_1 += 4, y_2 += 4) {
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
  }
  if (n % 4 > 0) {
    const mve_pred16_t there = vctp32q(n % 4);
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
}

#elif TMO_RUNS_DSP

#include "tmo/dsp.h"

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const int8_t *const half = tmo_half(scales) ? b : a;
  const int8_t *const other = tmo_half(scales) ? a : b;
  int8_t *const y = out;
  const int32_t factor_half = 1 << tmo_half_shift(scales + 4 * tmo_half(scales));
  const int32_t offset_half = -op->input_zero_point[tmo_half(scales)] * factor_half;
  const int32_t factor_other = 1 << scales[4 - 4 * tmo_half(scales)];
  const int32_t offset_other = -op->input_zero_point[1 - tmo_half(scales)] * factor_other;
  const int32_t scale_other = (int32_t)((uint32_t)scales[5 - 4 * tmo_half(scales)] >> 1);
  const int32_t right_other = scales[7 - 4 * tmo_half(scales)];
  const int32_t zero_out = op->output_zero_point;
  const int32_t scale_out = (int32_t)((uint32_t)scales[8] >> 1);
  const int32_t right_out = scales[10];
  const int8_t *half_0 = &half[0];
  const int8_t *other_1 = &other[0];
  int8_t *y_2 = &y[0];
  for (uint32_t i_left = n / 4; i_left > 0; --i_left, half_0 += 4, other_1 += 4, y_2 += 4) {
    int32_t r1_0 = half_0[0];
    int32_t r1_1 = half_0[1];
    int32_t r1_2 = half_0[2];
    int32_t r1_3 = half_0[3];
    int32_t r2_0 = (int32_t)((uint32_t)r1_0 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half));
    int32_t r2_1 = (int32_t)((uint32_t)r1_1 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half));
    int32_t r2_2 = (int32_t)((uint32_t)r1_2 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half));
    int32_t r2_3 = (int32_t)((uint32_t)r1_3 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half));
    int32_t r3_0 = other_1[0];
    int32_t r3_1 = other_1[1];
    int32_t r3_2 = other_1[2];
    int32_t r3_3 = other_1[3];
    int32_t r4_0 = (int32_t)((uint32_t)r3_0 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other));
    int32_t r4_1 = (int32_t)((uint32_t)r3_1 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other));
    int32_t r4_2 = (int32_t)((uint32_t)r3_2 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other));
    int32_t r4_3 = (int32_t)((uint32_t)r3_3 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other));
    int32_t scale_right0_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1);
    int32_t scale_right0_point = (int32_t)((uint32_t)0 << 1);
    int32_t scale_right0_odd = (int32_t)((uint32_t)scale_right0_point + (uint32_t)1);
    int32_t scale_right0_raised = (int32_t)((uint32_t)scale_right0_odd << (int32_t)(right_other));
    int32_t scale_right0_half = (scale_right0_raised >> 1);
    int32_t scale_right0_sign = (r4_0 >> 31);
    int32_t scale_right0_total = (int32_t)((uint32_t)r4_0 + (uint32_t)scale_right0_half);
    int32_t scale_right0_moved = (int32_t)((uint32_t)scale_right0_total + (uint32_t)scale_right0_sign);
    int32_t scale_right0_product = tmo_high_add(scale_right0_moved, r4_0, scale_right0_twice);
    int32_t r5_0 = (scale_right0_product >> (int32_t)(right_other));
    int32_t scale_right1_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1);
    int32_t scale_right1_point = (int32_t)((uint32_t)0 << 1);
    int32_t scale_right1_odd = (int32_t)((uint32_t)scale_right1_point + (uint32_t)1);
    int32_t scale_right1_raised = (int32_t)((uint32_t)scale_right1_odd << (int32_t)(right_other));
    int32_t scale_right1_half = (scale_right1_raised >> 1);
    int32_t scale_right1_sign = (r4_1 >> 31);
    int32_t scale_right1_total = (int32_t)((uint32_t)r4_1 + (uint32_t)scale_right1_half);
    int32_t scale_right1_moved = (int32_t)((uint32_t)scale_right1_total + (uint32_t)scale_right1_sign);
    int32_t scale_right1_product = tmo_high_add(scale_right1_moved, r4_1, scale_right1_twice);
    int32_t r5_1 = (scale_right1_product >> (int32_t)(right_other));
    int32_t scale_right2_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1);
    int32_t scale_right2_point = (int32_t)((uint32_t)0 << 1);
    int32_t scale_right2_odd = (int32_t)((uint32_t)scale_right2_point + (uint32_t)1);
    int32_t scale_right2_raised = (int32_t)((uint32_t)scale_right2_odd << (int32_t)(right_other));
    int32_t scale_right2_half = (scale_right2_raised >> 1);
    int32_t scale_right2_sign = (r4_2 >> 31);
    int32_t scale_right2_total = (int32_t)((uint32_t)r4_2 + (uint32_t)scale_right2_half);
    int32_t scale_right2_moved = (int32_t)((uint32_t)scale_right2_total + (uint32_t)scale_right2_sign);
    int32_t scale_right2_product = tmo_high_add(scale_right2_moved, r4_2, scale_right2_twice);
    int32_t r5_2 = (scale_right2_product >> (int32_t)(right_other));
    int32_t scale_right3_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1);
    int32_t scale_right3_point = (int32_t)((uint32_t)0 << 1);
    int32_t scale_right3_odd = (int32_t)((uint32_t)scale_right3_point + (uint32_t)1);
    int32_t scale_right3_raised = (int32_t)((uint32_t)scale_right3_odd << (int32_t)(right_other));
    int32_t scale_right3_half = (scale_right3_raised >> 1);
    int32_t scale_right3_sign = (r4_3 >> 31);
    int32_t scale_right3_total = (int32_t)((uint32_t)r4_3 + (uint32_t)scale_right3_half);
    int32_t scale_right3_moved = (int32_t)((uint32_t)scale_right3_total + (uint32_t)scale_right3_sign);
    int32_t scale_right3_product = tmo_high_add(scale_right3_moved, r4_3, scale_right3_twice);
    int32_t r5_3 = (scale_right3_product >> (int32_t)(right_other));
    int32_t r6_0 = (int32_t)((uint32_t)r2_0 + (uint32_t)r5_0);
    int32_t r6_1 = (int32_t)((uint32_t)r2_1 + (uint32_t)r5_1);
    int32_t r6_2 = (int32_t)((uint32_t)r2_2 + (uint32_t)r5_2);
    int32_t r6_3 = (int32_t)((uint32_t)r2_3 + (uint32_t)r5_3);
    int32_t scale_right4_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1);
    int32_t scale_right4_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1);
    int32_t scale_right4_odd = (int32_t)((uint32_t)scale_right4_point + (uint32_t)1);
    int32_t scale_right4_raised = (int32_t)((uint32_t)scale_right4_odd << (int32_t)(right_out));
    int32_t scale_right4_half = (scale_right4_raised >> 1);
    int32_t scale_right4_sign = (r6_0 >> 31);
    int32_t scale_right4_total = (int32_t)((uint32_t)r6_0 + (uint32_t)scale_right4_half);
    int32_t scale_right4_moved = (int32_t)((uint32_t)scale_right4_total + (uint32_t)scale_right4_sign);
    int32_t scale_right4_product = tmo_high_add(scale_right4_moved, r6_0, scale_right4_twice);
    int32_t r7_0 = (scale_right4_product >> (int32_t)(right_out));
    int32_t scale_right5_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1);
    int32_t scale_right5_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1);
    int32_t scale_right5_odd = (int32_t)((uint32_t)scale_right5_point + (uint32_t)1);
    int32_t scale_right5_raised = (int32_t)((uint32_t)scale_right5_odd << (int32_t)(right_out));
    int32_t scale_right5_half = (scale_right5_raised >> 1);
    int32_t scale_right5_sign = (r6_1 >> 31);
    int32_t scale_right5_total = (int32_t)((uint32_t)r6_1 + (uint32_t)scale_right5_half);
    int32_t scale_right5_moved = (int32_t)((uint32_t)scale_right5_total + (uint32_t)scale_right5_sign);
    int32_t scale_right5_product = tmo_high_add(scale_right5_moved, r6_1, scale_right5_twice);
    int32_t r7_1 = (scale_right5_product >> (int32_t)(right_out));
    int32_t scale_right6_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1);
    int32_t scale_right6_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1);
    int32_t scale_right6_odd = (int32_t)((uint32_t)scale_right6_point + (uint32_t)1);
    int32_t scale_right6_raised = (int32_t)((uint32_t)scale_right6_odd << (int32_t)(right_out));
    int32_t scale_right6_half = (scale_right6_raised >> 1);
    int32_t scale_right6_sign = (r6_2 >> 31);
    int32_t scale_right6_total = (int32_t)((uint32_t)r6_2 + (uint32_t)scale_right6_half);
    int32_t scale_right6_moved = (int32_t)((uint32_t)scale_right6_total + (uint32_t)scale_right6_sign);
    int32_t scale_right6_product = tmo_high_add(scale_right6_moved, r6_2, scale_right6_twice);
    int32_t r7_2 = (scale_right6_product >> (int32_t)(right_out));
    int32_t scale_right7_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1);
    int32_t scale_right7_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1);
    int32_t scale_right7_odd = (int32_t)((uint32_t)scale_right7_point + (uint32_t)1);
    int32_t scale_right7_raised = (int32_t)((uint32_t)scale_right7_odd << (int32_t)(right_out));
    int32_t scale_right7_half = (scale_right7_raised >> 1);
    int32_t scale_right7_sign = (r6_3 >> 31);
    int32_t scale_right7_total = (int32_t)((uint32_t)r6_3 + (uint32_t)scale_right7_half);
    int32_t scale_right7_moved = (int32_t)((uint32_t)scale_right7_total + (uint32_t)scale_right7_sign);
    int32_t scale_right7_product = tmo_high_add(scale_right7_moved, r6_3, scale_right7_twice);
    int32_t r7_3 = (scale_right7_product >> (int32_t)(right_out));
    int32_t r8_0 = tmo_saturated_byte(r7_0);
    int32_t r8_1 = tmo_saturated_byte(r7_1);
    int32_t r8_2 = tmo_saturated_byte(r7_2);
    int32_t r8_3 = tmo_saturated_byte(r7_3);
    y_2[0] = (int8_t)r8_0;
    y_2[1] = (int8_t)r8_1;
    y_2[2] = (int8_t)r8_2;
    y_2[3] = (int8_t)r8_3;
  }
  for (uint32_t i_left = n % 4; i_left > 0; --i_left, half_0 += 1, other_1 += 1, y_2 += 1) {
    int32_t r1 = half_0[0];
    int32_t r2 = (int32_t)((uint32_t)r1 * (uint32_t)(int32_t)(factor_half) + (uint32_t)(int32_t)(offset_half));
    int32_t r3 = other_1[0];
    int32_t r4 = (int32_t)((uint32_t)r3 * (uint32_t)(int32_t)(factor_other) + (uint32_t)(int32_t)(offset_other));
    int32_t scale_right8_twice = (int32_t)((uint32_t)(int32_t)(scale_other) << 1);
    int32_t scale_right8_point = (int32_t)((uint32_t)0 << 1);
    int32_t scale_right8_odd = (int32_t)((uint32_t)scale_right8_point + (uint32_t)1);
    int32_t scale_right8_raised = (int32_t)((uint32_t)scale_right8_odd << (int32_t)(right_other));
    int32_t scale_right8_half = (scale_right8_raised >> 1);
    int32_t scale_right8_sign = (r4 >> 31);
    int32_t scale_right8_total = (int32_t)((uint32_t)r4 + (uint32_t)scale_right8_half);
    int32_t scale_right8_moved = (int32_t)((uint32_t)scale_right8_total + (uint32_t)scale_right8_sign);
    int32_t scale_right8_product = tmo_high_add(scale_right8_moved, r4, scale_right8_twice);
    int32_t r5 = (scale_right8_product >> (int32_t)(right_other));
    int32_t r6 = (int32_t)((uint32_t)r2 + (uint32_t)r5);
    int32_t scale_right9_twice = (int32_t)((uint32_t)(int32_t)(scale_out) << 1);
    int32_t scale_right9_point = (int32_t)((uint32_t)(int32_t)(zero_out) << 1);
    int32_t scale_right9_odd = (int32_t)((uint32_t)scale_right9_point + (uint32_t)1);
    int32_t scale_right9_raised = (int32_t)((uint32_t)scale_right9_odd << (int32_t)(right_out));
    int32_t scale_right9_half = (scale_right9_raised >> 1);
    int32_t scale_right9_sign = (r6 >> 31);
    int32_t scale_right9_total = (int32_t)((uint32_t)r6 + (uint32_t)scale_right9_half);
    int32_t scale_right9_moved = (int32_t)((uint32_t)scale_right9_total + (uint32_t)scale_right9_sign);
    int32_t scale_right9_product = tmo_high_add(scale_right9_moved, r6, scale_right9_twice);
    int32_t r7 = (scale_right9_product >> (int32_t)(right_out));
    int32_t r8 = tmo_saturated_byte(r7);
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

typedef int tmo_described_arm_is_not_empty; /* ISO C wants something in every file */
