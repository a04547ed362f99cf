/* SPDX-License-Identifier: Apache-2.0 */
/* With a program that passes tmo_check(), the executor accesses no bytes outside its buffers. Each file of the validator includes this internal
 * header first. tmo_check.c checks the tables, tmo_check_kind.c checks the operands of each kind of operator, and tmo_check_packed.c checks the
 * constants of packed operators. tmo_check_bytes.c has the bounds checks. Sizes are uint32_t. A size that does not fit becomes TMO_TOO_MANY.
 *
 * The validator does not detect wrong results, which a rolling buffer with too few rows, or buffers that overlap, would cause. The converter's
 * checker detects wrong results. */
#ifndef TMO_CHECK_H_
#define TMO_CHECK_H_

#if defined(__GNUC__) && !defined(__clang__) /* the validator runs only once and is the largest part of the library, so it is compiled for size */
#pragma GCC optimize("Os", "no-move-loop-invariants", "no-tree-dominator-opts", "no-jump-tables", "no-tree-switch-conversion")
#endif

#include "access.h"
#include "build.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_TOO_MANY UINT32_MAX            /* this size is larger than any buffer */

typedef struct {
  const uint8_t *program;
  const tmo_tensor *tensors;
  const tmo_op *ops;
  const uint32_t *io_bytes;
  uint32_t reads_left; /* number of array elements that the validator may still read */
  uint32_t n_rolling_buffers;    /* number of rolling buffers of the state */
  uint32_t last_base;  /* highest base of a tensor that is neither a constant nor sent by a link */
} tmo_checker;

/* An operator, with pointers to its group and its operands. */
typedef struct {
  const tmo_group *group;
  const tmo_op *op;
  const tmo_tensor *in;
  const tmo_tensor *out;
} tmo_operation;

/* Returns the product of a and b, or TMO_TOO_MANY if the product does not fit. TMO_TOO_MANY times a number other than 0 is TMO_TOO_MANY. */
TMO_LINKAGE uint32_t tmo_times(uint32_t a, uint32_t b);

/* Whether `bytes` bytes at `offset` are inside `size` bytes. alignment: a power of two. */
TMO_LINKAGE bool tmo_lies_in(uint32_t size, uint32_t offset, uint32_t bytes, uint32_t alignment);

TMO_LINKAGE bool tmo_in_workspace(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* Whether `offset` is not 0, and `bytes` bytes at `offset` are inside the program. */
TMO_LINKAGE bool tmo_has_constant(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* Whether the program contains an operator's weights, in place or as copied weights. alignment: at most TMO_ALIGNMENT. */
TMO_LINKAGE bool tmo_has_weights(const tmo_checker *c, const tmo_op *op, uint32_t bytes, uint32_t alignment);

/* Whether n words at `offset` are inside the program. */
TMO_LINKAGE bool tmo_has_words(const tmo_checker *c, uint32_t offset, uint32_t n);

/* Counts n array elements as read. Returns false if the validator's limit of elements is exceeded. */
static inline bool tmo_may_read(tmo_checker *c, uint32_t n) {
  if (n > c->reads_left) return false;
  c->reads_left -= n;
  return true;
}

/* Whether two tensors have the same height and width. */
static inline bool tmo_same_size(const tmo_tensor *a, const tmo_tensor *b) { return a->height == b->height && a->width == b->width; }

/* Checks the operands and constants that the kind of an operator determines. The operator's place in its group must have been checked before. */
TMO_LINKAGE bool tmo_check_kind(tmo_checker *c, const tmo_operation *o);

/* Checks the constants and scratch of a packed ADD or of a packed operator with weights. */
TMO_LINKAGE bool tmo_check_packed_add(const tmo_checker *c, const tmo_operation *o);
TMO_LINKAGE bool tmo_check_packed_filter(tmo_checker *c, const tmo_operation *o);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CHECK_H_ */
