/* Starts a program on RISC-V in QEMU or Spike, where the register minstret counts instructions. */
#include "core.h"

extern uint32_t core_data[], core_data_end[], core_data_load[], core_bss[], core_bss_end[];

#if CORE_HTIF

volatile uint64_t tohost __attribute__((section(".data"))) = 0, fromhost __attribute__((section(".data"))) = 0;

void core_write(const char *text) {
  static volatile uint64_t call[8] __attribute__((aligned(64)));
  uint32_t n = 0;
  while (text[n] != 0) ++n;
  call[0] = 64; /* write */
  call[1] = 1;
  call[2] = (uintptr_t)text;
  call[3] = n;
  __asm__ volatile("fence" : : : "memory");
  tohost = (uintptr_t)call;
  while (fromhost == 0) {
  }
  fromhost = 0;
}

_Noreturn void core_exit(int code) {
  tohost = (uint64_t)(uint32_t)code << 1 | 1;
  for (;;) {
  }
}

#else

static int32_t semihost(int32_t operation, const void *parameter) {
  register int32_t a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = parameter;
  __asm__ volatile(".option push\n .option norvc\n .balign 16\n slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n .option pop"
                   : "+r"(a0) : "r"(a1) : "memory");
  return a0;
}

void core_write(const char *text) { semihost(0x04, text); }

_Noreturn void core_exit(int code) {
  const uint32_t group[2] = {0x20026, (uint32_t)code}; /* semihosting's code ADP_Stopped_ApplicationExit ends the program */
  semihost(0x20, group);
  for (;;) {
  }
}

#endif

_Noreturn __attribute__((aligned(4))) static void fault(void) {
  core_write("fault\n");
  core_exit(70);
}

_Noreturn __attribute__((used)) static void begin(void) {
  __asm__ volatile("csrw mtvec, %0" : : "r"(fault));
#if TMO_RVV
  __asm__ volatile("csrs mstatus, %0" : : "r"(0x200)); /* enables the vector unit (field VS) */
#endif
  for (uint32_t *to = core_data, *from = core_data_load; to < core_data_end;) *to++ = *from++;
  for (uint32_t *to = core_bss; to < core_bss_end;) *to++ = 0;
  core_exit(main());
}

__attribute__((section(".start"), naked, used)) void core_start(void) {
  __asm__ volatile(".option push\n .option norelax\n la sp, core_stack_end\n j %0\n .option pop" : : "i"(begin));
}

static uint64_t instructions(void) {
  uint32_t low, high, again;
  do {
    __asm__ volatile("csrr %0, minstreth\n csrr %1, minstret\n csrr %2, minstreth" : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return ((uint64_t)high << 32) | low;
}

static uint64_t started;

void core_clock_start(void) { started = instructions(); }
uint64_t core_clock_stop(void) { return instructions() - started; }
