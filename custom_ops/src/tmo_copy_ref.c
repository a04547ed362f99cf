/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/access.h"
#include "tmo/kernels.h"

/* Copies bytes, as TFLM does in kernels/internal/reference/{pad,concatenation,strided_slice,depth_to_space,..}.h. */
/* An iterative operator moves one input row to its places in the only output row; phase_step is then a step of the target. */
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
      tmo_move_bytes(m, row + m->source, out + m->target + step);
    } else {
      tmo_move_bytes(m, row + m->source + step, out + m->target);
    }
  }
}
