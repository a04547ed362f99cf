/* tflm-memopt's operator for TensorFlow Lite Micro, from its 2023 versions to today's. C++11.
 *
 *   tflite::MicroMutableOpResolver<1> resolver;
 *   resolver.AddCustom(tmo::kRegion, tmo::RegisterRegion());
 *
 * Build it with the same settings as the TFLM beside it. Never define TF_LITE_STATIC_MEMORY for it alone: that changes
 * TFLM's structs. */
#ifndef TMO_TFLM_H_
#define TMO_TFLM_H_

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tmo_names.h"

namespace tmo {

/* TfLiteRegistration until May 2023, TFLMRegistration since; in namespace tflite::micro after August 2026. */
using Registration = decltype(::tflite::micro::RegisterOp(nullptr, nullptr, nullptr));

/* The registration behind all names. Not const: TFLM versions differ in what AddCustom() takes. */
Registration *RegisterRegion();

/* Adds the operator under all its names: kNameCount places of a MicroMutableOpResolver. Returns the status of the first
 * AddCustom() that fails, else kTfLiteOk. The generated NAME_ops.h adds only the names that its model needs. */
template <typename Resolver>
auto AddOps(Resolver &resolver) -> decltype(resolver.AddCustom(kRegion, RegisterRegion())) {
  auto status = resolver.AddCustom(kNames[0], RegisterRegion());
  for (unsigned i = 1; i < kNameCount && static_cast<int>(status) == 0; ++i) {
    status = resolver.AddCustom(kNames[i], RegisterRegion());
  }
  return status;
}

}  // namespace tmo

#endif  // TMO_TFLM_H_
