/* SPDX-License-Identifier: Apache-2.0 */
/* A tmo_library is a table of library functions. An application that uses the table links only the code that its models need.
 *
 * The converter writes a file NAME_library.c, which compiles the code that the models need (tmo/embed.h) and exports the table NAME_library. A linker
 * with garbage collection omits all code that no table refers to. */
#ifndef TMO_LIBRARY_H_
#define TMO_LIBRARY_H_

#include "tmo/cores.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pointers to functions of the library, which tmo.h and cores.h declare. A pointer of the table is NULL if no model of the application needs the
 * function. */
typedef struct {
  /* `check` calls tmo_check(). If the pointer run_shared is not NULL, `check` also calls tmo_check_cores(). */
  tmo_status (*check)(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes);
  tmo_status (*run)(const void *program, void *const *io, void *workspace);                                        /* tmo_run() */
  tmo_status (*run_shared)(tmo_team *team, const void *program, void *const *io, void *workspace);                 /* tmo_run_shared() */
  tmo_status (*push)(const void *program, void *const *io, void *workspace, tmo_stream *stream);                   /* tmo_push() */
  tmo_status (*run_paused)(const void *program, void *const *io, void *workspace, const uint32_t *pauses, uint32_t n_pauses,
                           tmo_stream *at);                                                                        /* tmo_run_paused() */
} tmo_library;

/* tmo_whole_library has all kernels for programs for one core. tmo_whole_library_for_two also runs programs for two cores. */
extern const tmo_library tmo_whole_library, tmo_whole_library_for_two;

#ifdef __cplusplus
}
#endif

#endif /* TMO_LIBRARY_H_ */
