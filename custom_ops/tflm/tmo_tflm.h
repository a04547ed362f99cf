/* SPDX-License-Identifier: Apache-2.0 */
/* This header registers the custom operator of tflm-memopt with any version of TensorFlow Lite Micro since 2023. The header needs C++11, but TFLM's
 * own headers since July 2026 (types/half.h) need C++14.
 *
 *   tflite::MicroMutableOpResolver<1> resolver;
 *   resolver.AddCustom(tmo::kRegion, tmo::RegisterRegion());
 *
 * Build the library with the same settings as TFLM. Never define TF_LITE_STATIC_MEMORY for the library alone, because the macro changes TFLM's
 * structs. */
#ifndef TMO_TFLM_H_
#define TMO_TFLM_H_

#if defined(__has_include) && !__has_include("tensorflow/lite/micro/micro_context.h")
#error "tflm-memopt: TensorFlow Lite Micro is older than 2023 (no micro_context.h): update TensorFlow Lite Micro, or convert with --emit c"
#endif

#include "tensorflow/lite/micro/kernels/kernel_util.h"
#include "tensorflow/lite/micro/micro_context.h"
#if __has_include("tensorflow/lite/micro/kernels/circular_buffer.h")
#include "tensorflow/lite/micro/kernels/circular_buffer.h" /* in TFLM until July 2023, circular_buffer.h declares kTfLiteAbort */
#endif
#include "tmo/library.h"
#include "tmo/turns.h"
#include "tmo_names.h"

namespace tmo {

/* TFLM's type for a registration is TfLiteRegistration in versions until May 2023, and TFLMRegistration in later versions. Versions after August 2026
 * declare TFLMRegistration in namespace tflite::micro. */
using Registration = decltype(::tflite::micro::RegisterOp(nullptr, nullptr, nullptr));

/* Invoke() returns status::kTfLiteAbort if the model needs more rows. The constant kTfLiteAbort is 15 or -9, depending on the version of TFLM. Until
 * August 2026, TFLM declares kTfLiteAbort in namespace tflite. After August 2026, TFLM declares kTfLiteAbort in namespace tflite::micro. */
namespace status {
using namespace ::tflite;
using namespace ::tflite::micro;
}  // namespace status

namespace region {
using namespace ::tflite;
using namespace ::tflite::micro;

/* The functions Prepare() and Invoke() of the custom operator call the functions of the table `library`. The argument `team` has the two cores that
 * run the model, or is NULL for one core. */
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

/* Returns the registration of the custom operator. All names of the operator have the same registration. RegisterRegion<&NAME_library>() links only
 * the code in NAME_library.c, which the converter writes for a model. RegisterRegion() without a template argument links the whole library for one
 * core. */
template <const tmo_library *library>
Registration *RegisterRegion() {
  static Registration registration = ::tflite::micro::RegisterOp(nullptr, region::PrepareBy<library>, region::InvokeBy<library>);
  return &registration;
}

/* Returns a registration with all kernels for one core, so the linker adds the whole library. */
inline Registration *RegisterRegion() { return RegisterRegion<&tmo_whole_library>(); }

/* Registers the custom operator under all its names. A MicroMutableOpResolver must have room for kNameCount more operators. The function returns
 * kTfLiteOk, or the status of the first call of AddCustom() that fails. To register only the names that a model needs, use the generated header
 * NAME_ops.h. */
template <typename Resolver>
auto AddOps(Resolver &resolver) -> decltype(resolver.AddCustom(kRegion, RegisterRegion())) {
  auto status = resolver.AddCustom(kNames[0], RegisterRegion());
  for (unsigned i = 1; i < kNameCount && static_cast<int>(status) == 0; ++i) {
    status = resolver.AddCustom(kNames[i], RegisterRegion());
  }
  return status;
}

/* Sets the picture that a model with an external input reads in every Invoke(). The tmo_source must outlive the interpreter. The fields of the
 * tmo_source may change between two calls of Invoke(). The tmo_source becomes the external context of the interpreter. The external context of an
 * interpreter can be set only once. Call SetSource() after AllocateTensors(). If SetSource() comes before AllocateTensors(), debug builds of TFLM
 * from September 2023 to June 2025 abort. The function returns 0 on success. */
template <typename Interpreter>
int SetSource(Interpreter &interpreter, tmo_source *source) {
  return static_cast<int>(interpreter.SetMicroExternalContext(source));
}

/* Sets the tmo_messenger (links/tmo_link.h) through which a model exchanges rows with other devices. Call SetLink() once, after AllocateTensors().
 * The tmo_messenger must outlive the interpreter. The function returns 0 on success. */
template <typename Interpreter>
int SetLink(Interpreter &interpreter, tmo_messenger *link) {
  return static_cast<int>(interpreter.SetMicroExternalContext(link));
}

/* Sets the slow memory for a model that was converted with the option `--memory`. If the model has an external input, the field `source` points to
 * the picture. Call SetMemory() once, after AllocateTensors(), and do not call SetSource() for the same interpreter. The tmo_memory must outlive the
 * interpreter. The function returns 0 on success. */
template <typename Interpreter>
int SetMemory(Interpreter &interpreter, tmo_memory *memory) {
  return static_cast<int>(interpreter.SetMicroExternalContext(memory));
}

enum Pushed {
  kPushError = -1, /* the run has failed: TFLM has printed the reason, or the pushed picture has too few rows */
  kPushDone = 0,   /* the outputs are complete, and the next call begins a new inference */
  kPushMore = 1,   /* the model needs more rows, or it has paused */
};

/* Pushes the next rows of a streamed input, and runs the model as far as these rows allow. The function copies the rows from the picture `from`. The
 * field `from.y` is the first row to push, and `from.x` is the first pixel of each row. A row of the model's input has `row_bytes` bytes. The
 * constant NAME_row_bytes in NAME_ops.h has the value for `row_bytes`. */
template <typename Interpreter>
Pushed PushRows(Interpreter &interpreter, const tmo_source &from, uint32_t row_bytes) {
  const auto *input = interpreter.inputs_size() == 1 ? interpreter.input(0) : nullptr;
  if (input == nullptr || input->dims->size == 0 || row_bytes == 0) return kPushError;
  uint32_t pixels = 1; /* number of pixels in one push */
  for (int i = 0; i + 1 < input->dims->size; ++i) pixels *= static_cast<uint32_t>(input->dims->data[i]);
  if (pixels == 0) return kPushError;
  const uint32_t pixel = static_cast<uint32_t>(input->bytes / pixels);
  const uint32_t rows = static_cast<uint32_t>(input->bytes / row_bytes);
  if (tmo_take_rows(&from, pixel, row_bytes, rows, static_cast<int8_t *>(input->data.data)) != TMO_OK) return kPushError;
  const int result = static_cast<int>(interpreter.Invoke());
  if (result == 0) return kPushDone;
  return result == static_cast<int>(status::kTfLiteAbort) ? kPushMore : kPushError;
}

/* Runs a model until the model pauses or the inference ends. The result kPushMore means that the model has paused. To continue a paused model, call
 * RunToPause() again. The result kPushDone means that the outputs are complete. During a pause, other models may use the arena. */
template <typename Interpreter>
Pushed RunToPause(Interpreter &interpreter) {
  const int result = static_cast<int>(interpreter.Invoke());
  if (result == 0) return kPushDone;
  return result == static_cast<int>(status::kTfLiteAbort) ? kPushMore : kPushError;
}

/* The functions with a parameter `turns` run one of several models that share an arena. If the model does not have the turn (tmo_enter()), the
 * function returns kPushError and runs nothing. If the function returns kPushMore, the model's turn ends, and no other model changes the bytes that
 * the model still needs. After the result kPushDone, the model keeps its turn until tmo_leave(), so that the outputs can be read. */
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
