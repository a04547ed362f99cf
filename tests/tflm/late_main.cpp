/* Runs two interpreters of ordinary TFLM on one MicroAllocator; the second is allocated after the first has run.
 *
 *   late_main ARENA_BYTES BEFORE [MODEL INPUTS OUTPUTS]x2
 *
 * The first model does BEFORE inferences; then the second one is allocated, and both take turns until INPUTS are used up. OUTPUTS gets the
 * outputs. Exit code 1 if TFLM refuses. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tmo_tflm.h"

namespace {

constexpr size_t kAlignment = 16;

struct Bytes {
  explicit Bytes(size_t n) : storage(n + kAlignment), data(storage.data()) {
    while (reinterpret_cast<uintptr_t>(data) % kAlignment != 0) ++data;
  }
  std::vector<uint8_t> storage;
  uint8_t *data;
};

std::vector<uint8_t> Read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
}

void Expect(TfLiteStatus status) {
  if (status != kTfLiteOk) std::exit(1);
}

class Tenant {
 public:
  Tenant(char **argument, const tflite::MicroOpResolver &resolver, tflite::MicroAllocator *allocator)
      : inputs_(Read(argument[1])), outputs_(argument[2], std::ios::binary) {
    const std::vector<uint8_t> file = Read(argument[0]);
    model_.reset(new Bytes(file.size()));
    std::memcpy(model_->data, file.data(), file.size());
    interpreter_.reset(new tflite::MicroInterpreter(tflite::GetModel(model_->data), resolver, allocator));
    Expect(interpreter_->AllocateTensors());
  }

  /* Returns false if there are no inputs left. */
  bool Turn() {
    TfLiteTensor *const input = interpreter_->input(0);
    if (at_ + input->bytes > inputs_.size()) return false;
    std::memcpy(input->data.data, inputs_.data() + at_, input->bytes);
    at_ += input->bytes;
    Expect(interpreter_->Invoke());
    const TfLiteTensor *const output = interpreter_->output(0);
    outputs_.write(output->data.raw, static_cast<std::streamsize>(output->bytes));
    return true;
  }

 private:
  std::vector<uint8_t> inputs_;
  std::ofstream outputs_;
  size_t at_ = 0;
  std::unique_ptr<Bytes> model_;
  std::unique_ptr<tflite::MicroInterpreter> interpreter_;
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 9) return 2;
  tflite::MicroMutableOpResolver<8> resolver;
  Expect(tmo::AddOps(resolver));
  const size_t arena_bytes = std::strtoul(argv[1], nullptr, 10);
  Bytes arena(arena_bytes);
  tflite::MicroAllocator *const allocator = tflite::MicroAllocator::Create(arena.data, arena_bytes);
  Tenant first(argv + 3, resolver, allocator);
  for (unsigned long n = std::strtoul(argv[2], nullptr, 10); n > 0 && first.Turn(); --n) {
  }
  Tenant second(argv + 6, resolver, allocator);
  for (bool more = true; more;) {
    more = second.Turn();
    more = first.Turn() || more;
  }
  return 0;
}
