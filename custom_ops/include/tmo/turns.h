/* SPDX-License-Identifier: Apache-2.0 */
/* Models that share one arena call the functions of this header to take turns. All code is in this header, so that a firmware with one model does not
 * contain the code.
 *
 *   if (tmo_enter(&turns, MODEL) == TMO_OK) {  // write to the shared arena only after TMO_OK
 *     ... fill the inputs, run, read the outputs ...
 *     tmo_leave(&turns, MODEL);                // after a pause, call tmo_pause() instead of tmo_leave()
 *   }
 *
 * If several tasks call the functions of this header, protect each call with a lock. The converter writes the table of models that exclude each other
 * to NAME_app.h. */
#ifndef TMO_TURNS_H_
#define TMO_TURNS_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_MAX_MODELS 32 /* largest number of models in an application */

enum { TMO_OUT_OF_TURN = -15 }; /* status of a generated C function that has run nothing, because it is another model's turn */

/* A model must wait while a model of the set `running` runs, and while a model of the set `paused` is paused. In a set, bit i stands for model i. */
typedef struct {
  uint32_t running, paused;
} tmo_excluded;

typedef struct {
  const tmo_excluded *excluded; /* array with one entry for each model */
  uint32_t models;              /* number of models, which is at most TMO_MAX_MODELS */
  uint32_t running, paused;     /* sets of models that run or are paused; bit i stands for model i, and no bit is set at the start */
} tmo_turns;

static inline bool tmo_has_turn(const tmo_turns *turns, uint32_t model) {
  return model < turns->models && (turns->running >> model & 1u) != 0;
}

/* Call tmo_enter() before you fill a model's inputs, push rows, or continue a paused run. If tmo_enter() returns TMO_OK, the model may run.
 * TMO_WAIT means that the model must wait: it is already running, or a model that excludes it is running or paused. TMO_ERROR_TABLE means that no
 * model has the index `model`. */
static inline tmo_status tmo_enter(tmo_turns *turns, uint32_t model) {
  if (model >= turns->models) return TMO_ERROR_TABLE;
  const uint32_t own = 1u << model;
  const tmo_excluded *no = &turns->excluded[model];
  if ((turns->running & (no->running | own)) != 0 || (turns->paused & no->paused & ~own) != 0) return TMO_WAIT;
  turns->running |= own;
  turns->paused &= ~own;
  return TMO_OK;
}

/* Call tmo_pause() when a model has paused. After tmo_pause(), models that may run during the pause can take turns. The paused model continues after
 * the next call of tmo_enter() for the model. */
static inline void tmo_pause(tmo_turns *turns, uint32_t model) {
  if (!tmo_has_turn(turns, model)) return;
  turns->running &= ~(1u << model);
  turns->paused |= 1u << model;
}

/* Call tmo_leave() after you have read the outputs or pushed the rows. For a paused model, tmo_leave() does nothing, so the bytes that the model
 * still needs stay reserved. */
static inline void tmo_leave(tmo_turns *turns, uint32_t model) {
  if (tmo_has_turn(turns, model)) turns->running &= ~(1u << model);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_TURNS_H_ */
