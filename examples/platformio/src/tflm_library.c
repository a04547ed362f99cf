/* The kernels of the sketch's model. */
#include "../../../build/arduino/tflm-memopt/examples/shapes/shapes_int8_library.c" /* written by `make arduino` */
