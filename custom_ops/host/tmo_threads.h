/* SPDX-License-Identifier: Apache-2.0 */
/* This header is for hosts with POSIX threads. The functions run the program of each core in its own thread, and the threads wake each other with a
 * mutex and a condition. */
#ifndef TMO_THREADS_H_
#define TMO_THREADS_H_

#include "tmo/cores.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one inference with a thread as second core. jitter: 0 for no delays, or the seed of random delays around barriers. */
tmo_status tmo_run_threads(const void *program, void *const *io, void *workspace, uint32_t jitter);

#ifdef __cplusplus
}
#endif

#endif /* TMO_THREADS_H_ */
