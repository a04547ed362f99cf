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

#if TMO_RUNS_MVE
/* The same of operators that are packed for it, whose tiles are single pixels. */
TMO_LINKAGE tmo_status tmo_fire_mve_conv(const tmo_run_state *run, const tmo_op *op), tmo_fire_mve_add(const tmo_run_state *run, const tmo_op *op);
#endif

/* The same, by the quickest of them that can. */
static inline tmo_status tmo_fire(const tmo_run_state *run, const tmo_op *op) {
#if TMO_RUNS_MVE
  const bool pixel = tmo_has_part(TMO_PART_TILES) && op->tile == 1;
  if (pixel && tmo_is_packed_as(op, TMO_PACKING_MVE_CONV)) return tmo_fire_mve_conv(run, op);
  if (pixel && tmo_is_packed_as(op, TMO_PACKING_DSP_ADD)) return tmo_fire_mve_add(run, op);
#endif
  return tmo_fire_any(run, op);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_FIRE_H_ */
