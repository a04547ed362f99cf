/* Uses the library without TensorFlow Lite Micro, for a board that has no C++ standard library. */
#include <tflm_memopt.h>

alignas(16) static const uint8_t no_program[16] = {0};
static const uint8_t frame_pixels[4] = {0, 85, 170, 255};

void setup() {
  Serial.begin(9600);
  const tmo_status status = tmo_check(no_program, sizeof no_program, nullptr, 0, 0, 0);
  Serial.println(tmo_status_text(status));
  if (status == TMO_OK) tmo_run(no_program, nullptr, nullptr); /* the call keeps every kernel in the program */

  const tmo_camera frame = {frame_pixels, 2, 0, 0, 2, 2, TMO_GRAY8};
  const tmo_image image = {2, 2, 1, nullptr};
  int8_t row[2];
  if (tmo_camera_fits(&frame, sizeof frame_pixels, &image)) tmo_camera_row(&frame, &image, 1, row);
  Serial.println(row[0]);
}

void loop() {}
