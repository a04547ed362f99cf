#include <stdio.h>

#include "bus.h"

uint32_t device_main(void);

void bus_put(const char *text) { fputs(text, stdout); }

int main(void) {
  bus_reset();
  bus_report(device_main());
  return 0;
}
