/* This header is empty, because TFLM's headers are elsewhere on the include path. */
