/* SPDX-License-Identifier: Apache-2.0 */
/* This header registers the custom operator for models that run on two cores. TFLM's interpreter calls Invoke() on core 0, and core 1 helps.
 *
 * Both cores use one variable `tmo_team team = {wake, wait, &context};`. The header tmo/cores.h explains the callbacks. Core 1 runs
 * `for (;;) tmo_run_worker(&team);`. Core 0 calls `resolver.AddCustom(tmo::kRegion, tmo::RegisterRegionShared(&team));` before the first inference.
 *
 * An application that calls RegisterRegionShared() does not need RegisterRegion(). A model that was converted for one core runs on core 0 alone. */
#ifndef TMO_TFLM_CORES_H_
#define TMO_TFLM_CORES_H_

#include "tmo/cores.h"
#include "tmo_tflm.h"

namespace tmo {

namespace region {
/* The team is a static variable. TFLM passes only one pointer of the caller to an operator, and the external input needs this pointer. */
inline tmo_team *&Team() {
  static tmo_team *team = nullptr;
  return team;
}

template <const tmo_library *library>
TfLiteStatus InvokeShared(TfLiteContext *context, TfLiteNode *node) {
  return Invoke(*library, Team(), context, node);
}
}  // namespace region

/* Returns the registration of the custom operator for two cores. The argument `team` describes the two cores, or is NULL to run all models on
 * core 0. Interpreters with the same team must not run at the same time. The team must outlive all interpreters. Without a template argument,
 * RegisterRegionShared() links the whole library for models on two cores. */
template <const tmo_library *library>
Registration *RegisterRegionShared(tmo_team *team) {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, region::PrepareBy<library>, region::InvokeShared<library>);
  region::Team() = team;
  return &registration;
}

/* Returns a registration with all kernels for two cores, so the linker adds the whole library. */
inline Registration *RegisterRegionShared(tmo_team *team) { return RegisterRegionShared<&tmo_whole_library_for_two>(team); }

}  // namespace tmo

#endif  // TMO_TFLM_CORES_H_
