/* This header is empty, because the include path of the tests already has a TFLM of 2023. */
