/* The same network without TensorFlow Lite Micro: `optimize --emit c`. Ends with 0 when its scores are those of TFLM on a PC. */
#include "../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8.c" /* written by `make arduino` */

int main(void) { return shapes_int8_selftest() == 0 ? 0 : 70; }
