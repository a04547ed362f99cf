#include "tmo/walk.h"

static int32_t clamp(int32_t x, int32_t most) { return x < 0 ? 0 : x > most ? most : x; }

tmo_walk tmo_walk_of(const void *program, const tmo_block *block, const tmo_op *op) {
  const tmo_tensor *t = tmo_walked(program, op);
  if (!tmo_is_tiled(block)) return tmo_walk_by_row(t);
  const uint16_t tiles = (uint16_t)(tmo_quotient(t->width - 1u, op->tile) + 1);
  const tmo_walk tiled = {t, t->advance, t->end, t->rows, block->strips, tmo_passes(op), tiles, op->tile};
  return tiled;
}

int32_t tmo_strip_first(const tmo_walk *w, uint16_t strip) {
  if (strip == 0 && w->rows <= w->advance) return 0;
  return clamp(strip * w->advance + w->end - w->rows, w->tensor->height);
}

int32_t tmo_strip_end(const tmo_walk *w, uint16_t strip) { return clamp(strip * w->advance + w->end, w->tensor->height); }

/* The strip in which a row is new, of a tensor that is cached. */
static uint16_t strip_of(const tmo_tensor *t, int32_t row) {
  return row < t->end ? 0 : (uint16_t)(tmo_quotient((uint32_t)(row - t->end), t->advance) + 1);
}

/* Go to the first unit of the unit's strip, or of the next that has rows. */
static void enter_strip(const tmo_walk *w, tmo_unit *unit) {
  while (unit->strip < w->strips && tmo_strip_first(w, unit->strip) >= tmo_strip_end(w, unit->strip)) ++unit->strip;
  unit->group = 0;
  unit->tile = 0;
  unit->row = (uint16_t)tmo_strip_first(w, unit->strip);
}

void tmo_unit_first(const tmo_walk *w, tmo_unit *unit) {
  unit->strip = 0;
  enter_strip(w, unit);
}

void tmo_unit_next(const tmo_walk *w, tmo_unit *unit) {
  if (++unit->row < tmo_strip_end(w, unit->strip)) return;
  unit->row = (uint16_t)tmo_strip_first(w, unit->strip);
  if (++unit->tile < w->tiles) return;
  unit->tile = 0;
  if (++unit->group < w->groups) return;
  ++unit->strip;
  enter_strip(w, unit);
}

void tmo_unit_skip(const tmo_walk *w, tmo_unit *next, uint16_t strip) {
  if (w->rows <= w->advance || next->strip >= strip) return;
  next->strip = strip;
  enter_strip(w, next);
}

bool tmo_unit_exists(const tmo_walk *w, const tmo_unit *unit) {
  return unit->strip < w->strips && unit->group < w->groups && unit->tile < w->tiles && unit->row >= tmo_strip_first(w, unit->strip) &&
         unit->row < tmo_strip_end(w, unit->strip);
}

static uint16_t column_end(const tmo_tensor *t, uint16_t tile, const tmo_unit *unit) {
  const uint32_t end = (unit->tile + 1u) * tile;
  return (uint16_t)(end < t->width ? end : t->width);
}

uint16_t tmo_unit_column_end(const tmo_walk *w, const tmo_unit *unit) { return column_end(w->tensor, w->tile, unit); }

static bool after(const tmo_unit *a, const tmo_unit *b) {
  if (a->strip != b->strip) return a->strip > b->strip;
  if (a->group != b->group) return a->group > b->group;
  if (a->tile != b->tile) return a->tile > b->tile;
  return a->row > b->row;
}

/* The last input coordinate, along one axis, under the window of output coordinate x. */
static int32_t last_under(uint32_t x, uint16_t stride, uint16_t pad, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const int32_t last = (int32_t)(x * stride) - pad + (kernel - 1) * (int32_t)dilation;
  return last < size ? last : size - 1;
}

int32_t tmo_last_row(const void *program, const tmo_op *op, const tmo_unit *unit, uint8_t k) {
  if (tmo_writes_sums(op, unit->group)) return -1;
  if (tmo_iterative(op)) return unit->row;
  const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
  if (op->access != 0) {
    const tmo_rows rows = tmo_accessed_rows(program, op, k, unit->row);
    const int32_t end = rows.first + rows.count < in->height ? rows.first + rows.count : in->height;
    return end > rows.first ? end - 1 : -1;
  }
  return last_under(unit->row, op->stride_h, op->pad_top, op->kernel_h, op->dilation_h, in->height);
}

uint32_t tmo_converted_bytes(const void *program, const tmo_block *block, const tmo_op *op) {
  uint32_t bytes = 0;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
    if (tmo_input_of(program) != TMO_INPUT_EXTERNAL || !tmo_is_frame(program, in)) continue;
    const bool one = tmo_iterative(op) || (k > 0 && op->access == 0);
    const uint32_t window = op->access == 0 ? op->kernel_h : ((const tmo_access *)tmo_constant(program, op->access))[k].extent;
    const uint32_t rows = one ? 1 : window < in->height ? window : in->height; /* those that are there */
    const uint32_t columns = !tmo_is_tiled(block) ? in->width : one ? 1 : op->kernel_w < in->width ? op->kernel_w : in->width;
    const uint32_t more = rows * columns * in->channels; /* of a frame, which is not that large */
    bytes = more < UINT32_MAX - bytes ? bytes + more : UINT32_MAX;
  }
  return bytes;
}

/* Looks for the producer's unit that makes the last pixel which is read. */
bool tmo_operand_exists(const void *program, const tmo_block *block, const tmo_op *op, const tmo_unit *unit, uint8_t k, const tmo_unit *next) {
  if (next->strip >= block->strips || tmo_writes_sums(op, unit->group)) return true;
  int32_t row = tmo_last_row(program, op, unit, k);
  if (row < 0) return true;
  const tmo_op *producer = &tmo_ops(program)[op->producer[k]];
  const tmo_tensor *t = tmo_walked(program, producer);
  int32_t column = column_end(tmo_walked(program, op), op->tile, unit) - 1;
  if (tmo_iterative(producer)) { /* its only row is complete after the last pixel that it reads itself */
    row = t->height - 1;
    column = t->width - 1;
  } else if (!tmo_iterative(op) && op->access == 0) {
    column = last_under((uint32_t)column, op->stride_w, op->pad_left, op->kernel_w, op->dilation_w, t->width);
  }
  const tmo_unit last = {.strip = tmo_recomputes(t) ? unit->strip : strip_of(t, row),
                         .group = (uint16_t)(tmo_writes_group(producer) ? unit->group : tmo_passes(producer) - 1),
                         .tile = (uint16_t)tmo_quotient((uint32_t)column, producer->tile),
                         .row = (uint16_t)row};
  return after(next, &last);
}

/* The row, at most 0, at which the periods of a cached tensor begin: strips end where periods do. */
static int32_t first_period(const tmo_tensor *t) {
  const int32_t lead = t->advance == 1 ? 0 : -t->end % t->advance;
  return lead < 0 ? -lead - t->advance : -lead;
}

tmo_line tmo_line_of(const void *program, const tmo_tensor *t, uint32_t pixel, uint16_t strip, uint16_t y) {
  if (!tmo_has_lanes(t)) {
    const uint32_t last = t->width - 1u; /* a step of `last` pixels is one backwards */
    const bool turned = tmo_has_part(TMO_PART_TURNED) && t->layout == TMO_LAYOUT_PIXELS_TURNED;
    const tmo_line whole = {tmo_row_offset(t, y), turned ? last : 0, turned ? last : 1, t->width, pixel};
    return whole;
  }
  const bool recomputed = tmo_recomputes(t);
  const int32_t from = recomputed ? strip * t->advance + t->end - t->rows : first_period(t);
  const uint32_t row = (uint32_t)(y - from);
  const uint32_t period = recomputed ? 0 : tmo_quotient(row, t->rows);
  uint32_t i = recomputed ? tmo_remainder(row, t->rows) : row - period * t->rows;
  const tmo_lane *lane = (const tmo_lane *)tmo_constant(program, t->lanes);
  for (; i >= lane->rows; ++lane) i -= lane->rows;
  const tmo_line line = {lane->offset, period * t->width * lane->rows + i, lane->rows, lane->depth, pixel};
  return line;
}
