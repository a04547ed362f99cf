/* SPDX-License-Identifier: Apache-2.0 */
/* Passes camera frames to a model row by row, without a converted copy of the frame. */
#ifndef TMO_CAMERA_H_
#define TMO_CAMERA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TMO_GRAY8 = 1,     /* one byte per pixel */
  TMO_RGB565_LE = 2, /* two bytes per pixel, rrrrrggg gggbbbbb, the low byte first */
  TMO_RGB565_BE = 3, /* two bytes per pixel, the high byte first, as OV2640 and OV7670 send them */
} tmo_pixel_format;

/* A frame, and the part of it that the model sees. */
typedef struct {
  const uint8_t *pixels; /* pixels of the whole frame; NULL if rows come one by one */
  uint32_t stride;       /* bytes from one row to the next */
  uint16_t left, top, width, height; /* the part that the model sees, in pixels */
  tmo_pixel_format format;
} tmo_camera;

/* A model's input. Its pixels are pixels of the frame, without interpolation: column x of an image W columns wide is column (2 x + 1) *
 * width / (2 W) of the frame's part, rounded down, and rows are chosen alike. The grey value of a colour pixel is (77 r + 150 g + 29 b +
 * 128) / 256; a grey pixel gives three equal channels. */
typedef struct {
  uint16_t width, height;
  uint8_t channels;     /* 1 for grey; 3 for red, green and blue */
  const int8_t *levels; /* int8_t[256] with the model's value for each brightness; NULL: brightness - 128 (scale 1/255, zero point -128) */
} tmo_image;

/* Returns whether frame and image are valid, and a frame of this many bytes contains all pixels of the image. Call it once. */
bool tmo_camera_fits(const tmo_camera *camera, size_t frame_bytes, const tmo_image *image);

/* Returns the row of the frame from which row `row` of the image is made. It never decreases as `row` increases, so earlier rows of the
 * frame can be dropped. */
uint16_t tmo_camera_source_row(const tmo_camera *camera, const tmo_image *image, uint16_t row);

/* Writes a row of the image, width * channels bytes. line: bytes of the frame's row that tmo_camera_source_row() returns. */
void tmo_camera_line(const tmo_camera *camera, const tmo_image *image, const uint8_t *line, int8_t *out);

/* Writes a row of the image from a frame in memory. */
void tmo_camera_row(const tmo_camera *camera, const tmo_image *image, uint16_t row, int8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CAMERA_H_ */
