/* SPDX-License-Identifier: Apache-2.0 */
/* This file defines tmo_whole_library and tmo_whole_library_for_two, the tables of all functions of the library. */
#include "tmo/library.h"

static tmo_status check_shared(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                               size_t workspace_bytes) {
  const tmo_status status = tmo_check(program, program_bytes, io_bytes, n_inputs, n_outputs, workspace_bytes);
  return status == TMO_OK ? tmo_check_cores(program) : status;
}

const tmo_library tmo_whole_library = {.check = tmo_check, .run = tmo_run, .push = tmo_push, .run_paused = tmo_run_paused};

const tmo_library tmo_whole_library_for_two = {.check = check_shared, .run_shared = tmo_run_shared, .push = tmo_push, .run_paused = tmo_run_paused};
