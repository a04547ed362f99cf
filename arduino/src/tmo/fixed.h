/* TFLM's fixed point arithmetic, restated: Q0.31 multipliers, two roundings (TFLITE_SINGLE_ROUNDING off).
 *
 * Intermediate sums and left shifts wrap modulo 2^32 instead of being undefined, so that no program and no data can make it misbehave. */
#ifndef TMO_FIXED_H_
#define TMO_FIXED_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* round(a * b / 2^31), halves up, saturated: the "doubling high multiplication" of Arm's VQRDMULH. */
static inline int32_t tmo_high_mul(int32_t a, int32_t b) {
  const int64_t product = ((int64_t)a * b + ((int64_t)1 << 30)) >> 31;
  return product > INT32_MAX ? INT32_MAX : (int32_t)product;
}

/* round(x / 2^exponent), halves away from zero; exponent in [0, 31]. */
static inline int32_t tmo_round_shift(int32_t x, uint32_t exponent) {
  const uint32_t mask = ((uint32_t)1 << exponent) - 1;
  const uint32_t half = (mask >> 1) + (x < 0);
  return (x >> exponent) + (((uint32_t)x & mask) > half);
}

/* x * multiplier * 2^(shift - 31); shift in [-31, 30]. TFLM: MultiplyByQuantizedMultiplier, kernels/internal/common.cc. */
static inline int32_t tmo_rescale(int32_t x, int32_t multiplier, int32_t shift) {
  const uint32_t left = shift > 0 ? (uint32_t)shift : 0;
  const uint32_t right = shift > 0 ? 0 : (uint32_t)-shift;
  return tmo_round_shift(tmo_high_mul((int32_t)((uint32_t)x << left), multiplier), right);
}

static inline int8_t tmo_clamp(int32_t x, int8_t low, int8_t high) {
  return (int8_t)(x < low ? low : x > high ? high : x);
}

/* a + b modulo 2^32. */
static inline int32_t tmo_wrapping_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

#ifdef __cplusplus
}
#endif

#endif /* TMO_FIXED_H_ */
