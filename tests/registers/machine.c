/* Runs a driver's program on the simulated bus of a bare machine in QEMU. */
#include "bus.h"
#include "core.h"

uint32_t device_main(void);

void bus_put(const char *text) { core_write(text); }

int main(void) {
  bus_reset();
  bus_report(device_main());
  return 0;
}
