/* Runs several interpreters of ordinary TFLM on one MicroAllocator, with inferences in a given order.
 *
 *   apps_main ORDER GAPS EXCLUDED ARENA_BYTES HEAD_BYTES [MODEL INPUTS OUTPUTS RETAINED]...
 *
 * ORDER: bytes, each the number of a model that does its next inference or, for streamed input, its next push. 255: models 0 and 1 finish all their
 * inferences, each in its own thread. 254: the models form a pipeline, and each runs in its own thread until the last frame is done. The files INPUTS
 * and OUTPUTS have the bytes of all inputs and outputs, one inference after the other. RETAINED is 1 if outputs must stay unchanged until the model's
 * next inference, 2 if the model pauses, and 3 for both. The file GAPS has a 1 for each byte of the arena that no model writes, and a 0 for all other
 * bytes. The file EXCLUDED has a tmo_excluded for each model. If a model must not run yet, the program runs the model after all others. The program
 * prints the number of bytes that TFLM used, and how often a model was not allowed to run yet. The exit code is 1 if TFLM refuses a model, 3 if a
 * guard byte was overwritten, 4 if retained outputs changed, and 5 if a model ran too early. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tmo_tflm.h"

namespace {

constexpr size_t kAlignment = 16;
constexpr uint8_t kCanary = 0xA5;
constexpr int kBoth = 255, kPipeline = 254;

[[noreturn]] void Fail(int code, const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(code);
}

std::vector<uint8_t> Read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(2, std::string("cannot read ") + path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
}

class Aligned {
 public:
  explicit Aligned(size_t bytes) : storage_(bytes + kAlignment) {
    data_ = storage_.data() + (kAlignment - reinterpret_cast<uintptr_t>(storage_.data()) % kAlignment) % kAlignment;
  }
  uint8_t *data() { return data_; }

 private:
  std::vector<uint8_t> storage_;
  uint8_t *data_;
};

class Tenant {
 public:
  Tenant(uint32_t number, char **argument, const tflite::MicroOpResolver &resolver, tflite::MicroAllocator *allocator)
      : number_(number), inputs_(Read(argument[1])), outputs_(argument[2], std::ios::binary), retained_(((argument[3][0] - '0') & 1) != 0), pauses_(((argument[3][0] - '0') & 2) != 0) {
    const std::vector<uint8_t> file = Read(argument[0]);
    model_.reset(new Aligned(file.size()));
    std::memcpy(model_->data(), file.data(), file.size());
    interpreter_.reset(new tflite::MicroInterpreter(tflite::GetModel(model_->data()), resolver, allocator));
    if (interpreter_->AllocateTensors() != kTfLiteOk) Fail(1, "AllocateTensors failed");
  }

  bool IsDone() const { return at_ == inputs_.size(); }

  bool Turn(tmo_turns *turns) {
    if (tmo_enter(turns, number_) != TMO_OK) {
      if (tmo::RunToPause(*interpreter_, *turns, number_) != tmo::kPushError) Fail(5, "a model ran out of turn");
      return false;
    }
    Run(turns);
    tmo_leave(turns, number_);
    return true;
  }

  void Run(tmo_turns *turns = nullptr) {
    CheckRetained();
    for (size_t k = 0; !paused_ && !handed_ && k < interpreter_->inputs_size(); ++k) {
      const size_t bytes = interpreter_->input(k)->bytes;
      if (bytes > inputs_.size() - at_) Fail(2, "INPUTS does not hold whole turns");
      std::memcpy(interpreter_->input(k)->data.data, inputs_.data() + at_, bytes);
      at_ += bytes;
    }
    handed_ = false;
    last_.clear();
    const tmo::Pushed pushed = turns && pauses_ ? tmo::RunToPause(*interpreter_, *turns, number_) : tmo::RunToPause(*interpreter_);
    if (pushed == tmo::kPushError) Fail(1, "Invoke failed");
    paused_ = pauses_ && pushed == tmo::kPushMore;
    if (pushed == tmo::kPushMore) return;
    for (size_t k = 0; k < interpreter_->outputs_size(); ++k) {
      const char *raw = interpreter_->output(k)->data.raw;
      last_.insert(last_.end(), raw, raw + interpreter_->output(k)->bytes);
    }
    outputs_.write(last_.data(), static_cast<std::streamsize>(last_.size()));
  }

  void HandTo(Tenant *next) {
    if (interpreter_->output(0)->bytes != next->interpreter_->input(0)->bytes) Fail(2, "partitions do not fit together");
    next->CheckRetained();
    next->last_.clear();
    std::memcpy(next->interpreter_->input(0)->data.data, interpreter_->output(0)->data.data, interpreter_->output(0)->bytes);
    next->handed_ = true;
  }

  void CheckRetained() {
    size_t at = 0;
    for (size_t k = 0; retained_ && !last_.empty() && k < interpreter_->outputs_size(); ++k) {
      const size_t bytes = interpreter_->output(k)->bytes;
      if (std::memcmp(interpreter_->output(k)->data.raw, last_.data() + at, bytes) != 0) Fail(4, "a retained output changed");
      at += bytes;
    }
  }

 private:
  uint32_t number_;
  std::vector<uint8_t> inputs_;
  size_t at_ = 0;
  std::ofstream outputs_;
  bool retained_, pauses_, paused_ = false, handed_ = false;
  std::vector<char> last_;
  std::unique_ptr<Aligned> model_;
  std::unique_ptr<tflite::MicroInterpreter> interpreter_;
};

void Rest(Tenant *tenant) {
  while (!tenant->IsDone()) tenant->Run();
}

void Pipeline(const std::vector<std::unique_ptr<Tenant>> &parts) {
  std::vector<bool> made(parts.size(), false);
  for (;;) {
    std::vector<bool> runs(parts.size(), false);
    runs[0] = !parts[0]->IsDone();
    bool any = runs[0];
    for (size_t i = parts.size() - 1; i > 0; --i) {
      runs[i] = made[i - 1];
      any = any || runs[i];
      if (runs[i]) parts[i - 1]->HandTo(parts[i].get());
    }
    if (!any) return;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (runs[i]) threads.emplace_back(&Tenant::Run, parts[i].get(), nullptr);
    }
    for (std::thread &thread : threads) thread.join();
    made = runs;
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 10 || (argc - 6) % 4 != 0) {
    Fail(2, "usage: apps_main ORDER GAPS EXCLUDED ARENA_BYTES HEAD_BYTES [MODEL INPUTS OUTPUTS RETAINED]...");
  }
  const std::vector<uint8_t> gaps = Read(argv[2]), table = Read(argv[3]);
  std::vector<uint8_t> order = Read(argv[1]);
  const size_t bytes = std::strtoul(argv[4], nullptr, 10), head = std::strtoul(argv[5], nullptr, 10);
  if (gaps.size() != head) Fail(2, "GAPS has a byte for each of the head");
  Aligned arena(bytes);
  tflite::MicroMutableOpResolver<8> resolver;
  if (tmo::AddOps(resolver) != kTfLiteOk) Fail(1, "AddOps failed");
  tflite::MicroAllocator *const allocator = tflite::MicroAllocator::Create(arena.data(), bytes);
  std::vector<std::unique_ptr<Tenant>> tenants;
  for (int i = 6; i < argc; i += 4) tenants.emplace_back(new Tenant(static_cast<uint32_t>(tenants.size()), argv + i, resolver, allocator));
  std::vector<tmo_excluded> excluded(tenants.size());
  if (table.size() != tenants.size() * sizeof(tmo_excluded)) Fail(2, "EXCLUDED has two words for each model");
  std::memcpy(excluded.data(), table.data(), table.size());
  tmo_turns turns = {excluded.data(), static_cast<uint32_t>(tenants.size()), 0, 0};
  for (size_t i = 0; i < head; ++i) {
    if (gaps[i] != 0) arena.data()[i] = kCanary;
  }
  size_t refused = 0, in_vain = 0;
  for (size_t next = 0; next < order.size(); ++next) {
    const uint8_t who = order[next];
    if (who == kPipeline) {
      Pipeline(tenants);
    } else if (who == kBoth) {
      std::thread first(Rest, tenants[0].get()), second(Rest, tenants[1].get());
      first.join();
      second.join();
    } else if (tenants[who]->Turn(&turns)) {
      in_vain = 0;
    } else {
      ++refused;
      if (++in_vain > order.size() - next) Fail(5, "no model may run");
      order.push_back(who);
    }
    for (const auto &tenant : tenants) tenant->CheckRetained();
    for (size_t i = 0; i < head; ++i) {
      if (gaps[i] != 0 && arena.data()[i] != kCanary) Fail(3, "something wrote between the models' bytes");
    }
  }
  std::printf("%zu %zu\n", allocator->used_bytes(), refused);
  return 0;
}
