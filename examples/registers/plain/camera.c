#include "camera.h"

#include "camera_hal.h"

enum { CAMERA_POLLS = 10000 }; /* After CAMERA_POLLS polls of a flag, the driver returns a timeout. */
enum { DMA_REQUEST_CAMERA = 1, DMA_PERIPHERAL_TO_MEMORY = 0, DMA_WORDS = 2, DMA_VERY_HIGH = 3 };

void camera_configure(const camera_config *config) {
  hal_camera_set_enabled(0);
  hal_camera_set_snapshot(1);
  hal_camera_set_crop(1);
  hal_camera_set_clock_polarity(config->pixel_clock_rises != 0);
  hal_camera_set_hsync_polarity(config->hsync_high != 0);
  hal_camera_set_vsync_polarity(config->vsync_high != 0);
  hal_camera_set_frame_rate(config->skip);
  hal_camera_set_data_mode(0);
  hal_camera_set_window_start(config->x, config->y);
  hal_camera_set_window_size(config->width, config->height);
  hal_camera_enable_frame_irq(0);
  hal_camera_enable_overrun_irq(0);

  hal_dma_set_enabled(0);
  hal_dma_set_request(DMA_REQUEST_CAMERA);
  hal_dma_set_direction(DMA_PERIPHERAL_TO_MEMORY);
  hal_dma_set_circular(1);
  hal_dma_set_peripheral_increment(0);
  hal_dma_set_memory_increment(1);
  hal_dma_set_peripheral_size(DMA_WORDS);
  hal_dma_set_memory_size(DMA_WORDS);
  hal_dma_set_priority(DMA_VERY_HIGH);
  hal_dma_set_double_buffer(1);
  hal_dma_enable_complete_irq(0);
  hal_dma_enable_error_irq(0);
  hal_dma_set_length(config->width / 4u);
  hal_dma_set_peripheral_address(CAMERA_DR);
}

void camera_start(uint32_t rows0, uint32_t rows1) {
  hal_dma_clear_complete();
  hal_dma_clear_error();
  hal_dma_set_memory_address(rows0, rows1);
  hal_dma_set_current_target(0);
  hal_dma_set_enabled(1);
  hal_camera_clear_frame();
  hal_camera_clear_overrun();
  hal_camera_set_enabled(1);
  hal_camera_set_capture(1);
}

camera_status camera_wait_row(int *row) {
  int polls;
  for (polls = 0; polls < CAMERA_POLLS && !hal_dma_complete(); ++polls) {
  }
  if (polls == CAMERA_POLLS) return CAMERA_TIMEOUT;
  *row = !hal_dma_get_current_target(); /* CT is the buffer that the DMA channel fills now, so the complete row is in the other buffer. */
  hal_dma_clear_complete();
  if (hal_dma_error()) return CAMERA_OVERRUN;
  if (hal_camera_overrun()) return CAMERA_OVERRUN;
  return CAMERA_OK;
}

camera_status camera_stop(void) {
  int polls;
  for (polls = 0; polls < CAMERA_POLLS && !hal_camera_frame_complete(); ++polls) {
  }
  hal_camera_set_capture(0);
  hal_camera_set_enabled(0);
  hal_dma_set_enabled(0);
  hal_camera_clear_frame();
  return polls == CAMERA_POLLS ? CAMERA_TIMEOUT : CAMERA_OK;
}
