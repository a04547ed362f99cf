/* Counts the instructions of a driver on an emulated core, with RAM in place of registers. */
#include <stddef.h>

#include "core.h"
#include "registers.h"

uint32_t PROGRAM(void);
uint32_t camera_pixels(uint32_t address, uint32_t bytes);

uint32_t camera_pixels(uint32_t address, uint32_t bytes) { return address ^ bytes; }

static void put(uint64_t value) {
  char text[24];
  size_t at = sizeof(text) - 1;
  text[at] = 0;
  text[--at] = '\n';
  do {
    text[--at] = (char)('0' + (uint32_t)(value % 10));
    value /= 10;
  } while (value);
  core_write(&text[at]);
}

int main(void) {
  for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); ++i) {
    volatile uint32_t *word = (volatile uint32_t *)registers[i].address;
    *word = (*word & ~(registers[i].mask << registers[i].bit)) | registers[i].value << registers[i].bit;
  }
  core_clock_start();
  const uint32_t result = PROGRAM();
  const uint64_t count = core_clock_stop();
  put(count);
  put(result);
  return 0;
}
