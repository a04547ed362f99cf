/* One firing. Internal. */
#ifndef TMO_FIRE_H_
#define TMO_FIRE_H_

#include "tmo/tmo.h"
#include "tmo/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes run->unit of the operator: all that it reads exists. TMO_OK, or TMO_ERROR_INDEX. */
tmo_status tmo_fire(const tmo_run_state *run, const tmo_op *op);

#if TMO_RUNS_MVE
/* The same of an operator whose tiles are single pixels; false: it does not know how to make those. */
bool tmo_fire_mve(const tmo_run_state *run, const tmo_op *op);
#endif

#ifdef __cplusplus
}
#endif

#endif /* TMO_FIRE_H_ */
