/* SPDX-License-Identifier: Apache-2.0 */
/* This header defines TFLM's functions Prepare() and Invoke() for the custom operator TMO_REGION.
 *
 * Only the source files that register the operator include this header: tmo_tflm.cpp and host/wheel_shim.cpp. A file that includes this header must
 * first declare TfLiteContext, TfLiteNode, TfLiteEvalTensor, GetEvalInput(), GetEvalOutput() and MicroPrintf(). The declarations may be in the global
 * namespace or in tflite::micro, because a using-directive makes both namespaces visible. A file that includes this header must also define six
 * functions in namespace tmo. The function Abort() returns kTfLiteAbort. The functions SourceOf(context), LinkOf(context) and MemoryOf(context)
 * return a tmo_source, a tmo_messenger and a tmo_memory, or NULL. The functions InputData(context, node, k) and OutputData(context, node, k) return
 * the address of the data of a tensor that Prepare() has checked. Prepare() and Invoke() call the functions of the table `library`. The argument
 * `team` has the two cores that run the model, or is NULL for one core.
 *
 * The inputs of a TMO_REGION node begin with the inputs of the region. If the program pauses, the node also has a constant int32 input with the
 * array `pauses` of tmo_run_paused(). If the program pauses, takes a streamed input or has a state, the node also has a variable tensor as
 * input. The variable tensor is the uint8 state if the program has a state, and otherwise two int32 values. The last input of the node is the
 * program, which is a constant uint8 tensor. The outputs of the node are the outputs of the region, and a uint8 tensor for the workspace if the
 * program needs a workspace. The operator has no data of its own in RAM, because Invoke() needs only the program in flash and the tensors of the
 * node. An external input is no tensor of TFLM, because the program reads it through a tmo_source. Tensors in slow memory are not tensors of TFLM.
 * The code reads only fields of TFLM's structs whose position does not depend on TF_LITE_STATIC_MEMORY. */
#ifndef TMO_REGION_OP_H_
#define TMO_REGION_OP_H_

#include <stddef.h>
#include <stdint.h>

#include "tmo/library.h"

namespace tmo {
namespace {

using namespace ::tflite::micro;

const size_t kAlignment = 16; /* alignment of programs and workspaces in bytes */

bool Aligned(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % kAlignment == 0; }

/* States which tensors a TMO_REGION node has. The array io[] begins with an external input, and continues with the inputs and outputs that are
 * tensors of TFLM. */
struct Signature {
  int inputs; /* number of the program's inputs that are tensors of TFLM */
  int outputs;
  int external; /* 1 if io[0] is a tmo_source, and 0 otherwise */
  bool streamed; /* whether the caller pushes rows of the input, or other devices send rows */
  bool paused;   /* whether the program pauses; a constant tensor lists the iterations before the pauses */
  bool state;
  bool slow; /* whether the program has tensors in slow memory; the address of slow memory comes last in io[] */
  bool workspace;

  int io() const { return external + inputs + outputs; }
};

/* Returns which tensors a node has. The argument `header` is the program's header, or NULL if the header cannot be read. */
Signature SignatureOf(const TfLiteNode *node, const tmo_header *header) {
  Signature s = {node->inputs->size - 1, node->outputs->size, 0, false, false, false, false, false};
  if (header == nullptr) return s;
  s.streamed = header->input == TMO_INPUT_STREAM || header->input == TMO_INPUT_LINK;
  s.external = header->input == TMO_INPUT_EXTERNAL ? 1 : 0;
  s.workspace = header->workspace > 0;
  s.state = header->state > 0;
  s.slow = header->pools > 0;
  s.inputs -= (s.streamed ? 1 : 0) + (s.state ? 1 : 0);
  s.paused = !s.streamed && !s.state && s.external + s.inputs == header->n_inputs + 2;
  s.inputs -= s.paused ? 2 : 0;
  s.outputs -= s.workspace ? 1 : 0;
  return s;
}

const TfLiteEvalTensor *Program(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 1);
}

const TfLiteEvalTensor *Workspace(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalOutput(context, node, node->outputs->size - 1);
}

/* Returns the variable tensor that keeps data between two calls of Invoke(). A program has a variable tensor only if the program pauses, has a state,
 * or takes a streamed input. */
const TfLiteEvalTensor *Variable(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 2);
}

/* Returns the constant tensor with the iterations after which a program pauses. */
const TfLiteEvalTensor *Pauses(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 3);
}

/* Returns the tensor for element i of io[], which must not be an external input. */
const TfLiteEvalTensor *Io(const TfLiteContext *context, const TfLiteNode *node, const Signature &s, int i) {
  const int k = i - s.external;
  return k < s.inputs ? GetEvalInput(context, node, k) : GetEvalOutput(context, node, k - s.inputs);
}

bool IsStream(const TfLiteEvalTensor *tensor) {
  const bool pair = tensor != nullptr && tensor->dims != nullptr && tensor->dims->size == 1 && tensor->dims->data[0] == 2;
  return pair && tensor->type == kTfLiteInt32;
}

bool IsList(const TfLiteEvalTensor *tensor) {
  const bool list = tensor != nullptr && tensor->dims != nullptr && tensor->dims->size == 1 && tensor->dims->data[0] > 0;
  return list && tensor->type == kTfLiteInt32 && tensor->data.data != nullptr;
}

/* Computes the size of a tensor in bytes, or returns false if the tensor has no valid shape. */
bool SizeOf(const TfLiteEvalTensor *tensor, uint32_t element_bytes, uint32_t *bytes) {
  if (tensor == nullptr || tensor->dims == nullptr) return false;
  uint64_t size = element_bytes;
  for (int i = 0; i < tensor->dims->size; ++i) {
    if (tensor->dims->data[i] < 0) return false;
    size *= static_cast<uint64_t>(tensor->dims->data[i]);
    if (size > UINT32_MAX) return false;
  }
  *bytes = static_cast<uint32_t>(size);
  return true;
}

/* Computes the size in bytes of a tensor, or returns false if the tensor is neither int8 nor uint8. */
bool ByteTensorSize(const TfLiteEvalTensor *tensor, uint32_t *bytes) {
  if (tensor == nullptr || (tensor->type != kTfLiteInt8 && tensor->type != kTfLiteUInt8)) return false;
  return SizeOf(tensor, 1, bytes);
}

/* Computes the size in bytes of an input or output of the region, or returns false if this library does not know the tensor's type. */
bool IoSize(const TfLiteEvalTensor *tensor, uint32_t *bytes) {
  if (tensor != nullptr && tensor->type == kTfLiteBool) return SizeOf(tensor, 1, bytes);
  if (tensor != nullptr && tensor->type == kTfLiteFloat32) return SizeOf(tensor, 4, bytes);
  if (tensor != nullptr && tensor->type == kTfLiteInt16) return SizeOf(tensor, 2, bytes);
  if (tensor != nullptr && tensor->type == kTfLiteInt32) return SizeOf(tensor, 4, bytes);
  return ByteTensorSize(tensor, bytes);
}

TfLiteStatus Refuse(const char *why) {
  MicroPrintf("TMO_REGION: %s", why);
  return kTfLiteError;
}

/* Checks that this library can run the program with the tensors of the node. Invoke() does not check the program again. */
TfLiteStatus Prepare(const tmo_library &library, TfLiteContext *context, TfLiteNode *node) {
  if (node->inputs->size < 1 || node->outputs->size < 1) {
    return Refuse("the operator lacks inputs, outputs or its program; convert the model again");
  }
  const TfLiteEvalTensor *tensor = Program(context, node);
  uint32_t program_bytes = 0;
  if (!ByteTensorSize(tensor, &program_bytes) || tensor->data.data == nullptr) {
    return Refuse("the last input must be the program, a constant uint8 tensor; convert the model again");
  }

  const void *program = tensor->data.data;
  /* tmo_check() rejects a program whose header cannot be read */
  const bool readable = Aligned(program) && program_bytes >= sizeof(tmo_header);
  const Signature s = SignatureOf(node, readable ? static_cast<const tmo_header *>(program) : nullptr);
  if (s.inputs < 0 || (s.streamed && !IsStream(Variable(context, node)))) {
    return Refuse("a model with a streamed input or a link needs a variable tensor of two int32; convert the model again");
  }
  if (s.paused && !(IsStream(Variable(context, node)) && IsList(Pauses(context, node)))) {
    return Refuse("a model that pauses needs a list of int32 and a variable tensor of two int32; convert the model again");
  }
  if (s.io() > TMO_MAX_IO) return Refuse("the model has more inputs and outputs than this library supports; update the library");

  uint32_t bytes[TMO_MAX_IO + 2];
  bytes[0] = 0; /* tmo_check() ignores the size of an external input */
  for (int i = s.external; i < s.io(); ++i) {
    if (!IoSize(Io(context, node, s, i), &bytes[i])) {
      return Refuse("the library does not know the type of an input or output; update the library, or convert the model again");
    }
  }
  if (s.state && !ByteTensorSize(Variable(context, node), &bytes[s.io()])) {
    return Refuse("a model with a state needs a uint8 variable tensor; convert the model again");
  }
  if (s.slow) bytes[s.io() + (s.state ? 1 : 0)] = UINT32_MAX; /* Invoke() checks the size of slow memory, which may be set later */
  uint32_t workspace_bytes = 0;
  if (s.workspace && !ByteTensorSize(Workspace(context, node), &workspace_bytes)) {
    return Refuse("the last output must be the workspace, a uint8 tensor; convert the model again");
  }

  const size_t inputs = static_cast<size_t>(s.external + s.inputs), outputs = static_cast<size_t>(s.outputs);
  tmo_status status = library.check(program, program_bytes, bytes, inputs, outputs, workspace_bytes);
  if (status == TMO_OK && (s.paused ? library.run_paused == nullptr : s.streamed && library.push == nullptr)) status = TMO_ERROR_KERNEL;
  return status == TMO_OK ? kTfLiteOk : Refuse(tmo_status_text(status));
}

/* Returns the number of bytes of slow memory that the program needs. */
uint32_t SlowBytes(const tmo_header *header) { return reinterpret_cast<const tmo_pool *>(header + 1)->bytes; }

/* Runs a program that has a streamed input, exchanges rows with other devices, or pauses. */
tmo_status RunInParts(const tmo_library &library, const TfLiteContext *context, const TfLiteNode *node, const tmo_header *header, void *const *io,
                      void *workspace) {
  tmo_stream *at = static_cast<tmo_stream *>(Variable(context, node)->data.data);
  if (header->input != TMO_INPUT_ARENA && header->input != TMO_INPUT_EXTERNAL) return library.push(header, io, workspace, at);
  const TfLiteEvalTensor *pauses = Pauses(context, node);
  const uint32_t *iterations = static_cast<const uint32_t *>(pauses->data.data);
  return library.run_paused(header, io, workspace, iterations, static_cast<uint32_t>(pauses->dims->data[0]), at);
}

/* Writes the pointers to an external input, the state, the slow memory and the link into io[]. Returns the reason why a pointer is missing, or
 * NULL. */
const char *TakeOthers(TfLiteContext *context, const TfLiteNode *node, const tmo_header *header, void **io) {
  void **next = io + header->n_inputs + header->n_outputs;
  if (header->input == TMO_INPUT_EXTERNAL) io[0] = SourceOf(context);
  if (header->state > 0) *next++ = Variable(context, node)->data.data;
  if (header->pools > 0) {
    const tmo_memory *memory = static_cast<const tmo_memory *>(MemoryOf(context));
    if (memory == nullptr || memory->data == nullptr || !Aligned(memory->data) || memory->bytes < SlowBytes(header)) {
      return "the slow memory is missing, too small or not 16-byte aligned; call tmo::SetMemory()";
    }
    if (header->input == TMO_INPUT_EXTERNAL) io[0] = memory->source;
    *next = memory->data;
  }
  if (header->input == TMO_INPUT_LINK) {
    *next = LinkOf(context);
    if (*next == nullptr) return "a model for several devices needs a link to the other devices; call tmo::SetLink()";
  }
  return nullptr;
}

TfLiteStatus Invoke(const tmo_library &library, tmo_team *team, TfLiteContext *context, TfLiteNode *node) {
  const tmo_header *header = static_cast<const tmo_header *>(InputData(context, node, node->inputs->size - 1));
  const int external = header->input == TMO_INPUT_EXTERNAL ? 1 : 0, inputs = header->n_inputs - external, outputs = header->n_outputs;
  void *io[TMO_MAX_IO + 2], **next = io + external;
  for (int k = 0; k < inputs; ++k) *next++ = InputData(context, node, k);
  for (int k = 0; k < outputs; ++k) *next++ = OutputData(context, node, k);
  if (header->input != TMO_INPUT_ARENA || header->pools > 0 || header->state > 0) {
    const char *missing = TakeOthers(context, node, header, io);
    if (missing != nullptr) return Refuse(missing);
  }
  void *workspace = header->workspace > 0 ? OutputData(context, node, node->outputs->size - 1) : nullptr;
  if (!Aligned(workspace)) {
    return Refuse("the workspace is not 16-byte aligned; keep the model's OfflineMemoryAllocation metadata as written");
  }

  tmo_status status;
  const bool whole = node->inputs->size == inputs + 1 + (header->state > 0 ? 1 : 0);
  if (!whole) {
    status = RunInParts(library, context, node, header, io, workspace);
  } else if (library.run_shared != nullptr) {
    status = library.run_shared(team, header, io, workspace);
  } else {
    status = library.run(header, io, workspace);
  }
  if (status == TMO_OK) return kTfLiteOk;
  return status == TMO_WAIT ? Abort() : Refuse(tmo_status_text(status));
}

}  // namespace
}  // namespace tmo

#endif  // TMO_REGION_OP_H_
