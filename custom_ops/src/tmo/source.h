/* SPDX-License-Identifier: Apache-2.0 */
/* This internal header finds the pixels of a source, which is a buffer of the caller. */
#ifndef TMO_SOURCE_H_
#define TMO_SOURCE_H_

#include <stdbool.h>
#include <stdint.h>

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the source contains `rows` rows of `row_bytes` bytes from pixel (source->x, source->y) on. */
TMO_LINKAGE bool tmo_source_holds(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows);

/* Returns the address of row y, from pixel source->x on. Row 0 is row source->y of the source. */
static inline const int8_t *tmo_source_row(const tmo_source *source, uint32_t pixel_bytes, uint32_t y) {
  return (const int8_t *)source->data + ((size_t)source->y + y) * source->pitch + (size_t)source->x * pixel_bytes;
}

TMO_LINKAGE void tmo_to_int8(const tmo_source *source, const int8_t *from, uint32_t bytes, int8_t *to);

#ifdef __cplusplus
}
#endif

#endif /* TMO_SOURCE_H_ */
