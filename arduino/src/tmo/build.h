/* Which kernels a build has. All of them, unless its flags name those that its programs need: the linker drops the others. Internal.
 *
 * -DTMO_KINDS=..    a bit for each tmo_op_kind of operators that are not packed
 * -DTMO_PACKINGS=.. a bit for each TMO_PACKING_* of those that are
 *
 * The converter writes both into what it emits for a model; for several models, "or" them. tmo_check() refuses programs that need more. */
#ifndef TMO_BUILD_H_
#define TMO_BUILD_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/program.h"

#ifndef TMO_KINDS
#define TMO_KINDS UINT64_MAX
#endif
#ifndef TMO_PACKINGS
#define TMO_PACKINGS UINT64_MAX
#endif

/* Those with two operands: tmo_is_binary(). */
#define TMO_BINARY_KINDS ((uint64_t)1 << TMO_OP_ADD | (uint64_t)1 << TMO_OP_ADD_S16 | (uint64_t)0x3F << TMO_OP_SUB)

/* Those with an access of their own. */
#define TMO_ACCESS_KINDS ((uint64_t)0xF << TMO_OP_COPY)

static inline bool tmo_has_kind(uint16_t kind) { return kind >= 64 || ((uint64_t)(TMO_KINDS) >> kind & 1) != 0; }
static inline bool tmo_has_packing(uint16_t packing) { return packing >= 64 || ((uint64_t)(TMO_PACKINGS) >> packing & 1) != 0; }

/* Whether this build has the kernel of an operator. */
static inline bool tmo_has_kernel(const tmo_op *op) {
  return op->packing == TMO_PACKING_NONE ? tmo_has_kind(op->kind) : tmo_has_packing(op->packing);
}

/* Of a switch over kinds, or packings: a call that builds without it leave out. */
#define TMO_CASE_KIND(kind, call)  \
  case kind:                       \
    if (tmo_has_kind(kind)) call;  \
    break
#define TMO_CASE_PACKING(packing, call)  \
  case packing:                          \
    if (tmo_has_packing(packing)) call;  \
    break

#endif /* TMO_BUILD_H_ */
