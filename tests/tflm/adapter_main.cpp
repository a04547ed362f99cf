/* Runs a model through ordinary TFLM with our operator registered the way a user does it, canaries around the arena.
 *
 *   adapter_main MODEL INPUTS OUTPUTS ARENA_BYTES
 *
 * INPUTS: the bytes of every input, run after run. OUTPUTS gets the same for outputs. Prints the arena used. Exit code 1 and a message on
 * stderr when TFLM refuses, 3 when a canary died. */
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

/* `bytes` at a 16-byte boundary, surrounded by canaries. */
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

/* Ours, and what the models of the tests keep as builtin operators. */
void AddOperators(Resolver &resolver) {
  if (tmo::AddOps(resolver) != kTfLiteOk) Fail(1, "AddOps failed");
  resolver.AddAdd();
  resolver.AddAveragePool2D();
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
  resolver.AddRelu();
  resolver.AddReshape();
  resolver.AddSoftmax();
  resolver.AddSub();
  resolver.AddTanh();
  resolver.AddTranspose();
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 5) Fail(2, "usage: adapter_main MODEL INPUTS OUTPUTS ARENA_BYTES");
  const std::vector<uint8_t> file = Read(argv[1]);
  const std::vector<uint8_t> inputs = Read(argv[2]);
  Guarded model(file.size());
  std::memcpy(model.data(), file.data(), file.size());
  Guarded arena(std::strtoul(argv[4], nullptr, 10));

  Resolver resolver;
  AddOperators(resolver);
  tflite::MicroInterpreter interpreter(tflite::GetModel(model.data()), resolver, arena.data(), arena.bytes());
  if (interpreter.AllocateTensors() != kTfLiteOk) Fail(1, "AllocateTensors failed");

  std::ofstream outputs(argv[3], std::ios::binary);
  for (size_t at = 0; at < inputs.size();) {
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
