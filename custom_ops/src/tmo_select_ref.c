/* SPDX-License-Identifier: Apache-2.0 */
/* SELECT: an element of one of two operands. */
#include <string.h>

#include "tmo/build.h"
#include "tmo/kernels.h"

/* An operand: its row, and the bytes from pixel to pixel and from element to element; 0 where it is repeated. */
typedef struct {
  const int8_t *row;
  uint32_t pixel, element;
} operand;

static operand operand_of(const tmo_kernel *k, const tmo_window *window, uint32_t number, uint32_t elements, uint32_t bytes) {
  const uint32_t form = tmo_select_form(k->op, number);
  const bool single = (form & TMO_SELECT_ONE_CHANNEL) != 0;
  const operand o = {window->pixels[form & 3], form & TMO_SELECT_ONE_COLUMN ? 0 : single ? bytes : elements * bytes, single ? 0 : bytes};
  return o;
}

static TMO_ALWAYS_INLINE void select_row(const tmo_kernel *k, const tmo_window *window, int8_t *out, uint32_t bytes) {
  const uint32_t elements = k->out_channels / bytes;
  operand c = operand_of(k, window, 0, elements, 1), x = operand_of(k, window, 1, elements, bytes), y = operand_of(k, window, 2, elements, bytes);
  for (uint32_t n = k->out_width; n > 0; --n, c.row += c.pixel, x.row += x.pixel, y.row += y.pixel) {
    const int8_t *is = c.row, *a = x.row, *b = y.row;
    for (const int8_t *const end = out + k->out_channels; out != end; out += bytes, is += c.element, a += x.element, b += y.element) {
      memmove(out, *is != 0 ? a : b, bytes); /* they may overlap in a damaged program */
    }
  }
}

void tmo_select_row(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (tmo_select_bytes(k->op)) {
    case 1: select_row(k, window, out, 1); break;
    case 2: select_row(k, window, out, 2); break;
    default: select_row(k, window, out, 4);
  }
}
