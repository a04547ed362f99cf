/* SPDX-License-Identifier: Apache-2.0 */
/* Without TFLM, this file compiles to nothing, for example in a firmware that calls tmo_run() itself. */
#if __has_include("tensorflow/lite/micro/kernels/kernel_util.h")

#include "tmo_tflm.h"

#if __has_include("tensorflow/lite/micro/micro_log.h")
#include "tensorflow/lite/micro/micro_log.h"
#else
#include "tensorflow/lite/micro/micro_error_reporter.h"
#endif

namespace tmo {
namespace {

/* TFLM uses namespace tflite until August 2026, and namespace tflite::micro afterwards. */
using namespace ::tflite;
using namespace ::tflite::micro;

TfLiteStatus Abort() { return kTfLiteAbort; }

void *SourceOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

void *LinkOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

void *MemoryOf(TfLiteContext *context) { return GetMicroContext(context)->external_context(); }

/* InputData() and OutputData() omit the check of the index in TFLM's functions GetEvalInput() and GetEvalOutput(). */
void *InputData(const TfLiteContext *context, const TfLiteNode *node, int k) {
  return context->GetEvalTensor(context, node->inputs->data[k])->data.data;
}

void *OutputData(const TfLiteContext *context, const TfLiteNode *node, int k) {
  return context->GetEvalTensor(context, node->outputs->data[k])->data.data;
}

}  // namespace
}  // namespace tmo

#include "tmo_region_op.h"

namespace tmo {
namespace region {

TfLiteStatus Prepare(const tmo_library &library, TfLiteContext *context, TfLiteNode *node) { return tmo::Prepare(library, context, node); }

TfLiteStatus Invoke(const tmo_library &library, tmo_team *team, TfLiteContext *context, TfLiteNode *node) {
  return tmo::Invoke(library, team, context, node);
}

}  // namespace region
}  // namespace tmo

#endif
