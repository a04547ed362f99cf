/* Which of six drawn shapes is it? The model reads the picture from PSRAM, where a camera driver stores it. The arena in internal RAM needs no space
 * for it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "esp_heap_caps.h"
#include "shapes_image.h" /* a stored image, and the scores that TensorFlow Lite Micro gives it on a PC */
#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

namespace {

using namespace shapes_int8_ops; /* TFLM's classes, wherever this version has them */

const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

/* 160x120 grey pixels, as from a camera; the network looks at 96x96 in their middle. */
const uint32_t kWidth = 160, kHeight = 120, kLeft = 32, kTop = 12;

alignas(16) uint8_t arena[shapes_int8_arena_size];
tmo_source frame;

/* Here your camera's driver fills the picture. */
void capture(uint8_t *picture) {
  memset(picture, 0, kWidth * kHeight);
  for (uint32_t y = 0; y < shapes_int8_rows; ++y) {
    for (uint32_t x = 0; x < shapes_int8_row_bytes; ++x) {
      picture[(kTop + y) * kWidth + kLeft + x] = static_cast<uint8_t>(shapes_image[y * shapes_int8_row_bytes + x] ^ 0x80);
    }
  }
}

}  // namespace

extern "C" void app_main() {
  uint8_t *picture = static_cast<uint8_t *>(heap_caps_malloc(kWidth * kHeight, MALLOC_CAP_SPIRAM));
  if (picture == nullptr) {
    printf("no PSRAM: switch it on in menuconfig, or take MALLOC_CAP_8BIT\n");
    return;
  }
  static MicroInterpreter interpreter(tflite::GetModel(shapes_int8_model), shapes_int8_op_resolver(), arena, sizeof(arena));
  if (interpreter.AllocateTensors() != kTfLiteOk || tmo::SetSource(interpreter, &frame) != 0) return; /* TFLM has said why */

  capture(picture);
  frame = {picture, kWidth * kHeight, kWidth, kLeft, kTop, TMO_FORMAT_UINT8};
  if (interpreter.Invoke() != kTfLiteOk) return;

  const int8_t *scores = interpreter.output(0)->data.int8;
  int best = 0;
  for (int i = 1; i < 6; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  const bool same = memcmp(scores, shapes_scores, sizeof(shapes_scores)) == 0;
  printf("%s, %s scores as on a PC\n", kNames[best], same ? "the same" : "OTHER");
}
