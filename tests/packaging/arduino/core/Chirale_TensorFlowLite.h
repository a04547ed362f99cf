/* Where the Arduino library has this header, the test has a TFLM of 2023 on its include path. */
