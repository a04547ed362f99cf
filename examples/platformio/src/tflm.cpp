/* The Arduino sketch `shapes`, under TensorFlow Lite Micro, as a PlatformIO program. */
#include <Arduino.h>

#include "../../../build/arduino/tflm-memopt/examples/shapes/shapes.ino" /* written by `make arduino` */
#include "../../../build/arduino/tflm-memopt/examples/shapes/shapes_int8_model.cpp"
