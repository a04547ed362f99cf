/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header run core 0 and core 1 of a program in two POSIX threads of the host. */
#ifndef TMO_THREADS_H_
#define TMO_THREADS_H_

#include "tmo/cores.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one inference, with a second thread as core 1. The argument `jitter` is the seed of random delays around barriers, or 0 for no delays. */
tmo_status tmo_run_threads(const void *program, void *const *io, void *workspace, uint32_t jitter);

#ifdef __cplusplus
}
#endif

#endif /* TMO_THREADS_H_ */
