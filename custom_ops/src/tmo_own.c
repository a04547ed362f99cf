/* OWN: kernels that the application brings along. */
#include "tmo/own.h"

#include <stddef.h>

#include "tmo/build.h"
#include "tmo/kernels.h"

#if TMO_OWN
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
      if (t->kernels[i].identity == (uint32_t)op->param) return &t->kernels[i];
    }
  }
  return NULL;
}

void tmo_own_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_own_kernel *const own = tmo_own_of(k->op);
  for (uint32_t x = 0; x < k->out_width; ++x) own->pixel(window->pixels[0] + x * own->channels, out + x * own->channels);
}
#else
void tmo_own_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { (void)k, (void)window, (void)out; }
#endif
