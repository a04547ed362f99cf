/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an operator's pixels, and when and where a pixel exists. Internal.
 *
 * Row blocks are a special case of tiled blocks: each row is a strip, one tile wide. */
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
  const tmo_tensor *tensor; /* the operator's output, or the input of an iterative operator; units are parts of it */
  uint16_t strips;
} tmo_walk;

/* The tensor whose parts are the operator's units. */
static inline const tmo_tensor *tmo_walked(const void *program, const tmo_op *op) {
  return &tmo_tensors(program)[tmo_iterative(op) ? op->input[0] : op->output];
}

static inline tmo_walk tmo_walk_of(const void *program, const tmo_block *block, const tmo_op *op) {
  const tmo_tensor *t = tmo_walked(program, op);
  const tmo_walk walk = {op, t, tmo_is_tiled(block) ? block->strips : t->height};
  return walk;
}

/* Whether each strip of a tiled block computes all its rows, even those that the previous strip has already computed. */
static inline bool tmo_recomputes(const tmo_tensor *t) { return t->rows > t->advance; }

/* Rows [first, end) of a strip in a tiled block. */
TMO_LINKAGE int32_t tmo_strip_first(const tmo_tensor *t, uint16_t strip);
TMO_LINKAGE int32_t tmo_strip_end(const tmo_tensor *t, uint16_t strip);

/* Columns [first, end) of a unit. In a tiled block, a unit has op->tile columns; in a row block, it has all. */
static inline uint32_t tmo_unit_column(const tmo_op *op, const tmo_unit *unit) { return (uint32_t)unit->tile * op->tile; }
static inline uint32_t tmo_unit_column_end(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  const uint32_t end = tmo_unit_column(op, unit) + op->tile;
  return !tmo_by_row(op) && end < t->width ? end : t->width;
}

/* Moves to the first unit of the strip, or of the next strip that has rows. If none is left, the unit's strip is `strips`. */
TMO_LINKAGE void tmo_enter_strip(const tmo_tensor *t, uint16_t strips, tmo_unit *unit);

/* Moves to the next unit. After the last unit, the strip is w->strips. */
static inline void tmo_unit_next(const tmo_walk *w, tmo_unit *unit) {
  const bool only_row = w->tensor->rows == 1 && unit->strip > 0; /* strip 0 may have more rows */
  if (!only_row) {
    const uint16_t row = ++unit->row; /* compute tmo_strip_end() here, because every unit needs it */
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

/* Whether a unit lies inside the tensor, and its sums inside theirs. A unit that passes cannot cause an access outside the buffers. */
static inline bool tmo_unit_fits(const tmo_walk *w, const tmo_unit *unit) {
  const tmo_tensor *t = w->tensor;
  if (unit->strip >= w->strips || unit->row >= t->height || tmo_unit_column(w->op, unit) >= t->width) return false;
  if (tmo_groups(w->op) == 1) return unit->group == 0;
  if (unit->group >= tmo_passes(w->op)) return false;
  return !tmo_sums_groups(w->op) || (unit->row >= tmo_strip_first(t, unit->strip) && unit->row < tmo_strip_end(t, unit->strip));
}

/* Whether a unit is the first or the last of an iterative operator. The first sets up the sums, the last writes the output. */
static inline bool tmo_unit_opens(const tmo_unit *unit) { return unit->row == 0 && unit->tile == 0; }
static inline bool tmo_unit_closes(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  return unit->row + 1 == t->height && tmo_unit_column_end(op, t, unit) == t->width;
}

/* Returns, along one axis, the last input coordinate under the window of output coordinate x. */
static inline int32_t tmo_last_under(uint32_t x, uint16_t stride, uint16_t pad, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const int32_t last = (int32_t)(x * stride) - pad + (kernel - 1) * (int32_t)dilation;
  return last < size ? last : size - 1;
}

/* The last row of operand k that a unit reads; -1 if it reads none. */
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

/* Bytes of the operands that a firing converts to int8 for one window, because they come from an external frame; at most UINT32_MAX. */
TMO_LINKAGE uint32_t tmo_converted_bytes(const void *program, const tmo_block *block, const tmo_op *op);

/* Index of a unit's first int32 sum, for an operator that sums channel groups. */
static inline uint32_t tmo_group_sum(const tmo_op *op, const tmo_tensor *t, const tmo_unit *unit) {
  const uint32_t row = (uint32_t)(unit->row - tmo_strip_first(t, unit->strip));
  return (row * t->width + tmo_unit_column(op, unit)) * t->channels;
}

/* Addresses of the pixels of one row: pixel x is at offset + ((first + x * step) % depth) * pixel, from the tensor's base. */
typedef struct {
  uint32_t offset;
  uint32_t first, step, depth; /* in pixels of the ring */
  uint32_t pixel;              /* bytes of a pixel */
} tmo_line;

/* A row of a tensor with lanes, as a row of one lane and a number of periods. */
typedef struct {
  const tmo_lane *lane;
  uint32_t row, period;
} tmo_lane_row;

static inline const tmo_lane *tmo_lanes(const void *program, const tmo_tensor *t) { return (const tmo_lane *)tmo_constant(program, t->lanes); }

/* Row y, of strip `strip` if every strip recomputes it. */
static inline tmo_lane_row tmo_lane_row_of(const void *program, const tmo_tensor *t, uint16_t strip, uint16_t y) {
  const bool recomputed = tmo_recomputes(t);
  const int32_t from = recomputed ? strip * t->advance + t->end - t->rows : -t->phase;
  const uint32_t row = (uint32_t)(y - from), period = recomputed ? 0 : tmo_quotient(row, t->rows);
  tmo_lane_row r = {tmo_lanes(program, t), recomputed ? tmo_remainder(row, t->rows) : row - period * t->rows, period};
  for (; r.row >= r.lane->rows; ++r.lane) r.row -= r.lane->rows;
  return r;
}

/* Row y, of strip `strip` if every strip recomputes it. */
static inline tmo_line tmo_line_of(const void *program, const tmo_tensor *t, uint32_t pixel, uint16_t strip, uint16_t y) {
  if (!tmo_has_lanes(t)) {
    const uint32_t last = t->width - 1u; /* modulo the width, a step of `last` pixels is one pixel backwards */
    const bool turned = tmo_has_part(TMO_PART_TURNED) && t->layout == TMO_LAYOUT_PIXELS_TURNED;
    const tmo_line whole = {tmo_row_offset(t, y), turned ? last : 0, turned ? last : 1, t->width, pixel};
    return whole;
  }
  const tmo_lane_row r = tmo_lane_row_of(program, t, strip, y);
  const tmo_line line = {r.lane->offset, r.period * t->width * r.lane->rows + r.row, r.lane->rows, r.lane->depth, pixel};
  return line;
}

/* A row as part of all rows of a tensor, so that the next rows follow from it. Pixel x of it is pixel ((column + x) * lane->rows + row) %
 * lane->depth of its lane. A tensor without lanes is treated as one with a single lane for all rows, which is `whole`. */
typedef struct {
  const tmo_lane *lane, *first, *end;
  uint32_t row;
  uint32_t column;
  uint32_t width; /* pixels between rows of a lane in consecutive periods */
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

/* Lists n pixels of a ring with `bytes` bytes, beginning at byte `at`. Returns the place for the next pixels. */
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
