/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and checks after every iteration that it changed only the bytes of the arena that it may write. Host only. */
#ifndef TMO_GUARD_H_
#define TMO_GUARD_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_GUARD_VIOLATION (-100) /* this status, which is not in tmo_status, means that an iteration wrote bytes that it may not write */
#define TMO_GUARD_MEMORY (-101)    /* this status, which is not in tmo_status, means that the host lacks memory for the copies */

/* Inputs, outputs and workspace are ranges of one arena, so that they overlap in the same way as on the device. */
typedef struct {
  uint8_t *bytes;
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  const uint32_t *io_offsets; /* offsets of the inputs, of the outputs, and of the state and slow memory if the program has them; at least n_inputs + n_outputs + 2 entries */
  const uint32_t *io_bytes;
  uint32_t workspace_offset; /* 16-byte aligned */
  uint32_t workspace_bytes;
  const void *source; /* tmo_source of an external input, all rows of a streamed input (io_bytes[0] bytes for each push), or NULL */
} tmo_arena;

/* After a violation, `byte` is the arena offset of the first wrongly written byte. If `byte` is negative, the wrong byte is before the arena. */
typedef struct {
  uint32_t iterations; /* completed iterations */
  uint32_t op;
  tmo_iteration current;
  int32_t byte;
} tmo_guard_report;

/* Runs one inference in the arena. Returns a tmo_status, TMO_GUARD_VIOLATION or TMO_GUARD_MEMORY. tmo_run_guarded() returns TMO_ERROR_IO if a range
 * is not inside the arena. */
int tmo_run_guarded(const void *program, size_t program_bytes, const tmo_arena *arena, tmo_guard_report *report);

#ifdef __cplusplus
}
#endif

#endif /* TMO_GUARD_H_ */
