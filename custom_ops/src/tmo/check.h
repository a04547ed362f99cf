/* SPDX-License-Identifier: Apache-2.0 */
/* The validator: what it lets through, the executor runs without ever leaving its buffers. Its files include this first. Internal.
 *
 * tmo_check.c goes through the tables, tmo_check_kind.c knows what each kind of operator reads and writes, tmo_check_packed.c the constants of
 * packed ones, tmo_check_bytes.c how many bytes there are. Sizes are uint32_t and stay at TMO_TOO_MANY when they do not fit.
 *
 * Data may still be wrong (a ring that is too shallow, buffers that overlap): that is the converter's checker's business. */
#ifndef TMO_CHECK_H_
#define TMO_CHECK_H_

#if defined(__GNUC__) && !defined(__clang__) /* it runs once, and is the largest part of the library */
#pragma GCC optimize("Os", "no-move-loop-invariants", "no-tree-dominator-opts", "no-jump-tables", "no-tree-switch-conversion")
#endif

#include "access.h"
#include "build.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_TOO_MANY UINT32_MAX            /* more than any buffer has */

typedef struct {
  const uint8_t *program;
  const tmo_tensor *tensors;
  const tmo_op *ops;
  const uint32_t *io_bytes;
  uint32_t reads_left; /* elements of arrays that may be read still */
  uint32_t n_rings;    /* of the state */
  uint32_t last_base;  /* of a tensor in a buffer: that of the state, if there is one */
} tmo_checker;

/* An operator with its operands looked up. */
typedef struct {
  const tmo_block *block;
  const tmo_op *op;
  const tmo_tensor *in;
  const tmo_tensor *out;
} tmo_operation;

/* a * b, or TMO_TOO_MANY; which only 0 makes less. */
TMO_LINKAGE uint32_t tmo_times(uint32_t a, uint32_t b);

/* Whether `bytes` from `offset` on are inside of `size`. alignment: a power of two. */
TMO_LINKAGE bool tmo_lies_in(uint32_t size, uint32_t offset, uint32_t bytes, uint32_t alignment);

TMO_LINKAGE bool tmo_in_workspace(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* Of the program; at 0 there is none. */
TMO_LINKAGE bool tmo_has_constant(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment);

/* The same of n words. */
TMO_LINKAGE bool tmo_has_words(const tmo_checker *c, uint32_t offset, uint32_t n);

/* Counts the reading of n elements. */
static inline bool tmo_may_read(tmo_checker *c, uint32_t n) {
  if (n > c->reads_left) return false;
  c->reads_left -= n;
  return true;
}

/* As high and as wide. */
static inline bool tmo_same_size(const tmo_tensor *a, const tmo_tensor *b) { return a->height == b->height && a->width == b->width; }

/* What an operator of this kind reads and writes, and its constants; what it is in its block has been looked at. */
TMO_LINKAGE bool tmo_check_kind(tmo_checker *c, const tmo_operation *o);

/* Constants of a packed operator, and its scratch: of an ADD, or of one with weights. */
TMO_LINKAGE bool tmo_check_packed_add(const tmo_checker *c, const tmo_operation *o);
TMO_LINKAGE bool tmo_check_packed_filter(tmo_checker *c, const tmo_operation *o);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CHECK_H_ */
