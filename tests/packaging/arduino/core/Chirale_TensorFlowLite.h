/* Where the Arduino library has this header, the test has TFLM of October 2023 on its include path. */
