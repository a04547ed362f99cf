/* SPDX-License-Identifier: Apache-2.0 */
/* One inference on two cores that share their memory: core 0 calls it, and core 1 helps. Unused code is not linked.
 *
 *   core 0                                        core 1
 *   tmo_team team = {wake, wait, &context};       for (;;) tmo_run_worker(&team);
 *   tmo_run_shared(&team, program, io, workspace); */
#ifndef TMO_CORES_H_
#define TMO_CORES_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The barrier of the two cores: a counting semaphore for each core. The cores synchronize only in these callbacks, so the callbacks order memory.
 *
 * wake(context, core): called by the other core. wake() is a release: all that the caller has written before is visible to `core` when its wait()
 * returns. A release needs a DMB before the signal on Arm and a MEMW on Xtensa; semaphores, task notifications and C11's release stores contain
 * it. A wake() before `core` waits must not be lost. At most two wakes of a core are outstanding.
 *
 * wait(context, core): called by `core`. wait() returns when `core` has been woken more often than its wait() has returned. wait() is an acquire (on Arm a DMB after the signal): later reads
 * see all that was written before the wake(). A wait() that returns earlier is a race, which no check finds.
 *
 * If the cores have caches that are not coherent, workspace, io and team must be in memory that is not cached. */
typedef struct tmo_team tmo_team;
struct tmo_team {
  void (*wake)(void *context, int core);
  void (*wait)(void *context, int core);
  void *context;
  /* data from core 0 for core 1, and the result of core 1 */
  const void *program;
  void *const *io;
  void *workspace;
  tmo_status status;
  tmo_status (*help)(tmo_team *self); /* function that runs core 1's share */
};

/* Returns the shares of a program for two cores, or NULL for a program for one core. */
TMO_LINKAGE const tmo_cores *tmo_cores_of(const void *program);

/* Checks the shares of a program that has passed tmo_check(), which ignores them. Returns TMO_OK for programs without shares. */
TMO_LINKAGE tmo_status tmo_check_cores(const void *program);

/* To be called on core 0: runs a program like tmo_run(), with core 1's help. The program must have passed tmo_check() and tmo_check_cores().
 * tmo_run_shared() wakes core 1 and returns when both cores are done. Do not call tmo_run_shared() again before it has returned. If team is NULL
 * or the program is for one core, core 0 does all the work and does not wake core 1. */
TMO_LINKAGE tmo_status tmo_run_shared(tmo_team *team, const void *program, void *const *io, void *workspace);

/* To be called on core 1: waits for one call of tmo_run_shared(), computes its share and returns. */
void tmo_run_worker(tmo_team *team);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CORES_H_ */
