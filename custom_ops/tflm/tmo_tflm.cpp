#include "tmo_tflm.h"

#if __has_include("tensorflow/lite/micro/micro_log.h")
#include "tensorflow/lite/micro/micro_log.h"
#else
#include "tensorflow/lite/micro/micro_error_reporter.h"
#endif

#include "tmo_region_op.h"

namespace tmo {

Registration *RegisterRegion() {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, Prepare, Invoke);
  return &registration;
}

}  // namespace tmo
