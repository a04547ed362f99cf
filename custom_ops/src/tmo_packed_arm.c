/* SPDX-License-Identifier: Apache-2.0 */
/* This file has kernels for Cortex-M cores with the DSP extension or Helium: ADD with packed scales, and sums of pixels. On a PC, the C functions at
 * the end of the file replace kernels in assembly. */
#include "tmo/dsp.h"
#include "tmo/packed.h"

#if TMO_RUNS_DSP

/* Multiplies x by a doubled multiplier, divides the product by 2^(32 + right), adds a zero point, and rounds twice, as TFLM does. The argument `half`
 * is the result of half_of() for the zero point. */
static TMO_ALWAYS_INLINE int32_t scaled_arm(int32_t x, int32_t doubled, int32_t half, int32_t right) {
  return tmo_high_add(tmo_wrapping_add(tmo_wrapping_add(x, half), x >> 31), x, doubled) >> right;
}

static TMO_ALWAYS_INLINE int32_t half_of(int32_t zero_point, int32_t right) {
  return (int32_t)((2 * (uint32_t)zero_point + 1) << right) >> 1;
}

/* Constants of an ADD with packed scales. TFLM multiplies the operand `half` by 1/2, and the operand `other` by a multiplier. For each operand, the
 * array `scales` has a left shift, a doubled multiplier, a constant and a right shift. For the output, `scales` has a doubled multiplier, a constant
 * and a right shift. */
typedef struct {
  const int8_t *half, *other;
  int32_t factor_half, offset_half, factor_other, offset_other;
  int32_t scale_other, right_other, scale_out, right_out;
  int32_t zero_point, low, high;
} packed_addends;

static TMO_ALWAYS_INLINE packed_addends addends_of(const int8_t *a, const int8_t *b, const int32_t *scales, const tmo_op *op) {
  const uint32_t half = tmo_half(scales), other = 1 - half;
  packed_addends s;
  s.half = half ? b : a;
  s.other = half ? a : b;
  s.factor_half = 1 << tmo_half_shift(scales + 4 * half);
  s.offset_half = -op->input_zero_point[half] * s.factor_half;
  s.factor_other = 1 << scales[4 * other];
  s.offset_other = -op->input_zero_point[other] * s.factor_other;
  s.scale_other = scales[4 * other + 1];
  s.right_other = scales[4 * other + 3];
  s.scale_out = scales[8];
  s.right_out = scales[10];
  s.zero_point = op->output_zero_point;
  s.low = op->act_min;
  s.high = op->act_max;
  return s;
}

void tmo_add_packed(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  tmo_packed_add(window->pixels[0], window->pixels[1], out, k->out_width * k->out_channels, k->bias, k->op);
}

#endif

#if TMO_CORE_MVE

#include <arm_mve.h>

/* Multiplies values by a multiplier, divides the products by 2^(31 + right), and rounds twice, as TFLM does. */
static TMO_ALWAYS_INLINE int32x4_t scaled_mve(int32x4_t x, int32_t doubled, int32_t right) {
  const int32x4_t product = vqrdmulhq_n_s32(x, (int32_t)((uint32_t)doubled >> 1));
  return vrshlq_n_s32(vaddq_s32(product, vshrq_n_s32(x, 31)), -right);
}

static TMO_ALWAYS_INLINE int32x4_t sums_mve(int32x4_t half, int32x4_t other, const packed_addends *s) {
  const int32x4_t raised = vmlasq_n_s32(other, vdupq_n_s32(s->factor_other), s->offset_other);
  const int32x4_t shifted = vmlasq_n_s32(half, vdupq_n_s32(s->factor_half), s->offset_half);
  const int32x4_t total = vaddq_s32(shifted, scaled_mve(raised, s->scale_other, s->right_other));
  const int32x4_t sum = vaddq_n_s32(scaled_mve(total, s->scale_out, s->right_out), s->zero_point);
  return vminq_s32(vmaxq_s32(sum, vdupq_n_s32(s->low)), vdupq_n_s32(s->high));
}

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const packed_addends s = addends_of(a, b, scales, op);
  const int8_t *half = s.half, *other = s.other;
  int8_t *y = out;
#ifdef __clang__ /* Clang before version 17 supports no assembly with both outputs and jumps */
  for (uint32_t left = n; left > 0; left = left > 4 ? left - 4 : 0, half += 4, other += 4, y += 4) {
    const mve_pred16_t there = vctp32q(left);
    vstrbq_p_s32(y, sums_mve(vldrbq_z_s32(half, there), vldrbq_z_s32(other, there), &s), there);
  }
#else /* the core counts the remaining elements in LR, and masks missing lanes of the last iteration */
  register uint32_t left __asm__("lr");
  __asm__ volatile("dlstp.32 %0, %1" : "=r"(left) : "r"(n) : "memory");
again:
  vstrbq_s32(y, sums_mve(vldrbq_s32(half), vldrbq_s32(other), &s));
  half += 4;
  other += 4;
  y += 4;
  __asm__ volatile goto("letp %0, %l[again]" : "+r"(left) : : "memory" : again);
#endif
}

void tmo_mve_add_pixels(int32_t *sums, const int8_t *x, uint32_t channels, uint32_t n) {
  for (uint32_t left = channels / 16; left > 0; --left, sums += 16, x += 16) {
    int32x4_t a = vldrwq_s32(sums), b = vldrwq_s32(sums + 4), c = vldrwq_s32(sums + 8), d = vldrwq_s32(sums + 12);
    for (uint32_t p = 0; p < n; ++p) {
      const int8_t *const pixel = x + channels * p;
      a = vaddq_s32(a, vldrbq_s32(pixel));
      b = vaddq_s32(b, vldrbq_s32(pixel + 4));
      c = vaddq_s32(c, vldrbq_s32(pixel + 8));
      d = vaddq_s32(d, vldrbq_s32(pixel + 12));
    }
    vstrwq_s32(sums, a);
    vstrwq_s32(sums + 4, b);
    vstrwq_s32(sums + 8, c);
    vstrwq_s32(sums + 12, d);
  }
  for (uint32_t left = channels % 16; left > 0; left = left > 4 ? left - 4 : 0, sums += 4, x += 4) {
    const mve_pred16_t there = vctp32q(left);
    int32x4_t total = vldrwq_z_s32(sums, there);
    for (uint32_t p = 0; p < n; ++p) total = vaddq_s32(total, vldrbq_z_s32(x + channels * p, there));
    vstrwq_p_s32(sums, total, there);
  }
}

#elif TMO_RUNS_DSP

static TMO_ALWAYS_INLINE int32_t raised_dsp(int32_t x, int32_t factor, int32_t offset) {
  return (int32_t)((uint32_t)x * (uint32_t)factor + (uint32_t)offset);
}

static TMO_ALWAYS_INLINE int8_t sum_dsp(int32_t half, int32_t other, const packed_addends *s) {
  const int32_t raised = raised_dsp(other, s->factor_other, s->offset_other);
  const int32_t scaled = scaled_arm(raised, s->scale_other, half_of(0, s->right_other), s->right_other);
  const int32_t total = tmo_wrapping_add(raised_dsp(half, s->factor_half, s->offset_half), scaled);
  return (int8_t)tmo_saturated_byte(scaled_arm(total, s->scale_out, half_of(s->zero_point, s->right_out), s->right_out));
}

void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  const packed_addends s = addends_of(a, b, scales, op);
  const int8_t *half = s.half, *other = s.other;
  int8_t *y = out;
  uint32_t left = n;
  for (; left >= 4; left -= 4, half += 4, other += 4, y += 4) {
    const int8_t sums[4] = {sum_dsp(half[0], other[0], &s), sum_dsp(half[1], other[1], &s), sum_dsp(half[2], other[2], &s),
                            sum_dsp(half[3], other[3], &s)};
    memcpy(y, sums, 4);
  }
  for (; left > 0; --left, ++half, ++other, ++y) *y = sum_dsp(*half, *other, &s);
  tmo_packed_clamp(op, out, n);
}

#endif

#if TMO_TWINS

/* Stores the outputs of a pair of channels. The argument `low` is the sum of the first channel, and `all` is the sum of the
 * products with packed weights. A packed weight is 256 times the second channel's weight plus the first channel's weight. */
static void store_pair(const int32_t *scales, int32_t low, int32_t all, int8_t *y) {
  const int32_t sums[] = {low, (int32_t)((uint32_t)all - (uint32_t)low) >> 8};
  for (uint32_t k = 0; k < 2; ++k, scales += 3) y[k] = (int8_t)tmo_saturated_byte(scaled_arm(sums[k], scales[2], scales[3], scales[4]));
}

static void add_pair(int32_t *low, int32_t *all, int32_t value, const int8_t *weight) {
  int16_t packed;
  memcpy(&packed, weight, sizeof packed);
  *low = tmo_wrapping_add(*low, value * (int8_t)packed);
  *all = tmo_wrapping_add(*all, value * packed);
}

/* The array `tile` has values 0 and 1 of all pixels, then values 2 and 3 of all pixels, and so on. */
void tmo_dsp_pairs_in_c(uint32_t pixels, const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t pairs,
                        int32_t step) {
  for (uint32_t k = 0; k < pairs; ++k, scales += TMO_PACKED_SCALES, weights += 2 * values) {
    for (uint32_t p = 0; p < pixels; ++p) {
      int32_t low = scales[0], all = scales[1];
      for (uint32_t i = 0; i < values; ++i) add_pair(&low, &all, tile[i / 2 * 2 * pixels + 2 * p + i % 2], weights + 2 * i);
      store_pair(scales, low, all, y + 2 * k + (int32_t)p * step);
    }
  }
}

/* The weights of `ways` pairs of channels are interleaved. */
static void direct_ways(const int8_t *x, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values, uint32_t groups, uint32_t ways) {
  for (uint32_t k = 0; k < groups * ways; ++k, scales += TMO_PACKED_SCALES, y += 2) {
    const int8_t *const w = weights + 2 * (k / ways * values * ways + 2 * (k % ways));
    int32_t low = scales[0], all = scales[1];
    for (uint32_t i = 0; i < values; ++i) {
      /* In four weights, the second and the third one are exchanged. */
      const uint32_t value = i / 4 * 4 + i % 2 * 2 + i / 2 % 2;
      add_pair(&low, &all, x[value], w + 2 * (i / 2 * 2 * ways + i % 2));
    }
    store_pair(scales, low, all, y);
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

/* For every four channels, `constants` has the biases, the weights, and then each channel's multiplier, added constant and right shift. For every
 * three taps, the weights of two taps are interleaved, and the third tap's weights follow. */
void tmo_dsp_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t turns, uint32_t fours, int32_t first) {
  for (uint32_t c = 0; c < 4 * fours; ++c) {
    const uint32_t u = c / 2 % 2, v = c % 2;
    const int32_t *const own = constants + c / 4 * (16 + 6 * turns), *const scales = own + 4 + 6 * turns + 3 * (c % 4);
    int32_t total = own[c % 4];
    for (uint32_t tap = 0; tap < 3 * turns; ++tap) {
      int16_t weight;
      const uint32_t at = tap / 3 * 12 + (tap % 3 < 2 ? 4 * u + 2 * v + tap % 3 : 8 + 2 * v + u);
      memcpy(&weight, (const int8_t *)(own + 4) + 2 * at, sizeof weight);
      total = tmo_wrapping_add(total, x[tap][first + (int32_t)c] * weight);
    }
    y[c] = (int8_t)tmo_saturated_byte(scaled_arm(total, scales[0], scales[1], scales[2]));
  }
}

static int8_t mve_output(int32_t total, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low, int32_t high) {
  return (int8_t)tmo_clamp(scaled_arm(total, (int32_t)((uint32_t)multiplier << 1), half_of(zero_point, -shift), -shift), low, high);
}

/* After sixteen weights of one channel, sixteen weights of the next channel follow. For every four channels, job->scales has biases, multipliers and
 * shifts. */
static void mve_conv_pixels(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job, uint32_t pixels) {
  for (uint32_t c = 0; c < job->channels / 4 * 4; ++c) {
    const int32_t *const scales = job->scales + c / 4 * 12 + c % 4;
    const int8_t *const w = weights + c / 4 * 64 * job->turns + c % 4 * 16;
    for (uint32_t p = 0; p < pixels; ++p) {
      const int8_t *const x = bytes + (int32_t)(step * p);
      int32_t total = scales[0];
      for (uint32_t i = 0; i < 16 * job->turns; ++i) total = tmo_wrapping_add(total, x[i] * w[i / 16 * 64 + i % 16]);
      job->out[(int32_t)(job->step * p + c)] = mve_output(total, scales[4], scales[8], job->zero, job->least, job->most);
    }
  }
}

void tmo_mve_conv_1(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) { mve_conv_pixels(bytes, step, weights, job, 1); }

void tmo_mve_conv_2(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) {
  mve_conv_pixels(bytes, step, weights, job, 2 * job->pairs);
}

/* For each block of at most sixteen channels, `constants` has biases, weights, multipliers and shifts (lower/pack.py). */
void tmo_mve_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t taps, uint32_t sixteens, uint32_t fours, int32_t first,
                            const int8_t *range) {
  const uint32_t words = (taps + 1) / 2 * 8;
  for (uint32_t g = 0; g < sixteens; ++g) {
    for (uint32_t c = 0; c < 4 * fours; ++c) {
      const int32_t *const bias = constants + g * (48 + words) + c / 4 + c % 2 * 8 + c / 2 % 2 * 4, *const scales = bias + 16 + words;
      const int8_t *const w = (const int8_t *)(constants + g * (48 + words) + 16) + c;
      int32_t total = bias[0];
      for (uint32_t t = 0; t < taps; ++t) total = tmo_wrapping_add(total, x[t][first + (int32_t)(16 * g + c)] * w[16 * t]);
      y[16 * g + c] = mve_output(total, scales[0], scales[16], range[0], range[1], range[2]);
    }
  }
}

#endif
