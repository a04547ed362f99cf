/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header run iterations of an operator. */
#ifndef TMO_ITERATE_H_
#define TMO_ITERATE_H_

#include "tmo/tmo.h"
#include "nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the output of one iteration, whose position is run->current. All input rows that the iteration reads must exist. Returns TMO_OK or
 * TMO_ERROR_INDEX. */
TMO_LINKAGE tmo_status tmo_iterate_any(const tmo_run_state *run, const tmo_op *op);

TMO_LINKAGE bool tmo_iterates_along_row(const tmo_run_state *run, const tmo_op *op);
/* Computes all tiles of a row, from the column of run->current to column `end` - 1. tmo_iterate_along_row() computes the same bytes as single
 * iterations, even if outputs overwrite inputs. */
TMO_LINKAGE tmo_status tmo_iterate_along_row(tmo_run_state *run, const tmo_op *op, uint32_t end);

/* Returns whether tmo_iterate_rows() can compute whole rows of an unpacked operator with tiles. The argument `own` is a copy of the operator. If a
 * kernel computes the rows, tmo_makes_rows() sets own->tile to 0. */
TMO_LINKAGE bool tmo_makes_rows(const tmo_run_state *run, tmo_op *own);

/* Computes the operator's rows from run->current to row `end` - 1, and changes run->current. tmo_iterates_rows() must be true for the operator. If the
 * operator has tiles, tmo_makes_rows() must be true for it. */
static inline bool tmo_iterates_rows(const tmo_op *op) {
  return op->packing == TMO_PACKING_NONE && (!tmo_iterative(op) || tmo_is_kind(op, TMO_OP_COPY)) && !tmo_is_kind(op, TMO_OP_GATHER_ND);
}
TMO_LINKAGE tmo_status tmo_iterate_rows(tmo_run_state *run, const tmo_op *op, uint32_t end);

/* Computes all rows of an operator. Each row has one pixel, and the pixels are computed like the columns of a single row. If the operator must be
 * computed row by row, the function returns false and computes nothing. tmo_iterates_rows() must be true for the operator, and the operator's kind
 * must be one of TMO_WEIGHTED_KINDS. */
TMO_LINKAGE bool tmo_iterate_column(tmo_run_state *run, const tmo_op *op);

#if TMO_RUNS_PACKED
/* Computes one pixel of a packed operator, faster than tmo_iterate_any(). If TMO_FAST_PIXELS is 1, tmo_iterate_pixel() also computes one pixel of an
 * unpacked convolution, pool or table. */
TMO_LINKAGE tmo_status tmo_iterate_pixel(const tmo_run_state *run, const tmo_op *op);

#if TMO_FAST_PIXELS && TMO_CORE_DSP
/* Computes the only pixel of an int16 convolution. Returns false without computing anything if the kernel is larger than 1x1, or if a tensor is not
 * whole in the arena. tmo_iterates_rows() must be true for the operator. */
TMO_LINKAGE bool tmo_iterate_point_s16(const tmo_run_state *run, const tmo_op *op);
#endif

/* Runs `n` iterations of an operator, which compute one pixel each. The argument `n` is at least 2 and at most tmo_iterates_at_once().
 * tmo_iterate_pixels() changes run->current. */
TMO_LINKAGE uint32_t tmo_iterates_at_once(const tmo_run_state *run, const tmo_op *op);
TMO_LINKAGE void tmo_iterate_pixels(tmo_run_state *run, const tmo_op *op, const tmo_iteration *iterations, uint32_t n);

/* Computes one tile of an operator whose weights are packed for the DSP extension. If only tmo_iterate_any() can compute the tile, tmo_iterate_tile()
 * computes nothing and returns false. */
TMO_LINKAGE bool tmo_iterate_tile(const tmo_run_state *run, const tmo_op *op);

/* Computes one tile of an operator that is packed for Helium, or returns false if only tmo_iterate_any() can compute the tile. */
TMO_LINKAGE bool tmo_iterate_vectors(const tmo_run_state *run, const tmo_op *op);

/* Computes the tile of run->current and tiles below it, with at most `rows` rows together. tmo_iterate_tiles_below() computes the same bytes as
 * single iterations, even if outputs overwrite inputs. Returns the number of computed tiles, or 0 if single iterations must compute the tiles.
 * tmo_makes_tiles_below() must be true for the operator. */
TMO_LINKAGE uint32_t tmo_iterate_tiles_below(const tmo_run_state *run, const tmo_op *op, uint32_t rows);

/* Computes two rows: the row of run->current and the previous row. tmo_iterate_two_rows() changes run->current. tmo_makes_two_rows() must be true for
 * the operator. */
TMO_LINKAGE void tmo_iterate_two_rows(tmo_run_state *run, const tmo_op *op);
#endif

/* Returns whether the operator reads the window of a convolution, and has no access records. */
static inline bool tmo_lacks_access(const tmo_op *op) { return tmo_is_empty(TMO_BUILT(TMO_ACCESS_KINDS)) || op->access == 0; }

/* Runs one iteration with the fastest function that supports the operator. The argument `iterated` is the tensor whose rows or tiles the iterations
 * go through. */
static inline tmo_status tmo_iterate(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *iterated) {
  (void)iterated;
#if TMO_RUNS_DSP
  if (op->tile > 1 && op->packing != TMO_PACKING_NONE) {
    if (tmo_has_part(TMO_PART_FEW_PIXELS) && tmo_iterate_tile(run, op)) return TMO_OK;
#if TMO_RUNS_MVE
    if (tmo_has_part(TMO_PART_TILES) && tmo_iterate_vectors(run, op)) return TMO_OK;
#endif
  }
#endif
#if TMO_RUNS_PACKED
  if (!tmo_has_part(TMO_PART_PIXELS)) return tmo_iterate_any(run, op);
  if (tmo_has_part(TMO_PART_TILES) && op->tile == 1 && (TMO_FAST_PIXELS || op->packing != TMO_PACKING_NONE)) return tmo_iterate_pixel(run, op);
#endif
#if TMO_FAST_PIXELS
  const bool packed = op->packing != TMO_PACKING_NONE, by_dsp = tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_ADD);
  if (op->tile == 0 && (!packed || by_dsp) && iterated->width == 1 && tmo_lacks_access(op)) return tmo_iterate_pixel(run, op);
#endif
  return tmo_iterate_any(run, op);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_ITERATE_H_ */
