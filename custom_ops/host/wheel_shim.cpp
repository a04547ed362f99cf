/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the operator with the official tflite-micro wheel, which exports its C++ symbols but has no headers.
 *
 * The declarations below restate what the pinned wheel (tflite-micro==0.dev20261023182759, x86-64) exports and how it
 * lays out the few structs that are touched. What can be checked is checked before the resolver is written to, so that
 * another wheel is a message and not a crash. Loaded after the wheel's own library, whose symbols it resolves. */
#include <cstddef>
#include <cstdint>

void MicroPrintf(const char *format, ...);

namespace tflite {

class PythonOpsResolver;

namespace micro {

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1, kTfLiteAbort = 15 };
enum TfLiteType { kTfLiteFloat32 = 1, kTfLiteInt32 = 2, kTfLiteUInt8 = 3, kTfLiteInt16 = 7, kTfLiteInt8 = 9 };

struct TfLiteContext;

struct TfLiteIntArray {
  int size;
  int data[1]; /* size entries */
};

struct TfLiteNode { /* others follow */
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

/* The wheel has no way to set an interpreter's external context: one frame for all interpreters of the process. */
tmo_frame frame = {};

tflite::micro::TfLiteStatus Abort() { return tflite::micro::kTfLiteAbort; }

void *FrameOf(tflite::micro::TfLiteContext *) { return &frame; }

/* Two threads, with these delays, for programs that are made for two cores. */
bool threads = false;
uint32_t jitter = 0;

tmo_status RunWhole(const void *program, void *const *io, void *workspace) {
  return threads ? tmo_run_threads(program, io, workspace, jitter) : tmo_run(program, io, workspace);
}

/* The link to other devices, which is the caller's, as the frame is. */
tmo_crosser *link_to_others = nullptr;

void *LinkOf(tflite::micro::TfLiteContext *) { return link_to_others; }

}  // namespace
}  // namespace tmo

/* What models with an external input read from now on. The data stay the caller's. */
extern "C" void TmoSetFrame(const tmo_frame *now) { tmo::frame = *now; }

/* How many cores programs are run on from now on that are made for two: 1, or 2. seed: of delays; 0: none. */
extern "C" void TmoSetCores(int cores, uint32_t seed) {
  tmo::threads = cores > 1;
  tmo::jitter = seed;
}

/* One device of several, in a process of its own. */
static struct {
  tmo_sockets sockets;
  tmo_transport transport;
  tmo_peer peers[TMO_SOCKET_PEERS];
  tmo_link link;
} device;

/* Links this process with the others: fds has the socket to each of them. All models of the process get their rows so. */
extern "C" void TmoOpenLink(const int *fds, unsigned number, unsigned devices, unsigned first, unsigned patience) {
  for (unsigned i = 0; i < TMO_SOCKET_PEERS; ++i) device.sockets.fd[i] = i < devices ? fds[i] : -1;
  device.transport = tmo_socket_transport(&device.sockets);
  tmo_link_open(&device.link, &device.transport, device.peers, static_cast<uint8_t>(number), static_cast<uint8_t>(devices),
                static_cast<uint16_t>(first), patience);
  tmo::link_to_others = &device.link.crosser;
}

extern "C" void TmoBeginLink() { tmo_link_begin(&device.link); }
extern "C" int TmoWaitLink() { return tmo_link_wait(&device.link); }

/* Bytes of messages, since it was opened. */
extern "C" void TmoLinkBytes(unsigned *sent, unsigned *received) {
  *sent = device.link.sent;
  *received = device.link.received;
}

#include "../tflm/tmo_names.h"
#include "../tflm/tmo_region_op.h"

namespace tmo {
namespace {

const tmo_library kLibrary = {tmo_whole_library_for_two.check, RunWhole, nullptr, tmo_push, tmo_run_paused, nullptr, nullptr};

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
constexpr unsigned kBuiltins = 118;    /* that the wheel registers itself */
constexpr int32_t kFirstBuiltin = 101; /* ABS */
constexpr int32_t kCustom = 32;

struct Resolver {
  const void *vtable;
  Registration records[kCapacity];
  uint32_t count;
};

static_assert(sizeof(Registration) == 56, "a record of the wheel's resolver is 56 bytes");
static_assert(offsetof(Resolver, count) == 0x2bc8, "the wheel's resolver keeps its count there");

/* The wheel's own operators must be where this file expects them, and there must be room. */
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

/* The registerer that tflm_memopt.runtime names to the wheel's Interpreter. */
extern "C" bool TmoRegisterOps(tflite::PythonOpsResolver *opaque) {
  Resolver &resolver = *reinterpret_cast<Resolver *>(opaque);
  if (!LayoutAsExpected(resolver)) {
    MicroPrintf(
        "tflm-memopt: this tflite-micro wheel lays out its operators in another way; "
        "install tflite-micro==0.dev20261023182759");
    return false;
  }
  for (const char *name : tmo::kNames) {
    resolver.records[resolver.count++] = {nullptr, nullptr, tmo::PrepareAny, tmo::InvokeAny, nullptr, kCustom, name};
  }
  return true;
}
