/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the application's own, which the converter writes of their descriptions (docs/own-operator.md). */
#ifndef TMO_OWN_H_
#define TMO_OWN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a pixel of a pixel, or of two; of one, other is NULL. It keeps no state, and y must not overlap them. */
typedef void tmo_own_pixel(const int8_t *x, const int8_t *other, int8_t *y);

typedef struct {
  uint32_t identity; /* of what it computes: a program names it */
  uint32_t channels; /* of all pixels */
  uint32_t operands; /* 1 or 2 */
  tmo_own_pixel *pixel;
} tmo_own_kernel;

/* Some of them; the library links tables to one another. */
typedef struct tmo_own_table {
  const tmo_own_kernel *kernels;
  uint32_t n;
  const struct tmo_own_table *next;
} tmo_own_table;

/* Programs may name the kernels of a table from now on; it stays where it is. Call it before a model is prepared. The
 * library has this function if it is built with TMO_OWN=1. */
void tmo_own_use(tmo_own_table *table);

#ifdef __cplusplus
}
#endif

#endif /* TMO_OWN_H_ */
