/* Tests the C library on a board or a PC. The exit code is the number of the failed test, or 0. */
#include "../../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8.c" /* The command `make arduino` writes the included file. */
#include "tmo/camera.h"

enum { SCORES = 70, REFUSAL = 71, CAMERA = 72 };

int main(void) {
  static const _Alignas(16) uint8_t no_program[64];
  if (tmo_check(no_program, sizeof no_program, NULL, 0, 0, 0) != TMO_ERROR_MAGIC) return REFUSAL;

  static const uint8_t frame[4] = {0, 85, 170, 255};
  const tmo_camera camera = {frame, 2, 0, 0, 2, 2, TMO_GRAY8};
  const tmo_image image = {2, 2, 1, NULL};
  int8_t row[2];
  if (!tmo_camera_fits(&camera, sizeof frame, &image)) return CAMERA;
  tmo_camera_row(&camera, &image, 1, row);
  if (row[0] != 42 || row[1] != 127) return CAMERA;

  return shapes_int8_selftest() == 0 ? 0 : SCORES;
}
