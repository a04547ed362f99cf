/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of kinds, computed from the rows of kinds.def. Internal. */
#ifndef TMO_KINDS_H_
#define TMO_KINDS_H_

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "tmo/program.h"

#define TMO_ANY_NUMBER 0    /* number of operands: 1 to TMO_MAX_INPUTS */
#define TMO_PER_CHANNEL 255 /* number of scales */

/* Families. The order matters: the first three read by a window, those from `copy` on by their own access. */
enum {
  tmo_family_filter,
  tmo_family_sums,
  tmo_family_pool,
  tmo_family_binary,
  tmo_family_softmax,
  tmo_family_lookup,
  tmo_family_mapped,
  tmo_family_arg_max,
  tmo_family_convert,
  tmo_family_gather,
  tmo_family_own,
  tmo_family_link,
  tmo_family_copy,
  tmo_family_gather_nd,
  tmo_family_resize,
  tmo_family_transpose_conv,
  tmo_family_batch_matmul,
  tmo_family_lstm,
  tmo_family_sliding_sum,
  tmo_family_add_sums,
};

enum { TMO_CHANNELS_OWN, TMO_CHANNELS_FILTERED, TMO_CHANNELS_SUMMED, TMO_CHANNELS_ANY };

/* A set has a bit for each kind whose row satisfies a condition. */
#define TMO_BIT(value, is) | (uint64_t)(is) << (value)
#define TMO_IF_BINARY(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_binary)
#define TMO_IF_WINDOWED(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family <= tmo_family_pool)
#define TMO_IF_POOL(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_pool)
#define TMO_IF_MATMUL(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_batch_matmul)
#define TMO_IF_SOFTMAX(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_softmax)
#define TMO_IF_CONVERTING(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_convert)
#define TMO_IF_S16(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (reads) == 2 && (writes) == 2 && tmo_family_##family != tmo_family_convert)
#define TMO_IF_F32(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (reads) == 4 && ((writes) == 4 || tmo_family_##family == tmo_family_binary))
#define TMO_IF_READS_WIDE(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (reads) > 1 && tmo_family_##family != tmo_family_gather)
#define TMO_IF_ACCESS(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family >= tmo_family_copy)
#define TMO_IF_LINK(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, tmo_family_##family == tmo_family_link)
#define TMO_IF_PER_CHANNEL(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (scales) == TMO_PER_CHANNEL)
#define TMO_IF_FILTERED(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, TMO_CHANNELS_##channels == TMO_CHANNELS_FILTERED)
#define TMO_IF_SUMMED(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, TMO_CHANNELS_##channels == TMO_CHANNELS_SUMMED && (reads) == 1)
#define TMO_IF_GROUPABLE(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, TMO_CHANNELS_##channels != TMO_CHANNELS_ANY && (reads) == 1)
#define TMO_IF_TWO(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (operands) == 2)
#define TMO_IF_THREE(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (operands) == 3)
#define TMO_IF_ANY_NUMBER(name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  TMO_BIT(value, (operands) == TMO_ANY_NUMBER)

#define TMO_BINARY_KINDS (0 TMO_EACH_KIND(TMO_IF_BINARY))         /* two operands, element by element */
#define TMO_WINDOWED_KINDS (0 TMO_EACH_KIND(TMO_IF_WINDOWED))     /* read by a window */
#define TMO_POOL_KINDS (0 TMO_EACH_KIND(TMO_IF_POOL))
#define TMO_MATMUL_KINDS (0 TMO_EACH_KIND(TMO_IF_MATMUL))
#define TMO_SOFTMAX_KINDS (0 TMO_EACH_KIND(TMO_IF_SOFTMAX))
#define TMO_CONVERTING_KINDS (0 TMO_EACH_KIND(TMO_IF_CONVERTING)) /* elements of the output have another type */
#define TMO_S16_KINDS (0 TMO_EACH_KIND(TMO_IF_S16))               /* a channel takes two bytes of a pixel */
#define TMO_F32_KINDS (0 TMO_EACH_KIND(TMO_IF_F32))               /* a channel that is read takes four bytes of a pixel */
#define TMO_WIDE_KINDS (0 TMO_EACH_KIND(TMO_IF_READS_WIDE))       /* elements that are read are larger than a byte */
#define TMO_ACCESS_KINDS (0 TMO_EACH_KIND(TMO_IF_ACCESS))         /* own access instead of a window */
#define TMO_LINK_KINDS (0 TMO_EACH_KIND(TMO_IF_LINK))             /* they send rows to another device or receive them */
#define TMO_PER_CHANNEL_KINDS (0 TMO_EACH_KIND(TMO_IF_PER_CHANNEL))
#define TMO_FILTERED_KINDS (0 TMO_EACH_KIND(TMO_IF_FILTERED))
#define TMO_SUMMED_KINDS (0 TMO_EACH_KIND(TMO_IF_SUMMED))         /* sums over all channels that can be computed in parts */
#define TMO_GROUPABLE_KINDS (0 TMO_EACH_KIND(TMO_IF_GROUPABLE))   /* they can process some of the channels */
#define TMO_TWO_OPERANDS_KINDS (0 TMO_EACH_KIND(TMO_IF_TWO))
#define TMO_THREE_OPERANDS_KINDS (0 TMO_EACH_KIND(TMO_IF_THREE))
#define TMO_ANY_OPERANDS_KINDS (0 TMO_EACH_KIND(TMO_IF_ANY_NUMBER)) /* 1 to TMO_MAX_INPUTS */

/* Whether a kind is in a set. The set is a constant, so only the last comparison remains at run time. */
static TMO_ALWAYS_INLINE bool tmo_is_in(uint64_t set, uint32_t kind) {
#if defined(__GNUC__)
  if (set == 0) return false;
  const uint32_t first = (uint32_t)__builtin_ctzll(set), n = 64u - (uint32_t)__builtin_clzll(set) - first;
  const uint64_t from_first = set >> first;
  if ((from_first & (from_first + 1)) == 0) return kind - first < n;
  if (n <= 32) return kind - first < n && ((uint32_t)from_first >> (kind - first) & 1) != 0;
#endif
  return kind < 64 && ((uint32_t)(kind < 32 ? set : set >> 32) >> kind % 32 & 1) != 0;
}

#endif /* TMO_KINDS_H_ */
