/* Runs the loop() of a sketch once, or as often as the environment variable LOOPS states. */
#include <stdlib.h>

#ifdef ARDUINO_ARCH_RP2040
#include <thread>

/* A second thread runs setup1() and loop1(), which an RP2040 runs on core 1. */
extern void setup1() __attribute__((weak));
extern void loop1() __attribute__((weak));

static void core1() {
  if (setup1) setup1();
  for (;;) loop1();
}
#endif

#include "Arduino.h"

HardwareSerial Serial;

int main() {
#ifdef ARDUINO_ARCH_RP2040
  if (loop1) std::thread(core1).detach();
#endif
  const char *loops = getenv("LOOPS");
  setup();
  for (int left = loops ? atoi(loops) : 1; left > 0; --left) loop();
  return 0;
}
