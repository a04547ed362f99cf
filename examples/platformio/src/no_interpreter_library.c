/* The kernels of the network. */
#include "../../../build/arduino/tflm-memopt/examples/no_interpreter/shapes_int8_library.c" /* written by `make arduino` */
