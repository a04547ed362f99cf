/* Runs a module of `optimize --emit c` (-DMODULE=its name, header `module.h`) and counts one inference, after its self-test with
 * -DSELFTEST=1. */
#include "core.h"
#include "module.h"

#define JOIN(a, b) a##b
#define NAME(prefix, suffix) JOIN(prefix, suffix)

uint32_t op_ticks[1]; /* required by benchmarks/cycles_trace.py; operators are not counted separately */

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
