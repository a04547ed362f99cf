/* SPDX-License-Identifier: Apache-2.0 */
/* This header computes sets of operators from the rows of kinds.def. */
#ifndef TMO_KINDS_H_
#define TMO_KINDS_H_

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "tmo/program.h"

#define TMO_ANY_NUMBER 0    /* the operator has 1 to TMO_MAX_INPUTS operands */
#define TMO_PER_CHANNEL 255 /* the operator has one scale for each output channel */

/* Each operator belongs to one family. Operators of the families `filter`, `sums` and `pool` have a window. Operators of the families from `copy` to
 * the end of the list have access records. */
#define TMO_EACH_FAMILY(FAMILY)                                                                                                       \
  FAMILY(filter) FAMILY(sums) FAMILY(pool)                                                                                            \
  FAMILY(binary) FAMILY(softmax) FAMILY(lookup) FAMILY(mapped) FAMILY(arg_max) FAMILY(convert) FAMILY(gather) FAMILY(own) FAMILY(link) \
  FAMILY(copy) FAMILY(gather_nd) FAMILY(select) FAMILY(resize) FAMILY(resize_f32) FAMILY(transpose_conv) FAMILY(batch_matmul)          \
  FAMILY(lstm) FAMILY(sliding_sum) FAMILY(add_sums)
#define TMO_FAMILY(family) tmo_family_##family,
enum { TMO_EACH_FAMILY(TMO_FAMILY) };

enum { TMO_CHANNELS_OWN, TMO_CHANNELS_FILTERED, TMO_CHANNELS_SUMMED, TMO_CHANNELS_ANY };

/* A set of operators, with one bit for each operator code. The field `low` has the bits of the codes 0 to 63, and `high` has the bits of the codes 64
 * to 127. */
typedef struct {
  uint64_t low, high;
} tmo_kinds;

#define TMO_LOW_BIT(value, is) | (uint64_t)((value) < 64 && (is)) << (value) % 64
#define TMO_HIGH_BIT(value, is) | (uint64_t)((value) >= 64 && (is)) << (value) % 64
#define TMO_LOW_IF(is, name, value, ...) TMO_LOW_BIT(value, is(name, value, __VA_ARGS__))
#define TMO_HIGH_IF(is, name, value, ...) TMO_HIGH_BIT(value, is(name, value, __VA_ARGS__))
#define TMO_KINDS_IF(is) ((tmo_kinds){0 TMO_EACH_KIND(TMO_LOW_IF, is), 0 TMO_EACH_KIND(TMO_HIGH_IF, is)})

#define TMO_IS_BINARY(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_binary)
#define TMO_IS_WINDOWED(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family <= tmo_family_pool)
#define TMO_IS_WEIGHTED(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family <= tmo_family_sums)
#define TMO_IS_PIXELWISE(name, value, reads, writes, operands, scales, family, ...) \
  (tmo_family_##family >= tmo_family_softmax && tmo_family_##family <= tmo_family_own && tmo_family_##family != tmo_family_gather)
#define TMO_IS_POOL(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_pool)
#define TMO_IS_MATMUL(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_batch_matmul)
#define TMO_IS_SOFTMAX(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_softmax)
#define TMO_IS_CONVERTING(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_convert)
#define TMO_IS_S16(name, value, reads, writes, operands, scales, family, ...) \
  ((reads) == 2 && (writes) == 2 && tmo_family_##family != tmo_family_convert)
#define TMO_IS_F32(name, value, reads, writes, operands, scales, family, ...) \
  ((reads) == 4 && ((writes) == 4 || tmo_family_##family == tmo_family_binary))
#define TMO_IS_WIDE(name, value, reads, writes, operands, scales, family, ...) ((reads) > 1 && tmo_family_##family != tmo_family_gather)
#define TMO_IS_ACCESS(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family >= tmo_family_copy)
#define TMO_IS_LINK(name, value, reads, writes, operands, scales, family, ...) (tmo_family_##family == tmo_family_link)
#define TMO_IS_PER_CHANNEL(name, value, reads, writes, operands, scales, ...) ((scales) == TMO_PER_CHANNEL)
#define TMO_IS_FILTERED(name, value, reads, writes, operands, scales, family, channels, ...) (TMO_CHANNELS_##channels == TMO_CHANNELS_FILTERED)
#define TMO_IS_SUMMED(name, value, reads, writes, operands, scales, family, channels, ...) \
  (TMO_CHANNELS_##channels == TMO_CHANNELS_SUMMED && (reads) == 1)
#define TMO_IS_GROUPABLE(name, value, reads, writes, operands, scales, family, channels, ...) \
  (TMO_CHANNELS_##channels != TMO_CHANNELS_ANY && (reads) == 1)
#define TMO_IS_TWO_OPERANDS(name, value, reads, writes, operands, ...) ((operands) == 2)
#define TMO_IS_THREE_OPERANDS(name, value, reads, writes, operands, ...) ((operands) == 3)
#define TMO_IS_ANY_OPERANDS(name, value, reads, writes, operands, ...) ((operands) == TMO_ANY_NUMBER)

#define TMO_BINARY_KINDS TMO_KINDS_IF(TMO_IS_BINARY)
#define TMO_WINDOWED_KINDS TMO_KINDS_IF(TMO_IS_WINDOWED)             /* operators with a convolution or pooling window */
#define TMO_WEIGHTED_KINDS TMO_KINDS_IF(TMO_IS_WEIGHTED)             /* operators with a window and weights */
#define TMO_PIXELWISE_KINDS TMO_KINDS_IF(TMO_IS_PIXELWISE)           /* operators that need only one input pixel for each output pixel */
#define TMO_POOL_KINDS TMO_KINDS_IF(TMO_IS_POOL)
#define TMO_MATMUL_KINDS TMO_KINDS_IF(TMO_IS_MATMUL)
#define TMO_SOFTMAX_KINDS TMO_KINDS_IF(TMO_IS_SOFTMAX)
#define TMO_CONVERTING_KINDS TMO_KINDS_IF(TMO_IS_CONVERTING)         /* operators whose input and output have different types */
#define TMO_S16_KINDS TMO_KINDS_IF(TMO_IS_S16)
#define TMO_F32_KINDS TMO_KINDS_IF(TMO_IS_F32)                       /* operators with float32 or int32 elements */
#define TMO_WIDE_KINDS TMO_KINDS_IF(TMO_IS_WIDE)                     /* operators whose input elements take more than one byte */
#define TMO_ACCESS_KINDS TMO_KINDS_IF(TMO_IS_ACCESS)                 /* operators with access records instead of a window */
#define TMO_LINK_KINDS TMO_KINDS_IF(TMO_IS_LINK)                     /* operators that send rows to other devices, or receive rows from other devices */
#define TMO_PER_CHANNEL_KINDS TMO_KINDS_IF(TMO_IS_PER_CHANNEL)
#define TMO_FILTERED_KINDS TMO_KINDS_IF(TMO_IS_FILTERED)
#define TMO_SUMMED_KINDS TMO_KINDS_IF(TMO_IS_SUMMED)                 /* operators whose outputs are sums over all input channels */
#define TMO_GROUPABLE_KINDS TMO_KINDS_IF(TMO_IS_GROUPABLE)           /* operators that can compute some of the channels at a time */
#define TMO_TWO_OPERANDS_KINDS TMO_KINDS_IF(TMO_IS_TWO_OPERANDS)
#define TMO_THREE_OPERANDS_KINDS TMO_KINDS_IF(TMO_IS_THREE_OPERANDS)
#define TMO_ANY_OPERANDS_KINDS TMO_KINDS_IF(TMO_IS_ANY_OPERANDS)     /* operators with 1 to TMO_MAX_INPUTS operands */

static TMO_ALWAYS_INLINE tmo_kinds tmo_both(tmo_kinds a, tmo_kinds b) { return (tmo_kinds){a.low & b.low, a.high & b.high}; }
static TMO_ALWAYS_INLINE bool tmo_is_empty(tmo_kinds set) { return (set.low | set.high) == 0; }

static TMO_ALWAYS_INLINE bool tmo_is_in_half(uint64_t set, uint32_t kind) {
#if defined(__GNUC__)
  if (set == 0) return false;
  const uint32_t first = (uint32_t)__builtin_ctzll(set), n = 64u - (uint32_t)__builtin_clzll(set) - first;
  const uint64_t from_first = set >> first;
  if ((from_first & (from_first + 1)) == 0) return kind - first < n;
  if (n <= 32) return kind - first < n && ((uint32_t)from_first >> (kind - first) & 1) != 0;
#endif
  return kind < 64 && ((uint32_t)(kind < 32 ? set : set >> 32) >> kind % 32 & 1) != 0;
}

/* Returns whether `set` contains the operator `kind`. Each set is a constant, so the test takes only a few comparisons. */
static TMO_ALWAYS_INLINE bool tmo_is_in(tmo_kinds set, uint32_t kind) {
  return tmo_is_in_half(set.low, kind) || (set.high != 0 && tmo_is_in_half(set.high, kind - 64));
}

#endif /* TMO_KINDS_H_ */
