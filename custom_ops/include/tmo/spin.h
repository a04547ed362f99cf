/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_spin_wake() and tmo_spin_wait() are callbacks for a tmo_team (tmo/cores.h). With the callbacks of this header, two cores wait for each other
 * without an operating system. The callbacks count in shared memory.
 *
 *   static tmo_spin spin;
 *   static tmo_team team = {tmo_spin_wake, tmo_spin_wait, &spin, NULL, NULL, NULL, TMO_OK, NULL};
 *
 * Each counter is written by only one core, so the callbacks need no atomic additions, which Cortex-M0+ and Xtensa lack. The callbacks order memory
 * accesses with the instructions DMB on Arm, STL and LDA on Armv8-M, MEMW on Xtensa, and FENCE on RISC-V. A core that waits polls its counter and can
 * do nothing else. If a core has other work, use callbacks that wait with a semaphore of the operating system. */
#ifndef TMO_SPIN_H_
#define TMO_SPIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A waiting core runs TMO_SPIN_IDLE() between two polls of a counter. */
#ifndef TMO_SPIN_IDLE
#define TMO_SPIN_IDLE() ((void)0)
#endif

/* The entry woken[i] is the number of times that core i was woken. The entry waited[i] is the number of times that core i has returned from waiting.
 * Set all entries of tmo_spin to zero before the first inference. */
typedef struct {
  uint32_t woken[2];
  uint32_t waited[2];
} tmo_spin;

static inline void tmo_spin_wake(void *context, int core) {
  uint32_t *const woken = &((tmo_spin *)context)->woken[core];
  __atomic_store_n(woken, *woken + 1, __ATOMIC_RELEASE);
}

static inline void tmo_spin_wait(void *context, int core) {
  tmo_spin *const spin = (tmo_spin *)context;
  while (__atomic_load_n(&spin->woken[core], __ATOMIC_ACQUIRE) == spin->waited[core]) TMO_SPIN_IDLE();
  ++spin->waited[core];
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_SPIN_H_ */
