/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header pass camera frames to a model row by row, so that no converted copy of the frame is needed. */
#ifndef TMO_CAMERA_H_
#define TMO_CAMERA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TMO_GRAY8 = 1,     /* A pixel has one byte. */
  TMO_RGB565_LE = 2, /* A pixel has two bytes with the bits rrrrrggg gggbbbbb, low byte first. */
  TMO_RGB565_BE = 3, /* A pixel has two bytes with the bits rrrrrggg gggbbbbb, high byte first, as in the pixels of OV2640 and OV7670. */
} tmo_pixel_format;

/* A camera frame, and the rectangle of the frame that the model sees. */
typedef struct {
  const uint8_t *pixels; /* first pixel of the frame in memory, or NULL if the frame's rows arrive one by one */
  uint32_t stride;       /* distance in bytes between the starts of two adjacent rows of the frame */
  uint16_t left, top, width, height; /* rectangle of the frame that the model sees, in pixels */
  tmo_pixel_format format;
} tmo_camera;

/* The input image of a model. Each pixel of the image is one pixel of the frame, without interpolation. Column x of an image with W columns is column
 * `(2 * x + 1) * width / (2 * W)` of the frame's rectangle, rounded down. Row y of an image with H rows is row `(2 * y + 1) * height / (2 * H)` of
 * the frame's rectangle, rounded down. The grey value of a pixel with the colours r, g and b is `(77 * r + 150 * g + 29 * b + 128) / 256`. In an
 * image of three channels, a grey pixel has three equal values. */
typedef struct {
  uint16_t width, height;
  uint8_t channels;     /* number of channels: 1 for grey, or 3 for red, green and blue */
  const int8_t *levels; /* int8_t[256] with the model's value for each brightness; if NULL, the value is the brightness minus 128 (scale 1/255) */
} tmo_image;

/* Returns whether a camera frame of `frame_bytes` bytes can be converted to the image. Call tmo_camera_fits() once for a camera, not for each
 * frame. */
bool tmo_camera_fits(const tmo_camera *camera, size_t frame_bytes, const tmo_image *image);

/* Returns the index of the frame row from which the library computes row `row` of the image. When tmo_camera_source_row() returns, the caller
 * no longer needs the frame's earlier rows. */
uint16_t tmo_camera_source_row(const tmo_camera *camera, const tmo_image *image, uint16_t row);

/* Writes one row of the image to `out`. Each of the `width` pixels takes `channels` bytes. The argument `line` is the frame's row whose index
 * tmo_camera_source_row() returns. */
void tmo_camera_line(const tmo_camera *camera, const tmo_image *image, const uint8_t *line, int8_t *out);

/* Writes row `row` of the image to `out`. tmo_camera_row() needs the whole frame in memory. */
void tmo_camera_row(const tmo_camera *camera, const tmo_image *image, uint16_t row, int8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CAMERA_H_ */
