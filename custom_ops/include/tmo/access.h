/* The tables of a program, and where its rows live. Internal. */
#ifndef TMO_ACCESS_H_
#define TMO_ACCESS_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/program.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline const tmo_header *tmo_header_of(const void *program) { return (const tmo_header *)program; }

static inline const void *tmo_constant(const void *program, uint32_t offset) { return (const uint8_t *)program + offset; }

static inline const tmo_tensor *tmo_tensors(const void *program) {
  return (const tmo_tensor *)tmo_constant(program, tmo_header_of(program)->tensors);
}

static inline const tmo_op *tmo_ops(const void *program) {
  return (const tmo_op *)tmo_constant(program, tmo_header_of(program)->ops);
}

static inline const tmo_block *tmo_blocks(const void *program) {
  return (const tmo_block *)tmo_constant(program, tmo_header_of(program)->blocks);
}

static inline bool tmo_iterative(const tmo_op *op) { return (op->flags & TMO_FLAG_ITERATIVE) != 0; }

/* Firings of an operator that produces its whole output. */
static inline uint16_t tmo_firings(const void *program, const tmo_op *op) {
  return tmo_tensors(program)[tmo_iterative(op) ? op->input[0] : op->output].height;
}

static inline uint32_t tmo_row_bytes(const tmo_tensor *t) { return t->width * t->channels; }

/* From the tensor's base to row y. */
static inline uint32_t tmo_row_offset(const tmo_tensor *t, uint32_t y) {
  return t->offset + (y % t->depth) * tmo_row_bytes(t);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_ACCESS_H_ */
