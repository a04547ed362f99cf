/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header run one inference on two cores that share their memory. Core 0 starts the inference, and core 1 helps until the
 * inference ends. The linker omits the functions of this header if the firmware never calls them.
 *
 * Both cores use the same `tmo_team team = {wake, wait, &context};`. Core 1 runs `for (;;) tmo_run_worker(&team);`, and core 0 calls
 * `tmo_run_shared(&team, program, io, workspace);` for each inference. */
#ifndef TMO_CORES_H_
#define TMO_CORES_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each core has a counting semaphore, which the callbacks wake() and wait() implement. The cores synchronize only in wake() and wait(), so wake()
 * and wait() must also order memory accesses.
 *
 * The other core calls wake(context, core) to wake the core with the number `core`. A call of wake() must order memory accesses like a release
 * operation in C11. After wait() has returned, the woken core sees all data that the other core wrote before the call of wake(). A release needs a
 * DMB instruction before the signal on Arm, and a MEMW instruction on Xtensa. An operating system's semaphores and task notifications, and C11's
 * release stores, contain the DMB or MEMW instruction. A call of wake() must count even before the other core calls wait(). For each core, calls of
 * wake() outnumber returns of wait() by at most two.
 *
 * A core calls wait(context, core) with its own number. Each call of wake() for a core lets one call of wait() of the core return. A call of wait()
 * must order memory accesses like an acquire operation in C11, so that later reads see all data that the other core has written before wake(). On
 * Arm, an acquire needs a DMB instruction after the signal. If wait() returns too early, the cores race for data, and no check detects the race.
 *
 * If the cores' caches are not coherent, the workspace, the inputs, the outputs and the tmo_team must be in memory that is not cached. */
typedef struct tmo_team tmo_team;
struct tmo_team {
  void (*wake)(void *context, int core);
  void (*wait)(void *context, int core);
  void *context;
  /* core 0 sets the fields from `program` to `help`; core 1 sets only the field `status` */
  const void *program;
  void *const *io;
  void *workspace;
  tmo_status status;
  tmo_status (*help)(tmo_team *self); /* function with which core 1 computes its share of the run */
};

/* Returns the record that divides the program's work between two cores. tmo_cores_of() returns NULL if the program is for one core. */
TMO_LINKAGE const tmo_cores *tmo_cores_of(const void *program);

/* Checks the record that divides a program between two cores. The program must have passed tmo_check(). tmo_check_cores() returns TMO_OK for a
 * program that needs only one core. */
TMO_LINKAGE tmo_status tmo_check_cores(const void *program);

/* Runs a program like tmo_run(), with the help of core 1. Call tmo_run_shared() on core 0. The program must have passed tmo_check() and
 * tmo_check_cores(). The function tmo_run_shared() wakes core 1, and returns when both cores have finished. Do not call tmo_run_shared() again before
 * the previous call of tmo_run_shared() has returned. If the argument `team` is NULL or the program is for one core, core 0 does all the work and
 * does not wake core
 * 1. */
TMO_LINKAGE tmo_status tmo_run_shared(tmo_team *team, const void *program, void *const *io, void *workspace);

/* Waits until core 0 calls tmo_run_shared(), computes core 1's share of the run, and returns. Call tmo_run_worker() on core 1. */
void tmo_run_worker(tmo_team *team);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CORES_H_ */
