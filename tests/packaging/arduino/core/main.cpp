/* An Arduino program that loops once. */
#include "Arduino.h"

HardwareSerial Serial;

int main() {
  setup();
  loop();
  return 0;
}
