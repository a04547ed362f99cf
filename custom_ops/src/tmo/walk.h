/* SPDX-License-Identifier: Apache-2.0 */
/* In which order an operator makes its pixels, when a pixel exists, and where it lives. Internal.
 *
 * Row blocks and tiled blocks are one: in a row block each row is a strip of its own, one tile wide. */
#ifndef TMO_WALK_H_
#define TMO_WALK_H_

#include <stdbool.h>
#include <stdint.h>

#include "access.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operator's units. In a row block, a row is a strip with one tile. */
typedef struct {
  const tmo_op *op;
  const tmo_tensor *tensor; /* whose pixels the units are: the operator's output, or its input when it is iterative */
  uint16_t strips;
} tmo_walk;

/* The tensor that a walk goes through. */
static inline const tmo_tensor *tmo_walked(const void *program, const tmo_op *op) {
  return &tmo_tensors(program)[tmo_iterative(op) ? op->input[0] : op->output];
}

static inline tmo_walk tmo_walk_of(const void *program, const tmo_block *block, const tmo_op *op) {
  const tmo_tensor *t = tmo_walked(program, op);
  const tmo_walk walk = {op, t, tmo_is_tiled(block) ? block->strips : t->height};
  return walk;
}

/* Of a tiled block: whether all rows of each strip are made again. */
static inline bool tmo_recomputes(const tmo_tensor *t) { return t->rows > t->advance; }

/* Of a tiled block: rows [first, end) of a strip. */
TMO_LINKAGE int32_t tmo_strip_first(const tmo_tensor *t, uint16_t strip);
TMO_LINKAGE int32_t tmo_strip_end(const tmo_tensor *t, uint16_t strip);

/* Columns [first, end) of a unit, in a tensor that is walked by tiles of op->tile columns; of a row block, all. */
static inline uint32_t tmo_unit_column(const tmo_op *op, const tmo_unit *unit) { return (uint32_t)unit->tile * op->tile; }
static inline uint32_t tmo_unit_column_end(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  const uint32_t end = tmo_unit_column(op, unit) + op->tile;
  return !tmo_by_row(op) && end < t->width ? end : t->width;
}

/* Units of a tiled block: to the first one of the unit's strip, or of the next strip that has rows; after the last strip there is none. */
TMO_LINKAGE void tmo_enter_strip(const tmo_tensor *t, uint16_t strips, tmo_unit *unit);

/* The unit after it; after the last one comes one in strip w->strips. */
static inline void tmo_unit_next(const tmo_walk *w, tmo_unit *unit) {
  const bool only_row = w->tensor->rows == 1 && unit->strip > 0; /* strip 0 may have more */
  if (!only_row) {
    const uint16_t row = ++unit->row; /* tmo_strip_end() at hand: it is asked of each unit */
    if (row < w->tensor->height && row < unit->strip * w->tensor->advance + w->tensor->end) return;
    unit->row = (uint16_t)tmo_strip_first(w->tensor, unit->strip);
  }
  ++unit->tile;
  if (tmo_unit_column(w->op, unit) < w->tensor->width) return;
  unit->tile = 0;
  if (++unit->group < tmo_passes(w->op)) return;
  ++unit->strip;
  tmo_enter_strip(w->tensor, w->strips, unit);
}

/* Whether what a unit says lies inside the tensor, and its sums where they are: whoever believes it stays inside his buffers. */
static inline bool tmo_unit_fits(const tmo_walk *w, const tmo_unit *unit) {
  const tmo_tensor *t = w->tensor;
  if (unit->strip >= w->strips || unit->row >= t->height || tmo_unit_column(w->op, unit) >= t->width) return false;
  if (tmo_groups(w->op) == 1) return unit->group == 0;
  if (unit->group >= tmo_passes(w->op)) return false;
  return !tmo_sums_groups(w->op) || (unit->row >= tmo_strip_first(t, unit->strip) && unit->row < tmo_strip_end(t, unit->strip));
}

/* An iterative operator's first and last unit: it sets up its sums, and writes its output. */
static inline bool tmo_unit_opens(const tmo_unit *unit) { return unit->row == 0 && unit->tile == 0; }
static inline bool tmo_unit_closes(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  return unit->row + 1 == t->height && tmo_unit_column_end(op, t, unit) == t->width;
}

/* The last input coordinate, along one axis, under the window of output coordinate x. */
static inline int32_t tmo_last_under(uint32_t x, uint16_t stride, uint16_t pad, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const int32_t last = (int32_t)(x * stride) - pad + (kernel - 1) * (int32_t)dilation;
  return last < size ? last : size - 1;
}

/* The last row of operand k that a unit of an operator reads; -1 where it reads none. */
static inline int32_t tmo_last_row(const void *program, const tmo_op *op, const tmo_unit *unit, uint8_t k) {
  if (tmo_writes_sums(op, unit->group)) return -1;
  if (tmo_iterative(op)) return unit->row;
  const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
  if (op->access != 0) {
    const tmo_rows rows = tmo_accessed_rows(program, op, k, unit->row);
    const int32_t end = rows.first + rows.count < in->height ? rows.first + rows.count : in->height;
    return end > rows.first ? end - 1 : -1;
  }
  return tmo_last_under(unit->row, op->stride_h, op->pad_top, op->kernel_h, op->dilation_h, in->height);
}

/* Bytes that the operands of an operator take which are made int8 for one window: those that come from an external frame. Not more than
 * UINT32_MAX. */
TMO_LINKAGE uint32_t tmo_converted_bytes(const void *program, const tmo_block *block, const tmo_op *op);

/* Of an operator that adds up groups: which of its int32 sums is the first of this unit. */
static inline uint32_t tmo_group_sum(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  const uint32_t row = (uint32_t)(unit->row - tmo_strip_first(t, unit->strip));
  return (row * t->width + tmo_unit_column(op, unit)) * t->channels;
}

/* Where the pixels of one row live: pixel x at offset + ((first + x * step) % depth) * pixel, from the tensor's base. */
typedef struct {
  uint32_t offset;
  uint32_t first, step, depth; /* pixels of the ring */
  uint32_t pixel;              /* bytes */
} tmo_line;

/* A row of a tensor with lanes: one of its lane's, after so many periods. */
typedef struct {
  const tmo_lane *lane;
  uint32_t row, period;
} tmo_lane_row;

static inline const tmo_lane *tmo_lanes(const void *program, const tmo_tensor *t) { return (const tmo_lane *)tmo_constant(program, t->lanes); }

/* Row y, of strip `strip` if it is computed again in every strip. */
static inline tmo_lane_row tmo_lane_row_of(const void *program, const tmo_tensor *t, uint16_t strip, uint16_t y) {
  const bool recomputed = tmo_recomputes(t);
  const int32_t from = recomputed ? strip * t->advance + t->end - t->rows : -t->phase;
  const uint32_t row = (uint32_t)(y - from), period = recomputed ? 0 : tmo_quotient(row, t->rows);
  tmo_lane_row r = {tmo_lanes(program, t), recomputed ? tmo_remainder(row, t->rows) : row - period * t->rows, period};
  for (; r.row >= r.lane->rows; ++r.lane) r.row -= r.lane->rows;
  return r;
}

/* Row y, of strip `strip` if it is computed again in every strip. */
static inline tmo_line tmo_line_of(const void *program, const tmo_tensor *t, uint32_t pixel, uint16_t strip, uint16_t y) {
  if (!tmo_has_lanes(t)) {
    const uint32_t last = t->width - 1u; /* a step of `last` pixels is one backwards */
    const bool turned = tmo_has_part(TMO_PART_TURNED) && t->layout == TMO_LAYOUT_PIXELS_TURNED;
    const tmo_line whole = {tmo_row_offset(t, y), turned ? last : 0, turned ? last : 1, t->width, pixel};
    return whole;
  }
  const tmo_lane_row r = tmo_lane_row_of(program, t, strip, y);
  const tmo_line line = {r.lane->offset, r.period * t->width * r.lane->rows + r.row, r.lane->rows, r.lane->depth, pixel};
  return line;
}

/* A row among all those of a tensor, and what the next ones follow from: pixel x of it is number ((column + x) * lane->rows + row) % lane->depth
 * of its lane. A tensor without lanes is like one whose rows are all in one, which `whole` becomes. */
typedef struct {
  const tmo_lane *lane, *first, *end;
  uint32_t row;
  uint32_t column;
  uint32_t width; /* pixels from a lane's row to that of the next period */
} tmo_row_place;

static TMO_ALWAYS_INLINE tmo_row_place tmo_find_row(const void *program, const tmo_tensor *t, uint16_t strip, uint32_t y, tmo_lane *whole) {
  if (tmo_has_lanes(t)) {
    const tmo_lane_row r = tmo_lane_row_of(program, t, strip, (uint16_t)y);
    const tmo_lane *const first = tmo_lanes(program, t);
    const tmo_row_place place = {r.lane, first, first + t->n_lanes, r.row, r.period * t->width, tmo_recomputes(t) ? 0 : t->width};
    return place;
  }
  whole->offset = t->offset;
  whole->depth = (uint32_t)t->depth * t->width;
  whole->rows = 1;
  const tmo_row_place place = {whole, whole, whole + 1, 0, y * t->width, t->width};
  return place;
}

/* Lists n pixels of a ring of so many bytes, from byte `at` of it on. Gives where the next ones are listed. */
static TMO_ALWAYS_INLINE const int8_t **tmo_list_ring(const int8_t *ring, uint32_t bytes, uint32_t at, uint32_t step, uint32_t n, const int8_t **pixels) {
  for (const int8_t **const end = pixels + n; pixels != end; at += step) {
    if (at >= bytes) at = tmo_remainder(at - bytes, bytes);
    *pixels++ = ring + at;
  }
  return pixels;
}

static inline uint32_t tmo_pixel_offset(const tmo_line *l, uint32_t x) {
  return l->offset + tmo_remainder(l->first + x * l->step, l->depth) * l->pixel;
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_WALK_H_ */
