/* Starts a program on a Cortex-M in QEMU, where semihosting prints text, and SysTick counts instructions (with -icount). */
#include <stddef.h>

#include "core.h"

extern uint32_t core_data[], core_data_end[], core_data_load[], core_bss[], core_bss_end[];

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)
#define CPACR REGISTER(0xE000ED88u)
#define SYSTICK_MASK 0xFFFFFFu

static volatile uint32_t wraps;

static int32_t semihost(int32_t operation, const void *parameter) {
  register int32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = parameter;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void core_write(const char *text) { semihost(0x04, text); }

_Noreturn void core_exit(int code) {
  const uint32_t group[2] = {0x20026, (uint32_t)code}; /* semihosting's code ADP_Stopped_ApplicationExit ends the program */
  semihost(0x20, group);
  for (;;) {
  }
}

_Noreturn static void fault(void) {
  core_write("fault\n");
  core_exit(70);
}

static void tick(void) { ++wraps; }

_Noreturn void core_start(void) {
#if __ARM_ARCH >= 7
  CPACR |= 0xFu << 20; /* enables floating point and Helium */
  __asm__ volatile("dsb\n isb");
#endif
  for (uint32_t *to = core_data, *from = core_data_load; to < core_data_end;) *to++ = *from++;
  for (uint32_t *to = core_bss; to < core_bss_end;) *to++ = 0;
  core_exit(main());
}

void core_clock_start(void) {
  wraps = 0;
  SYST_RVR = SYSTICK_MASK;
  SYST_CVR = 0;
  SYST_CSR = 7; /* starts SysTick at the core's clock, and enables the SysTick interrupt */
}

uint64_t core_clock_stop(void) {
  const uint32_t now = SYST_CVR;
  SYST_CSR = 0;
  return ((uint64_t)wraps << 24) + (SYSTICK_MASK - now);
}

typedef union {
  uint32_t *stack;
  void (*handler)(void);
} vector;

__attribute__((section(".start"), used)) static const vector vectors[16] = {
    {.stack = core_stack_end}, {.handler = core_start}, {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},        {.handler = fault},      {NULL},             {NULL},             {NULL},
    {NULL},                    {.handler = fault},      {NULL},             {NULL},             {.handler = fault},
    {.handler = tick},
};
