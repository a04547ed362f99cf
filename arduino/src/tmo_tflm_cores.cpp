/* A build without TFLM compiles this file to nothing. */
#if __has_include("tensorflow/lite/micro/kernels/kernel_util.h")

#include "tmo_tflm_cores.h"

#if __has_include("tensorflow/lite/micro/micro_log.h")
#include "tensorflow/lite/micro/micro_log.h"
#else
#include "tensorflow/lite/micro/micro_error_reporter.h"
#endif

namespace tmo {
namespace {

using namespace ::tflite;
using namespace ::tflite::micro;

/* TFLM hands nothing of the caller's to an operator but the external context, which is the frame. */
tmo_team *shared = nullptr;

TfLiteStatus Abort() { return kTfLiteAbort; }

void *FrameOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

void *LinkOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

tmo_status CheckRun(const void *program) { return tmo_check_cores(program); }

tmo_status RunWhole(const void *program, void *const *io, void *workspace) { return tmo_run_shared(shared, program, io, workspace); }

}  // namespace
}  // namespace tmo

#include "tmo_region_op.h"

namespace tmo {

Registration *RegisterRegionShared(tmo_team *team) {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, Prepare, Invoke);
  shared = team;
  return &registration;
}

}  // namespace tmo

#endif
