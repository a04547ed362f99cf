/* Runs the network of examples/shapes without an interpreter. The exit code is 0 if the scores equal TFLM's scores. */
#include "../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8.c" /* The command `make arduino` writes the included file. */

int main(void) { return shapes_int8_selftest() == 0 ? 0 : 70; }
