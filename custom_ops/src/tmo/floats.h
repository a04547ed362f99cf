/* SPDX-License-Identifier: Apache-2.0 */
/* This header has float32 arithmetic. A file with float32 kernels includes this header first, so that each product and each sum is rounded
 * separately. When the converter verifies a model, the host also rounds each product and each sum separately.
 *
 * With TMO_CONTRACT=1, the compiler's options decide whether a product and a sum become one fused operation, which rounds once. The library and
 * TFLM then give the same bits only if both are compiled to the same fused operations. */
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
#else /* without libm, macros replace the functions of libm, so that all kernels compile; tmo_check_build() rejects programs that call libm */
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

/* Returns x / y, computed in double and rounded down, like TFLM's FloorDiv (kernels/internal/reference/floor_div.h). */
static inline float tmo_floor_divide(float x, float y) { return (float)floor((double)x / (double)y); }

/* Returns the remainder of x / y, with the sign of y, like TFLM's FloorMod (kernels/internal/reference/floor_mod.h). */
static inline float tmo_floor_modulo(float x, float y) {
  const float rest = fmodf(x, y);
  return rest != 0.0f && (y < 0.0f) != (rest < 0.0f) ? rest + y : rest;
}

/* Rounds x to the nearest integer, and halves to even integers, like TFLM's RoundToNearest (kernels/internal/reference/round.h). */
static inline float tmo_round(float x) {
  const float below = floorf(x), rest = x - below;
  return rest < 0.5f || (rest == 0.5f && floorf(below / 2) * 2 == below) ? below : below + 1.0f;
}

/* Converts x to int32 without its fraction, and saturates the result. tmo_whole() converts NaN to 0. In C, the conversion of NaN and of large values
 * is not defined. The conversion instructions of cores with float32 return the same results as tmo_whole(). */
static inline int32_t tmo_whole(float x) {
  if (x >= 2147483648.0f) return INT32_MAX;
  return x >= -2147483648.0f ? (int32_t)x : x != x ? 0 : INT32_MIN;
}

/* tmo_float_function() returns the TMO_FUNCTION_* of a float32 operator, and tmo_float_range() returns the TMO_RANGE_* of its output. */
static inline uint32_t tmo_float_function(const tmo_op *op) { return (uint32_t)op->float_form >> 4; }
static inline uint32_t tmo_float_range(const tmo_op *op) { return (uint32_t)op->float_form & 15; }

/* Returns the number by which an operator divides the sum of `area` pixels under a window. */
TMO_LINKAGE uint32_t tmo_float_divisor(const tmo_op *op, uint32_t area);

/* tmo_float_low() and tmo_float_high() return the lowest and the highest output of an operator, each as the bits of a float32. */
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
