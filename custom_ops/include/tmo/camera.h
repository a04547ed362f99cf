/* SPDX-License-Identifier: Apache-2.0 */
/* Camera frames as a model's input, a row at a time: no converted copy of the frame has to exist. */
#ifndef TMO_CAMERA_H_
#define TMO_CAMERA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TMO_GRAY8 = 1,     /* a byte a pixel */
  TMO_RGB565_LE = 2, /* two bytes, rrrrrggg gggbbbbb, the low byte first */
  TMO_RGB565_BE = 3, /* the high byte first, as OV2640 and OV7670 send it */
} tmo_pixel_format;

/* A frame, and the part of it that the model sees. */
typedef struct {
  const uint8_t *pixels; /* of the whole frame; NULL if rows come one by one */
  uint32_t stride;       /* bytes from row to row */
  uint16_t left, top, width, height; /* the part, in pixels */
  tmo_pixel_format format;
} tmo_camera;

/* A model's input. Pixels are picked, not mixed: pixel x of W is the one at (2 x + 1) * width / (2 W) of the frame's part, rounded down.
 * Grey of a colour pixel: (77 r + 150 g + 29 b + 128) / 256; a grey pixel gives three equal channels. */
typedef struct {
  uint16_t width, height;
  uint8_t channels;     /* 1: grey; 3: red, green, blue */
  const int8_t *levels; /* int8_t[256], the model's value of each brightness; NULL: brightness - 128 (scale 1/255, zero point -128) */
} tmo_image;

/* Whether frame and image are valid, and a frame of this many bytes contains all pixels of the image. Call it once. */
bool tmo_camera_fits(const tmo_camera *camera, size_t frame_bytes, const tmo_image *image);

/* The row of the frame that becomes a row of the image. It never decreases, so rows can be dropped after use. */
uint16_t tmo_camera_source_row(const tmo_camera *camera, const tmo_image *image, uint16_t row);

/* A row of the image, width * channels bytes, from the bytes of the frame's row tmo_camera_source_row(). */
void tmo_camera_line(const tmo_camera *camera, const tmo_image *image, const uint8_t *line, int8_t *out);

/* A row of the image from a frame in memory. */
void tmo_camera_row(const tmo_camera *camera, const tmo_image *image, uint16_t row, int8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* TMO_CAMERA_H_ */
