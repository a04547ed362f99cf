/* SPDX-License-Identifier: Apache-2.0 */
/* This header has functions that find the addresses of pixels in an operand or in the output of an iteration. */
#ifndef TMO_VIEW_H_
#define TMO_VIEW_H_

#include "kernels.h"
#include "tmo/tmo.h"
#include "nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor with all its channels, or only with the channels that an iteration reads or writes. */
typedef struct {
  const tmo_tensor *tensor;
  const int8_t *base; /* address to which the offset of a pixel is added; the address includes the offset of the first channel */
  uint32_t pixel;     /* distance in bytes between adjacent pixels */
} tmo_view;

/* Returns the address of the buffer with the output of an operator. No operator of a checked program writes to the program. */
static inline int8_t *tmo_output_base(const tmo_run_state *run, const tmo_tensor *t) {
  return (int8_t *)(t->base == 0 ? run->workspace : run->io[t->base - 1]);
}

static inline const int8_t *tmo_base_of(const tmo_run_state *run, const tmo_tensor *t) {
  return t->base != 0 && tmo_is_constant(t) ? (const int8_t *)run->program : tmo_output_base(run, t);
}

/* Returns the address of weights that were copied into the workspace. The function is not inlined, so that operators without copied weights need
 * fewer registers. */
TMO_LINKAGE const int8_t *tmo_copied_weights(const tmo_run_state *run, const tmo_op *op);

static TMO_ALWAYS_INLINE const int8_t *tmo_weights_of(const tmo_run_state *run, const tmo_op *op) {
  return tmo_copies_weights(op) ? tmo_copied_weights(run, op) : (const int8_t *)tmo_constant(run->program, op->weights);
}

static TMO_ALWAYS_INLINE tmo_view tmo_view_of(const tmo_run_state *run, uint16_t tensor) {
  const tmo_tensor *t = &tmo_tensors(run->program)[tensor];
  const tmo_view v = {t, tmo_base_of(run, t), t->channels};
  return v;
}

/* Returns whether the pixels of each row are adjacent, so that tmo_row_offset() gives the offset of a row. */
static TMO_ALWAYS_INLINE bool has_whole_rows(const tmo_run_state *run, const tmo_tensor *t) {
  const bool in_order = (!tmo_has_part(TMO_PART_REVERSED) && !tmo_has_part(TMO_PART_STATE)) || t->layout <= TMO_LAYOUT_ROWS_REVERSED;
  return in_order && !tmo_has_column_windows(t) && !tmo_is_source(run->program, t);
}

/* Returns the address of the first pixel of row `first` of a tensor. Returns NULL if the pixels from row `first` to row `end` - 1 are not adjacent in
 * ascending or descending order. */
TMO_LINKAGE int8_t *tmo_adjacent_pixels(const tmo_run_state *run, const tmo_tensor *t, uint32_t first, uint32_t end);

/* Lists the addresses of several pixels in each of several rows, beginning with the row at `place`. The arguments `rows` (the number of rows) and
 * `wide` (the number of pixels of a row) must be positive. The listed rows are `down` rows apart, and the listed pixels of a row are `across` columns
 * apart. After each row, `gap` entries of the list stay unused. The argument `pixel` is the size of a pixel in bytes. If the argument `long_rows` is
 * true, the function is faster for rows of four or more pixels. */
static TMO_ALWAYS_INLINE void tmo_list_rows(tmo_row_place place, const int8_t *base, uint32_t pixel, uint32_t rows, uint32_t wide, uint32_t down,
                                            uint32_t across, uint32_t gap, bool long_rows, const int8_t **pixels) {
  for (;;) {
    const tmo_column_window *const w = place.column_window;
    const uint32_t high = w->rows, bytes = w->depth * pixel, step = tmo_remainder(high * across * pixel, bytes);
    const int8_t *const first = base + w->offset, *const end = first + bytes;
    const int8_t *at = first + tmo_remainder(place.column * high + place.row, w->depth) * pixel;
    for (;;) { /* in a column window, pixel x of the next row follows pixel x of this row */
      const int8_t *next = at;
      const int8_t **const last = pixels + wide;
      if (long_rows && wide * step <= (uint32_t)(end - at)) { /* no pixel of the row wraps */
        for (; pixels != last; next += step) *pixels++ = next;
      }
      for (; pixels != last; next += step) {
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

/* Writes the addresses of pixels under a window to a list. The arguments `rows` and `columns` must each have at least one tap. The tensor must have
 * the layout TMO_LAYOUT_HWC. After each row, `gap` entries of the list stay unused. */
TMO_LINKAGE void tmo_list_pixels(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_taps *rows, const tmo_taps *columns,
                                 uint32_t gap, const int8_t **pixels);

/* Computes the rows of a COPY operator from the row run->current.row to the row `end` - 1. The function returns false without copying anything if an
 * operand or the output is not in a buffer of whole rows. */
TMO_LINKAGE bool tmo_copy_rows(const tmo_run_state *run, const tmo_op *op, uint32_t end);

#ifdef __cplusplus
}
#endif

#endif /* TMO_VIEW_H_ */
