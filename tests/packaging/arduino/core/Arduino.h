/* Defines the part of an Arduino core that the sketches use, so that sketches can run on a PC. */
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
  int read() { return getchar(); } /* returns -1 at the end of the input */
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
#define SLOWER 1 /* factor by which the clock is slower than real time */
#endif
inline unsigned long millis() { /* connections between devices need a running clock */
#ifdef CLOCK_MONOTONIC
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (static_cast<unsigned long>(now.tv_sec) * 1000 + static_cast<unsigned long>(now.tv_nsec) / 1000000) / SLOWER;
#else /* sketches are only compiled for a bare core, and do not run there */
  return 0;
#endif
}
inline void delay(unsigned long) {}

void setup();
void loop();

#endif  // ARDUINO_H_
