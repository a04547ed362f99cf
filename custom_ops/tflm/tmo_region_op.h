/* The operator itself, in terms of TFLM's own names: Prepare and Invoke of TMO_REGION.
 *
 * For the translation units that register it (tmo_tflm.cpp, host/wheel_shim.cpp), never for users. The includer has
 * declared TfLiteContext, TfLiteNode, TfLiteEvalTensor, GetEvalInput(), GetEvalOutput() and MicroPrintf() before, where
 * its TFLM has them: in the global namespace or in tflite::micro. The using-directive below finds them in either.
 *
 * Inputs: the region's inputs, then the program, a constant uint8 tensor. Outputs: the region's outputs, then, when the
 * program wants one, a uint8 workspace tensor. The operator keeps no state in RAM: everything that Invoke needs is in
 * the program, in flash. Of TFLM's structs it reads only what TF_LITE_STATIC_MEMORY leaves where it is. */
#ifndef TMO_REGION_OP_H_
#define TMO_REGION_OP_H_

#include <stddef.h>
#include <stdint.h>

#include "tmo/tmo.h"

namespace tmo {
namespace {

using namespace ::tflite::micro;

const size_t kAlignment = 16; /* of programs and workspaces */

bool Aligned(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % kAlignment == 0; }

/* How a node's tensors divide. Inputs come first in every io array, then outputs. */
struct Signature {
  int inputs;
  int outputs;
  bool workspace;

  int io() const { return inputs + outputs; }
};

Signature SignatureOf(const TfLiteNode *node, bool workspace) {
  return Signature{node->inputs->size - 1, node->outputs->size - (workspace ? 1 : 0), workspace};
}

const TfLiteEvalTensor *Program(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalInput(context, node, node->inputs->size - 1);
}

const TfLiteEvalTensor *Workspace(const TfLiteContext *context, const TfLiteNode *node) {
  return GetEvalOutput(context, node, node->outputs->size - 1);
}

const TfLiteEvalTensor *Io(const TfLiteContext *context, const TfLiteNode *node, const Signature &s, int i) {
  return i < s.inputs ? GetEvalInput(context, node, i) : GetEvalOutput(context, node, i - s.inputs);
}

/* Bytes of a tensor of one-byte elements; false for any other tensor. */
bool ByteTensorSize(const TfLiteEvalTensor *tensor, uint32_t *bytes) {
  if (tensor == nullptr || tensor->dims == nullptr) return false;
  if (tensor->type != kTfLiteInt8 && tensor->type != kTfLiteUInt8) return false;
  uint64_t size = 1;
  for (int i = 0; i < tensor->dims->size; ++i) {
    if (tensor->dims->data[i] < 0) return false;
    size *= static_cast<uint64_t>(tensor->dims->data[i]);
    if (size > UINT32_MAX) return false;
  }
  *bytes = static_cast<uint32_t>(size);
  return true;
}

TfLiteStatus Refuse(const char *why) {
  MicroPrintf("TMO_REGION: %s", why);
  return kTfLiteError;
}

/* Validates the program against the tensors that the model gives the operator; Invoke relies on it. */
TfLiteStatus Prepare(TfLiteContext *context, TfLiteNode *node) {
  if (node->inputs->size < 2 || node->outputs->size < 1) {
    return Refuse("needs a region's inputs, its program and its outputs; convert the model again");
  }
  const TfLiteEvalTensor *tensor = Program(context, node);
  uint32_t program_bytes = 0;
  if (!ByteTensorSize(tensor, &program_bytes) || tensor->data.data == nullptr) {
    return Refuse("the last input must be the program, a constant uint8 tensor; convert the model again");
  }

  const void *program = tensor->data.data;
  /* Otherwise tmo_check() says what is wrong, whatever the signature. */
  const bool readable = Aligned(program) && program_bytes >= sizeof(tmo_header);
  const Signature s = SignatureOf(node, readable && static_cast<const tmo_header *>(program)->workspace > 0);
  if (s.io() > TMO_MAX_IO) return Refuse("more inputs and outputs than this library takes; update the library");

  uint32_t bytes[TMO_MAX_IO];
  for (int i = 0; i < s.io(); ++i) {
    if (!ByteTensorSize(Io(context, node, s, i), &bytes[i])) {
      return Refuse("an input or output is not int8; convert the model again");
    }
  }
  uint32_t workspace_bytes = 0;
  if (s.workspace && !ByteTensorSize(Workspace(context, node), &workspace_bytes)) {
    return Refuse("the last output must be the workspace, a uint8 tensor; convert the model again");
  }

  const size_t inputs = static_cast<size_t>(s.inputs), outputs = static_cast<size_t>(s.outputs);
  const tmo_status status = tmo_check(program, program_bytes, bytes, inputs, outputs, workspace_bytes);
  return status == TMO_OK ? kTfLiteOk : Refuse(tmo_status_text(status));
}

TfLiteStatus Invoke(TfLiteContext *context, TfLiteNode *node) {
  const void *program = Program(context, node)->data.data;
  const Signature s = SignatureOf(node, static_cast<const tmo_header *>(program)->workspace > 0);

  void *io[TMO_MAX_IO];
  for (int i = 0; i < s.io(); ++i) io[i] = Io(context, node, s, i)->data.data;
  void *workspace = s.workspace ? Workspace(context, node)->data.data : nullptr;
  if (!Aligned(workspace)) {
    return Refuse("the workspace is not 16-byte aligned; keep the model's OfflineMemoryAllocation metadata as written");
  }

  const tmo_status status = tmo_run(program, io, workspace);
  return status == TMO_OK ? kTfLiteOk : Refuse(tmo_status_text(status));
}

}  // namespace
}  // namespace tmo

#endif  // TMO_REGION_OP_H_
