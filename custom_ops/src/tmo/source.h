/* SPDX-License-Identifier: Apache-2.0 */
/* This header has functions that find pixels in a picture that the application supplies. */
#ifndef TMO_SOURCE_H_
#define TMO_SOURCE_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether the picture contains `rows` rows of `row_bytes` bytes, beginning with row source->y and pixel source->x. */
TMO_LINKAGE bool tmo_source_holds(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows);

/* Returns the address of row y of the model's input in the caller's picture. Row 0 of the model's input is row source->y of the picture. */
static inline const int8_t *tmo_source_row(const tmo_source *source, uint32_t pixel_bytes, uint32_t y) {
  return (const int8_t *)source->data + ((size_t)source->y + y) * source->pitch + (size_t)source->x * pixel_bytes;
}

TMO_LINKAGE void tmo_to_int8(const tmo_source *source, const int8_t *from, uint32_t bytes, int8_t *to);

#ifdef __cplusplus
}
#endif

#endif /* TMO_SOURCE_H_ */
