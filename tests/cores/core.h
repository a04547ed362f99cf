/* A bare machine in QEMU offers text output, an exit code, a clock that counts executed instructions, and RAM. */
#ifndef CORE_H_
#define CORE_H_

#include <stdint.h>

void core_write(const char *text);
_Noreturn void core_exit(int code);

/* With the option -icount, the ticks of QEMU's clock are proportional to the number of executed instructions. The
 * runner measures with a loop of known length how many instructions one clock tick takes. */
void core_clock_start(void);
uint64_t core_clock_stop(void);

/* The stack of a core grows down from core_stack_end. An arena may use any RAM from core_free to core_ram_end. */
extern uint32_t core_stack[], core_stack_end[];
extern uint8_t core_free[], core_ram_end[];

void core_start_second(void (*run)(void));

int main(void);

#endif /* CORE_H_ */
