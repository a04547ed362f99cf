/* SPDX-License-Identifier: Apache-2.0 */
/* These functions run one inference on two cores that share their memory. Core 0 starts the inference, and core 1 computes a part of it. Unused code
 * is not linked.
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

/* The cores wait for each other with two callbacks, which implement a counting semaphore for each core. The cores synchronize only in the callbacks,
 * so the callbacks must also order memory.
 *
 * The function wake(context, core) is called by the other core. A call of wake() orders memory as a release: when the wait() of `core` returns,
 * `core` sees all that the caller of wake() has written before. A release needs a DMB before the signal on Arm and a MEMW on Xtensa. Semaphores, task
 * notifications and C11's release stores contain the DMB or MEMW. A wake() before `core` waits must not be lost. A core never has more than two wakes
 * for which wait() has not returned yet.
 *
 * The function wait(context, core) is called by `core`. A call of wait() returns as soon as `core` has been woken more often than its calls of wait()
 * have returned. A wait() is an acquire (on Arm, a DMB after the signal), so that later reads see all that was written before the wake(). A wait()
 * that returns too early is a race, which no check finds.
 *
 * If the cores have caches that are not coherent, workspace, io and team must be in memory that is not cached. */
typedef struct tmo_team tmo_team;
struct tmo_team {
  void (*wake)(void *context, int core);
  void (*wait)(void *context, int core);
  void *context;
  /* core 0 sets the fields below for core 1, which sets `status` */
  const void *program;
  void *const *io;
  void *workspace;
  tmo_status status;
  tmo_status (*help)(tmo_team *self); /* function that runs core 1's share */
};

/* Returns the record that says how two cores share a program, or NULL for a program for one core. */
TMO_LINKAGE const tmo_cores *tmo_cores_of(const void *program);

/* Checks the record for two cores in a program that has passed tmo_check(). Returns TMO_OK for programs for one core. */
TMO_LINKAGE tmo_status tmo_check_cores(const void *program);

/* Runs a program like tmo_run(), with core 1's help. Call tmo_run_shared() on core 0. The program must have passed tmo_check() and tmo_check_cores().
 * tmo_run_shared() wakes core 1 and returns when both cores are done. Do not call tmo_run_shared() again before it has returned. If team is NULL or
 * the program is for one core, core 0 does all the work and does not wake core 1. */
TMO_LINKAGE tmo_status tmo_run_shared(tmo_team *team, const void *program, void *const *io, void *workspace);

/* Waits for one call of tmo_run_shared(), computes core 1's part of the run, and returns. Call tmo_run_worker() on core 1. */
void tmo_run_worker(tmo_team *team);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CORES_H_ */
