/* A DMA channel stores the rows of a parallel camera, for a model with a streamed input. */
#ifndef CAMERA_H_
#define CAMERA_H_

#include <stdint.h>

typedef struct {
  int pixel_clock_rises; /* Pixels are valid at the rising (1) or falling (0) edge of the pixel clock. */
  int hsync_high;        /* level of hsync between rows */
  int vsync_high;        /* level of vsync between frames */
  uint8_t skip;     /* The camera takes every frame (0), every second frame (1) or every fourth frame (2). */
  uint16_t x, y;    /* first pixel and first line of the camera's window */
  uint16_t width;   /* width of the camera's window in bytes */
  uint16_t height;  /* height of the camera's window in lines */
} camera_config;

typedef enum { CAMERA_OK = 0, CAMERA_TIMEOUT = -1, CAMERA_OVERRUN = -2 } camera_status;

void camera_configure(const camera_config *config);

/* Begins a frame, whose rows are stored alternately in two buffers of config->width bytes each. */
void camera_start(uint32_t rows0, uint32_t rows1);

/* Waits until buffer 0 or 1 holds a complete row, and stores the buffer's number at the address `row`. */
camera_status camera_wait_row(int *row);

/* Waits for the end of the frame, and stops the camera. */
camera_status camera_stop(void);

#endif /* CAMERA_H_ */
