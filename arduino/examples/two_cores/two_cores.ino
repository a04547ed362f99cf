/* Runs the network of the sketch `shapes` on both cores of an RP2040 or RP2350, with the board package arduino-pico. Inside Invoke(), each core
 * computes its share of every row. On other boards, one core runs the whole network and gives the same scores.
 *
 * The command `tflm-memopt optimize shapes_int8.tflite --cores 2` writes shapes_int8_*.h and shapes_int8_*.cpp. */
#include <Chirale_TensorFlowLite.h>
#include <tflm_memopt.h>
#include <tmo/spin.h>

#include "shapes_image.h"
#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

static const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

alignas(16) static uint8_t arena[shapes_int8_arena_size];
static tflite::MicroInterpreter *interpreter = nullptr;

#if defined(ARDUINO_ARCH_RP2040) && !defined(ARDUINO_ARCH_MBED)
static tmo_spin spin; /* Core 1 polls, because it runs nothing else. */
static tmo_team both = {tmo_spin_wake, tmo_spin_wait, &spin, nullptr, nullptr, nullptr, TMO_OK, nullptr};
static tmo_team *const team = &both;
static const char *const kCores = "two cores: ";

/* Core 1 calls loop1(), which helps core 0 with one inference. */
void loop1() { tmo_run_worker(&both); }
#else
static tmo_team *const team = nullptr;
static const char *const kCores = "one core: ";
#endif

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
  static tflite::MicroInterpreter only(tflite::GetModel(shapes_int8_model), shapes_int8_op_resolver(team), arena, sizeof(arena));
  if (only.AllocateTensors() == kTfLiteOk) interpreter = &only;
}

void loop() {
  if (interpreter == nullptr) return;
  memcpy(interpreter->input(0)->data.int8, shapes_image, sizeof(shapes_image)); /* Other tensors overwrite the input, so fill it again. */
  const unsigned long start = micros();
  if (interpreter->Invoke() != kTfLiteOk) return;
  const unsigned long took = micros() - start;

  const int8_t *scores = interpreter->output(0)->data.int8;
  int best = 0;
  for (int i = 1; i < 6; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  const bool same = memcmp(scores, shapes_scores, sizeof(shapes_scores)) == 0;
  Serial.print(kCores);
  Serial.print(kNames[best]);
  Serial.print(same ? ", the same scores as on a PC, " : ", OTHER SCORES than on a PC, ");
  Serial.print(took);
  Serial.println(" us");
  delay(1000);
}
