/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/access.h"
#include "tmo/elements.h"
#include "tmo/view.h"

/* Copies 4 to 16 bytes as four words, which may overlap each other. The function loads all words before it stores the first word. */
static TMO_ALWAYS_INLINE void copy_short(int8_t *to, const int8_t *from, uint32_t second, uint32_t third, uint32_t last) {
  const int32_t words[4] = {tmo_int32_at(from), tmo_int32_at(from + second), tmo_int32_at(from + third), tmo_int32_at(from + last)};
  tmo_put_int32(to, words[0]);
  tmo_put_int32(to + second, words[1]);
  tmo_put_int32(to + third, words[2]);
  tmo_put_int32(to + last, words[3]);
}

/* Copies at least 16 bytes between aligned addresses. The first 16 bytes at `from` must not overlap the bytes at `to`. */
static TMO_ALWAYS_INLINE void copy_aligned(int8_t *to, const int8_t *from, uint32_t bytes) {
#if TMO_UNALIGNED /* the last 16 bytes may overlap bytes that are already copied */
  const int8_t *const last = from + bytes - 16;
  int8_t *const end = to + bytes - 16;
  for (; from <= last; to += 16, from += 16) memcpy(TMO_WORDS(to), TMO_WORDS(from), 16);
  if (bytes % 16 != 0) tmo_copy_16(end, last);
#else
  tmo_copy_words(to, from, bytes);
#endif
}

/* Copies more than 16 bytes. On a core that loads words only at aligned addresses, the function copies any number of bytes. */
static TMO_ALWAYS_INLINE void copy_long(int8_t *to, const int8_t *from, uint32_t bytes) {
  enum { LONG = 48 };
  const uintptr_t after = (uintptr_t)to - (uintptr_t)from, before = (uintptr_t)from - (uintptr_t)to;
  const bool aligned = (((uintptr_t)to | (uintptr_t)from) & 3) == 0;
  if (after < bytes || before < 16) {
    memmove(to, from, bytes);
  } else if (aligned) {
    copy_aligned(to, from, bytes);
  } else if (!TMO_UNALIGNED || (bytes >= LONG && before >= bytes)) {
    memcpy(to, from, bytes);
  } else {
    tmo_copy_unaligned(to, from, bytes);
  }
}

TMO_OWN_FRAME static void copy_piece(int8_t *to, const int8_t *from, uint32_t bytes) {
  const uint32_t last = bytes - 4;
  if (TMO_UNALIGNED && last <= 12) {
    copy_short(to, from, last < 4 ? last : 4, last < 4 ? 0 : last - 4, last);
  } else if (bytes <= 3) {
    const int8_t middle = from[bytes / 2], end = from[bytes - 1];
    to[0] = from[0];
    to[bytes / 2] = middle;
    to[bytes - 1] = end;
  } else {
    copy_long(to, from, bytes);
  }
}

TMO_OWN_FRAME static void move_bytes(const tmo_move *m, const int8_t *from, int8_t *to) {
  const uint32_t bytes = m->bytes, last = bytes - 4, source_step = (uint32_t)m->source_step, target_step = m->target_step;
  if (bytes == 1) {
    uint32_t left = m->count;
    for (; left >= 4; left -= 4) {
      TMO_UNROLLED for (uint32_t i = 0; i < 4; ++i, from += (int32_t)source_step, to += (int32_t)target_step) *to = *from;
    }
    for (; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) *to = *from;
  } else if (bytes == 2) {
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) tmo_put_int16(to, tmo_int16_at(from));
  } else if (TMO_UNALIGNED && last <= 12) {
    const uint32_t second = last < 4 ? last : 4, third = last < 4 ? 0 : last - 4;
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) copy_short(to, from, second, third, last);
  } else {
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) copy_piece(to, from, bytes);
  }
}

static TMO_ALWAYS_INLINE int32_t phase_of(const tmo_move *m, uint32_t row) { return m->period > 1 ? ((int32_t)row + m->shift) % m->period : 0; }

/* The kernel tmo_copy_s8() copies bytes as TFLM does in kernels/internal/reference/{pad,concatenation,strided_slice,depth_to_space,..}.h. An
 * iterative COPY operator has only one output row, and each iteration copies bytes of one input row into the output row. In each phase of
 * a move, the address of the moved bytes in the input row is phase_step bytes higher than in the phase before. In an iterative COPY operator, the
 * address in the output row is higher instead. */
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

/* Output rows that are computed together: the first row is at `row`, and adjacent rows are `step` bytes apart. */
typedef struct {
  int8_t *row;
  int32_t step;
  uint32_t y, n;  /* index of the first row, and number of rows */
  uint32_t bytes; /* size of a row in bytes */
} output_rows;

/* For one move, the input bytes that are copied to several adjacent output rows. The field `first` is the index of the first output row. */
typedef struct {
  const int8_t *from;
  int32_t step; /* distance in bytes between the input bytes of two adjacent output rows */
  uint32_t first, rows;
  const tmo_move *move;
} row_source;

enum { FEW_MOVES = 4 };

typedef struct {
  const tmo_access *access;
  const uint16_t *input;
  uint32_t first;
} copied_operand;

/* The rows that an iteration reads are counted operand by operand. Finds the operand that contains row r. */
static TMO_ALWAYS_INLINE void find_operand(copied_operand *of, uint32_t r) {
  for (; r < of->first; --of->input) of->first -= (--of->access)->extent;
  for (; r - of->first >= of->access->extent; ++of->input) of->first += of->access++->extent;
}

/* Returns the smallest n for which n times `step` is at least `least`. */
static uint32_t steps_to(int32_t least, uint32_t step) { return least > 0 ? tmo_quotient((uint32_t)least + step - 1, step) : 0; }

/* Finds the input bytes of the move s->move in an operand, or returns false if their distance from row to row is not constant. */
TMO_OWN_FRAME static bool find_source(const tmo_run_state *run, const copied_operand *of, const output_rows *to, row_source *s) {
  const tmo_tensor *const in = &tmo_tensors(run->program)[*of->input];
  const tmo_access *const access = of->access;
  const tmo_move *const m = s->move;
  const uint32_t mul = access->mul, div = access->div, r = m->row - of->first, height = in->height;
  const int32_t at = (int32_t)(to->y * mul + r * div) + access->add; /* `div` times the index of the row with the input bytes */
  if (access->table != 0 || in->depth < height) return false;
  uint32_t row = (uint32_t)at, down = tmo_row_bytes(in), step = mul * down, part = 0;
  if (div > 1) row = (uint32_t)tmo_rows_by(run->program, access, (uint16_t)to->y).first + r; /* the index of a row before row 0 wraps to a large number */
  if (tmo_is_reversed(in)) {
    row = height - 1 - row;
    down = 0 - down;
    step = 0 - step;
  }
  if (m->period > 1) {
    const uint32_t phase = (uint32_t)phase_of(m, to->y);
    step = (uint32_t)m->phase_step;
    part = phase * step;
    if (mul == 0 ? phase + to->n > m->period : div == 1 || m->period != div || step * div != down || (m->shift - access->add) % (int32_t)div != 0) return false;
  }
  if (mul > 1 && div > 1) return false;
  if (mul == 1 && div > 1 && m->period != div) return false;
  s->step = (int32_t)step;
  s->first = mul > 0 ? steps_to(-at, mul) : 0;
  s->rows = mul > 0 ? steps_to((int32_t)(height * div) - at, mul) : row < height ? to->n : 0;
  if (s->rows > to->n) s->rows = to->n;
  s->rows = s->rows > s->first ? s->rows - s->first : 0;
  if (s->rows > 0) s->from = tmo_base_of(run, in) + (in->offset + row * tmo_row_bytes(in) + m->source + part + s->first * step);
  return true;
}

/* Finds the input bytes of n moves for several output rows, or returns false if the rows cannot be computed together. */
static bool find_sources(const tmo_run_state *run, const tmo_op *op, const output_rows *to, const tmo_move *moves, uint32_t n, row_source *sources) {
  copied_operand of = {(const tmo_access *)tmo_constant(run->program, op->access), op->input, 0};
  for (row_source *s = sources; s != sources + n; ++s, ++moves) {
    find_operand(&of, moves->row);
    s->move = moves;
    if (!find_source(run, &of, to, s)) return false;
  }
  return true;
}

TMO_OWN_FRAME static void move_row(const tmo_run_state *run, const tmo_op *op, const tmo_copy *copy, const output_rows *to) {
  copied_operand of = {(const tmo_access *)tmo_constant(run->program, op->access), op->input, 0};
  const tmo_move *m = (const tmo_move *)(const void *)(copy + 1);
  uint32_t known = UINT32_MAX; /* index of the row at the address `from` */
  const int8_t *from = NULL;
  for (const tmo_move *const last = m + copy->n_moves; m != last; ++m) {
    if (m->row != known) {
      known = m->row;
      find_operand(&of, known);
      const tmo_tensor *const in = &tmo_tensors(run->program)[*of.input];
      const tmo_rows rows = tmo_rows_by(run->program, of.access, (uint16_t)to->y);
      const uint32_t r = known - of.first, row = (uint32_t)rows.first + r; /* the index of a row before row 0 wraps to a large number */
      from = r < rows.count && row < in->height ? tmo_base_of(run, in) + tmo_row_offset(in, row) : NULL;
    }
    if (from == NULL) continue;
    const int8_t *const run_of_bytes = from + m->source + phase_of(m, to->y) * m->phase_step;
    if (m->count == 1) {
      copy_piece(to->row + m->target, run_of_bytes, m->bytes);
    } else {
      move_bytes(m, run_of_bytes, to->row + m->target);
    }
  }
}

/* Copies the input bytes of all moves row by row, because the output may overlap the operands. */
TMO_OWN_FRAME static void move_rows(const output_rows *to, row_source *sources, const row_source *last) {
  int8_t *row = to->row;
  if (last - sources == 1 && sources->move->count == 1) {
    tmo_move all;
    all.bytes = sources->move->bytes;
    all.count = (uint16_t)sources->rows;
    all.source_step = sources->step;
    all.target_step = (uint32_t)to->step;
    move_bytes(&all, sources->from, row + (int32_t)sources->first * to->step + sources->move->target);
    return;
  }
  for (uint32_t i = 0; i < to->n; ++i, row += to->step) {
    for (row_source *s = sources; s != last; ++s) {
      if (i - s->first >= s->rows) continue;
      const tmo_move *const m = s->move;
      const int8_t *const from = s->from;
      s->from = from + s->step;
      if (m->count == 1) {
        copy_piece(row + m->target, from, m->bytes);
      } else {
        move_bytes(m, from, row + m->target);
      }
    }
  }
}

/* Returns whether each move copies adjacent input rows to adjacent output rows. */
static bool are_whole(const output_rows *to, const row_source *sources, const row_source *last) {
  for (const row_source *s = sources; s != last; ++s) {
    if (s->move->bytes != to->bytes || s->move->count != 1 || s->step != (int32_t)to->bytes) return false;
  }
  return to->step == (int32_t)to->bytes;
}

TMO_OWN_FRAME static void move_whole_rows(const output_rows *to, const row_source *sources, const row_source *last) {
  for (uint32_t i = 0; i < to->n;) {
    const row_source *s = sources;
    while (s != last && i - s->first >= s->rows) ++s;
    if (s == last) return;
    const uint32_t rows = s->rows - (i - s->first);
    copy_piece(to->row + i * to->bytes, s->from + (i - s->first) * to->bytes, rows * to->bytes);
    i += rows;
  }
}

TMO_OWN_FRAME static void fill_bytes(int8_t *to, int8_t fill, uint32_t bytes) {
  if (!TMO_UNALIGNED) {
    memset(to, fill, bytes);
  } else if (bytes >= 4) {
    const int32_t word = (int32_t)((uint8_t)fill * 0x01010101u);
    int8_t *const last = to + bytes - 4;
    for (; last - to >= 32; to += 32) {
      TMO_UNROLLED for (uint32_t i = 0; i < 32; i += 4) tmo_put_int32(to + i, word);
    }
    for (; to < last; to += 4) tmo_put_int32(to, word);
    tmo_put_int32(last, word);
  } else if (bytes > 0) {
    to[0] = to[bytes / 2] = to[bytes - 1] = fill;
  }
}

/* Copies some bytes to each output row, and fills the remaining bytes of the rows. One call of fill_bytes() fills the end of a row and the start of
 * the next row, if the rows are adjacent. */
TMO_OWN_FRAME static void pad_rows(const output_rows *to, const row_source *s, int8_t fill) {
  const tmo_move *const m = s->move;
  int8_t *row = to->row, *next = row, *end = row;
  const int8_t *from = s->from;
  for (uint32_t i = 0; i < to->n; ++i, row += to->step) {
    if (row != end) {
      fill_bytes(next, fill, (uint32_t)(end - next));
      next = row;
    }
    end = row + to->bytes;
    if (i - s->first >= s->rows) continue;
    int8_t *const run = row + m->target;
    fill_bytes(next, fill, (uint32_t)(run - next));
    copy_piece(run, from, m->bytes);
    next = run + m->bytes;
    from += s->step;
  }
  fill_bytes(next, fill, (uint32_t)(end - next));
}

/* Returns the address of row 0 of a tensor. Returns NULL if the arena does not hold the whole tensor, or the rows are not adjacent in ascending
 * order. */
TMO_OWN_FRAME static int8_t *all_rows(const tmo_run_state *run, const tmo_tensor *t) {
  const bool whole = tmo_is_ascending(t) && t->depth >= t->height && !tmo_has_column_windows(t) && !tmo_is_source(run->program, t);
  return whole ? (int8_t *)(uintptr_t)tmo_base_of(run, t) + t->offset : NULL;
}

/* Computes the output rows up to row `end` - 1 of an operator with one move, such as DEPTH_TO_SPACE. The bytes of access->div adjacent output rows
 * are parts of the same input row, and the parts are equally far apart. Returns false without copying anything if the caller must copy the bytes with
 * another function. */
TMO_OWN_FRAME static bool copy_parts(const tmo_run_state *run, const tmo_op *op, const tmo_move *m, uint32_t end) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const tmo_access *const access = (const tmo_access *)tmo_constant(run->program, op->access);
  const uint32_t div = access->div, first = run->current.row + (uint32_t)access->add, last = end - 1 + (uint32_t)access->add;
  const uint32_t bytes = tmo_row_bytes(in), out_bytes = tmo_row_bytes(out), step = m->period > 1 ? (uint32_t)m->phase_step : 0;
  if (div == 1 || access->table != 0 || access->mul != 1) return false;
  const int8_t *from = all_rows(run, in);
  if (from == NULL) return false;
  int8_t *to = all_rows(run, out);
  if (to == NULL) return false;
  if ((m->period > 1 && (m->period != div || (m->shift - access->add) % (int32_t)div != 0)) || (int32_t)first < 0 || last / div + m->row >= in->height) return false;
  uint32_t row = first / div, part = first - row * div;
  from += (row + m->row) * bytes + m->source + part * step;
  to += run->current.row * out_bytes + m->target;
  for (uint32_t n = end - run->current.row; n > 0; --n, to += out_bytes, from += (int32_t)step) {
    if (m->count == 1) {
      copy_piece(to, from, m->bytes);
    } else {
      move_bytes(m, from, to);
    }
    if (++part == div) {
      part = 0;
      from += (int32_t)(bytes - div * step);
    }
  }
  return true;
}

/* Copies the output rows up to row `end` - 1, for an operator with one move, such as SLICE. The copied bytes must be in the input and equally far
 * apart. Returns false without copying anything if the caller must copy the bytes with another function. */
TMO_OWN_FRAME static bool copy_slice(const tmo_run_state *run, const tmo_op *op, const tmo_move *m, uint32_t end) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  const tmo_access *const access = (const tmo_access *)tmo_constant(run->program, op->access);
  if ((access->table | in->layout | out->layout) != 0 || access->div != 1) return false;
  const uint32_t y = run->current.row, mul = access->mul, n = end - y, row = y * mul + (uint32_t)access->add + m->row;
  if (row >= in->height || (n - 1) * mul >= in->height - row || in->depth < in->height || out->depth < out->height) return false;
  if (tmo_has_column_windows(in) || tmo_has_column_windows(out) || tmo_is_source(run->program, in)) return false;
  const uint32_t bytes = tmo_row_bytes(in), out_bytes = tmo_row_bytes(out);
  uint32_t step = bytes * mul, offset = in->offset + row * bytes + m->source;
  if (m->period > 1) {
    const uint32_t phase = (uint32_t)phase_of(m, y);
    if (mul > 0 || phase + n > m->period) return false;
    step = (uint32_t)m->phase_step;
    offset += phase * step;
  }
  const int8_t *from = tmo_base_of(run, in) + offset;
  int8_t *to = tmo_output_base(run, out) + (out->offset + y * out_bytes + m->target);
  if (m->count > 1) {
    for (uint32_t left = n; left > 0; --left, from += (int32_t)step, to += out_bytes) move_bytes(m, from, to);
  } else if (m->bytes == out_bytes && step == out_bytes) {
    copy_piece(to, from, n * out_bytes);
  } else {
    tmo_move rows; /* The function sets only the fields that move_bytes() reads. */
    rows.bytes = m->bytes;
    rows.count = (uint16_t)n;
    rows.source_step = (int32_t)step;
    rows.target_step = out_bytes;
    move_bytes(&rows, from, to);
  }
  return true;
}

/* The bytes that each output row gets from an operand. */
typedef struct {
  const int8_t *from;
  uint32_t step; /* distance in bytes between the bytes for two adjacent output rows */
  uint32_t target;
  uint32_t bytes; /* number of adjacent bytes, or 0 if the bytes of the move are not adjacent */
  const tmo_move *move;
} piece;

/* Computes all output rows of an operator such as CONCATENATION or PACK, which has one move for each operand. Either each output row has bytes of each
 * operand, or all rows of an operand follow all rows of the previous operand. Returns false without copying anything if the caller must copy the bytes
 * with another function. */
TMO_OWN_FRAME static bool join_operands(const tmo_run_state *run, const tmo_op *op, const tmo_move *m, uint32_t end) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const out = &tensors[op->output];
  const tmo_access *access = (const tmo_access *)tmo_constant(run->program, op->access);
  if (run->current.row > 0 || end < out->height) return false;
  int8_t *to = all_rows(run, out);
  if (to == NULL) return false;
  const bool in_turn = tensors[op->input[0]].height * access->div < end;
  const uint32_t row_bytes = tmo_row_bytes(out);
  piece pieces[FEW_MOVES], *last = pieces;
  for (uint32_t k = 0, row = 0; k < op->n_inputs; ++k, ++access, ++m, ++last) {
    const tmo_tensor *const in = &tensors[op->input[k]];
    const uint32_t div = access->div, height = in->height * div, step = div > 1 ? (uint32_t)m->phase_step : tmo_row_bytes(in);
    if (((uint32_t)access->add + row) | access->table | (m->row ^ k) | m->shift | (access->mul ^ 1u) | (access->extent ^ 1u) | (m->period ^ div)) return false;
    if (step * div != tmo_row_bytes(in) || (in_turn ? m->bytes != row_bytes || step != row_bytes || height > end - row : height != end)) return false;
    const int8_t *const from = all_rows(run, in);
    if (from == NULL) return false;
    last->from = from + m->source;
    last->step = step;
    last->target = in_turn ? row * row_bytes : m->target;
    last->bytes = in_turn ? height * row_bytes : m->count > 1 ? 0 : m->bytes;
    last->move = m;
    if (in_turn) row += height;
  }
  for (uint32_t n = in_turn ? 1 : end; n > 0; --n, to += row_bytes) {
    for (piece *p = pieces; p != last; ++p) {
      const int8_t *const from = p->from;
      const uint32_t bytes = p->bytes, most = bytes - 4;
      p->from = from + p->step;
      if (TMO_UNALIGNED && most <= 12) {
        copy_short(to + p->target, from, most < 4 ? most : 4, most < 4 ? 0 : most - 4, most);
      } else if (bytes > 0) {
        copy_piece(to + p->target, from, bytes);
      } else {
        move_bytes(p->move, from, to + p->target);
      }
    }
  }
  return true;
}

/* Computes the rows of a PAD operator up to row `end` - 1, if each output row has bytes of at most one input row. Returns false without computing
 * anything if an output row has bytes of several input rows. */
TMO_OWN_FRAME static bool pad_each_row(const tmo_run_state *run, const tmo_op *op, const tmo_copy *copy, const tmo_move *m, uint32_t end) {
  const tmo_tensor *const in = &tmo_tensors(run->program)[op->input[0]], *const out = &tmo_tensors(run->program)[op->output];
  const tmo_access *const access = (const tmo_access *)tmo_constant(run->program, op->access);
  if (access->table != 0 || access->mul != 1 || access->div != 1 || m->count != 1 || m->period > 1) return false;
  output_rows to;
  row_source s;
  const uint32_t y = run->current.row, n = end - y, height = in->height, bytes = tmo_row_bytes(in);
  const int32_t row = (int32_t)y + access->add + m->row;
  s.move = m;
  s.step = (int32_t)bytes;
  s.first = row < 0 ? (uint32_t)-row : 0;
  if (s.first > n) s.first = n;
  const uint32_t start = (uint32_t)row + s.first, left = start < height ? height - start : 0;
  s.rows = n - s.first < left ? n - s.first : left;
  s.from = all_rows(run, in);
  if (s.from == NULL || !tmo_is_ascending(out)) return false;
  to.row = tmo_adjacent_pixels(run, out, y, end);
  if (to.row == NULL) return false;
  if (s.rows > 0) s.from += start * bytes + m->source;
  to.n = n;
  to.bytes = tmo_row_bytes(out);
  to.step = (int32_t)to.bytes;
  pad_rows(&to, &s, copy->fill);
  return true;
}

TMO_OWN_FRAME static bool are_whole_rows(const tmo_run_state *run, const tmo_op *op) {
  const tmo_tensor *const tensors = tmo_tensors(run->program);
  bool whole = has_whole_rows(run, &tensors[op->output]);
  for (uint32_t k = 0; k < op->n_inputs && whole; ++k) whole = has_whole_rows(run, &tensors[op->input[k]]);
  return whole;
}

TMO_OWN_FRAME static void copy_rows(const tmo_run_state *run, const tmo_op *op, const tmo_copy *copy, uint32_t end) {
  const tmo_move *const moves = (const tmo_move *)(const void *)(copy + 1);
  const tmo_tensor *const out = &tmo_tensors(run->program)[op->output];
  const bool is_reversed = tmo_is_reversed(out), pads = copy->fills && copy->n_moves == 1 && moves->count == 1;
  bool together = copy->n_moves <= FEW_MOVES && (pads || !copy->fills);
  row_source sources[FEW_MOVES];
  output_rows to;
  to.bytes = tmo_row_bytes(out);
  to.step = is_reversed ? -(int32_t)to.bytes : (int32_t)to.bytes;
  for (to.y = run->current.row; to.y < end; to.y += to.n) {
    const uint32_t left = end - to.y, at = is_reversed ? out->height - 1u - to.y : tmo_remainder(to.y, out->depth);
    to.n = is_reversed || left < out->depth - at ? left : out->depth - at;
    to.row = tmo_output_base(run, out) + (out->offset + at * to.bytes);
    if (together && to.n > 1) together = find_sources(run, op, &to, moves, copy->n_moves, sources);
    if (!together || to.n == 1) {
      to.n = 1;
      if (copy->fills) memset(to.row, copy->fill, to.bytes);
      move_row(run, op, copy, &to);
    } else if (pads) {
      pad_rows(&to, sources, copy->fill);
    } else if (are_whole(&to, sources, sources + copy->n_moves)) {
      move_whole_rows(&to, sources, sources + copy->n_moves);
    } else {
      move_rows(&to, sources, sources + copy->n_moves);
    }
  }
}

/* Moves the bytes of the input rows up to row `end` - 1 to their places in the only output row of an iterative COPY operator. */
TMO_OWN_FRAME static bool scatter_rows(const tmo_run_state *run, const tmo_op *op, const tmo_copy *copy, uint32_t end) {
  const tmo_tensor *const tensors = tmo_tensors(run->program), *const in = &tensors[op->input[0]], *const out = &tensors[op->output];
  int8_t *const to = all_rows(run, out);
  if (to == NULL || !has_whole_rows(run, in)) return false;
  for (uint32_t y = run->current.row; y < end; ++y) {
    const int8_t *const row = tmo_base_of(run, in) + tmo_row_offset(in, y);
    const tmo_move *m = (const tmo_move *)(const void *)(copy + 1);
    for (const tmo_move *const last = m + copy->n_moves; m != last; ++m) move_bytes(m, row + m->source, to + m->target + phase_of(m, y) * m->phase_step);
  }
  return true;
}

bool tmo_copy_rows(const tmo_run_state *run, const tmo_op *op, uint32_t end) {
  if (!tmo_by_row(op)) return false;
  const tmo_copy *const copy = (const tmo_copy *)tmo_constant(run->program, op->copy);
  const tmo_move *const first = (const tmo_move *)(const void *)(copy + 1);
  if (tmo_iterative(op)) return scatter_rows(run, op, copy, end);
  if (copy->n_moves == op->n_inputs) {
    if (op->n_inputs == 1) {
      if (copy->fills ? pad_each_row(run, op, copy, first, end) : copy_slice(run, op, first, end) || copy_parts(run, op, first, end)) return true;
    } else if (!copy->fills && op->n_inputs <= FEW_MOVES && join_operands(run, op, first, end)) {
      return true;
    }
  }
  if (!are_whole_rows(run, op)) return false;
  copy_rows(run, op, copy, end);
  return true;
}
