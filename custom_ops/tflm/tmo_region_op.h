/* SPDX-License-Identifier: Apache-2.0 */
/* This header has the functions Prepare and Invoke of the operator TMO_REGION for TFLM.
 *
 * Only the translation units that register the operator include this file (tmo_tflm.cpp, host/wheel_shim.cpp). The includer must first declare
 * TfLiteContext, TfLiteNode, TfLiteEvalTensor, GetEvalInput(), GetEvalOutput() and MicroPrintf(), either in the global namespace or in tflite::micro,
 * as the TFLM in use does. The using-directive below finds names in either namespace. The includer must also define four functions in namespace tmo.
 * Abort() returns kTfLiteAbort. SourceOf(context) returns a tmo_source or NULL, LinkOf(context) returns a tmo_messenger or NULL, and MemoryOf(context)
 * returns a tmo_memory or NULL. Prepare and Invoke run the code of the given tmo_library. team: the team of two cores, or NULL.
 *
 * The inputs of a node begin with the region's inputs. If the program pauses, the next input is a constant int32 list of iterations. If the program
 * pauses, streams or has a state, the next input is a variable tensor. The variable is uint8 if the program has a state, and otherwise two int32. The
 * last input is the program, a constant uint8 tensor. The outputs of a node are the region's outputs, then a uint8 workspace tensor if the program
 * needs one. The operator keeps no state of its own in RAM: Invoke only needs the program in flash and the node's tensors. An external input is not a
 * tensor of TFLM, since the program's input 0 is then a tmo_source. Tensors in slow memory are also not tensors of TFLM. The code reads only those
 * fields of TFLM's structs whose position does not depend on TF_LITE_STATIC_MEMORY. */
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

/* The roles of the tensors of a node. An array io[] has an external input first, then the other inputs, and then the outputs. */
struct Signature {
  int inputs; /* number of inputs that are tensors of TFLM */
  int outputs;
  int external; /* 1 if io[0] is a tmo_source, and 0 otherwise */
  bool streamed; /* whether rows of the input are pushed, or come from other devices through a link */
  bool linked;   /* whether the node is linked to other devices; io then has a tmo_messenger after the outputs */
  bool paused;   /* whether the node pauses after the iterations that a constant tensor lists */
  bool state;
  bool slow; /* whether there are tensors in slow memory, whose address comes last in io */
  bool workspace;

  int io() const { return external + inputs + outputs; }
};

/* Returns the roles of a node's tensors. header: the program's header, or NULL for an operator without a workspace. */
Signature SignatureOf(const TfLiteNode *node, const tmo_header *header) {
  Signature s = {node->inputs->size - 1, node->outputs->size, 0, false, false, false, false, false, false};
  if (header == nullptr) return s;
  s.linked = header->input == TMO_INPUT_LINK;
  s.streamed = header->input == TMO_INPUT_STREAM || s.linked;
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

/* Returns the variable that keeps data between calls of Invoke, which a program needs for a streamed input, a link, pauses or a state. A program
 * needs at most one variable. */
const TfLiteEvalTensor *Variable(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 2);
}

/* Returns the constant tensor with the iterations at which a program pauses. */
const TfLiteEvalTensor *Pauses(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 3);
}

/* Returns element i of io, which must be a tensor. */
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

/* Computes the size of a tensor's elements in bytes. Returns false if the size is unknown. */
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

/* Computes the bytes of a tensor. Returns false if the elements are larger than a byte. */
bool ByteTensorSize(const TfLiteEvalTensor *tensor, uint32_t *bytes) {
  if (tensor == nullptr || (tensor->type != kTfLiteInt8 && tensor->type != kTfLiteUInt8)) return false;
  return SizeOf(tensor, 1, bytes);
}

/* Computes the size of an input or output in bytes. Tensors may also hold int16, float32, indices or masks. Returns false if the size is unknown. */
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

/* Validates the program against the operator's tensors. Invoke relies on the checks of Prepare. */
TfLiteStatus Prepare(const tmo_library &library, TfLiteContext *context, TfLiteNode *node) {
  if (node->inputs->size < 1 || node->outputs->size < 1) {
    return Refuse("needs a region's inputs, its program and its outputs; convert the model again");
  }
  const TfLiteEvalTensor *tensor = Program(context, node);
  uint32_t program_bytes = 0;
  if (!ByteTensorSize(tensor, &program_bytes) || tensor->data.data == nullptr) {
    return Refuse("the last input must be the program, a constant uint8 tensor; convert the model again");
  }

  const void *program = tensor->data.data;
  /* tmo_check() reports a header that cannot be read */
  const bool readable = Aligned(program) && program_bytes >= sizeof(tmo_header);
  const Signature s = SignatureOf(node, readable ? static_cast<const tmo_header *>(program) : nullptr);
  if (s.inputs < 0 || (s.streamed && !IsStream(Variable(context, node)))) {
    return Refuse("a streamed input, or a link, needs a variable of two int32; convert the model again");
  }
  if (s.paused && !(IsStream(Variable(context, node)) && IsList(Pauses(context, node)))) {
    return Refuse("a program that pauses needs a list of int32 and a variable of two; convert the model again");
  }
  if (s.io() > TMO_MAX_IO) return Refuse("more inputs and outputs than this library takes; update the library");

  uint32_t bytes[TMO_MAX_IO + 2];
  bytes[0] = 0; /* the size of an external input does not matter */
  for (int i = s.external; i < s.io(); ++i) {
    if (!IoSize(Io(context, node, s, i), &bytes[i])) {
      return Refuse("an input or output is of a type that this library does not know; update it, or convert the model again");
    }
  }
  if (s.state && !ByteTensorSize(Variable(context, node), &bytes[s.io()])) {
    return Refuse("a model with a state needs a uint8 variable; convert the model again");
  }
  if (s.slow) bytes[s.io() + (s.state ? 1 : 0)] = UINT32_MAX; /* slow memory may not be set yet, so Invoke() checks its size */
  uint32_t workspace_bytes = 0;
  if (s.workspace && !ByteTensorSize(Workspace(context, node), &workspace_bytes)) {
    return Refuse("the last output must be the workspace, a uint8 tensor; convert the model again");
  }

  const size_t inputs = static_cast<size_t>(s.external + s.inputs), outputs = static_cast<size_t>(s.outputs);
  tmo_status status = library.check(program, program_bytes, bytes, inputs, outputs, workspace_bytes);
  if (status == TMO_OK && (s.paused ? library.run_paused == nullptr : s.streamed && library.push == nullptr)) status = TMO_ERROR_KERNEL;
  return status == TMO_OK ? kTfLiteOk : Refuse(tmo_status_text(status));
}

/* Returns the bytes of slow memory for a program that has tensors there. */
uint32_t SlowBytes(const void *program) { return reinterpret_cast<const tmo_pool *>(static_cast<const tmo_header *>(program) + 1)->bytes; }

tmo_status Run(const tmo_library &library, tmo_team *team, const TfLiteContext *context, const TfLiteNode *node, const Signature &s,
               const void *program, void *const *io, void *workspace) {
  if (!s.streamed && !s.paused) {
    return library.run_shared != nullptr ? library.run_shared(team, program, io, workspace) : library.run(program, io, workspace);
  }
  tmo_stream *at = static_cast<tmo_stream *>(Variable(context, node)->data.data);
  if (s.streamed) return library.push(program, io, workspace, at);
  const TfLiteEvalTensor *pauses = Pauses(context, node);
  const uint32_t *iterations = static_cast<const uint32_t *>(pauses->data.data);
  return library.run_paused(program, io, workspace, iterations, static_cast<uint32_t>(pauses->dims->data[0]), at);
}

TfLiteStatus Invoke(const tmo_library &library, tmo_team *team, TfLiteContext *context, TfLiteNode *node) {
  const void *program = Program(context, node)->data.data;
  const Signature s = SignatureOf(node, static_cast<const tmo_header *>(program));

  void *io[TMO_MAX_IO + 2];
  if (s.slow) {
    const tmo_memory *memory = static_cast<const tmo_memory *>(MemoryOf(context));
    if (memory == nullptr || memory->data == nullptr || !Aligned(memory->data) || memory->bytes < SlowBytes(program)) {
      return Refuse("its slow memory is missing, too small or not 16-byte aligned: tmo::SetMemory()");
    }
    if (s.external) io[0] = memory->source;
    io[s.io() + (s.state ? 1 : 0)] = memory->data;
  } else if (s.external) {
    io[0] = SourceOf(context);
  }
  if (s.linked) {
    io[s.io()] = LinkOf(context);
    if (io[s.io()] == nullptr) return Refuse("it runs on several devices, and has no link to the others: tmo::SetLink()");
  }
  for (int i = s.external; i < s.io(); ++i) io[i] = Io(context, node, s, i)->data.data;
  if (s.state) io[s.io()] = Variable(context, node)->data.data;
  void *workspace = s.workspace ? Workspace(context, node)->data.data : nullptr;
  if (!Aligned(workspace)) {
    return Refuse("the workspace is not 16-byte aligned; keep the model's OfflineMemoryAllocation metadata as written");
  }

  const tmo_status status = Run(library, team, context, node, s, program, io, workspace);
  if (status == TMO_WAIT) return Abort();
  return status == TMO_OK ? kTfLiteOk : Refuse(tmo_status_text(status));
}

}  // namespace
}  // namespace tmo

#endif  // TMO_REGION_OP_H_
