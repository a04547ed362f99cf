/* SPDX-License-Identifier: Apache-2.0 */
/* float32 arithmetic. A file includes this first, so that its products and sums are rounded one by one, as on the host that verified the model.
 *
 * TMO_CONTRACT=1 leaves it to the compiler's options whether a product and a sum become one fused operation, which is rounded once. A TFLM that was
 * built with such operations then gives the same bits where the compiler fuses the same ones. Internal. */
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

_Static_assert(TMO_MATH || TMO_BUILT(TMO_LIBM_KINDS) == 0, "TMO_MATH=0 leaves out kernels that TMO_KINDS names");

#if TMO_MATH
#include <math.h>
#else /* the kernels that call these are compiled, but no program may use them */
#define expf(x) (x)
#define expm1f(x) (x)
#define tanhf(x) (x)
#define fabsf(x) (x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Function and limits of an operator of float32. */
static inline uint32_t tmo_float_function(const tmo_op *op) { return (uint32_t)op->float_form >> 4; }
static inline uint32_t tmo_float_range(const tmo_op *op) { return (uint32_t)op->float_form & 15; }

/* Bits of the lowest and the highest output, for TMO_RANGE_FINITE to TMO_RANGE_POSITIVE. */
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
