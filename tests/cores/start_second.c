/* Starts the second Cortex-M33 of Arm's SSE-200 (mps2-an521 in QEMU), which waits until the first core sets its vector table. */
#include "core.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define INITSVTOR1 REGISTER(0x50021114u)
#define CPUWAIT REGISTER(0x50021118u) /* each bit of CPUWAIT stops one core */
#define CPACR REGISTER(0xE000ED88u)
#define STACK_WORDS 1024

static uint32_t stack[STACK_WORDS] __attribute__((aligned(16)));
static void (*volatile work)(void);

_Noreturn static void fault(void) {
  core_write("fault of the second core\n");
  core_exit(70);
}

_Noreturn static void start(void) {
  CPACR |= 0xFu << 20; /* each core must enable floating point for itself */
  __asm__ volatile("dsb\n isb" : : : "memory");
  for (;;) work();
}

typedef union {
  uint32_t *stack;
  void (*handler)(void);
} vector;

static const vector vectors[16] __attribute__((aligned(128))) = {
    {.stack = stack + STACK_WORDS}, {.handler = start}, {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault},             {.handler = fault}, {.handler = fault},
};

void core_start_second(void (*run)(void)) {
  work = run;
  INITSVTOR1 = (uint32_t)(uintptr_t)vectors;
  __asm__ volatile("dsb" : : : "memory");
  CPUWAIT = 0;
}
