/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares functions that read the loops of a group (TMO_LOOP_* of program.h). Internal. */
#ifndef TMO_LOOPS_H_
#define TMO_LOOPS_H_

#include "access.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LOOP_REPEAT_BYTES 3

static inline const uint8_t *tmo_loops(const void *program, const tmo_group *group) {
  return (const uint8_t *)tmo_constant(program, group->loops);
}

/* Returns the number that two bytes of a loop code hold. */
static inline uint16_t tmo_loop_number(const uint8_t *at) { return (uint16_t)(at[0] | (uint16_t)(at[1] << 8)); }

/* Returns the number of bytes of a code that runs an operator. */
static inline uint32_t tmo_iteration_bytes(uint8_t code) { return code < TMO_LOOP_NEAR ? 1 : code == TMO_LOOP_FAR ? 3 : 5; }

static inline void tmo_open_loop(tmo_run_state *run, const uint8_t *body, uint16_t times) {
  run->body[run->depth] = body;
  run->left[run->depth] = times;
  ++run->depth;
  run->at = body;
}

/* This record describes a sequence of loop codes by the number of iterations and the position of TMO_LOOP_END. */
typedef struct {
  uint32_t iterations; /* number of iterations, which is 0 if the codes are damaged */
  const uint8_t *end;
} tmo_loop_body;

/* Reads the sequence of loop codes that begins at `at`. A sequence is damaged if it reaches `limit`, nests too deeply, or names an operator whose
 * number is n_ops or greater. A sequence with an empty loop, or with more iterations than fit a uint32_t, is damaged as well. */
TMO_LINKAGE tmo_loop_body tmo_read_loop(const uint8_t *at, const uint8_t *limit, uint32_t n_ops);

/* Moves a new run to the position after `done` iterations, which must be fewer than all iterations. */
TMO_LINKAGE void tmo_seek(tmo_run_state *run, uint32_t done);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LOOPS_H_ */
