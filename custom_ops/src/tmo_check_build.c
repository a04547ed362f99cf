/* SPDX-License-Identifier: Apache-2.0 */
/* This file checks whether a build of the library, which may lack kernels and parts, can run a program. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os") /* the check runs only once, so it is compiled for size */
#endif

#include "tmo/access.h"
#include "tmo/packed.h"
#include "tmo/tmo.h"

TMO_OWN_FRAME static bool has_table(const tmo_header *h, uint32_t offset, uint32_t bytes) {
  return offset % 4 == 0 && offset <= h->size && bytes <= h->size - offset;
}

static bool lacks(uint16_t part, bool needed) { return !tmo_has_part(part) && needed; }

/* Whether the program's records need a part that this build lacks. A damaged header may lack the bits of needed parts, so the function looks at the
 * records. The function looks for the parts that the executor needs to interpret the records. If a part that only kernels need is missing, a kernel
 * computes less, but accesses no wrong bytes. */
static bool lacks_parts(const void *program) {
  const tmo_header *h = tmo_header_of(program);
  if (lacks(TMO_PART_STREAM, h->input == TMO_INPUT_STREAM) || lacks(TMO_PART_EXTERNAL, h->input == TMO_INPUT_EXTERNAL) ||
      lacks(TMO_PART_LINK, h->input == TMO_INPUT_LINK) || lacks(TMO_PART_STATE, h->state > 0)) {
    return true;
  }
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    if (lacks(TMO_PART_REVERSED, tmo_tensors(program)[i].layout - 1u < TMO_LAYOUT_PIXELS_REVERSED)) return true;
  }
  for (uint32_t i = 0; i < h->n_groups; ++i) {
    if (lacks(TMO_PART_TILES, tmo_groups(program)[i].stripes > 0)) return true;
  }
  for (uint32_t i = 0; i < h->n_ops; ++i) {
    const tmo_op *op = &tmo_ops(program)[i];
    if (lacks(TMO_PART_CHANNEL_GROUPS, op->channel_groups > 1 || (op->flags & TMO_FLAG_SUMS) != 0)) return true;
    if (lacks(TMO_PART_ITERATIVE, (op->flags & TMO_FLAG_ITERATIVE) != 0)) return true;
    if (lacks(TMO_PART_NIBBLES, (op->flags & TMO_FLAG_NIBBLES) != 0)) return true;
    if (lacks(TMO_PART_COPIES, (op->flags & TMO_FLAG_COPIES) != 0)) return true;
    if (lacks(TMO_PART_TAPS, tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) && !tmo_mve_has_nine(op))) return true;
  }
  return false;
}

tmo_status tmo_check_build(const void *program, size_t program_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes) {
  const tmo_header *h = tmo_header_of(program);
  if ((uintptr_t)program % TMO_ALIGNMENT != 0) return TMO_ERROR_ALIGNMENT;
  if (program_bytes < sizeof(tmo_header)) return TMO_ERROR_TRUNCATED;
  if (h->magic != TMO_MAGIC) return TMO_ERROR_MAGIC;
  if (h->version != TMO_VERSION) return TMO_ERROR_VERSION;
  if (!tmo_runs_target(h->target)) return TMO_ERROR_TARGET;
  if (h->size > program_bytes) return TMO_ERROR_TRUNCATED;
  if (h->input > TMO_INPUT_LINK || h->pools > 1 || h->size < sizeof(tmo_header) + h->pools * sizeof(tmo_pool)) return TMO_ERROR_TABLE;
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
  return (h->parts & ~(uint32_t)(TMO_PARTS)) != 0 || lacks_parts(program) ? TMO_ERROR_KERNEL : TMO_OK;
}
