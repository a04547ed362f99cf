/* In which order an operator makes its pixels, when a pixel exists, and where it lives. Internal.
 *
 * Row blocks and tiled blocks are one: in a row block each row is a strip of its own, one tile wide. */
#ifndef TMO_WALK_H_
#define TMO_WALK_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/access.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const tmo_tensor *tensor; /* whose pixels the units are: the operator's output, or its input when it is iterative */
  int32_t advance, end, rows; /* of the strips, as in tmo_tensor */
  uint16_t strips, groups, tiles; /* groups: passes over a strip */
  uint16_t tile; /* columns */
} tmo_walk;

/* The tensor that a walk goes through. */
static inline const tmo_tensor *tmo_walked(const void *program, const tmo_op *op) {
  return &tmo_tensors(program)[tmo_iterative(op) ? op->input[0] : op->output];
}

/* Of a tiled block: whether all rows of each strip are made again. */
static inline bool tmo_recomputes(const tmo_tensor *t) { return t->rows > t->advance; }

/* Of a row block: each row is a strip. */
static inline tmo_walk tmo_walk_by_row(const tmo_tensor *t) {
  const tmo_walk by_row = {t, 1, 1, 1, t->height, 1, 1, UINT16_MAX};
  return by_row;
}

tmo_walk tmo_walk_of(const void *program, const tmo_block *block, const tmo_op *op);

/* Rows [first, end) of a strip. */
int32_t tmo_strip_first(const tmo_walk *w, uint16_t strip);
int32_t tmo_strip_end(const tmo_walk *w, uint16_t strip);

/* Units in their order. After the last one comes one in strip w->strips. */
void tmo_unit_first(const tmo_walk *w, tmo_unit *unit);
void tmo_unit_next(const tmo_walk *w, tmo_unit *unit);
static inline bool tmo_unit_ended(const tmo_walk *w, const tmo_unit *next) { return next->strip >= w->strips; }

/* Rows that are computed again in every strip are not computed in strips that nobody asks for: go on to the one that is asked for. */
void tmo_unit_skip(const tmo_walk *w, tmo_unit *next, uint16_t strip);

/* Whether the walk has this unit: all that it says lies inside the tensor then. */
bool tmo_unit_exists(const tmo_walk *w, const tmo_unit *unit);

/* Columns [first, end) of a unit that exists. */
static inline uint16_t tmo_unit_column(const tmo_walk *w, const tmo_unit *unit) { return (uint16_t)(unit->tile * w->tile); }
uint16_t tmo_unit_column_end(const tmo_walk *w, const tmo_unit *unit);

/* An iterative operator's first and last unit: it sets up its sums, and writes its output. */
static inline bool tmo_unit_opens(const tmo_unit *unit) { return unit->row == 0 && unit->tile == 0; }
static inline bool tmo_unit_closes(const tmo_walk *w, const tmo_unit *unit) {
  return unit->row + 1 == w->tensor->height && unit->tile + 1 == w->tiles;
}

/* The last row of operand k that a unit of an operator reads; -1 where it reads none. */
int32_t tmo_last_row(const void *program, const tmo_op *op, const tmo_unit *unit, uint8_t k);

/* Whether all rows that a unit of an operator in a row block reads of operand k exist, now that its producer has made so many units. */
static inline bool tmo_operand_rows_exist(const void *program, const tmo_op *op, const tmo_unit *unit, uint8_t k, uint16_t made) {
  const tmo_op *producer = &tmo_ops(program)[op->producer[k]];
  const int32_t row = tmo_last_row(program, op, unit, k);
  return row < 0 || made > (tmo_iterative(producer) ? tmo_walked(program, producer)->height - 1 : row);
}

/* The same of a tiled block: whether all pixels that a unit of an operator reads of operand k exist, now that its producer's next unit is `next`. */
bool tmo_operand_exists(const void *program, const tmo_block *block, const tmo_op *op, const tmo_unit *unit, uint8_t k, const tmo_unit *next);

/* Bytes that the operands of an operator take which are made int8 for one window: those that come from an external frame. Not more than
 * UINT32_MAX. */
uint32_t tmo_converted_bytes(const void *program, const tmo_block *block, const tmo_op *op);

/* Of an operator that adds up groups: which of its int32 sums is the first of this unit. */
static inline uint32_t tmo_group_sum(const tmo_walk *w, const tmo_unit *unit) {
  const uint32_t row = (uint32_t)(unit->row - tmo_strip_first(w, unit->strip));
  return (row * w->tensor->width + tmo_unit_column(w, unit)) * w->tensor->channels;
}

/* Where the pixels of one row live: pixel x at offset + ((first + x * step) % depth) * pixel, from the tensor's base. */
typedef struct {
  uint32_t offset;
  uint32_t first, step, depth; /* pixels of the ring */
  uint32_t pixel;              /* bytes */
} tmo_line;

/* Row y, of strip `strip` if it is computed again in every strip. */
tmo_line tmo_line_of(const void *program, const tmo_tensor *t, uint32_t pixel, uint16_t strip, uint16_t y);

static inline uint32_t tmo_pixel_offset(const tmo_line *l, uint32_t x) {
  return l->offset + tmo_remainder(l->first + x * l->step, l->depth) * l->pixel;
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_WALK_H_ */
