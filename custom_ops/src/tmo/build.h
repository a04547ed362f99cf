/* SPDX-License-Identifier: Apache-2.0 */
/* The macros of this header select the parts of the library that are compiled. A file that includes tmo/embed.h compiles only the parts that an
 * application needs. A file that does not include tmo/embed.h compiles all kernels and the whole executor.
 *
 * The macro TMO_KINDS lists the operators whose unpacked kernels are compiled, for example KIND(CONV) KIND(ADD). The macro TMO_PACKINGS has one bit
 * for each packing whose kernels are compiled. The macro TMO_PARTS has one bit for each compiled part of the library. The macro TMO_OWN is 1 to
 * compile the operator TMO_OP_OWN, which runs an application's own kernels. The application lists its kernels in the array TMO_OWN_KERNELS, or
 * registers them with tmo_own_use(). The function tmo_own_use() is the only one that sets a variable of the library.
 *
 * If a program needs a part of the library that is not compiled, tmo_check_build() rejects the program. */
#ifndef TMO_BUILD_H_
#define TMO_BUILD_H_

#include <stdbool.h>
#include <stdint.h>

#include "kinds.h"

#ifndef TMO_OWN
#define TMO_OWN 0
#endif
#ifndef TMO_MATH /* TMO_MATH is 0 to compile the library without libm and without the kernels that need libm */
#ifdef __AVR__   /* AVR's libm lacks expm1f() */
#define TMO_MATH 0
#else
#define TMO_MATH 1
#endif
#endif
#define TMO_USES_LIBM(kind) \
  ((kind) == TMO_OP_CURVE_F32 || (kind) == TMO_OP_SOFTMAX_F32 || (kind) == TMO_OP_LOG_SOFTMAX_F32 || (kind) == TMO_OP_BINARY_32)
#ifdef TMO_KINDS
#define TMO_LOW_KIND(name) TMO_LOW_BIT(TMO_OP_##name, 1)
#define TMO_HIGH_KIND(name) TMO_HIGH_BIT(TMO_OP_##name, 1)
#define TMO_BUILT_KINDS ((tmo_kinds){0 TMO_KINDS(TMO_LOW_KIND), 0 TMO_KINDS(TMO_HIGH_KIND)})
#else
#define TMO_IS_BUILT(name, value, ...) ((TMO_OWN || (value) != TMO_OP_OWN) && (TMO_MATH || !TMO_USES_LIBM(value)))
#define TMO_BUILT_KINDS TMO_KINDS_IF(TMO_IS_BUILT)
#endif
#ifndef TMO_PACKINGS
#define TMO_PACKINGS UINT64_MAX
#endif
#ifndef TMO_PARTS
#define TMO_PARTS UINT64_MAX
#endif

/* A macro whose name begins with TMO_CORE is 1 if the core has the instructions that the macro names. A macro whose name begins with TMO_RUNS is 1 if
 * the build has packed kernels for the instructions that the macro names. A build for a host has the packed kernels of all cores, written in C. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define TMO_CORE_MVE 1
#else
#define TMO_CORE_MVE 0
#endif
/* The macro TMO_RVV is 1 to use the vector instructions of RISC-V (at least Zve32x). The application must enable the core's vector unit (mstatus.VS)
 * before it runs a model. */
#ifndef TMO_RVV
#define TMO_RVV 0
#endif
#define TMO_TWINS (UINTPTR_MAX > UINT32_MAX)

#define TMO_RUNS_DSP (TMO_CORE_DSP || TMO_TWINS)
#define TMO_RUNS_MVE (TMO_CORE_MVE || TMO_TWINS)
#define TMO_RUNS_RVV (TMO_RVV || TMO_TWINS)
/* Espressif's chips can run programs for ESP-NN without the library ESP-NN, with slower kernels in C. */
#if TMO_TWINS || defined(TMO_ESP_NN) || defined(ESP_PLATFORM)
#define TMO_RUNS_ESP 1
#else
#define TMO_RUNS_ESP 0
#endif
#define TMO_RUNS_PACKED (TMO_RUNS_DSP || TMO_RUNS_RVV || TMO_RUNS_ESP)
/* The macro TMO_FAST_PIXELS is 1 to compile faster code for unpacked operators that compute one pixel in each iteration. Builds for small cores omit
 * faster code for unpacked operators, because the faster code takes flash. */
#define TMO_FAST_PIXELS (TMO_RUNS_DSP || TMO_RUNS_ESP)

/* Returns the operators of `set` for which this build has unpacked kernels. */
#define TMO_BUILT(set) tmo_both(set, TMO_BUILT_KINDS)

/* Returns the operators of `set` for which this build has packed or unpacked kernels. The converter packs only additions, convolutions and depthwise
 * convolutions. */
#define TMO_ADD_PACKING (1ull << TMO_PACKING_DSP_ADD)
static TMO_ALWAYS_INLINE tmo_kinds tmo_taken(tmo_kinds set) {
  const uint64_t add = (TMO_PACKINGS) & TMO_ADD_PACKING ? 1ull << TMO_OP_ADD : 0;
  const uint64_t filter = (TMO_PACKINGS) & ~TMO_ADD_PACKING ? 1ull << TMO_OP_CONV | 1ull << TMO_OP_DEPTHWISE : 0;
  return tmo_both(set, (tmo_kinds){TMO_BUILT_KINDS.low | add | filter, TMO_BUILT_KINDS.high});
}

/* TMO_OWN_PACKINGS has a bit for each packing that this build can run on its core. */
#define TMO_OF_DSP                                                                                                       \
  (1ull << TMO_PACKING_DSP_CONV | 1ull << TMO_PACKING_DSP_DEPTHWISE | 1ull << TMO_PACKING_DSP_ADD | 1ull << TMO_PACKING_DSP_DENSE)
#define TMO_OF_MVE (1ull << TMO_PACKING_MVE_CONV | 1ull << TMO_PACKING_MVE_DEPTHWISE)
#define TMO_OF_RVV (1ull << TMO_PACKING_RVV_CONV | 1ull << TMO_PACKING_RVV_DEPTHWISE)
#define TMO_OF_ESP (1ull << TMO_PACKING_ESP_CONV | 1ull << TMO_PACKING_ESP_DEPTHWISE)
#define TMO_OWN_PACKINGS                                                                                                      \
  ((uint64_t)(TMO_PACKINGS) &                                                                                                 \
   ((TMO_RUNS_DSP ? TMO_OF_DSP : 0) | (TMO_RUNS_MVE ? TMO_OF_MVE : 0) |                                                        \
    (TMO_RUNS_RVV ? TMO_OF_RVV : 0) | (TMO_RUNS_ESP ? TMO_OF_ESP : 0)))

static TMO_ALWAYS_INLINE bool tmo_has_kind(uint16_t kind) { return tmo_is_in(TMO_BUILT_KINDS, kind); }
static TMO_ALWAYS_INLINE bool tmo_has_packing(uint16_t packing) {
  return packing < 64 && (TMO_OWN_PACKINGS >> packing & 1) != 0;
}

/* Returns whether op->kind is `kind`. For a kind that the build lacks, tmo_is_kind() is a constant false, so that the compiler removes the code for
 * the kind. */
static TMO_ALWAYS_INLINE bool tmo_is_kind(const tmo_op *op, uint16_t kind) { return tmo_has_kind(kind) && op->kind == kind; }

static TMO_ALWAYS_INLINE bool tmo_has_part(uint16_t part) { return ((uint64_t)(TMO_PARTS) >> part & 1) != 0; }

static TMO_ALWAYS_INLINE bool tmo_has_nibbles(const tmo_op *op) { return tmo_has_part(TMO_PART_NIBBLES) && (op->flags & TMO_FLAG_NIBBLES) != 0; }

/* Returns whether the program copies the operator's weights into the workspace before the operator's group runs. */
static TMO_ALWAYS_INLINE bool tmo_copies_weights(const tmo_op *op) { return tmo_has_part(TMO_PART_COPIES) && (op->flags & TMO_FLAG_COPIES) != 0; }

static TMO_ALWAYS_INLINE bool tmo_has_kernel(const tmo_op *op) {
  return op->packing == TMO_PACKING_NONE ? tmo_has_kind(op->kind) : tmo_has_packing(op->packing);
}

/* Returns whether op->packing is `packing`. For a packing that the build lacks, tmo_is_packed_as() is a constant false, so that the compiler removes
 * the code for the packing. */
static TMO_ALWAYS_INLINE bool tmo_is_packed_as(const tmo_op *op, uint16_t packing) { return tmo_has_packing(packing) && op->packing == packing; }

/* Each macro TMO_CASE_... writes one case of a switch statement. If the build lacks the kernel, the case does nothing. */
#define TMO_CASE_KIND(kind, call)  \
  case kind:                       \
    if (tmo_has_kind(kind)) call;  \
    break
#define TMO_CASE_PACKING(packing, call)  \
  case packing:                          \
    if (tmo_has_packing(packing)) call;  \
    break
/* For example, TMO_CASE_DSP writes a case only if the build has kernels for the DSP extension. */
#if TMO_RUNS_DSP
#define TMO_CASE_DSP(packing, call) TMO_CASE_PACKING(packing, call);
#else
#define TMO_CASE_DSP(packing, call)
#endif
#if TMO_RUNS_MVE
#define TMO_CASE_MVE(packing, call) TMO_CASE_PACKING(packing, call);
#else
#define TMO_CASE_MVE(packing, call)
#endif
#if TMO_RUNS_RVV
#define TMO_CASE_RVV(packing, call) TMO_CASE_PACKING(packing, call);
#else
#define TMO_CASE_RVV(packing, call)
#endif
#if TMO_RUNS_ESP
#define TMO_CASE_ESP(packing, call) TMO_CASE_PACKING(packing, call);
#else
#define TMO_CASE_ESP(packing, call)
#endif
#define TMO_CASE_PART(value, part, call)  \
  case value:                             \
    if (tmo_has_part(part)) call;         \
    break

#endif /* TMO_BUILD_H_ */
