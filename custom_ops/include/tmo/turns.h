/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of several models in one arena. All code is in this header, so that a program of one model does not contain it.
 *
 *   if (tmo_enter(&turns, MODEL) == TMO_OK) {  // otherwise write nothing: the bytes belong to another model
 *     ... fill the inputs, run, read the outputs ...
 *     tmo_leave(&turns, MODEL);                // or tmo_pause(), where the run paused
 *   }
 *
 * If several tasks take turns, make each call inside a lock. The emitted NAME_app.h has the table. */
#ifndef TMO_TURNS_H_
#define TMO_TURNS_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_MAX_MODELS 32 /* maximum number of models of an application */

enum { TMO_OUT_OF_TURN = -14 }; /* additional status of a model's emitted C functions: it is not the model's turn, and nothing was run */

/* The models that keep one model from beginning, one bit for each: models in `running` during an inference, models in `paused` during a pause. */
typedef struct {
  uint32_t running, paused;
} tmo_excluded;

typedef struct {
  const tmo_excluded *excluded; /* table with an entry for each model */
  uint32_t models;              /* number of models, at most TMO_MAX_MODELS */
  uint32_t running, paused;     /* one bit for each model; 0 at the start */
} tmo_turns;

static inline bool tmo_has_turn(const tmo_turns *turns, uint32_t model) {
  return model < turns->models && (turns->running >> model & 1u) != 0;
}

/* Call this before you fill a model's inputs, push rows, or continue a paused run. TMO_OK: it is this model's turn. TMO_WAIT: a model that
 * excludes it, or the model itself, is in the middle of an inference. TMO_ERROR_TABLE: the number of the model is invalid. */
static inline tmo_status tmo_enter(tmo_turns *turns, uint32_t model) {
  if (model >= turns->models) return TMO_ERROR_TABLE;
  const uint32_t own = 1u << model;
  const tmo_excluded *no = &turns->excluded[model];
  if ((turns->running & (no->running | own)) != 0 || (turns->paused & no->paused & ~own) != 0) return TMO_WAIT;
  turns->running |= own;
  turns->paused &= ~own;
  return TMO_OK;
}

/* Call this when the model has paused. Models that may run during its pause can then enter. It continues in a later turn. */
static inline void tmo_pause(tmo_turns *turns, uint32_t model) {
  if (!tmo_has_turn(turns, model)) return;
  turns->running &= ~(1u << model);
  turns->paused |= 1u << model;
}

/* Call this after you have read the outputs or pushed the rows. A paused model stays paused, and its live bytes stay reserved. */
static inline void tmo_leave(tmo_turns *turns, uint32_t model) {
  if (tmo_has_turn(turns, model)) turns->running &= ~(1u << model);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_TURNS_H_ */
