/* SPDX-License-Identifier: Apache-2.0 */
/* This header has the operator of tflm-memopt for all versions of TensorFlow Lite Micro since 2023. The adapter is C++11, but TFLM's headers since
 * July 2026 (types/half.h) need C++14.
 *
 *   tflite::MicroMutableOpResolver<1> resolver;
 *   resolver.AddCustom(tmo::kRegion, tmo::RegisterRegion());
 *
 * Build the adapter with the same settings as TFLM. Never define TF_LITE_STATIC_MEMORY for the adapter alone, because that changes TFLM's structs. */
#ifndef TMO_TFLM_H_
#define TMO_TFLM_H_

#if defined(__has_include) && !__has_include("tensorflow/lite/micro/micro_context.h")
#error "tflm-memopt: this TensorFlow Lite Micro is older than 2023 (no micro_context.h); update it, or convert with --emit c, which needs none"
#endif

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/micro_context.h"
#if __has_include("tensorflow/lite/micro/kernels/circular_buffer.h")
#include "tensorflow/lite/micro/kernels/circular_buffer.h" /* this header declared kTfLiteAbort until July 2023, and micro_context.h declares it in later versions */
#endif
#include "tmo/library.h"
#include "tmo/turns.h"
#include "tmo_names.h"

namespace tmo {

/* The type of a registration is TfLiteRegistration in versions until May 2023, and TFLMRegistration in later versions. The registration type is in
 * namespace tflite::micro after August 2026. */
using Registration = decltype(::tflite::micro::RegisterOp(nullptr, nullptr, nullptr));

/* status::kTfLiteAbort is the constant of the TFLM in use (15 or -9), which Invoke() returns when it needs more rows. The constant kTfLiteAbort is in
 * namespace tflite, and in tflite::micro in versions after August 2026. */
namespace status {
using namespace ::tflite;
using namespace ::tflite::micro;
}  // namespace status

namespace region {
using namespace ::tflite;
using namespace ::tflite::micro;

/* Prepare() and Invoke() of the operator call the functions of a library's table. team: the team of two cores, or NULL. */
TfLiteStatus Prepare(const tmo_library &library, TfLiteContext *context, TfLiteNode *node);
TfLiteStatus Invoke(const tmo_library &library, tmo_team *team, TfLiteContext *context, TfLiteNode *node);

template <const tmo_library *library>
TfLiteStatus PrepareBy(TfLiteContext *context, TfLiteNode *node) {
  return Prepare(*library, context, node);
}

template <const tmo_library *library>
TfLiteStatus InvokeBy(TfLiteContext *context, TfLiteNode *node) {
  return Invoke(*library, nullptr, context, node);
}
}  // namespace region

/* Returns the registration of the operator, which serves all its names. RegisterRegion<&NAME_library>() links only the code that a model's
 * NAME_library.c contains. The registration is not const, because TFLM versions differ in the argument type of AddCustom(). */
template <const tmo_library *library>
Registration *RegisterRegion() {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, region::PrepareBy<library>, region::InvokeBy<library>);
  return &registration;
}

/* Returns a registration with all kernels, which any model can use. */
inline Registration *RegisterRegion() { return RegisterRegion<&tmo_whole_library>(); }

/* Adds the operator under all its names, which takes kNameCount places of a MicroMutableOpResolver. Returns the status of the first AddCustom() that
 * fails, or kTfLiteOk. The generated NAME_ops.h adds only the names that its model needs. */
template <typename Resolver>
auto AddOps(Resolver &resolver) -> decltype(resolver.AddCustom(kRegion, RegisterRegion())) {
  auto status = resolver.AddCustom(kNames[0], RegisterRegion());
  for (unsigned i = 1; i < kNameCount && static_cast<int>(status) == 0; ++i) {
    status = resolver.AddCustom(kNames[i], RegisterRegion());
  }
  return status;
}

/* Sets the source that a model with an external input reads in every Invoke(). The source must outlive the interpreter; you may change its fields
 * between calls. The source becomes the interpreter's external context, which can be set only once. Call SetSource() after AllocateTensors(). In
 * the reverse order, debug builds of TFLM from September 2023 to June 2025 abort. Returns 0 on success. */
template <typename Interpreter>
int SetSource(Interpreter &interpreter, tmo_source *source) {
  return static_cast<int>(interpreter.SetMicroExternalContext(source));
}

/* Sets the tmo_messenger (links/tmo_link.h) through which a model on several devices exchanges rows. Call SetLink() once, after AllocateTensors(). The
 * link must outlive the interpreter. Returns 0 on success. */
template <typename Interpreter>
int SetLink(Interpreter &interpreter, tmo_messenger *link) {
  return static_cast<int>(interpreter.SetMicroExternalContext(link));
}

/* Sets the slow memory of a model that was converted with --memory. The field `source` of the memory is the source of an external input. Call
 * SetMemory() once, after AllocateTensors(), and do not call SetSource() for the same model. The memory must outlive the interpreter. Returns 0 on
 * success. */
template <typename Interpreter>
int SetMemory(Interpreter &interpreter, tmo_memory *memory) {
  return static_cast<int>(interpreter.SetMicroExternalContext(memory));
}

enum Pushed {
  kPushError = -1, /* the run failed: TFLM has printed the reason, or the source lacks the rows */
  kPushDone = 0,   /* the outputs are complete; the next push begins a new inference */
  kPushMore = 1,   /* the model needs the next rows */
};

/* Pushes the next rows of a streamed input and runs the model as far as possible. The buffer `from` has the next rows. In `from`, the field `y` is
 * the first row, and the field `x` is the first pixel of each row. An input row has `row_bytes` bytes, which is NAME_row_bytes in NAME_ops.h. */
template <typename Interpreter>
Pushed PushRows(Interpreter &interpreter, const tmo_source &from, uint32_t row_bytes) {
  const auto *input = interpreter.inputs_size() == 1 ? interpreter.input(0) : nullptr;
  if (input == nullptr || input->dims->size == 0 || row_bytes == 0) return kPushError;
  uint32_t pixels = 1; /* number of pixels per push */
  for (int i = 0; i + 1 < input->dims->size; ++i) pixels *= static_cast<uint32_t>(input->dims->data[i]);
  if (pixels == 0) return kPushError;
  const uint32_t pixel = static_cast<uint32_t>(input->bytes / pixels);
  const uint32_t rows = static_cast<uint32_t>(input->bytes / row_bytes);
  if (tmo_take_rows(&from, pixel, row_bytes, rows, static_cast<int8_t *>(input->data.data)) != TMO_OK) return kPushError;
  const int result = static_cast<int>(interpreter.Invoke());
  if (result == 0) return kPushDone;
  return result == static_cast<int>(status::kTfLiteAbort) ? kPushMore : kPushError;
}

/* Runs a model to its next pause. The result kPushMore means that the model has paused. Call RunToPause() again to continue. The result kPushDone
 * means that the outputs are complete. During a pause, other models may use the arena. */
template <typename Interpreter>
Pushed RunToPause(Interpreter &interpreter) {
  const int result = static_cast<int>(interpreter.Invoke());
  if (result == 0) return kPushDone;
  return result == static_cast<int>(status::kTfLiteAbort) ? kPushMore : kPushError;
}

/* The functions with a parameter `turns` are for a model that shares the arena. If it is not the model's turn (tmo_enter()), these functions return
 * kPushError without running the model. The result kPushMore ends the turn, and the model's data in the arena are safe until the next tmo_enter().
 * After kPushDone, the turn lasts until tmo_leave(), so that the outputs can be read. */
template <typename Interpreter>
Pushed RunToPause(Interpreter &interpreter, tmo_turns &turns, uint32_t model) {
  if (!tmo_has_turn(&turns, model)) return kPushError;
  const Pushed pushed = RunToPause(interpreter);
  if (pushed == kPushMore) tmo_pause(&turns, model);
  return pushed;
}

template <typename Interpreter>
Pushed PushRows(Interpreter &interpreter, const tmo_source &from, uint32_t row_bytes, tmo_turns &turns, uint32_t model) {
  if (!tmo_has_turn(&turns, model)) return kPushError;
  const Pushed pushed = PushRows(interpreter, from, row_bytes);
  if (pushed == kPushMore) tmo_leave(&turns, model);
  return pushed;
}

}  // namespace tmo

#endif  // TMO_TFLM_H_
