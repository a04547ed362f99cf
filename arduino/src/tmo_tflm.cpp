/* A build without TFLM (kernels alone, tmo_run() bare-metal) compiles this file to nothing. */
#if __has_include("tensorflow/lite/micro/kernels/kernel_util.h")

#include "tmo_tflm.h"

#if __has_include("tensorflow/lite/micro/micro_log.h")
#include "tensorflow/lite/micro/micro_log.h"
#else
#include "tensorflow/lite/micro/micro_error_reporter.h"
#endif

namespace tmo {
namespace {

/* In namespace tflite::micro in versions after August 2026, in tflite before. */
using namespace ::tflite;
using namespace ::tflite::micro;

TfLiteStatus Abort() { return kTfLiteAbort; }

void *FrameOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

tmo_status CheckRun(const void *) { return TMO_OK; }

tmo_status RunWhole(const void *program, void *const *io, void *workspace) { return tmo_run(program, io, workspace); }

void *LinkOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

}  // namespace
}  // namespace tmo

#include "tmo_region_op.h"

namespace tmo {

Registration *RegisterRegion() {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, Prepare, Invoke);
  return &registration;
}

}  // namespace tmo

#endif
