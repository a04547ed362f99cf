/* Starts a program on an Xtensa lx106 in QEMU, where simcalls print text, and CCOUNT counts instructions (with -icount). */
#include <string.h>

#include "core.h"

extern uint32_t core_data[], core_data_end[], core_data_load[], core_bss[], core_bss_end[];

enum { SYS_EXIT = 1, SYS_WRITE = 4, STANDARD_OUT = 1 };

static int32_t simcall(int32_t operation, int32_t first, const void *second, int32_t third) {
  register int32_t a2 __asm__("a2") = operation;
  register int32_t a3 __asm__("a3") = first;
  register const void *a4 __asm__("a4") = second;
  register int32_t a5 __asm__("a5") = third;
  __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
  return a2;
}

void core_write(const char *text) { simcall(SYS_WRITE, STANDARD_OUT, text, (int32_t)strlen(text)); }

_Noreturn void core_exit(int code) {
  simcall(SYS_EXIT, code, 0, 0);
  for (;;) {
  }
}

_Noreturn __attribute__((used)) static void fault(void) {
  core_write("fault\n");
  core_exit(70);
}

/* Every exception is a fault of the program. */
__asm__(".section .text.vectors, \"ax\"\n .align 256\n core_vectors:\n"
        " .rept 8\n j core_fault\n .align 16\n .endr\n"
        " .align 4\n .literal_position\n core_fault:\n movi a1, core_stack_end\n movi a0, fault\n jx a0\n");
extern const uint32_t core_vectors[];

_Noreturn __attribute__((used)) static void begin(void) {
  __asm__ volatile("wsr %0, vecbase\n rsync" : : "r"(core_vectors));
  for (uint32_t *to = core_data, *from = core_data_load; to < core_data_end;) *to++ = *from++;
  for (uint32_t *to = core_bss; to < core_bss_end;) *to++ = 0;
  core_exit(main());
}

__asm__(".section .start, \"ax\"\n .align 4\n .literal_position\n .global core_start\n core_start:\n"
        " movi a1, core_stack_end\n movi a0, begin\n jx a0\n .text\n");

static uint32_t started;

static uint32_t ticks(void) {
  uint32_t now;
  __asm__ volatile("rsr %0, ccount" : "=r"(now));
  return now;
}

void core_clock_start(void) { started = ticks(); }
uint64_t core_clock_stop(void) { return ticks() - started; }
