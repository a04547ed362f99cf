/* A bare machine in QEMU offers text output, an exit code, a clock that counts executed instructions, and RAM. */
#ifndef CORE_H_
#define CORE_H_

#include <stdint.h>

void core_write(const char *text);
_Noreturn void core_exit(int code);

/* QEMU runs with the option -icount, so that the ticks of its clock are proportional to executed instructions. The runner measures how many
 * instructions a tick is, with a loop of known length. */
void core_clock_start(void);
uint64_t core_clock_stop(void);

/* The stack of a core grows down from core_stack_end. Arenas may use the RAM from core_free to core_ram_end. */
extern uint32_t core_stack[], core_stack_end[];
extern uint8_t core_free[], core_ram_end[];

/* If the machine has a second core, starts it. The second core then calls run() repeatedly. */
void core_start_second(void (*run)(void));

int main(void);

#endif /* CORE_H_ */
