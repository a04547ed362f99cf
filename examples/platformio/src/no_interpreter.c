/* Runs the network of the example without TensorFlow Lite Micro, as `optimize --emit c` writes it. The program ends with 0 if its scores are those
 * of TFLM on a PC. */
#include "../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8.c" /* written by `make arduino` */

int main(void) { return shapes_int8_selftest() == 0 ? 0 : 70; }
