/* The operator of tmo_tflm.h on two cores: the second one helps inside Invoke(), TFLM's interpreter stays the caller.
 *
 *   tmo_team team = {wake, wait, &context};                       both cores see it: tmo/cores.h says what the callbacks promise
 *   resolver.AddCustom(tmo::kRegion, tmo::RegisterRegionShared(&team));
 *   core 1: for (;;) tmo_run_worker(&team);
 *
 * Instead of RegisterRegion(), whose code is not linked then. Models for one core run on core 0. */
#ifndef TMO_TFLM_CORES_H_
#define TMO_TFLM_CORES_H_

#include "tmo/cores.h"
#include "tmo_tflm.h"

namespace tmo {

/* team: NULL, and core 0 runs everything. It has to live as long as interpreters; there is one for all of them, which may not run at once. */
Registration *RegisterRegionShared(tmo_team *team);

}  // namespace tmo

#endif  // TMO_TFLM_CORES_H_
