/* Runs a model in ordinary TFLM with the custom operator, and checks guard bytes around the arena.
 *
 *   adapter_main MODEL INPUTS OUTPUTS ARENA_BYTES [stream|external HEIGHT WIDTH PIXEL_BYTES]
 *
 * A model with a streamed or external input gets whole frames of this size.
 *
 * The files INPUTS and OUTPUTS have the bytes of all inputs and outputs, one inference after the other. The program
 * prints how many bytes of the arena TFLM uses. The exit code is 1 if TFLM rejects the model, and 3 if a guard byte was
 * overwritten. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tmo_tflm.h"

namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kCanaryBytes = 4096;
constexpr uint8_t kCanary = 0xA5;

[[noreturn]] void Fail(int code, const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(code);
}

std::vector<uint8_t> Read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(2, std::string("cannot read ") + path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
}

/* An arena begins at a multiple of 16, between guard bytes. */
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), storage_(bytes + 2 * kCanaryBytes + kAlignment, kCanary) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(storage_.data()) + kCanaryBytes;
    data_ = reinterpret_cast<uint8_t *>((first + kAlignment - 1) / kAlignment * kAlignment);
  }

  uint8_t *data() { return data_; }
  size_t bytes() const { return bytes_; }

  bool Intact() const {
    for (const uint8_t *p = storage_.data(); p < data_; ++p) {
      if (*p != kCanary) return false;
    }
    for (const uint8_t *p = data_ + bytes_; p < storage_.data() + storage_.size(); ++p) {
      if (*p != kCanary) return false;
    }
    return true;
  }

 private:
  size_t bytes_;
  std::vector<uint8_t> storage_;
  uint8_t *data_;
};

using Resolver = tflite::MicroMutableOpResolver<32>;

void AddOperators(Resolver &resolver) {
  if (tmo::AddOps(resolver) != kTfLiteOk) Fail(1, "AddOps failed");
  resolver.AddAdd();
  resolver.AddAssignVariable();
  resolver.AddAveragePool2D();
  resolver.AddCallOnce();
  resolver.AddConcatenation();
  resolver.AddConv2D();
  resolver.AddDepthwiseConv2D();
  resolver.AddDequantize();
  resolver.AddFullyConnected();
  resolver.AddLogistic();
  resolver.AddMaxPool2D();
  resolver.AddMean();
  resolver.AddMul();
  resolver.AddPad();
  resolver.AddQuantize();
  resolver.AddReadVariable();
  resolver.AddRelu();
  resolver.AddReshape();
  resolver.AddSoftmax();
  resolver.AddSplitV();
  resolver.AddStridedSlice();
  resolver.AddSub();
  resolver.AddTanh();
  resolver.AddTranspose();
  resolver.AddVarHandle();
}

/* A model has at most one resource variable for each handle. */
int VariablesOf(const tflite::Model *model) {
  int handles = 0;
  for (const tflite::Operator *op : *model->subgraphs()->Get(0)->operators()) {
    handles += model->operator_codes()->Get(op->opcode_index())->builtin_code() == tflite::BuiltinOperator_VAR_HANDLE;
  }
  return handles;
}

class Held {
 public:
  Held(const uint8_t *pixels, const uint32_t size[3], bool larger) : border_(larger ? 2 : 0) {
    const uint32_t row = size[1] * size[2], pitch = row + 2 * border_ * size[2];
    bytes_.assign(static_cast<size_t>(size[0] + 2 * border_) * pitch, 0x3C);
    for (uint32_t y = 0; y < size[0]; ++y) {
      for (uint32_t b = 0; b < row; ++b) {
        bytes_[static_cast<size_t>(y + border_) * pitch + border_ * size[2] + b] = pixels[static_cast<size_t>(y) * row + b] ^ (larger ? 0x80 : 0);
      }
    }
    source = {bytes_.data(), static_cast<uint32_t>(bytes_.size()), pitch, border_, border_, larger ? uint8_t{TMO_FORMAT_UINT8} : uint8_t{TMO_FORMAT_INT8}};
  }

  tmo_source source;

 private:
  uint32_t border_;
  std::vector<uint8_t> bytes_;
};

uint32_t PushedRows(tflite::MicroInterpreter &interpreter, const uint32_t size[3]) {
  return static_cast<uint32_t>(interpreter.input(0)->bytes / (size[1] * size[2]));
}

/* If `again` is true, the function first pushes half of another frame and calls Reset(). */
void Stream(tflite::MicroInterpreter &interpreter, tmo_source source, const uint32_t size[3], bool again) {
  const uint32_t rows = PushedRows(interpreter, size), row_bytes = size[1] * size[2], first = source.y;
  const uint32_t half = rows * ((size[0] / rows + 1) / 2);
  for (uint32_t y = 0; again && y < half && half < size[0]; y += rows) {
    source.y = first;
    if (tmo::PushRows(interpreter, source, row_bytes) != tmo::kPushMore) Fail(1, "half a frame is not more");
  }
  if (again && interpreter.Reset() != kTfLiteOk) Fail(1, "Reset failed");
  for (uint32_t y = 0; y < size[0]; y += rows) {
    source.y = first + y;
    const tmo::Pushed expected = y + rows < size[0] ? tmo::kPushMore : tmo::kPushDone;
    if (tmo::PushRows(interpreter, source, row_bytes) != expected) Fail(1, "PushRows gave another status");
  }
}

void RefuseSmall(tflite::MicroInterpreter &interpreter, tmo_source source, const uint32_t size[3]) {
  source.bytes = size[1] * size[2] - 1;
  if (tmo::PushRows(interpreter, source, size[1] * size[2]) != tmo::kPushError) Fail(1, "a frame that is too small was pushed");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 5 && argc != 9) Fail(2, "usage: adapter_main MODEL INPUTS OUTPUTS ARENA_BYTES [stream|external HEIGHT WIDTH PIXEL_BYTES]");
  const std::string mode = argc == 9 ? argv[5] : "";
  uint32_t size[3] = {0, 0, 0};
  for (int i = 0; argc == 9 && i < 3; ++i) size[i] = static_cast<uint32_t>(std::strtoul(argv[6 + i], nullptr, 10));
  const std::vector<uint8_t> file = Read(argv[1]);
  const std::vector<uint8_t> inputs = Read(argv[2]);
  Guarded model(file.size());
  std::memcpy(model.data(), file.data(), file.size());
  Guarded arena(std::strtoul(argv[4], nullptr, 10));

  Resolver resolver;
  AddOperators(resolver);
  const tflite::Model *const parsed = tflite::GetModel(model.data());
  tflite::MicroAllocator *const allocator = tflite::MicroAllocator::Create(arena.data(), arena.bytes());
  const int count = VariablesOf(parsed);
  tflite::MicroResourceVariables *const variables = count > 0 ? tflite::MicroResourceVariables::Create(allocator, count) : nullptr;
  tflite::MicroInterpreter interpreter(parsed, resolver, allocator, variables);
  if (interpreter.AllocateTensors() != kTfLiteOk) Fail(1, "AllocateTensors failed");

  std::ofstream outputs(argv[3], std::ios::binary);
  tmo_source external = {};
  if (mode == "external" && tmo::SetSource(interpreter, &external) != 0) Fail(1, "SetSource failed");
  if (mode == "external" && interpreter.Invoke() == kTfLiteOk) Fail(1, "no frame, and no error");
  size_t run = 0;
  for (size_t at = 0; at < inputs.size(); ++run) {
    if (!mode.empty()) {
      const size_t bytes = static_cast<size_t>(size[0]) * size[1] * size[2];
      if (bytes > inputs.size() - at) Fail(2, "INPUTS does not hold whole frames");
      const Held held(inputs.data() + at, size, run % 2 == 1);
      at += bytes;
      if (mode == "stream") {
        RefuseSmall(interpreter, held.source, size);
        Stream(interpreter, held.source, size, run == 1);
      } else {
        external = held.source;
        if (interpreter.Invoke() != kTfLiteOk) Fail(1, "Invoke failed");
      }
      for (size_t k = 0; k < interpreter.outputs_size(); ++k) {
        outputs.write(interpreter.output(k)->data.raw, static_cast<std::streamsize>(interpreter.output(k)->bytes));
      }
      continue;
    }
    for (size_t k = 0; k < interpreter.inputs_size(); ++k) {
      const size_t bytes = interpreter.input(k)->bytes;
      if (bytes > inputs.size() - at) Fail(2, "INPUTS does not hold whole runs");
      std::memcpy(interpreter.input(k)->data.data, inputs.data() + at, bytes);
      at += bytes;
    }
    if (interpreter.Invoke() != kTfLiteOk) Fail(1, "Invoke failed");
    for (size_t k = 0; k < interpreter.outputs_size(); ++k) {
      outputs.write(interpreter.output(k)->data.raw, static_cast<std::streamsize>(interpreter.output(k)->bytes));
    }
  }
  if (!arena.Intact()) Fail(3, "something wrote outside of the arena");
  if (!model.Intact() || std::memcmp(model.data(), file.data(), file.size()) != 0) Fail(3, "something wrote into the model");
  std::printf("%zu\n", interpreter.arena_used_bytes());
  return 0;
}
