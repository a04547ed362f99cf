/* SPDX-License-Identifier: Apache-2.0 */
/* How two cores meet without an operating system: the callbacks of a tmo_team (tmo/cores.h) on counters in the memory that they share.
 *
 *   static tmo_spin spin;
 *   static tmo_team team = {tmo_spin_wake, tmo_spin_wait, &spin, NULL, NULL, NULL, TMO_OK, NULL};
 *
 * Each counter has one writer, so that loads and stores are enough, also on cores without atomic additions: a Cortex-M0+, or Xtensa. Memory is ordered
 * by a release and an acquire: DMB, on Armv8-M STL and LDA, on Xtensa MEMW, on RISC-V FENCE. Who waits looks again and again, which costs time that
 * nobody else gets: on a core with other work, wait with its operating system's semaphore. */
#ifndef TMO_SPIN_H_
#define TMO_SPIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a core does between two looks. */
#ifndef TMO_SPIN_IDLE
#define TMO_SPIN_IDLE() ((void)0)
#endif

/* Of core i: how often the other one has woken it, and how often it has waited. Zero at first. */
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
