/* Runs the network of the sketch `shapes` without TensorFlow Lite Micro, in 14 kB of RAM, for boards on which the interpreter does not fit.
 * The sketch runs a stored input and compares the scores with the scores of TensorFlow Lite Micro on a PC.
 *
 * The command `tflm-memopt optimize shapes_int8.tflite --emit c --max-macs 1.1` writes shapes_int8.h and shapes_int8.c. */
#include <tflm_memopt.h>

#include "shapes_int8.h"

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
}

void loop() {
  /* For your own image, call shapes_int8_init() once. Then fill shapes_int8_input(), call shapes_int8_invoke() and read shapes_int8_output(). */
  const int32_t wrong = shapes_int8_selftest();
  if (wrong < 0) Serial.println(tmo_status_text(static_cast<tmo_status>(wrong)));
  else Serial.println(wrong == 0 ? "the same scores as on a PC" : "OTHER SCORES than on a PC");
  delay(1000);
}
