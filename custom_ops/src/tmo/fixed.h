/* SPDX-License-Identifier: Apache-2.0 */
/* This header has TFLM's fixed-point arithmetic with Q0.31 multipliers, which rounds rescaled int32 values twice (TFLITE_SINGLE_ROUNDING is off).
 *
 * Sums and left shifts wrap modulo 2^32, so programs and input data cannot cause undefined behaviour. */
#ifndef TMO_FIXED_H_
#define TMO_FIXED_H_

#include <stdint.h>
#include <string.h>

#include "compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The macro TMO_WIDE_MULTIPLY is 0 for cores that cannot multiply two 32-bit numbers to a 64-bit product. A core with TMO_WIDE_MULTIPLY=0 needs a
 * library function of about 80 instructions for a 64-bit product. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__) || defined(TMO_NARROW_MULTIPLY)
#define TMO_WIDE_MULTIPLY 0
#else
#define TMO_WIDE_MULTIPLY 1
#endif

/* The macro TMO_MIXED_MULTIPLY is 1 for cores that multiply a signed 32-bit number by an unsigned 32-bit number to a 64-bit product. */
#if defined(TMO_MIXED_MULTIPLY) || (defined(__riscv_mul) && __riscv_xlen == 32)
#undef TMO_MIXED_MULTIPLY
#define TMO_MIXED_MULTIPLY 1
#else
#define TMO_MIXED_MULTIPLY 0
#endif

/* Returns a + b modulo 2^32. */
TMO_LINKAGE inline int32_t tmo_wrapping_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* Divides the product of a and b by 2^32, rounds the quotient to the nearest integer with ties upwards, and adds the quotient to `total`. */
TMO_LINKAGE inline int32_t tmo_high_add(int32_t total, int32_t a, int32_t b) {
#if TMO_CORE_DSP && defined(__thumb2__)
  __asm__("smmlar %0, %1, %2, %0" : "+r"(total) : "r"(a), "r"(b));
  return total;
#else
  return tmo_wrapping_add(total, (int32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32));
#endif
}

/* Returns the product of a and b divided by 2^31, like Arm's VQRDMULH. The quotient is rounded to the nearest integer with ties upwards, and
 * saturated to int32. */
TMO_LINKAGE inline int32_t tmo_high_mul(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
#if TMO_WIDE_MULTIPLY
  return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
#else
  /* The product is computed from 16-bit halves of the factors, so that no partial sum overflows. Bit 14 of `middle` decides whether the quotient is
   * rounded up. */
  const uint32_t a_low = (uint32_t)a & 0xFFFF, b_low = (uint32_t)b & 0xFFFF;
  const int32_t a_high = a >> 16, b_high = b >> 16;
  const int32_t upper = (int32_t)(a_low * b_low >> 16) + a_high * (int32_t)b_low;
  const int32_t middle = (upper & 0xFFFF) + (int32_t)a_low * b_high;
  const int32_t high = a_high * b_high + (upper >> 16) + (middle >> 16);
  return (int32_t)(((uint32_t)high << 1) + (((((uint32_t)middle >> 14) & 3) + 1) >> 1));
#endif
}

/* Returns the product of x and `multiplier` divided by 2^31, rounded to the nearest integer with ties upwards. The argument `multiplier` must not be
 * negative. The result never saturates, because the argument `multiplier` is not INT32_MIN. */
TMO_LINKAGE inline int32_t tmo_high_scale(int32_t x, int32_t multiplier) {
#if TMO_CORE_DSP
  const int32_t twice = (int32_t)((uint32_t)multiplier << 1); /* a doubled multiplier of 2^31 or more becomes negative */
  return tmo_high_add(x & twice >> 31, x, twice);
#elif TMO_MIXED_MULTIPLY
  const uint64_t twice = (uint64_t)((int64_t)x * (int64_t)((uint32_t)multiplier << 1));
  return (int32_t)((uint32_t)(twice >> 32) + ((uint32_t)twice >> 31));
#elif TMO_WIDE_MULTIPLY
  return (int32_t)(((int64_t)x * multiplier + ((int64_t)1 << 30)) >> 31);
#else
  return tmo_high_mul(x, multiplier);
#endif
}

/* Returns `x / 2^exponent` for an exponent from 0 to 31, rounded to the nearest integer with ties away from zero. In a valid program, x is INT32_MIN
 * or INT32_MAX only if `exponent` is 0. */
TMO_LINKAGE inline int32_t tmo_round_shift(int32_t x, uint32_t exponent) {
  if (exponent == 0) return x;
  return tmo_wrapping_add(tmo_wrapping_add(x, x >> 31) >> (exponent - 1), 1) >> 1;
}

/* Returns the product of x, `multiplier` and 2^(shift - 31), rounded twice. The argument `multiplier` is not negative, and the argument `shift` is
 * from -31 to 30. TFLM's function MultiplyByQuantizedMultiplier (kernels/internal/common.cc) returns the same values as tmo_rescale(). */
TMO_LINKAGE inline int32_t tmo_rescale(int32_t x, int32_t multiplier, int32_t shift) {
#if TMO_WIDE_MULTIPLY
  if (TMO_RARELY(shift >= 0)) return tmo_high_scale((int32_t)((uint32_t)x << shift), multiplier);
  return tmo_round_shift(tmo_high_scale(x, multiplier), (uint32_t)-shift);
#else /* only one multiplication, because the code for a product of 64 bits takes much flash */
  const uint32_t left = shift > 0 ? (uint32_t)shift : 0;
  return tmo_round_shift(tmo_high_scale((int32_t)((uint32_t)x << left), multiplier), left - (uint32_t)shift);
#endif
}

/* Reduces a multiplier of 31 bits to 15 bits, rounded to the nearest integer. */
static inline int32_t tmo_reduced(int32_t multiplier) { return multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF; }

/* Returns the product of the int64 x, `multiplier` and 2^(shift - 31) for a shift from -31 to 7, rounded once. TFLM's int64 function
 * MultiplyByQuantizedMultiplier (kernels/internal/common.cc) returns the same values as tmo_rescale_wide(). */
static inline int32_t tmo_rescale_wide(int64_t x, int32_t multiplier, int32_t shift) {
  const uint32_t reduced = (uint32_t)tmo_reduced(multiplier);
  const uint32_t right = (uint32_t)(15 - shift);
  const uint64_t product = (uint64_t)x * reduced;
  const uint32_t low = (uint32_t)product, high = (uint32_t)(product >> 32);
  if (right < 32) return (int32_t)((low >> right) + (high << (32 - right)) + (low >> (right - 1) & 1));
  return (int32_t)((int64_t)(product + ((uint64_t)1 << (right - 1))) >> right);
}

/* Returns the product of x and 2^left for `left` from 0 to 30, saturated to int32. TFLM computes the same with gemmlowp's function
 * SaturatingRoundingMultiplyByPOT. */
static inline int32_t tmo_shift_saturated(int32_t x, uint32_t left) {
  const int32_t limit = INT32_MAX >> left;
  return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : (int32_t)((uint32_t)x << left);
}

/* Returns the number of zero bits above the highest set bit of x, or 31 for x = 0. */
static inline int32_t tmo_zeros_above(uint32_t x) {
#if defined(__ARM_FEATURE_CLZ) && defined(__GNUC__) /* the core counts leading zero bits in one instruction */
  return __builtin_clz(x | 1);
#else
  int32_t n = 0;
  for (; n < 31 && x < (uint32_t)1 << 31; x <<= 1) ++n;
  return n;
#endif
}

static inline int8_t tmo_clamp(int32_t x, int8_t low, int8_t high) {
  return (int8_t)(x < low ? low : x > high ? high : x);
}

/* Returns x divided by the positive number `divisor`, rounded to the nearest integer with ties away from zero. */
static inline int32_t tmo_divide_rounded(int32_t x, int32_t divisor) {
  return tmo_wrapping_add(x, x < 0 ? -(divisor / 2) : divisor / 2) / divisor;
}

/* Returns `x / 2^exponent` for an exponent from 0 to 30, rounded to the nearest integer with ties upwards, and saturated to int16. */
static inline int32_t tmo_clip16(int32_t x, int32_t exponent) {
  const int32_t rounded = tmo_wrapping_add(x, (int32_t)(1u << exponent >> 1)) >> exponent;
  return rounded < INT16_MIN ? INT16_MIN : rounded > INT16_MAX ? INT16_MAX : rounded;
}

/* Returns the float32 value whose binary representation is `bits`. */
static inline float tmo_as_float(int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Rounds x to an integer like std::round, but without libm. The result is limited to the range from -65536 to 65536, because the kernels that call
 * tmo_nearest() saturate greater results to int16 or int8. tmo_nearest() rounds a NaN to 0. In floating point, x minus its whole part has no rounding
 * error. */
static inline int32_t tmo_nearest(float x) {
  const int32_t far = 65536;
  if (x >= (float)far) return far;
  if (x <= (float)-far) return -far;
  if (x != x) return 0;
  const int32_t whole = (int32_t)x;
  const float rest = x - (float)whole;
  return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_FIXED_H_ */
