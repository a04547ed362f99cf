/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/access.h"
#include "tmo/elements.h"
#include "tmo/view.h"

/* Moves runs of 4 to 16 bytes, which four words cover. All words are loaded before the first one is stored, so that the runs may overlap. */
TMO_OWN_FRAME static void move_words(const tmo_move *m, const int8_t *from, int8_t *to) {
  const uint32_t last = m->bytes - 4, second = last < 4 ? last : 4, third = last < 4 ? 0 : last - 4, source_step = (uint32_t)m->source_step;
  for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)m->target_step) {
    const int32_t words[4] = {tmo_int32_at(from), tmo_int32_at(from + second), tmo_int32_at(from + third), tmo_int32_at(from + last)};
    tmo_put_int32(to, words[0]);
    tmo_put_int32(to + second, words[1]);
    tmo_put_int32(to + third, words[2]);
    tmo_put_int32(to + last, words[3]);
  }
}

TMO_OWN_FRAME static void move_bytes(const tmo_move *m, const int8_t *from, int8_t *to) {
  const uint32_t bytes = m->bytes, apart = 0u - 16 - bytes, source_step = (uint32_t)m->source_step, target_step = m->target_step;
  if (bytes == 1) {
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) *to = *from;
    return;
  }
  if (TMO_UNALIGNED && bytes >= 4 && bytes <= 16) {
    move_words(m, from, to);
    return;
  }
  const bool aligned = (((uint32_t)(uintptr_t)from | (uint32_t)(uintptr_t)to | source_step | target_step) & 3) == 0;
  for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) {
    const bool apart_from = (uint32_t)((uintptr_t)to - (uintptr_t)from) - bytes <= apart;
    if (aligned && apart_from) {
      tmo_copy_words(to, from, bytes);
    } else if (TMO_UNALIGNED && apart_from) {
      tmo_copy_unaligned(to, from, bytes);
    } else {
      memmove(to, from, bytes);
    }
  }
}

/* Returns the row number, shifted by m->shift, modulo the period of the move. */
static TMO_ALWAYS_INLINE int32_t phase_of(const tmo_move *m, uint32_t row) { return m->period > 1 ? ((int32_t)row + m->shift) % m->period : 0; }

/* Copies bytes, as TFLM does in kernels/internal/reference/{pad,concatenation,strided_slice,depth_to_space,..}.h. */
/* Each iteration of an iterative operator moves one input row to places in the only output row. For an iterative operator, phase_step changes the
 * address in the output row instead of the address in the input row. */
void tmo_copy_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_copy *copy = (const tmo_copy *)(const void *)k->weights;
  const tmo_move *moves = (const tmo_move *)(const void *)(copy + 1);
  if (copy->fills) memset(out, copy->fill, k->out_width * k->out_channels);
  for (uint32_t i = 0; i < copy->n_moves; ++i) {
    const tmo_move *m = &moves[i];
    const int8_t *row = window->pixels[m->row];
    const int32_t step = phase_of(m, k->row) * m->phase_step;
    if (row == NULL) continue;
    if (tmo_iterative(k->op)) {
      move_bytes(m, row + m->source, out + m->target + step);
    } else {
      move_bytes(m, row + m->source + step, out + m->target);
    }
  }
}

/* The rows of an operand that an output row needs. One sequence of numbers counts the rows of all operands. */
typedef struct {
  tmo_view in;
  tmo_rows rows;
  const tmo_access *access;
  uint32_t first, extent; /* the operand has `extent` rows from row number `first` on */
} operand_rows;

/* Finds the operand that has row number r. */
static void find_operand(const tmo_run_state *run, const tmo_op *op, uint32_t r, uint32_t y, operand_rows *from) {
  const tmo_access *access = (const tmo_access *)tmo_constant(run->program, op->access);
  const uint16_t *input = op->input;
  for (from->first = 0; r - from->first >= access->extent; ++input) from->first += access++->extent;
  from->in = tmo_view_of(run, *input);
  from->rows = tmo_rows_by(run->program, access, (uint16_t)y);
  from->access = access;
  from->extent = access->extent;
}

/* Executes a move for the output rows [y, end). fill: the value of all bytes that the move leaves, or -1. */
TMO_OWN_FRAME static void move_rows(const tmo_run_state *run, const tmo_op *op, const tmo_move *m, uint32_t y, uint32_t end, int32_t fill) {
  operand_rows from;
  find_operand(run, op, m->row, y, &from);
  const tmo_access *const access = from.access;
  const tmo_view in = from.in, out = tmo_view_of(run, op->output);
  const uint32_t r = m->row - from.first, bytes = tmo_row_bytes(out.tensor), after = m->target + m->bytes;
  for (; y < end; ++y) {
    int8_t *const to = (int8_t *)(uintptr_t)(out.base + tmo_row_offset(out.tensor, y));
    const tmo_rows rows = tmo_rows_by(run->program, access, (uint16_t)y);
    const uint32_t row = (uint32_t)rows.first + r; /* a row before row 0 wraps to a large number */
    const bool exists = r < rows.count && row < in.tensor->height;
    if (fill >= 0) memset(to, fill, exists ? m->target : bytes);
    if (!exists) continue;
    if (fill >= 0) memset(to + after, fill, bytes - after);
    move_bytes(m, in.base + tmo_row_offset(in.tensor, row) + m->source + phase_of(m, y) * m->phase_step, to + m->target);
  }
}

void tmo_copy_rows(const tmo_run_state *run, const tmo_op *op, uint32_t end) {
  const tmo_copy *const copy = (const tmo_copy *)tmo_constant(run->program, op->copy);
  const tmo_move *const moves = (const tmo_move *)(const void *)(copy + 1), *const last = moves + copy->n_moves;
  if (copy->n_moves == 1 && (!copy->fills || moves->count == 1)) {
    move_rows(run, op, moves, run->current.row, end, copy->fills ? (uint8_t)copy->fill : -1);
    return;
  }
  const tmo_view out = tmo_view_of(run, op->output);
  for (uint32_t y = run->current.row; y < end; ++y) {
    int8_t *const to = (int8_t *)(uintptr_t)(out.base + tmo_row_offset(out.tensor, y));
    if (copy->fills) memset(to, copy->fill, tmo_row_bytes(out.tensor));
    operand_rows from = {0};
    for (const tmo_move *m = moves; m != last; ++m) {
      if (m->row - from.first >= from.extent) find_operand(run, op, m->row, y, &from);
      const uint32_t r = m->row - from.first, row = (uint32_t)from.rows.first + r;
      if (r < from.rows.count && row < from.in.tensor->height) {
        move_bytes(m, from.in.base + tmo_row_offset(from.in.tensor, row) + m->source + phase_of(m, y) * m->phase_step, to + m->target);
      }
    }
  }
}
