/* The header is empty, because a TFLM of 2023 is on the include path of the tests. */
