/* SPDX-License-Identifier: Apache-2.0 */
/* One inference on two cores that share the memory: core 0 is the caller, core 1 helps inside. What is not used is not linked.
 *
 *   core 0                                        core 1
 *   tmo_team team = {wake, wait, &context};       for (;;) tmo_run_worker(&team);
 *   tmo_run_shared(&team, program, io, workspace);
 */
#ifndef TMO_CORES_H_
#define TMO_CORES_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the cores meet: a counting semaphore for each of them. The callbacks are the only place where cores know of each other, so that they are
 * where memory is ordered.
 *
 * wake(context, core): called by the other core. All that the caller has written before is visible to `core` when its wait() returns: a release. On
 *   Arm a DMB before whatever signals; on Xtensa a MEMW; semaphores, task notifications, C11's release stores bring it along. Not lost when `core`
 *   does not wait yet. At most two are outstanding for each core.
 * wait(context, core): called by `core`. Returns when it was woken once more than it has waited; what it reads after that is not older than the
 *   wake(): an acquire, a DMB after the signal. Not before: that would be a race, which nothing finds.
 *
 * Caches: none, or coherent ones, or a workspace, io and team in memory that is not cached. */
typedef struct tmo_team tmo_team;
struct tmo_team {
  void (*wake)(void *context, int core);
  void (*wait)(void *context, int core);
  void *context;
  /* What core 0 leaves for core 1, and its answer. */
  const void *program;
  void *const *io;
  void *workspace;
  tmo_status status;
  tmo_status (*help)(tmo_team *self); /* core 1's share of the run */
};

/* How two cores share a program; NULL: it is for one. */
TMO_LINKAGE const tmo_cores *tmo_cores_of(const void *program);

/* What tmo_check() does not look at: the shares of a program that has passed it. TMO_OK for programs without. */
TMO_LINKAGE tmo_status tmo_check_cores(const void *program);

/* Core 0: tmo_run() with core 1's help, of a program that has passed tmo_check() and tmo_check_cores(). It wakes core 1, returns when that one is done
 * as well, and is not called again before. team NULL, or a program for one core: core 0 does it all, core 1 is not woken. */
TMO_LINKAGE tmo_status tmo_run_shared(tmo_team *team, const void *program, void *const *io, void *workspace);

/* Core 1: waits for one call of tmo_run_shared(), helps with it, returns. */
void tmo_run_worker(tmo_team *team);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CORES_H_ */
