/* RP2040 or RP2350, Pico SDK: both cores run nothing else, so they poll counters in shared memory (tmo/spin.h). */
#include <pico/multicore.h>
#include <pico/stdlib.h>

#include "classify.h"
#include "tmo/spin.h"

static tmo_spin spin;
static tmo_team team = {tmo_spin_wake, tmo_spin_wait, &spin, nullptr, nullptr, nullptr, TMO_OK, nullptr};

static void second_core() {
  for (;;) tmo_run_worker(&team);
}

int main() {
  stdio_init_all();
  if (!prepare(&team)) return 1;
  multicore_launch_core1(second_core);
  for (;;) {
    classify();
    sleep_ms(1000);
  }
}
