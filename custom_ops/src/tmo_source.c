/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/source.h"

bool tmo_source_holds(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows) {
  if (source == NULL || source->data == NULL || source->format > TMO_FORMAT_UINT8 || rows == 0) return false;
  const uint64_t end = (uint64_t)source->x * pixel_bytes + row_bytes, last = (uint64_t)source->y + rows - 1;
  return end <= source->pitch && end <= source->bytes && last * source->pitch <= source->bytes - end;
}

void tmo_to_int8(const tmo_source *source, const int8_t *from, uint32_t bytes, int8_t *to) {
  const uint8_t flip = source->format == TMO_FORMAT_UINT8 ? 0x80u : 0;
  for (uint32_t i = 0; i < bytes; ++i) to[i] = (int8_t)((uint8_t)from[i] ^ flip);
}

tmo_status tmo_take_rows(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows, int8_t *to) {
  if (!tmo_source_holds(source, pixel_bytes, row_bytes, rows)) return TMO_ERROR_SOURCE;
  for (uint32_t y = 0; y < rows; ++y) tmo_to_int8(source, tmo_source_row(source, pixel_bytes, y), row_bytes, to + (size_t)y * row_bytes);
  return TMO_OK;
}
