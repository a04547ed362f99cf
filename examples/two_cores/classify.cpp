#include "classify.h"

#include <stdio.h>
#include <string.h>

#include "shapes_image.h" /* a stored image, and the scores that TensorFlow Lite Micro gives it on a PC */
#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

namespace {

using namespace shapes_int8_ops; /* TFLM's classes, wherever this version has them */

const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

alignas(16) uint8_t arena[shapes_int8_arena_size];
MicroInterpreter *interpreter = nullptr;

}  // namespace

bool prepare(tmo_team *team) {
  static MicroInterpreter own(tflite::GetModel(shapes_int8_model), shapes_int8_op_resolver(team), arena, sizeof(arena));
  interpreter = &own;
  return own.AllocateTensors() == kTfLiteOk;
}

void classify() {
  memcpy(interpreter->input(0)->data.int8, shapes_image, sizeof(shapes_image));
  if (interpreter->Invoke() != kTfLiteOk) return;
  const int8_t *scores = interpreter->output(0)->data.int8;
  int best = 0;
  for (int i = 1; i < 6; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  const bool same = memcmp(scores, shapes_scores, sizeof(shapes_scores)) == 0;
  printf("%s, %s scores as on a PC\n", kNames[best], same ? "the same" : "OTHER");
}
