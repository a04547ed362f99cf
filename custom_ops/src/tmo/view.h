/* SPDX-License-Identifier: Apache-2.0 */
/* This header finds the addresses of pixels in an iteration's operand or output. Internal. */
#ifndef TMO_VIEW_H_
#define TMO_VIEW_H_

#include "kernels.h"
#include "tmo/tmo.h"
#include "nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This view of a tensor has all channels, or the channels of the channel group that an iteration reads or writes. */
typedef struct {
  const tmo_tensor *tensor;
  const int8_t *base; /* address to which a pixel's offset is added, including the offset of the current channel group */
  uint32_t pixel;     /* bytes from one pixel to the next */
} tmo_view;

static inline const int8_t *tmo_base_of(const tmo_run_state *run, const tmo_tensor *t) {
  if (t->base == 0) return (const int8_t *)run->workspace;
  return (const int8_t *)(tmo_is_constant(t) ? run->program : run->io[t->base - 1]); /* tmo_check() has ensured that nothing writes to the program */
}

/* Returns the weights that were copied to the workspace. Inlining would make operators whose weights are not copied save more registers. */
TMO_LINKAGE const int8_t *tmo_copied_weights(const tmo_run_state *run, const tmo_op *op);

/* Returns the weights of an operator, which are in the program or were copied to the workspace. */
static TMO_ALWAYS_INLINE const int8_t *tmo_weights_of(const tmo_run_state *run, const tmo_op *op) {
  return tmo_copies_weights(op) ? tmo_copied_weights(run, op) : (const int8_t *)tmo_constant(run->program, op->weights);
}

static TMO_ALWAYS_INLINE tmo_view tmo_view_of(const tmo_run_state *run, uint16_t tensor) {
  const tmo_tensor *t = &tmo_tensors(run->program)[tensor];
  const tmo_view v = {t, tmo_base_of(run, t), t->channels};
  return v;
}

/* Lists `wide` pixels in each of `rows` rows, beginning at `place`. `wide` and `rows` are at least one. The listed rows are `down` rows apart, and
 * the listed pixels of a row are `across` columns apart. Between rows, `gap` places of the list stay empty. pixel: bytes of a pixel. */
static TMO_ALWAYS_INLINE void tmo_list_rows(tmo_row_place place, const int8_t *base, uint32_t pixel, uint32_t rows, uint32_t wide, uint32_t down,
                                            uint32_t across, uint32_t gap, const int8_t **pixels) {
  for (;;) {
    const tmo_column_window *const w = place.column_window;
    const uint32_t high = w->rows, bytes = w->depth * pixel, step = tmo_remainder(high * across * pixel, bytes);
    const int8_t *const first = base + w->offset, *const end = first + bytes;
    const int8_t *at = first + tmo_remainder(place.column * high + place.row, w->depth) * pixel;
    for (;;) { /* consecutive rows of a column window begin at adjacent pixels */
      const int8_t *next = at;
      for (const int8_t **const last = pixels + wide; pixels != last; next += step) {
        if (next >= end) next -= bytes;
        *pixels++ = next;
      }
      if (--rows == 0) return;
      pixels += gap;
      place.row += down;
      if (down != 1 || place.row >= high) break;
      at += pixel;
      if (at == end) at = first;
    }
    while (place.row >= place.column_window->rows) {
      place.row -= place.column_window->rows;
      if (++place.column_window < place.end) continue;
      place.column_window = place.first;
      place.column += place.width;
    }
  }
}

/* Lists the pixels under some rows and columns of an operator's window, at least one of each. The tensor must have the layout TMO_LAYOUT_HWC.
 * Between rows, `gap` places of the list stay empty. */
TMO_LINKAGE void tmo_list_pixels(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_taps *rows, const tmo_taps *columns,
                                 uint32_t gap, const int8_t **pixels);

/* Computes the rows from run->current to `end` of a COPY whose operands and output are in buffers of whole rows. */
TMO_LINKAGE void tmo_copy_rows(const tmo_run_state *run, const tmo_op *op, uint32_t end);

#ifdef __cplusplus
}
#endif

#endif /* TMO_VIEW_H_ */
