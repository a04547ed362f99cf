/* SPDX-License-Identifier: Apache-2.0 */
/* One iteration. Internal. */
#ifndef TMO_ITERATE_H_
#define TMO_ITERATE_H_

#include "tmo/tmo.h"
#include "nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the part run->current of the operator's output. All input rows that run->current needs must exist. Returns TMO_OK or TMO_ERROR_INDEX. */
TMO_LINKAGE tmo_status tmo_iterate_any(const tmo_run_state *run, const tmo_op *op);

/* Whether tmo_iterate_along_row() supports an operator. */
TMO_LINKAGE bool tmo_iterates_along_row(const tmo_run_state *run, const tmo_op *op);
/* Computes several tiles of one row at once, from run->current to output column `end`. The function reads no input later, and writes no output earlier,
 * than an iteration for each tile would. */
TMO_LINKAGE tmo_status tmo_iterate_along_row(tmo_run_state *run, const tmo_op *op, uint32_t end);

/* Computes the rows from run->current to `end` of an operator for which tmo_iterates_rows() holds. Changes run->current. */
static inline bool tmo_iterates_rows(const tmo_op *op) {
  return op->packing == TMO_PACKING_NONE && !tmo_iterative(op) && !tmo_is_kind(op, TMO_OP_GATHER_ND);
}
TMO_LINKAGE tmo_status tmo_iterate_rows(tmo_run_state *run, const tmo_op *op, uint32_t end);

#if TMO_RUNS_PACKED
/* Computes run->current like tmo_iterate_any(), but faster. tmo_iterate_pixel() supports packed operators whose tiles or rows are single pixels. Builds
 * with TMO_FAST_PIXELS also support convolutions, pools, additions and tables that are not packed, if their tiles or rows are single pixels. */
TMO_LINKAGE tmo_status tmo_iterate_pixel(const tmo_run_state *run, const tmo_op *op);

/* Computes n single pixels of an operator at once. n is at least two and at most tmo_iterates_at_once(). Changes run->current. */
TMO_LINKAGE uint32_t tmo_iterates_at_once(const tmo_run_state *run, const tmo_op *op);
TMO_LINKAGE void tmo_iterate_pixels(tmo_run_state *run, const tmo_op *op, const tmo_iteration *iterations, uint32_t n);

/* Computes the tile run->current of an operator with packed weights for the DSP extension. Returns false if only tmo_iterate_any() supports the
 * tile. */
TMO_LINKAGE bool tmo_iterate_tile(const tmo_run_state *run, const tmo_op *op);

/* Computes the row of run->current and the row before it. tmo_makes_two_rows() must hold for the operator. Changes run->current. */
TMO_LINKAGE void tmo_iterate_two_rows(tmo_run_state *run, const tmo_op *op);
#endif

/* Whether an operator has no access table. */
static inline bool tmo_lacks_access(const tmo_op *op) { return tmo_is_empty(TMO_BUILT(TMO_ACCESS_KINDS)) || op->access == 0; }

/* Computes run->current with the fastest function that supports the operator. iterated: tensor that the iterations go through. */
static inline tmo_status tmo_iterate(const tmo_run_state *run, const tmo_op *op, const tmo_tensor *iterated) {
  (void)iterated;
#if TMO_RUNS_DSP
  if (tmo_has_part(TMO_PART_FEW_PIXELS) && op->tile > 1 && op->packing != TMO_PACKING_NONE && tmo_iterate_tile(run, op)) return TMO_OK;
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
