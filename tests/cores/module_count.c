/* Runs a module that `optimize --emit c` wrote, -DMODULE=its name, in `module.h`: counts an inference, if -DSELFTEST=1 after its self-test. */
#include "core.h"
#include "module.h"

#define JOIN(a, b) a##b
#define NAME(prefix, suffix) JOIN(prefix, suffix)

uint32_t op_ticks[1]; /* benchmarks/cycles_trace.py wants it: nothing is counted operator by operator */

int main(void) {
#if SELFTEST
  const int32_t wrong = NAME(MODULE, _selftest)();
#else
  const int32_t wrong = NAME(MODULE, _init)();
#endif
  if (wrong == 0) {
    core_clock_start();
    NAME(MODULE, _invoke)();
    op_ticks[0] = (uint32_t)core_clock_stop();
  }
  core_write(wrong == 0 ? "right\n" : "wrong\n");
  return wrong != 0;
}
