/* Takes a frame of four rows, and returns the sum of its pixels. The simulated DMA stores rows in its own memory,
 * which camera_pixels() reads. */
#include "camera.h"

enum { ROWS = 4, WIDTH = 96, ROWS0 = 0x20000000, ROWS1 = 0x20000100 };

uint32_t camera_main(void);
uint32_t camera_pixels(uint32_t address, uint32_t bytes);

uint32_t camera_main(void) {
  const camera_config config = {1, 0, 1, 0, 32, 12, WIDTH, ROWS};
  uint32_t sum = 0;
  camera_configure(&config);
  camera_start(ROWS0, ROWS1);
  for (int y = 0; y < ROWS; ++y) {
    int row = 0;
    if (camera_wait_row(&row) != CAMERA_OK) return 0xFFFFFFFFu;
    sum = (sum << 7 | sum >> 25) ^ camera_pixels(row ? ROWS1 : ROWS0, WIDTH);
  }
  return camera_stop() == CAMERA_OK ? sum : 0xFFFFFFFEu;
}
