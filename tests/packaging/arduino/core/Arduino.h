/* Defines the functions of an Arduino core that the sketches use, so that the sketches run on a PC. */
#ifndef ARDUINO_H_
#define ARDUINO_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct HardwareSerial {
  void begin(unsigned long) {}
  explicit operator bool() const { return true; }
  int read() { return getchar(); }
  void print(const char *text) { printf("%s", text); }
  void print(unsigned long value) { printf("%lu", value); }
  void print(int value) { printf("%d", value); }
  template <typename T>
  void println(T value) {
    print(value);
    printf("\n");
  }
};

extern HardwareSerial Serial;

inline unsigned long micros() { return 0; }
#ifndef SLOWER
#define SLOWER 1 /* while millis() counts 1 ms, SLOWER ms of real time pass */
#endif
inline unsigned long millis() {
#ifdef CLOCK_MONOTONIC
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<unsigned long>(now.tv_sec) * 1000 + static_cast<unsigned long>(now.tv_nsec) / 1000000) / SLOWER;
#else
  return 0;
#endif
}
inline void delay(unsigned long) {}

void setup();
void loop();

#endif  // ARDUINO_H_
