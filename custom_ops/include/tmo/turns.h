/* SPDX-License-Identifier: Apache-2.0 */
/* Several models in one arena take turns with these functions. All code is in this header, so that a program of one model does not contain it.
 *
 *   if (tmo_enter(&turns, MODEL) == TMO_OK) {  // if it is another model's turn, write nothing: the bytes belong to that model
 *     ... fill the inputs, run, read the outputs ...
 *     tmo_leave(&turns, MODEL);                // after a pause, call tmo_pause() instead of tmo_leave()
 *   }
 *
 * If several tasks take turns, make each call inside a lock. The emitted NAME_app.h has the table of excluded models. */
#ifndef TMO_TURNS_H_
#define TMO_TURNS_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_MAX_MODELS 32 /* an application has at most this many models */

enum { TMO_OUT_OF_TURN = -15 }; /* an emitted C function returns this status if it is not the model's turn and nothing was run */

/* Both fields have one bit for each model. A model waits while a model whose bit is set in `running` runs. The model also waits while a model whose
 * bit is set in `paused` is paused. */
typedef struct {
  uint32_t running, paused;
} tmo_excluded;

typedef struct {
  const tmo_excluded *excluded; /* table with an entry for each model */
  uint32_t models;              /* number of models, at most TMO_MAX_MODELS */
  uint32_t running, paused;     /* a bit for each model that is running or paused; all bits are 0 at the start */
} tmo_turns;

static inline bool tmo_has_turn(const tmo_turns *turns, uint32_t model) {
  return model < turns->models && (turns->running >> model & 1u) != 0;
}

/* Call tmo_enter() before you fill a model's inputs, push rows, or continue a paused run. TMO_OK means that it is this model's turn. TMO_WAIT
 * means that the model itself, or a model that excludes it, is in the middle of an inference. TMO_ERROR_TABLE means that the number of the model
 * is invalid. */
static inline tmo_status tmo_enter(tmo_turns *turns, uint32_t model) {
  if (model >= turns->models) return TMO_ERROR_TABLE;
  const uint32_t own = 1u << model;
  const tmo_excluded *no = &turns->excluded[model];
  if ((turns->running & (no->running | own)) != 0 || (turns->paused & no->paused & ~own) != 0) return TMO_WAIT;
  turns->running |= own;
  turns->paused &= ~own;
  return TMO_OK;
}

/* Call tmo_pause() when a model has paused. After tmo_pause(), models that may run during the pause can call tmo_enter(). The paused model continues
 * in a later turn. */
static inline void tmo_pause(tmo_turns *turns, uint32_t model) {
  if (!tmo_has_turn(turns, model)) return;
  turns->running &= ~(1u << model);
  turns->paused |= 1u << model;
}

/* Call tmo_leave() after you have read the outputs or pushed the rows. A paused model stays paused, and its live bytes stay reserved. */
static inline void tmo_leave(tmo_turns *turns, uint32_t model) {
  if (tmo_has_turn(turns, model)) turns->running &= ~(1u << model);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_TURNS_H_ */
