/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the pixels of an iteration's operand or output. Internal. */
#ifndef TMO_VIEW_H_
#define TMO_VIEW_H_

#include "kernels.h"
#include "tmo/tmo.h"
#include "nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as one iteration sees it: with all channels, or those of one channel group. */
typedef struct {
  const tmo_tensor *tensor;
  const int8_t *base; /* address to which a pixel's offset is added, after channels of other groups */
  uint32_t pixel;     /* distance of pixels in bytes */
} tmo_view;

static inline const int8_t *tmo_base_of(const tmo_run_state *run, const tmo_tensor *t) {
  if (t->base == 0) return (const int8_t *)run->workspace;
  return (const int8_t *)(t->base == TMO_PROGRAM_BASE ? run->program : run->io[t->base - 1]); /* tmo_check() ensures that programs are never written */
}

/* Returns the weights that were copied to the workspace. Few operators have copied weights, so a separate function saves registers in all others. */
TMO_LINKAGE const int8_t *tmo_copied_weights(const tmo_run_state *run, const tmo_op *op);

/* The weights of an operator, in the program or copied to the workspace. */
static TMO_ALWAYS_INLINE const int8_t *tmo_weights_of(const tmo_run_state *run, const tmo_op *op) {
  return tmo_copies_weights(op) ? tmo_copied_weights(run, op) : (const int8_t *)tmo_constant(run->program, op->weights);
}

static TMO_ALWAYS_INLINE tmo_view tmo_view_of(const tmo_run_state *run, uint16_t tensor) {
  const tmo_tensor *t = &tmo_tensors(run->program)[tensor];
  const tmo_view v = {t, tmo_base_of(run, t), t->channels};
  return v;
}

/* Lists the pixels under the rows and columns of an operator's window, of which there is at least one, in a tensor with the layout TMO_LAYOUT_HWC.
 * Leaves `gap` places in the list between rows. */
TMO_LINKAGE void tmo_list_pixels(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_taps *rows, const tmo_taps *columns,
                                 uint32_t gap, const int8_t **pixels);

#ifdef __cplusplus
}
#endif

#endif /* TMO_VIEW_H_ */
