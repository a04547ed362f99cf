/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/nest.h"

#include "tmo/view.h"

static int32_t clamp(int32_t x, int32_t most) { return x < 0 ? 0 : x > most ? most : x; }

int32_t tmo_stripe_first(const tmo_tensor *t, uint16_t stripe) {
  if (stripe == 0 && !tmo_recomputes(t)) return 0;
  return clamp(stripe * t->advance + t->end - t->rows, t->height);
}

int32_t tmo_stripe_end(const tmo_tensor *t, uint16_t stripe) { return clamp(stripe * t->advance + t->end, t->height); }

void tmo_enter_stripe(const tmo_tensor *t, uint16_t stripes, tmo_iteration *at) {
  while (at->stripe < stripes && tmo_stripe_first(t, at->stripe) >= tmo_stripe_end(t, at->stripe)) ++at->stripe;
  at->channel_group = 0;
  at->tile = 0;
  at->row = (uint16_t)tmo_stripe_first(t, at->stripe);
}

uint32_t tmo_converted_bytes(const void *program, const tmo_group *group, const tmo_op *op) {
  uint32_t bytes = 0;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
    if (tmo_input_of(program) != TMO_INPUT_EXTERNAL || !tmo_is_source(program, in) || tmo_reads_wide(op)) continue;
    const bool one = tmo_iterative(op) || (k > 0 && op->access == 0);
    const uint32_t window = op->access == 0 ? op->kernel_h : ((const tmo_access *)tmo_constant(program, op->access))[k].extent;
    const uint32_t rows = one ? 1 : window < in->height ? window : in->height; /* number of input rows under the window */
    const uint32_t columns = !tmo_in_tiles(group, op) ? in->width : one ? 1 : op->kernel_w < in->width ? op->kernel_w : in->width;
    const uint32_t more = rows * columns * in->channels; /* the number of bytes does not overflow, because it is at most the size of the input */
    bytes = more < UINT32_MAX - bytes ? bytes + more : UINT32_MAX;
  }
  return bytes;
}

TMO_OWN_FRAME const int8_t *tmo_copied_weights(const tmo_run_state *run, const tmo_op *op) {
  return (const int8_t *)run->workspace + tmo_copied_of(run->program, op)->place;
}

TMO_OWN_FRAME void tmo_list_pixels(const tmo_run_state *run, const tmo_op *op, const tmo_view *in, const tmo_taps *rows, const tmo_taps *columns,
                                   uint32_t gap, const int8_t **pixels) {
  tmo_column_window whole;
  tmo_row_place place = tmo_find_row(run->program, in->tensor, run->current.stripe, rows->start, &whole);
  place.column += columns->start;
  tmo_list_rows(place, in->base, in->pixel, rows->count, columns->count, op->dilation_h, op->dilation_w, gap, false, pixels);
}
