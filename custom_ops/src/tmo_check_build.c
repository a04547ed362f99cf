/* SPDX-License-Identifier: Apache-2.0 */
/* This file checks whether a build of the library can run a program. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os") /* The file is compiled for size, not for speed, because a program is checked only once. */
#endif

#include "tmo/access.h"
#include "tmo/packing.h"
#include "tmo/tmo.h"

TMO_OWN_FRAME static bool has_table(const tmo_header *h, uint32_t offset, uint32_t bytes) {
  return offset % 4 == 0 && offset <= h->size && bytes <= h->size - offset;
}

tmo_status tmo_check_build(const void *program, size_t program_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes) {
  const tmo_header *h = tmo_header_of(program);
  if ((uintptr_t)program % TMO_ALIGNMENT != 0) return TMO_ERROR_ALIGNMENT;
  if (program_bytes < sizeof(tmo_header)) return TMO_ERROR_TRUNCATED;
  if (h->magic != TMO_MAGIC) return TMO_ERROR_MAGIC;
  if (h->version != TMO_VERSION) return TMO_ERROR_VERSION;
  if (!tmo_runs_target(h->target)) return TMO_ERROR_TARGET;
  /* the header of a damaged program may omit a part that the program needs; tmo_check() and tmo_run() then both ignore the part */
  if ((h->parts & ~(uint64_t)(TMO_PARTS)) != 0) return TMO_ERROR_KERNEL;
  if (h->size > program_bytes) return TMO_ERROR_TRUNCATED;
  if (h->input > TMO_INPUT_LINK || h->pools > (tmo_has_part(TMO_PART_SLOW_MEMORY) ? 1 : 0) || h->size < sizeof(tmo_header) + h->pools * sizeof(tmo_pool)) return TMO_ERROR_TABLE;
  if (!has_table(h, h->tensors, h->n_tensors * (uint32_t)sizeof(tmo_tensor))) return TMO_ERROR_TABLE;
  if (!has_table(h, h->ops, h->n_ops * (uint32_t)sizeof(tmo_op))) return TMO_ERROR_TABLE;
  if (!has_table(h, h->groups, h->n_groups * (uint32_t)sizeof(tmo_group))) return TMO_ERROR_TABLE;
  if (h->n_inputs != n_inputs || h->n_outputs != n_outputs || h->workspace > workspace_bytes) return TMO_ERROR_IO;
  for (uint32_t i = 0; i < h->n_ops; ++i) {
    const tmo_op *op = &tmo_ops(program)[i];
    if (!tmo_has_kernel(op)) return TMO_ERROR_KERNEL;
#if TMO_OWN
    if (op->kind == TMO_OP_OWN && tmo_own_of(op) == NULL) return TMO_ERROR_KERNEL;
#endif
  }
  return TMO_OK;
}
