/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header run a program on the host, and check after every iteration whether the program has written bytes of the arena that it
 * must not write. */
#ifndef TMO_GUARD_H_
#define TMO_GUARD_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_GUARD_VIOLATION (-100) /* an iteration wrote bytes that it must not write; no tmo_status has this value */
#define TMO_GUARD_MEMORY (-101)    /* the host lacks memory for the copies of the arena; no tmo_status has this value */

/* An arena in which the inputs, the outputs and the workspace overlap as on the device. */
typedef struct {
  uint8_t *bytes;
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  const uint32_t *io_offsets; /* offsets from `bytes` to the inputs, outputs, state and slow memory; n_inputs + n_outputs + 2 entries */
  const uint32_t *io_bytes;
  uint32_t workspace_offset; /* offset from `bytes` to the workspace, a multiple of 16 */
  uint32_t workspace_bytes;
  const void *source; /* address of the tmo_source of an external input, or of the first row of a streamed input; otherwise NULL */
} tmo_arena;

/* After a forbidden write, the field `byte` is the arena offset of the first wrongly written byte. If the field `byte` is negative, the wrongly
 * written byte lies before the arena. */
typedef struct {
  uint32_t iterations; /* number of completed iterations */
  uint32_t op;
  tmo_iteration current;
  int32_t byte;
} tmo_guard_report;

/* Runs one inference in the arena `arena` and writes the report. The function returns a tmo_status, TMO_GUARD_VIOLATION or TMO_GUARD_MEMORY. The
 * status TMO_ERROR_IO means that an offset is outside the arena. */
int tmo_run_guarded(const void *program, size_t program_bytes, const tmo_arena *arena, tmo_guard_report *report);

#ifdef __cplusplus
}
#endif

#endif /* TMO_GUARD_H_ */
