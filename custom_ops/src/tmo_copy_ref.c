/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/access.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

TMO_OWN_FRAME static void move_bytes(const tmo_move *m, const int8_t *from, int8_t *to) {
  const uint32_t bytes = m->bytes, apart = 0u - 16 - bytes, source_step = (uint32_t)m->source_step, target_step = m->target_step;
  if (bytes == 1) {
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) *to = *from;
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
/* An iterative operator moves one input row to its places in the only output row. For an iterative operator, phase_step is added to the target's
 * address instead of the source's. */
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

void tmo_copy_row(const tmo_kernel *k, const tmo_tensor *in, const int8_t *base, tmo_rows rows, int8_t *out) {
  const tmo_copy *copy = (const tmo_copy *)(const void *)k->weights;
  const tmo_move *m = (const tmo_move *)(const void *)(copy + 1);
  if (copy->fills) memset(out, copy->fill, k->out_width * k->out_channels);
  for (const tmo_move *const end = m + copy->n_moves; m != end; ++m) {
    const uint32_t y = (uint32_t)rows.first + m->row; /* y of a row before row 0 wraps to a large number */
    if (m->row >= rows.count || y >= in->height) continue;
    move_bytes(m, base + tmo_row_offset(in, y) + m->source + phase_of(m, k->row) * m->phase_step, out + m->target);
  }
}
