/* Runs random drivers, plain and generated, and compares all observations of the bus except the number of accesses. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

enum { ROOM = 1 << 20 };
static char texts[2][ROOM];
static size_t used[2];
static unsigned side; /* 0: plain, 1: generated */
static const random_case *now;

void bus_put(const char *text) {
  while (*text && used[side] + 1 < ROOM) texts[side][used[side]++] = *text++;
  texts[side][used[side]] = 0;
}

void outside(uint32_t value) { bus_seen(value); }
void device_reset(void) {}
void device_read(unsigned id) { (void)id; }
void device_written(unsigned id, uint32_t value) { (void)id, (void)value; }
void device_interrupt(void) {
  if (now->interrupt[side]) now->interrupt[side]();
}

/* Skips the counts of loads and stores at the start; the rest must be equal. */
static const char *behind_counts(const char *text, unsigned *accesses) {
  unsigned loads = 0, stores = 0;
  sscanf(text, "count loads %u\ncount stores %u", &loads, &stores);
  *accesses = loads + stores;
  return strstr(text, "count strays");
}

int main(int argc, char **argv) {
  int failures = 0;
  (void)argv;
  for (unsigned i = 0; i < random_case_count; ++i) {
    unsigned accesses[2];
    const char *rest[2];
    now = &random_cases[i];
    for (side = 0; side < 2; ++side) {
      used[side] = 0;
      bus_fields = now->fields[side];
      bus_reset();
      bus_interrupt_at = now->interrupt_at;
      bus_report(now->run[side]());
      rest[side] = behind_counts(texts[side], &accesses[side]);
    }
    const int equal = strcmp(rest[0], rest[1]) == 0 && used[0] + 1 < ROOM && strstr(rest[0], "strays 0") != NULL;
    printf("case %u %s %u %u\n", now->seed, equal ? "equal" : "different", accesses[0], accesses[1]);
    failures += !equal;
    if (!equal && argc > 1) printf("--- plain\n%s\n--- generated\n%s\n", texts[0], texts[1]);
  }
  return failures != 0;
}
