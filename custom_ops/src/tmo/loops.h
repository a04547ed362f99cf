/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the loops of a block: TMO_LOOP_* of program.h. Internal. */
#ifndef TMO_LOOPS_H_
#define TMO_LOOPS_H_

#include "access.h"
#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LOOP_REPEAT_BYTES 3

static inline const uint8_t *tmo_loops(const void *program, const tmo_block *block) {
  return (const uint8_t *)tmo_constant(program, block->loops);
}

/* The two bytes of a number. */
static inline uint16_t tmo_loop_number(const uint8_t *at) { return (uint16_t)(at[0] | (uint16_t)(at[1] << 8)); }

static inline void tmo_open_loop(tmo_run_state *run, const uint8_t *body, uint16_t times) {
  run->body[run->depth] = body;
  run->left[run->depth] = times;
  ++run->depth;
  run->at = body;
}

/* A sequence of codes: how often it fires, and where the TMO_LOOP_END is that closes it. */
typedef struct {
  uint32_t firings; /* 0: the codes are damaged */
  const uint8_t *end;
} tmo_loop_body;

/* Reads the sequence that begins at `at`. It is damaged where it reaches `limit`, nests too deep, names an operator that is not below n_ops,
 * repeats a body that never fires, or fires more often than a uint32_t counts. */
TMO_LINKAGE tmo_loop_body tmo_read_loop(const uint8_t *at, const uint8_t *limit, uint32_t n_ops);

/* Moves a run that has just begun to where `done` firings are done, which are not all. */
TMO_LINKAGE void tmo_seek(tmo_run_state *run, uint32_t done);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LOOPS_H_ */
