// shapes_int8.tflite, 30,992 B, for flash. Written by tflm-memopt.
#ifndef SHAPES_INT8_MODEL_H_
#define SHAPES_INT8_MODEL_H_

#include <stddef.h>

constexpr size_t shapes_int8_model_len = 30992;
alignas(16) extern const unsigned char shapes_int8_model[shapes_int8_model_len];

#endif  // SHAPES_INT8_MODEL_H_
