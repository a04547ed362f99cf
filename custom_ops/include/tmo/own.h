/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares the table of an application's own kernels, which the converter generates from descriptions (docs/own-operator.md). */
#ifndef TMO_OWN_H_
#define TMO_OWN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one output pixel y from one input pixel x. The argument `other` is the pixel of the second operand, or NULL if the kernel has one operand.
 * A kernel of the application must not keep data between two calls. The output y must not overlap the inputs. */
typedef void tmo_own_pixel(const int8_t *x, const int8_t *other, int8_t *y);

typedef struct {
  uint32_t identity; /* number with which a program selects the kernel */
  uint32_t channels; /* number of channels of each pixel */
  uint32_t operands; /* number of input pixels of one call: 1 or 2 */
  tmo_own_pixel *pixel;
} tmo_own_kernel;

/* A table of the application's kernels. The library keeps a list of the tables that were registered. */
typedef struct tmo_own_table {
  const tmo_own_kernel *kernels;
  uint32_t n;
  const struct tmo_own_table *next;
} tmo_own_table;

/* Registers the kernels of a table, so that programs can call them. A registered table must exist as long as programs run. Call tmo_own_use() before
 * TFLM prepares a model. A library that is built with TMO_OWN=1 has the function tmo_own_use(). */
void tmo_own_use(tmo_own_table *table);

#ifdef __cplusplus
}
#endif

#endif /* TMO_OWN_H_ */
