/* SPDX-License-Identifier: Apache-2.0 */
/* Several models in one arena: whose turn it is. All in this header, so that a program of one model has nothing of it.
 *
 *   if (tmo_enter(&turns, MODEL) == TMO_OK) {  // else nothing is written: the bytes are another model's now
 *     ... fill the inputs, run, read the outputs ...
 *     tmo_leave(&turns, MODEL);                // or tmo_pause(), where the run paused
 *   }
 *
 * Where tasks take each other's turn, each call belongs inside a lock. The emitted NAME_app.h has the table. */
#ifndef TMO_TURNS_H_
#define TMO_TURNS_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_MAX_MODELS 32 /* of an application */

enum { TMO_OUT_OF_TURN = -14 }; /* a tmo_status of the emitted C functions of a model: it is not its turn, and nothing was run */

/* Of a model: those that must not be in the middle of an inference when it begins, and those that must not be between pauses. A bit for each. */
typedef struct {
  uint32_t running, paused;
} tmo_excluded;

typedef struct {
  const tmo_excluded *excluded; /* by model */
  uint32_t models;              /* TMO_MAX_MODELS at most */
  uint32_t running, paused;     /* a bit for each model; 0 at the start */
} tmo_turns;

static inline bool tmo_has_turn(const tmo_turns *turns, uint32_t model) {
  return model < turns->models && (turns->running >> model & 1u) != 0;
}

/* Before a model's inputs are filled, before a push of rows, and before a paused run goes on. TMO_OK: it is this model's turn. TMO_WAIT: a
 * model that excludes it is in the middle of an inference, or it is itself. TMO_ERROR_TABLE: there is no such model. */
static inline tmo_status tmo_enter(tmo_turns *turns, uint32_t model) {
  if (model >= turns->models) return TMO_ERROR_TABLE;
  const uint32_t own = 1u << model;
  const tmo_excluded *no = &turns->excluded[model];
  if ((turns->running & (no->running | own)) != 0 || (turns->paused & no->paused & ~own) != 0) return TMO_WAIT;
  turns->running |= own;
  turns->paused &= ~own;
  return TMO_OK;
}

/* The model whose turn it is paused: those that may run then can enter, and it goes on in a turn of its own. */
static inline void tmo_pause(tmo_turns *turns, uint32_t model) {
  if (!tmo_has_turn(turns, model)) return;
  turns->running &= ~(1u << model);
  turns->paused |= 1u << model;
}

/* Its outputs are read, or its rows pushed. A model that paused remains so: what is alive of it nobody else may have. */
static inline void tmo_leave(tmo_turns *turns, uint32_t model) {
  if (tmo_has_turn(turns, model)) turns->running &= ~(1u << model);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_TURNS_H_ */
