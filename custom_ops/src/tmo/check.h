/* SPDX-License-Identifier: Apache-2.0 */
/* If a program passes tmo_check(), the executor accesses no bytes outside its buffers. Each file of the validator includes this header first. The
 * file tmo_check.c checks tables, tmo_check_kind.c checks operands, tmo_check_packed.c checks constants of packed operators, and tmo_check_bytes.c
 * checks ranges of bytes. The validator computes sizes as uint32_t. The value TMO_TOO_MANY stands for a size that does not fit uint32_t.
 *
 * The validator does not detect wrong results. For example, the validator accepts a program whose rolling buffer has too few rows. The converter's
 * checker refuses programs with wrong results. */
#ifndef TMO_CHECK_H_
#define TMO_CHECK_H_

#if defined(__GNUC__) && !defined(__clang__) /* the validator runs once and is large, so it is compiled for size */
#pragma GCC optimize("Os", "no-move-loop-invariants", "no-tree-dominator-opts", "no-jump-tables", "no-tree-switch-conversion")
#endif

#include "access.h"
#include "build.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_TOO_MANY UINT32_MAX            /* size that is larger than any buffer */

typedef struct {
  const uint8_t *program;
  const tmo_tensor *tensors;
  const tmo_op *ops;
  const uint32_t *io_bytes;
  uint32_t reads_left; /* number of array elements that the validator may still read */
  uint32_t iterations_left; /* number of iterations in the header, minus the iterations of the groups that were checked */
  uint32_t n_rolling_buffers;
  uint32_t last_base;  /* largest tmo_tensor.base, without constants and messages */
} tmo_checker;

typedef struct {
  const tmo_group *group;
  const tmo_op *op;
  const tmo_tensor *in;
  const tmo_tensor *out;
} tmo_operation;

/* Returns the product of a and b, or TMO_TOO_MANY if the product does not fit uint32_t. The product of TMO_TOO_MANY and 0 is 0. */
TMO_LINKAGE uint32_t tmo_times(uint32_t a, uint32_t b);

/* Returns whether a buffer of `size` bytes contains the range of `bytes` bytes that begins at `offset`. The argument `offset` must be a multiple of
 * the argument `alignment`, which is a power of two. */
TMO_LINKAGE bool tmo_lies_in(uint32_t size, uint32_t offset, uint32_t bytes, uint32_t alignment);

TMO_LINKAGE bool tmo_in_workspace(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* Returns whether the program contains a constant of `bytes` bytes at `offset`. Returns false if `offset` is 0, because 0 stands for a missing
 * constant. */
TMO_LINKAGE bool tmo_has_constant(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* Returns whether the program contains all weights of the operator. The argument `alignment` is at most TMO_ALIGNMENT. */
TMO_LINKAGE bool tmo_has_weights(const tmo_checker *c, const tmo_op *op, uint32_t bytes, uint32_t alignment);

/* Returns whether the program contains `n` words of 32 bits at `offset`. */
TMO_LINKAGE bool tmo_has_words(const tmo_checker *c, uint32_t offset, uint32_t n);

/* Counts `n` array elements that the validator is about to read. Returns false if the number of read elements would exceed the validator's limit. */
static inline bool tmo_may_read(tmo_checker *c, uint32_t n) {
  if (n > c->reads_left) return false;
  c->reads_left -= n;
  return true;
}

static inline bool tmo_same_size(const tmo_tensor *a, const tmo_tensor *b) { return a->height == b->height && a->width == b->width; }

/* Checks the operands and constants of an operator. The caller must have checked the operator's place in the group. */
TMO_LINKAGE bool tmo_check_kind(tmo_checker *c, const tmo_operation *o);

TMO_LINKAGE bool tmo_check_packed(tmo_checker *c, const tmo_operation *o);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CHECK_H_ */
