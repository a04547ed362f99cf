/* Code of known cycles for benchmarks/cycles_plugin.c: each piece runs between a start and a stop of the clock, followed by its mark. */
#include "core.h"

uint64_t op_ticks[8];
extern void nops64(const uint32_t *), nops128(const uint32_t *), loop8(const uint32_t *), loop16(const uint32_t *);
extern void read16(const uint32_t *), read32(const uint32_t *), odd16(const uint32_t *);

__asm__(
    ".syntax unified\n .thumb\n .text\n"
    ".balign 64\n .thumb_func\n nops64: .rept 64\n nop\n .endr\n bx lr\n"
    ".balign 64\n .thumb_func\n nops128: .rept 128\n nop\n .endr\n bx lr\n"
    ".balign 64\n .thumb_func\n loop8: movs r0, #8\n 1: .rept 30\n nop\n .endr\n subs r0, #1\n bne 1b\n bx lr\n"
    ".balign 64\n .thumb_func\n loop16: movs r0, #16\n 1: .rept 30\n nop\n .endr\n subs r0, #1\n bne 1b\n bx lr\n"
    ".balign 64\n .thumb_func\n read16: movs r1, #16\n 1: ldr r2, [r0]\n adds r0, #4\n subs r1, #1\n bne 1b\n bx lr\n"
    ".balign 64\n .thumb_func\n read32: movs r1, #32\n 1: ldr r2, [r0]\n adds r0, #4\n subs r1, #1\n bne 1b\n bx lr\n"
    ".balign 64\n .thumb_func\n odd16: movs.w r1, #16\n 1: ldr r2, [r0, #1]\n adds r0, #4\n subs r1, #1\n bne 1b\n bx lr\n");

static const uint32_t constants[64] __attribute__((aligned(64))) = {1};

/* Calls every piece in the same way, so that calls and cache contents do not differ. */
__attribute__((noinline)) static void run(uint32_t number, void (*piece)(const uint32_t *), const uint32_t *words) {
  piece(words);
  core_clock_start();
  piece(words);
  const uint64_t ticks = core_clock_stop();
  op_ticks[number] += ticks;
}

int main(void) {
  static uint32_t values[64];
  run(0, nops64, values);
  run(1, nops128, values);
  run(2, loop8, values);
  run(3, loop16, values);
  run(4, read16, constants);
  run(5, read32, constants);
  run(6, read16, values);
  run(7, odd16, values);
  core_write("done\n");
  return 0;
}
