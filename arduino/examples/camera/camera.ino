/* Classifies camera frames with the network of the sketch `shapes` and a streamed input. The sketch converts one row of the frame at a time to
 * grey int8 pixels and pushes the row, so that no converted frame is ever whole in RAM.
 *
 * The command `tflm-memopt optimize shapes_int8.tflite --input stream` writes shapes_int8_*.h and shapes_int8_*.cpp. */
#include <Chirale_TensorFlowLite.h>
#include <tflm_memopt.h>

#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

#ifndef CAMERA_FORMAT
#define CAMERA_FORMAT TMO_RGB565_BE /* The format may also be TMO_RGB565_LE or TMO_GRAY8. */
#endif

static const uint16_t kWidth = 160, kHeight = 120, kPixelBytes = CAMERA_FORMAT == TMO_GRAY8 ? 1 : 2;
static const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

static uint8_t frame[kWidth * kHeight * kPixelBytes];

/* Draws a bright disc on dark ground. Replace this function by your camera's driver, which fills the frame. */
static void capture() {
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool inside = (x - 84) * (x - 84) + (y - 57) * (y - 57) < 30 * 30;
      uint8_t *pixel = frame + (y * kWidth + x) * kPixelBytes;
      pixel[0] = inside ? 0xC6 : 0x39;
      pixel[kPixelBytes - 1] = inside ? 0x18 + (x & 3) : 0xE7;
    }
  }
}

/* The network sees a square in the middle of the frame. The input is 96x96 grey pixels with scale 1/255 and zero point -128. */
static const tmo_camera kCamera = {frame, kWidth * kPixelBytes, 20, 0, 120, 120, CAMERA_FORMAT};
static const tmo_image kImage = {96, 96, 1, nullptr};

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
  if (interpreter == nullptr || !tmo_camera_fits(&kCamera, sizeof(frame), &kImage)) return;
  capture();

  static_assert(shapes_int8_push_rows == 1, "a push takes one row");
  int8_t row[shapes_int8_row_bytes];
  const tmo_source rows = {row, sizeof(row), sizeof(row), 0, 0, TMO_FORMAT_INT8};
  tmo::Pushed pushed = tmo::kPushMore;
  for (uint16_t y = 0; pushed == tmo::kPushMore; ++y) {
    tmo_camera_row(&kCamera, &kImage, y, row);
    pushed = tmo::PushRows(*interpreter, rows, sizeof(row));
  }
  if (pushed != tmo::kPushDone) return;

  const int8_t *scores = interpreter->output(0)->data.int8;
  int best = 0;
  for (int i = 1; i < 6; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  Serial.print(kNames[best]);
  for (int i = 0; i < 6; ++i) {
    Serial.print(" ");
    Serial.print(static_cast<int>(scores[i]));
  }
  Serial.println("");
  delay(1000);
}
