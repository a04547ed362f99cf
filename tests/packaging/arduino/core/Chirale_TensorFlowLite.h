/* An empty header: if the Arduino library includes it, the test has a TFLM of 2023 on its include path. */
