/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares kernels of the application, which the converter generates from descriptions (docs/own-operator.md). */
#ifndef TMO_OWN_H_
#define TMO_OWN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes an output pixel y from the input pixels x and `other`. For a kernel with one operand, `other` is NULL. The kernel keeps no state, and y
 * must not overlap the inputs. */
typedef void tmo_own_pixel(const int8_t *x, const int8_t *other, int8_t *y);

typedef struct {
  uint32_t identity; /* number that identifies the kernel in a program */
  uint32_t channels; /* number of channels of each pixel */
  uint32_t operands; /* number of operands, which is 1 or 2 */
  tmo_own_pixel *pixel;
} tmo_own_kernel;

/* A table of the application's kernels. The library links registered tables in a list. */
typedef struct tmo_own_table {
  const tmo_own_kernel *kernels;
  uint32_t n;
  const struct tmo_own_table *next;
} tmo_own_table;

/* Registers the kernels of a table for programs. The table must stay at its address. Call tmo_own_use() before a model is prepared. The library
 * has this function if it is built with TMO_OWN=1. */
void tmo_own_use(tmo_own_table *table);

#ifdef __cplusplus
}
#endif

#endif /* TMO_OWN_H_ */
