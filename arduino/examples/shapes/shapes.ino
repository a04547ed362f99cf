/* Recognises six drawn shapes with a 96x96 int8 network under TensorFlow Lite Micro. The arena of the rewritten network takes 17 kB of RAM
 * instead of 119 kB. The sketch classifies a stored image and compares the scores with the original network's scores on a PC.
 *
 * The command `tflm-memopt optimize shapes_int8.tflite` writes shapes_int8_*.h and shapes_int8_*.cpp. */
#include <Chirale_TensorFlowLite.h>
#include <tflm_memopt.h>

#include "shapes_image.h"
#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

static const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

alignas(16) static uint8_t arena[shapes_int8_arena_size];
static tflite::MicroInterpreter *interpreter = nullptr;

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
  static tflite::MicroInterpreter only(tflite::GetModel(shapes_int8_model), shapes_int8_op_resolver(), arena, sizeof(arena));
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
  Serial.print(kNames[best]);
  Serial.print(same ? ", the same scores as on a PC, " : ", OTHER SCORES than on a PC, ");
  Serial.print(took);
  Serial.print(" us, arena ");
  Serial.print(static_cast<unsigned long>(interpreter->arena_used_bytes()));
  Serial.println(" B");
  delay(1000);
}
