/* SPDX-License-Identifier: Apache-2.0 */
/* One firing. Internal. */
#ifndef TMO_FIRE_H_
#define TMO_FIRE_H_

#include "tmo/tmo.h"
#include "walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes run->unit of the operator: all that it reads exists. TMO_OK, or TMO_ERROR_INDEX. */
TMO_LINKAGE tmo_status tmo_fire_any(const tmo_run_state *run, const tmo_op *op);

#if TMO_RUNS_PACKED
/* Makes several tiles of one row at once, from that of run->unit on to output column `end`. fires_along_row() says whether the operator can: it is a
 * packed convolution whose input and output rows lie in one piece. No tile reads later than it would alone, and none writes earlier. */
TMO_LINKAGE bool tmo_fires_along_row(const tmo_run_state *run, const tmo_op *op);
TMO_LINKAGE void tmo_fire_along_row(const tmo_run_state *run, const tmo_op *op, uint32_t end);
#endif

#if TMO_RUNS_PACKED
/* The same of packed operators whose tiles are single pixels. */
TMO_LINKAGE tmo_status tmo_fire_pixel(const tmo_run_state *run, const tmo_op *op);
#endif

/* The same, by the quickest of them that can. */
static inline tmo_status tmo_fire(const tmo_run_state *run, const tmo_op *op) {
#if TMO_RUNS_PACKED
  if (tmo_has_part(TMO_PART_TILES) && op->tile == 1 && op->packing != TMO_PACKING_NONE) return tmo_fire_pixel(run, op);
#endif
  return tmo_fire_any(run, op);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_FIRE_H_ */
