/* SPDX-License-Identifier: Apache-2.0 */
/* This header has attributes of some compilers. Compilers without these attributes give the same results. Internal. */
#ifndef TMO_COMPILER_H_
#define TMO_COMPILER_H_

#include "tmo/linkage.h"

/* TMO_OWN_FRAME is for functions with large arrays that must not share a stack frame or stay on the stack while a kernel runs, and for inner loops
 * that need all registers. TMO_ALWAYS_INLINE is for inner loops that are compiled once for each constant, and for functions that return a struct,
 * whose fields then stay in registers. */
#if defined(__GNUC__)
#define TMO_OWN_FRAME __attribute__((noinline))
#define TMO_ALWAYS_INLINE __attribute__((always_inline)) inline
#define TMO_RARELY(condition) __builtin_expect(condition, 0)
#else
#define TMO_OWN_FRAME
#define TMO_ALWAYS_INLINE inline
#define TMO_RARELY(condition) (condition)
#endif

/* TMO_UNROLLED unrolls a loop with a constant number of iterations, up to 16, so that its arrays are in registers. */
#if defined(__clang__)
#define TMO_UNROLLED _Pragma("unroll")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define TMO_UNROLLED _Pragma("GCC unroll 16")
#else
#define TMO_UNROLLED
#endif

/* TMO_WORDS() tells the compiler that a pointer is aligned, so that a copy of constant size loads and stores whole words. */
#if defined(__GNUC__)
#define TMO_WORDS(pointer) __builtin_assume_aligned(pointer, sizeof(uint32_t))
#else
#define TMO_WORDS(pointer) (pointer)
#endif

/* Whether the core loads and stores words at any address. */
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__) || defined(__aarch64__)
#define TMO_UNALIGNED 1
#else
#define TMO_UNALIGNED 0
#endif

/* Whether to use the DSP extension of Cortex-M4. Tests on hosts define TMO_CORE_DSP as 1, and have the extension's instructions in C. */
#ifndef TMO_CORE_DSP
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TMO_CORE_DSP 1
#else
#define TMO_CORE_DSP 0
#endif
#endif

#endif
