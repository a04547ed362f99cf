/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes for compilers that know them. The results are the same without them. Internal. */
#ifndef TMO_COMPILER_H_
#define TMO_COMPILER_H_

#include "tmo/linkage.h"

/* Own frame: of functions with large arrays, two of which must not share a frame, of what is to be gone when a kernel runs, and of inner loops that
 * want all registers for themselves. Always inline: inner loops that are compiled once for each constant, and functions that give a struct, whose
 * fields stay in registers so. */
#if defined(__GNUC__)
#define TMO_OWN_FRAME __attribute__((noinline))
#define TMO_ALWAYS_INLINE __attribute__((always_inline)) inline
#define TMO_RARELY(condition) __builtin_expect(condition, 0)
#else
#define TMO_OWN_FRAME
#define TMO_ALWAYS_INLINE inline
#define TMO_RARELY(condition) (condition)
#endif

/* For loops of a constant number of iterations, up to 16, in such inner loops, so that their arrays are in registers. */
#if defined(__clang__)
#define TMO_UNROLLED _Pragma("unroll")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define TMO_UNROLLED _Pragma("GCC unroll 16")
#else
#define TMO_UNROLLED
#endif

#endif
