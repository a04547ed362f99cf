#include <stdio.h>
#include "bare.h"
static int given = 7;
static struct Made { int value; Made() : value(given + 1) {} } made;
static int zero[100];
static void leave() { __asm volatile("movs r0, #24\n ldr r1, =0x20026\n bkpt 0xAB"); }
int main() {
  const uint32_t start = bare_cycles();
  for (volatile int i = 0; i < 1000000; i = i + 1) {
  }
  const uint32_t took = bare_cycles() - start;
  const bool wrapped = took > 0x1000000 && took < 0x20000000;
  char line[80];
  snprintf(line, sizeof(line), "%d %d %d %s", given, made.value, zero[99], wrapped ? "ticks" : "?");
  bare_say(line);
  fprintf(stderr, "from TFLM\n");
  leave();
}
