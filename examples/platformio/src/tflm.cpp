/* The Arduino sketch `shapes`, under TensorFlow Lite Micro, as a PlatformIO program. */
#include <Arduino.h>

#include "../../../arduino/examples/shapes/shapes.ino"
#include "../../../arduino/examples/shapes/shapes_int8_model.cpp"
