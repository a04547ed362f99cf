/* SPDX-License-Identifier: Apache-2.0 */
/* float32 arithmetic. A file of float32 kernels includes this header first, so that products and sums are rounded one by one, as on the host that
 * verified the model.
 *
 * With TMO_CONTRACT=1, the compiler's options decide whether a product and a sum become one fused operation, which is rounded once. A TFLM with fused
 * operations gives the same bits if its compiler fuses the same operations. Internal. */
#ifndef TMO_FLOATS_H_
#define TMO_FLOATS_H_

#ifndef TMO_CONTRACT
#define TMO_CONTRACT 0
#endif

#if !TMO_CONTRACT
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#endif

#include <stdint.h>

#include "access.h"
#include "build.h"

#ifdef TMO_KINDS
#define TMO_OR_USES_LIBM(name) || TMO_USES_LIBM(TMO_OP_##name)
_Static_assert(TMO_MATH || !(0 TMO_KINDS(TMO_OR_USES_LIBM)), "TMO_MATH=0 leaves out kernels that TMO_KINDS names");
#endif

#if TMO_MATH
#include <math.h>
#else /* without libm, these macros let all kernels compile, but a program may use no kernel that needs libm */
#define expf(x) (x)
#define expm1f(x) (x)
#define tanhf(x) (x)
#define fabsf(x) (x)
#define sqrtf(x) (x)
#define logf(x) (x)
#define floorf(x) (x)
#define ceilf(x) (x)
#define floor(x) (x)
#define fmodf(x, y) ((x) + (y))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the quotient in double, rounded down. TFLM: FloorDiv, kernels/internal/reference/floor_div.h. */
static inline float tmo_floor_divide(float x, float y) { return (float)floor((double)x / (double)y); }

/* Returns the remainder with the sign of y. TFLM: FloorMod, kernels/internal/reference/floor_mod.h. */
static inline float tmo_floor_modulo(float x, float y) {
  const float rest = fmodf(x, y);
  return rest != 0.0f && (y < 0.0f) != (rest < 0.0f) ? rest + y : rest;
}

/* Returns the nearest integer, halves to even. TFLM: RoundToNearest, kernels/internal/reference/round.h. */
static inline float tmo_round(float x) {
  const float below = floorf(x), rest = x - below;
  return rest < 0.5f || (rest == 0.5f && floorf(below / 2) * 2 == below) ? below : below + 1.0f;
}

/* Returns x without its fraction, saturated, or 0 for NaN. C does not define the conversion of large values and of NaN. The conversion instructions
 * of cores with float32, and TFLM's wheel, return the same results as tmo_whole(). */
static inline int32_t tmo_whole(float x) {
  if (x >= 2147483648.0f) return INT32_MAX;
  return x >= -2147483648.0f ? (int32_t)x : x != x ? 0 : INT32_MIN;
}

/* tmo_float_function() returns the function of a float32 operator (TMO_FUNCTION_*), and tmo_float_range() returns the range of its output
 * (TMO_RANGE_*). */
static inline uint32_t tmo_float_function(const tmo_op *op) { return (uint32_t)op->float_form >> 4; }
static inline uint32_t tmo_float_range(const tmo_op *op) { return (uint32_t)op->float_form & 15; }

/* Returns the number by which a sum of a window's pixels is divided. */
TMO_LINKAGE uint32_t tmo_float_divisor(const tmo_op *op, uint32_t area);

/* Returns the bits of the lowest output, for TMO_RANGE_FINITE to TMO_RANGE_POSITIVE. */
static inline int32_t tmo_float_low(const tmo_op *op) {
  static const uint32_t low[] = {0xFF7FFFFF, 0, 0xBF800000, 0, 0xFF800000, 0};
  return (int32_t)low[tmo_float_range(op)];
}

static inline int32_t tmo_float_high(const tmo_op *op) {
  static const uint32_t high[] = {0x7F7FFFFF, 0x7F7FFFFF, 0x3F800000, 0x40C00000, 0x7F800000, 0x7F800000};
  return (int32_t)high[tmo_float_range(op)];
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_FLOATS_H_ */
