/* SPDX-License-Identifier: Apache-2.0 */
/* The macros of this header stand for attributes that some compilers lack. If a compiler lacks an attribute, the results of the code stay the
 * same. */
#ifndef TMO_COMPILER_H_
#define TMO_COMPILER_H_

#include "tmo/linkage.h"

/* TMO_OWN_FRAME prevents inlining of a function. A function with large arrays needs TMO_OWN_FRAME, so that the arrays are not on the stack while a
 * kernel runs. If a loop needs all registers, TMO_OWN_FRAME keeps it in a function of its own. TMO_ALWAYS_INLINE is for loops that are compiled for
 * each constant argument, and for functions whose returned struct should stay in registers. */
#if defined(__GNUC__)
#define TMO_OWN_FRAME __attribute__((noinline))
#define TMO_ALWAYS_INLINE __attribute__((always_inline)) inline
#define TMO_RARELY(condition) __builtin_expect(condition, 0)
#else
#define TMO_OWN_FRAME
#define TMO_ALWAYS_INLINE inline
#define TMO_RARELY(condition) (condition)
#endif

/* TMO_UNROLLED unrolls a loop of at most 16 iterations, so that the elements of small arrays stay in registers. */
#if defined(__clang__)
#define TMO_UNROLLED _Pragma("unroll")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define TMO_UNROLLED _Pragma("GCC unroll 16")
#else
#define TMO_UNROLLED
#endif

/* TMO_PLAIN_LOOPS is for functions whose loops copy or set a few bytes. Without TMO_PLAIN_LOOPS, GCC would call memcpy() or memset(), which take more
 * time and flash. */
#if defined(__GNUC__) && !defined(__clang__)
#define TMO_PLAIN_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define TMO_PLAIN_LOOPS
#endif

/* TMO_WORDS() tells the compiler that an address is a multiple of 4, so that a copy of constant size loads and stores whole words. */
#if defined(__GNUC__)
#define TMO_WORDS(pointer) __builtin_assume_aligned(pointer, sizeof(uint32_t))
#else
#define TMO_WORDS(pointer) (pointer)
#endif

/* TMO_UNALIGNED is 1 if the core can load and store words at any address. */
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__) || defined(__aarch64__)
#define TMO_UNALIGNED 1
#else
#define TMO_UNALIGNED 0
#endif

/* TMO_CORE_DSP is 1 if the core has the DSP extension of Cortex-M4. Tests on hosts set TMO_CORE_DSP to 1 and define the extension's instructions in
 * C. */
#ifndef TMO_CORE_DSP
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TMO_CORE_DSP 1
#else
#define TMO_CORE_DSP 0
#endif
#endif

#endif
