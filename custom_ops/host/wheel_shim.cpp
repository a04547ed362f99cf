/* SPDX-License-Identifier: Apache-2.0 */
/* This file registers the custom operator with the official tflite-micro wheel, which exports C++ symbols but has no headers.
 *
 * The declarations of this file repeat the exports and struct layouts of one wheel: tflite-micro==0.dev20261023182759 for x86-64. The code checks
 * the layout before it writes to the wheel's resolver, so a wheel with a different layout causes an error message instead of a crash. Load the
 * library of the tflite-micro wheel before this library, because this library uses symbols of the wheel. */
#include <cstddef>
#include <cstdint>

void MicroPrintf(const char *format, ...);

namespace tflite {

class PythonOpsResolver;

namespace micro {

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1, kTfLiteAbort = 15 };
enum TfLiteType { kTfLiteFloat32 = 1, kTfLiteInt32 = 2, kTfLiteUInt8 = 3, kTfLiteBool = 6, kTfLiteInt16 = 7, kTfLiteInt8 = 9 };

struct TfLiteContext;

struct TfLiteIntArray {
  int size;
  int data[1]; /* the array has `size` entries */
};

struct TfLiteNode { /* first fields of TFLM's struct */
  TfLiteIntArray *inputs;
  TfLiteIntArray *outputs;
};

struct TfLiteEvalTensor {
  union {
    void *data;
  } data;
  TfLiteIntArray *dims;
  TfLiteType type;
};

const TfLiteEvalTensor *GetEvalInput(const TfLiteContext *context, const TfLiteNode *node, int index);
TfLiteEvalTensor *GetEvalOutput(const TfLiteContext *context, const TfLiteNode *node, int index);

}  // namespace micro
}  // namespace tflite

#include "tmo/library.h"
#include "tmo_link_socket.h"
#include "tmo_threads.h"

namespace tmo {
namespace {

/* All interpreters of the process read the same picture, because the wheel cannot set an interpreter's external context. */
tmo_source source = {};

tflite::micro::TfLiteStatus Abort() { return tflite::micro::kTfLiteAbort; }

void *SourceOf(tflite::micro::TfLiteContext *) { return &source; }

/* All interpreters of the process share one slow memory. */
tmo_memory memory = {nullptr, 0, &source};

void *MemoryOf(tflite::micro::TfLiteContext *) { return &memory; }

void *InputData(const tflite::micro::TfLiteContext *context, const tflite::micro::TfLiteNode *node, int k) {
  return tflite::micro::GetEvalInput(context, node, k)->data.data;
}

void *OutputData(const tflite::micro::TfLiteContext *context, const tflite::micro::TfLiteNode *node, int k) {
  return tflite::micro::GetEvalOutput(context, node, k)->data.data;
}

/* If the variable `threads` is true, programs for two cores run in two threads. The variable `jitter` is the seed of random delays of the threads. */
bool threads = false;
uint32_t jitter = 0;

tmo_status RunWhole(const void *program, void *const *io, void *workspace) {
  return threads ? tmo_run_threads(program, io, workspace, jitter) : tmo_run(program, io, workspace);
}

/* Connection to the devices that TmoOpenLink() has connected. */
tmo_messenger *link_to_others = nullptr;

void *LinkOf(tflite::micro::TfLiteContext *) { return link_to_others; }

}  // namespace
}  // namespace tmo

/* Sets the picture that models with an external input read. The caller keeps ownership of the picture's data. */
extern "C" void TmoSetSource(const tmo_source *now) { tmo::source = *now; }

/* Sets the slow memory of the models that use slow memory. The caller keeps ownership of the slow memory. */
extern "C" void TmoSetMemory(void *data, uint32_t bytes) {
  tmo::memory.data = data;
  tmo::memory.bytes = bytes;
}

/* Sets whether programs for two cores run in one or two threads. The argument `seed` is the seed of random delays, or 0 for no delays. */
extern "C" void TmoSetCores(int cores, uint32_t seed) {
  tmo::threads = cores > 1;
  tmo::jitter = seed;
}

/* Connections of a process that acts as one of several devices. */
static struct {
  tmo_sockets sockets;
  tmo_transport transport;
  tmo_peer peers[TMO_SOCKET_PEERS];
  tmo_link link;
} device;

/* Connects this process to other devices. The array `fds` has the socket to each device. The argument `number` is the index of this process among the
 * devices. The argument `patience` is a time in milliseconds. All models of the process use the same connections. */
extern "C" void TmoOpenLink(const int *fds, unsigned number, unsigned devices, unsigned first, unsigned patience) {
  for (unsigned i = 0; i < TMO_SOCKET_PEERS; ++i) device.sockets.fd[i] = i < devices ? fds[i] : -1;
  device.transport = tmo_socket_transport(&device.sockets);
  tmo_link_open(&device.link, &device.transport, device.peers, static_cast<uint8_t>(number), static_cast<uint8_t>(devices),
                static_cast<uint16_t>(first), patience);
  tmo::link_to_others = &device.link.messenger;
}

extern "C" void TmoBeginLink() { tmo_link_begin(&device.link); }
extern "C" int TmoWaitLink() { return tmo_link_wait(&device.link); }

/* Returns how many bytes of messages were sent and received since TmoOpenLink(). */
extern "C" void TmoLinkBytes(unsigned *sent, unsigned *received) {
  *sent = device.link.sent;
  *received = device.link.received;
}

#include "../tflm/tmo_names.h"
#include "../tflm/tmo_region_op.h"

namespace tmo {
namespace {

const tmo_library kLibrary = {tmo_whole_library_for_two.check, RunWhole, nullptr, tmo_push, tmo_run_paused};

TfLiteStatus PrepareAny(TfLiteContext *context, TfLiteNode *node) { return Prepare(kLibrary, context, node); }
TfLiteStatus InvokeAny(TfLiteContext *context, TfLiteNode *node) { return Invoke(kLibrary, nullptr, context, node); }

}  // namespace
}  // namespace tmo

namespace {

using tflite::micro::TfLiteContext;
using tflite::micro::TfLiteNode;
using tflite::micro::TfLiteStatus;

struct Registration {
  void *(*init)(TfLiteContext *, const char *, size_t);
  void (*free)(TfLiteContext *, void *);
  TfLiteStatus (*prepare)(TfLiteContext *, TfLiteNode *);
  TfLiteStatus (*invoke)(TfLiteContext *, TfLiteNode *);
  void (*reset)(TfLiteContext *, void *);
  int32_t builtin_code;
  const char *custom_name;
};

constexpr unsigned kCapacity = 200;
constexpr unsigned kBuiltins = 118;    /* number of TFLM operators that the wheel itself registers */
constexpr int32_t kFirstBuiltin = 101; /* code of ABS, the first operator */
constexpr int32_t kCustom = 32;

struct Resolver {
  const void *vtable;
  Registration records[kCapacity];
  uint32_t count;
};

static_assert(sizeof(Registration) == 56, "a record of the wheel's resolver is 56 bytes");
static_assert(offsetof(Resolver, count) == 0x2bc8, "the wheel's resolver keeps its count there");

/* Returns whether the wheel's table of operators has the expected layout and room for the new names. */
bool LayoutAsExpected(const Resolver &resolver) {
  if (resolver.count < kBuiltins || resolver.count > kCapacity - tmo::kNameCount) return false;
  if (resolver.records[0].builtin_code != kFirstBuiltin) return false;
  for (unsigned i = 0; i < resolver.count; ++i) {
    const Registration &record = resolver.records[i];
    if (record.invoke == nullptr || (record.builtin_code == kCustom) != (record.custom_name != nullptr)) return false;
  }
  return true;
}

}  // namespace

/* The Python module tflm_memopt.runtime passes the name "TmoRegisterOps" to the wheel's Interpreter. */
extern "C" bool TmoRegisterOps(tflite::PythonOpsResolver *opaque) {
  Resolver &resolver = *reinterpret_cast<Resolver *>(opaque);
  if (!LayoutAsExpected(resolver)) {
    MicroPrintf(
        "tflm-memopt: this tflite-micro wheel stores its operators in another layout; "
        "install tflite-micro==0.dev20261023182759");
    return false;
  }
  for (const char *name : tmo::kNames) {
    resolver.records[resolver.count++] = {nullptr, nullptr, tmo::PrepareAny, tmo::InvokeAny, nullptr, kCustom, name};
  }
  return true;
}
