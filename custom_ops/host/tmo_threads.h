/* SPDX-License-Identifier: Apache-2.0 */
/* Two cores as two threads of this machine: wake and wait with a mutex and a condition. Host only, where there are POSIX threads. */
#ifndef TMO_THREADS_H_
#define TMO_THREADS_H_

#include "tmo/cores.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One inference, the second core being a thread that lives as long. jitter: 0, or what random delays before and behind meetings begin with. */
tmo_status tmo_run_threads(const void *program, void *const *io, void *workspace, uint32_t jitter);

#ifdef __cplusplus
}
#endif

#endif /* TMO_THREADS_H_ */
