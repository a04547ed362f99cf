/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of an OWN operator calls a kernel of the application. */
#include "tmo/own.h"

#include <stddef.h>

#include "tmo/build.h"
#include "tmo/kernels.h"

#if TMO_OWN
#ifdef TMO_OWN_KERNELS
const tmo_own_kernel *tmo_own_of(const tmo_op *op) {
  for (uint32_t i = 0; i < sizeof TMO_OWN_KERNELS / sizeof TMO_OWN_KERNELS[0]; ++i) {
    if (TMO_OWN_KERNELS[i].identity == (uint32_t)op->identity) return &TMO_OWN_KERNELS[i];
  }
  return NULL;
}
#else
static const tmo_own_table *tables;

void tmo_own_use(tmo_own_table *table) {
  for (const tmo_own_table *t = tables; t != NULL; t = t->next) {
    if (t == table) return;
  }
  table->next = tables;
  tables = table;
}

const tmo_own_kernel *tmo_own_of(const tmo_op *op) {
  for (const tmo_own_table *t = tables; t != NULL; t = t->next) {
    for (uint32_t i = 0; i < t->n; ++i) {
      if (t->kernels[i].identity == (uint32_t)op->identity) return &t->kernels[i];
    }
  }
  return NULL;
}
#endif

void tmo_own_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_own_kernel *const own = tmo_own_of(k->op);
  for (uint32_t at = 0; at < k->out_width * own->channels; at += own->channels) {
    own->pixel(window->pixels[0] + at, own->operands > 1 ? window->pixels[1] + at : NULL, out + at);
  }
}
#else
void tmo_own_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { (void)k, (void)window, (void)out; }
#endif
