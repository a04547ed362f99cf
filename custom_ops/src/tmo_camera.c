/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/camera.h"

/* A row is scaled from `size` pixels to n pixels. Returns the index of the source pixel at the centre of pixel i. */
static uint32_t nearest(uint32_t i, uint32_t n, uint32_t size) {
  return (uint32_t)((uint64_t)(2 * i + 1) * size / (2 * n));
}

static uint32_t pixel_bytes(tmo_pixel_format format) { return format == TMO_GRAY8 ? 1 : 2; }

bool tmo_camera_fits(const tmo_camera *camera, size_t frame_bytes, const tmo_image *image) {
  const bool known = camera->format == TMO_GRAY8 || camera->format == TMO_RGB565_LE || camera->format == TMO_RGB565_BE;
  if (!known || camera->width == 0 || camera->height == 0) return false;
  if (image->width == 0 || image->height == 0 || (image->channels != 1 && image->channels != 3)) return false;
  const uint64_t line = ((uint64_t)camera->left + camera->width) * pixel_bytes(camera->format);
  const uint64_t above = (uint64_t)camera->top + camera->height - 1;
  return line <= camera->stride && above * camera->stride + line <= frame_bytes;
}

uint16_t tmo_camera_source_row(const tmo_camera *camera, const tmo_image *image, uint16_t row) {
  return (uint16_t)(camera->top + nearest(row, image->height, camera->height));
}

/* The functions widen5() and widen6() widen 5 or 6 bits to 8 bits, so that the highest argument, 31 or 63, becomes 255. */
static uint8_t widen5(uint32_t v) { return (uint8_t)(v << 3 | v >> 2); }
static uint8_t widen6(uint32_t v) { return (uint8_t)(v << 2 | v >> 4); }

static uint8_t grey(const uint8_t rgb[3]) { return (uint8_t)((77u * rgb[0] + 150u * rgb[1] + 29u * rgb[2] + 128u) >> 8); }

static int8_t level(const tmo_image *image, uint8_t brightness) {
  return image->levels ? image->levels[brightness] : (int8_t)(brightness - 128);
}

void tmo_camera_line(const tmo_camera *camera, const tmo_image *image, const uint8_t *line, int8_t *out) {
  const uint32_t high = camera->format == TMO_RGB565_LE ? 1 : 0; /* index of the high byte in a pixel */
  for (uint32_t x = 0; x < image->width; ++x) {
    const uint8_t *pixel = line + (camera->left + nearest(x, image->width, camera->width)) * pixel_bytes(camera->format);
    if (camera->format == TMO_GRAY8) {
      for (uint8_t c = 0; c < image->channels; ++c) *out++ = level(image, *pixel);
      continue;
    }
    const uint32_t v = (uint32_t)pixel[high] << 8 | pixel[1 - high];
    const uint8_t rgb[3] = {widen5(v >> 11), widen6(v >> 5 & 63), widen5(v & 31)};
    if (image->channels == 1) {
      *out++ = level(image, grey(rgb));
    } else {
      for (int c = 0; c < 3; ++c) *out++ = level(image, rgb[c]);
    }
  }
}

void tmo_camera_row(const tmo_camera *camera, const tmo_image *image, uint16_t row, int8_t *out) {
  tmo_camera_line(camera, image, camera->pixels + (size_t)tmo_camera_source_row(camera, image, row) * camera->stride, out);
}
