/* An Arduino program that loops as often as the environment's LOOPS says: once, if it says nothing. */
#include <stdlib.h>

#include "Arduino.h"

HardwareSerial Serial;

int main() {
  const char *loops = getenv("LOOPS");
  setup();
  for (int left = loops ? atoi(loops) : 1; left > 0; --left) loop();
  return 0;
}
