/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header read the loops of a group, which a program stores as TMO_LOOP_* codes. */
#ifndef TMO_LOOPS_H_
#define TMO_LOOPS_H_

#include "access.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

static TMO_ALWAYS_INLINE const uint8_t *tmo_loops(const void *program, const tmo_group *group) {
  return (const uint8_t *)tmo_constant(program, group->loops);
}

/* Returns the 16-bit number at the address `at` in the loop codes. */
static TMO_ALWAYS_INLINE uint16_t tmo_loop_number(const uint8_t *at) { return (uint16_t)(at[0] | (uint16_t)(at[1] << 8)); }

/* Returns the size in bytes of a loop code and of the numbers that belong to the loop code. */
static inline uint32_t tmo_loop_bytes(uint8_t code) { return code < TMO_LOOP_NEAR || code == TMO_LOOP_END ? 1 : code == TMO_LOOP_SKIP ? 5 : 3; }

static inline void tmo_open_loop(tmo_run_state *run, const uint8_t *body, uint16_t times) {
  const tmo_loop loop = {body, times};
  run->loops[run->depth++] = loop;
  run->at = body;
}

typedef struct {
  uint32_t iterations; /* number of iterations of the loop's body, or 0 if the code of the body is damaged */
  const uint8_t *end;
} tmo_loop_body;

/* Reads the code of a loop's body, which begins at `at`. Loop code is damaged if it extends to the address `limit`, nests loops too deeply, or names
 * an operator that the group lacks. Damaged code may have an empty loop, or more iterations than fit uint32_t. */
TMO_LINKAGE tmo_loop_body tmo_read_loop(const uint8_t *at, const uint8_t *limit, uint32_t n_ops);

/* Skips the first iterations of a new run. The argument `done` is the number of skipped iterations, which is below the number of all iterations. */
TMO_LINKAGE void tmo_seek(tmo_run_state *run, uint32_t done);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LOOPS_H_ */
