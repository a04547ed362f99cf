/* A frame goes through the camera and its DMA channel into a model whose input is streamed: each row is pushed as soon as
 * it is complete, while the next one is stored. Neither the frame nor the model's input exists as a whole.
 *
 * shapes_int8.h and .c are what `tflm-memopt optimize examples/shapes/shapes_int8.tflite --emit c --input stream` writes.
 * camera_memory() leads to what the DMA has stored: on a chip it is a cast of the address. */
#include "camera.h"
#include "shapes_int8.h"

enum { ROWS = SHAPES_INT8_PUSHES, WIDTH = SHAPES_INT8_INPUT_BYTES, ROWS0 = 0x20000000, ROWS1 = 0x20000100 };

uint32_t stream_main(void);
const uint8_t *camera_memory(uint32_t address);

/* The scores, as a number: the first four of them, a byte each. */
uint32_t stream_main(void) {
  const camera_config config = {1, 0, 1, 0, 32, 12, WIDTH, ROWS};
  tmo_status status = shapes_int8_init();
  uint32_t scores = 0;
  if (status != TMO_OK) return 0xFFFFFFFFu;
  camera_configure(&config);
  camera_start(ROWS0, ROWS1);
  for (int y = 0; y < ROWS; ++y) {
    int row = 0;
    if (camera_wait_row(&row) != CAMERA_OK) return 0xFFFFFFFEu;
    const uint8_t *pixels = camera_memory(row ? ROWS1 : ROWS0);
    int8_t *input = shapes_int8_input();
    for (int x = 0; x < WIDTH; ++x) input[x] = (int8_t)(pixels[x] - 128); /* grey of 0 to 255, zero point -128 */
    status = shapes_int8_push();
    if (status != (y + 1 < ROWS ? TMO_WAIT : TMO_OK)) return 0xFFFFFFFDu;
  }
  if (camera_stop() != CAMERA_OK) return 0xFFFFFFFCu;
  for (int i = 0; i < 4; ++i) scores = scores << 8 | (uint8_t)shapes_int8_output()[i];
  return scores;
}
