/* This file compiles the kernels of the network. */
#include "../../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8_library.c" /* The command `make arduino` writes the included file. */
