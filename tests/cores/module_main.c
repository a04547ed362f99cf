/* Runs the self-test of a C module that `optimize --emit c` has written, and prints how much RAM the test used. */
#include "core.h"
#include "module.h"

#define STACK_PAINT 0x5AA55AA5u
#define STACK_SPARE 16u /* number of words below the stack frame that keep their values */
#define JOIN(a, b) a##b
#define NAME(prefix, suffix) JOIN(prefix, suffix)

extern uint8_t core_data[], core_bss_end[];

static void write_number(const char *name, int32_t value) {
  char text[12], *end = text + sizeof text;
  uint32_t rest = value < 0 ? -(uint32_t)value : (uint32_t)value;
  *--end = 0;
  do *--end = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) *--end = '-';
  core_write(name);
  core_write(end);
}

int main(void) {
  volatile uint32_t here = 0;
  const uintptr_t address = (uintptr_t)&here;
  uint32_t *const top = (uint32_t *)address - STACK_SPARE;
  for (uint32_t *p = core_stack; p < top; ++p) *p = STACK_PAINT;
  const int32_t wrong = NAME(MODULE, _selftest)();
  const uint32_t *low = core_stack;
  while (low < top && *low == STACK_PAINT) ++low;
  write_number("wrong ", wrong);
  write_number(" static ", (int32_t)(core_bss_end - core_data));
  write_number(" stack ", (int32_t)((const uint8_t *)core_stack_end - (const uint8_t *)low));
  core_write("\n");
  return wrong != 0;
}
