/* SPDX-License-Identifier: Apache-2.0 */
/* A SELECT operator copies each element from one of its two data operands. */
#include <string.h>

#include "tmo/build.h"
#include "tmo/kernels.h"

/* A row of an operand. The fields `pixel` and `element` are the distances in bytes between pixels and between elements. If `pixel` or `element` is 0,
 * all output pixels or all elements read the same bytes. */
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

static TMO_ALWAYS_INLINE void copy_element(const int8_t *from, int8_t *to, uint32_t bytes) {
  uint32_t element;
  memcpy(&element, from, bytes);
  memcpy(to, &element, bytes);
}

static TMO_ALWAYS_INLINE void select_elements(const int8_t *is, const int8_t *a, uint32_t a_step, const int8_t *b, uint32_t b_step, int8_t *out, uint32_t n,
                                              uint32_t bytes) {
  for (; n >= 4; n -= 4, is += 4, a += 4 * a_step, b += 4 * b_step, out += 4 * bytes) {
    TMO_UNROLLED for (uint32_t i = 0; i < 4; ++i) copy_element((is[i] != 0 ? a + i * a_step : b + i * b_step), out + i * bytes, bytes);
  }
  for (; n > 0; --n, a += a_step, b += b_step, out += bytes) copy_element(*is++ != 0 ? a : b, out, bytes);
}

/* Copies n elements, which share one condition, from the selected operand. */
static TMO_ALWAYS_INLINE void copy_elements(const int8_t *from, uint32_t step, int8_t *out, uint32_t n, uint32_t bytes) {
  if (step != 0) {
    memmove(out, from, n * bytes); /* rows may overlap in a damaged program */
    return;
  }
  for (; n > 0; --n, out += bytes) copy_element(from, out, bytes);
}

static TMO_ALWAYS_INLINE void select_row(const tmo_kernel *k, const tmo_window *window, int8_t *out, uint32_t bytes) {
  uint32_t n = k->out_channels / bytes, pixels = k->out_width;
  operand c = operand_of(k, window, 0, n, 1), x = operand_of(k, window, 1, n, bytes), y = operand_of(k, window, 2, n, bytes);
  if (c.pixel == n && x.pixel == n * bytes && y.pixel == n * bytes && x.element != 0 && y.element != 0 && c.element != 0) { /* no operand is repeated */
    n *= pixels;
    pixels = 1;
  }
  for (; pixels > 0; --pixels, c.row += c.pixel, x.row += x.pixel, y.row += y.pixel, out += n * bytes) {
    if (c.element == 0) {
      copy_elements(*c.row != 0 ? x.row : y.row, *c.row != 0 ? x.element : y.element, out, n, bytes);
    } else if (x.element != 0 && y.element != 0) {
      select_elements(c.row, x.row, bytes, y.row, bytes, out, n, bytes);
    } else if (y.element != 0) {
      select_elements(c.row, x.row, 0, y.row, bytes, out, n, bytes);
    } else {
      select_elements(c.row, x.row, x.element, y.row, 0, out, n, bytes);
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
