/* SPDX-License-Identifier: Apache-2.0 */
/* This header registers the operator of tmo_tflm.h for two cores. TFLM's interpreter calls Invoke() on one core, and the other core helps.
 *
 *   tmo_team team = {wake, wait, &context};                       both cores see it: tmo/cores.h says what the callbacks promise
 *   resolver.AddCustom(tmo::kRegion, tmo::RegisterRegionShared(&team));
 *   core 1: for (;;) tmo_run_worker(&team);
 *
 * RegisterRegionShared() replaces RegisterRegion(), whose code is then not linked. Models for one core run on core 0. */
#ifndef TMO_TFLM_CORES_H_
#define TMO_TFLM_CORES_H_

#include "tmo/cores.h"
#include "tmo_tflm.h"

namespace tmo {

namespace region {
/* The team is a static variable, because TFLM passes the caller's data to an operator only through the external context, which the
 * external input uses. */
inline tmo_team *&Team() {
  static tmo_team *team = nullptr;
  return team;
}

template <const tmo_library *library>
TfLiteStatus InvokeShared(TfLiteContext *context, TfLiteNode *node) {
  return Invoke(*library, Team(), context, node);
}
}  // namespace region

/* Returns a registration for two cores. team: NULL to run everything on core 0. The team must outlive all interpreters, which share it and must
 * not run at the same time. The library's table must have the function run_shared. */
template <const tmo_library *library>
Registration *RegisterRegionShared(tmo_team *team) {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, region::PrepareBy<library>, region::InvokeShared<library>);
  region::Team() = team;
  return &registration;
}

/* Returns a registration with all kernels, which any model can use. */
inline Registration *RegisterRegionShared(tmo_team *team) { return RegisterRegionShared<&tmo_whole_library_for_two>(team); }

}  // namespace tmo

#endif  // TMO_TFLM_CORES_H_
