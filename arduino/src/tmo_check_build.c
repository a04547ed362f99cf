/* Whether a build of the library, which may lack kernels and parts, runs a program. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os") /* it runs once */
#endif

#include "tmo/access.h"
#include "tmo/packed.h"
#include "tmo/tmo.h"

static bool has_table(const tmo_header *h, uint32_t offset, uint32_t bytes) {
  return offset % 4 == 0 && offset <= h->size && bytes <= h->size - offset;
}

static uint32_t part(bool needed, uint16_t bit) { return (uint32_t)needed << bit; }

_Static_assert(TMO_INPUT_STREAM << TMO_PART_STREAM == 1 << TMO_PART_STREAM && TMO_INPUT_EXTERNAL << TMO_PART_STREAM == 1 << TMO_PART_EXTERNAL,
               "an input is its part's bit");

/* A bit for each TMO_PART_* that a program with such tables needs. */
static uint32_t parts_of(const void *program) {
  const tmo_header *h = tmo_header_of(program);
  uint32_t parts = h->input == TMO_INPUT_LINK ? 1u << TMO_PART_LINK : (uint32_t)h->input << TMO_PART_STREAM;
  for (uint32_t i = 0; i < h->n_tensors; ++i) parts |= part(tmo_tensors(program)[i].layout - 1u < TMO_LAYOUT_PIXELS_TURNED, TMO_PART_TURNED);
  parts |= part(h->state > 0, TMO_PART_STATE);
  for (uint32_t i = 0; i < h->n_blocks; ++i) parts |= part(tmo_blocks(program)[i].strips > 0, TMO_PART_TILES);
  for (uint32_t i = 0; i < h->n_ops; ++i) {
    const tmo_op *op = &tmo_ops(program)[i];
    parts |= part(op->groups > 1 || (op->flags & TMO_FLAG_SUMS) != 0, TMO_PART_GROUPS);
    parts |= part((op->flags & TMO_FLAG_ITERATIVE) != 0, TMO_PART_ITERATIVE);
    parts |= part(tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) && !tmo_mve_has_nine(op), TMO_PART_TAPS);
  }
  return parts;
}

tmo_status tmo_check_build(const void *program, size_t program_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes) {
  const tmo_header *h = tmo_header_of(program);
  if ((uintptr_t)program % 16 != 0) return TMO_ERROR_ALIGNMENT;
  if (program_bytes < sizeof(tmo_header)) return TMO_ERROR_TRUNCATED;
  if (h->magic != TMO_MAGIC) return TMO_ERROR_MAGIC;
  if (h->version != TMO_VERSION) return TMO_ERROR_VERSION;
  if (!tmo_runs_target(h->target)) return TMO_ERROR_TARGET;
  if (h->size > program_bytes) return TMO_ERROR_TRUNCATED;
  if (h->size < sizeof(tmo_header) || h->input > TMO_INPUT_LINK) return TMO_ERROR_TABLE;
  if (!has_table(h, h->tensors, h->n_tensors * (uint32_t)sizeof(tmo_tensor))) return TMO_ERROR_TABLE;
  if (!has_table(h, h->ops, h->n_ops * (uint32_t)sizeof(tmo_op))) return TMO_ERROR_TABLE;
  if (!has_table(h, h->blocks, h->n_blocks * (uint32_t)sizeof(tmo_block))) return TMO_ERROR_TABLE;
  if (h->n_inputs != n_inputs || h->n_outputs != n_outputs || h->workspace > workspace_bytes) return TMO_ERROR_IO;
  for (uint32_t i = 0; i < h->n_ops; ++i) {
    const tmo_op *op = &tmo_ops(program)[i];
    if (!tmo_has_kernel(op)) return TMO_ERROR_KERNEL;
#if TMO_OWN
    if (op->kind == TMO_OP_OWN && tmo_own_of(op) == NULL) return TMO_ERROR_KERNEL;
#endif
  }
  return (parts_of(program) & ~(uint32_t)(TMO_PARTS)) == 0 ? TMO_OK : TMO_ERROR_KERNEL;
}
