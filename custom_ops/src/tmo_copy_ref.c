/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/access.h"
#include "tmo/kernels.h"

/* Copies an aligned run whose first bytes do not overlap any byte of `to`. Cores that load several registers at once copy 16 bytes with two
 * instructions. */
static TMO_ALWAYS_INLINE void copy_words(int8_t *to, const int8_t *from, uint32_t bytes) {
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) memcpy(TMO_WORDS(to), TMO_WORDS(from), 16);
  if (bytes == 0) return;
  if (bytes & 8) memcpy(TMO_WORDS(to), TMO_WORDS(from), 8), to += 8, from += 8;
  if (bytes & 4) memcpy(TMO_WORDS(to), TMO_WORDS(from), 4), to += 4, from += 4;
  for (bytes &= 3; bytes > 0; --bytes) *to++ = *from++;
}

static void move_bytes(const tmo_move *m, const int8_t *from, int8_t *to) {
  const uint32_t bytes = m->bytes, apart = 0u - 16 - bytes, source_step = (uint32_t)m->source_step, target_step = m->target_step;
  if (bytes == 1) {
    for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) *to = *from;
    return;
  }
  const bool aligned = (((uint32_t)(uintptr_t)from | (uint32_t)(uintptr_t)to | source_step | target_step) & 3) == 0;
  for (uint32_t left = m->count; left > 0; --left, from += (int32_t)source_step, to += (int32_t)target_step) {
    if (aligned && (uint32_t)((uintptr_t)to - (uintptr_t)from) - bytes <= apart) {
      copy_words(to, from, bytes);
    } else {
      memmove(to, from, bytes);
    }
  }
}

/* Copies bytes, as TFLM does in kernels/internal/reference/{pad,concatenation,strided_slice,depth_to_space,..}.h. */
/* An iterative operator moves one input row to its places in the only output row. The phase_step of an iterative operator is a step of the target. */
void tmo_copy_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_copy *copy = (const tmo_copy *)(const void *)k->weights;
  const tmo_move *moves = (const tmo_move *)(const void *)(copy + 1);
  if (copy->fills) memset(out, copy->fill, k->out_width * k->out_channels);
  for (uint32_t i = 0; i < copy->n_moves; ++i) {
    const tmo_move *m = &moves[i];
    const int8_t *row = window->pixels[m->row];
    const int32_t phase = m->period > 1 ? ((int32_t)k->row + m->shift) % m->period : 0;
    const int32_t step = phase * m->phase_step;
    if (row == NULL) continue;
    if (tmo_iterative(k->op)) {
      move_bytes(m, row + m->source, out + m->target + step);
    } else {
      move_bytes(m, row + m->source + step, out + m->target);
    }
  }
}
