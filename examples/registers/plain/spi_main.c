/* Sends and receives four words over an SPI bus. */
#include "spi.h"

uint32_t spi_main(void);

uint32_t spi_main(void) {
  const spi_config config = {3, 4, 8, 0};
  const uint16_t frame[4] = {0x9F, 0x01, 0x80, 0xFF};
  uint16_t answer[4] = {0, 0, 0, 0};
  uint32_t sum = 0;
  spi_configure(&config);
  if (spi_transfer(frame, answer, 4) != SPI_OK) return 0xFFFFFFFFu;
  for (int i = 0; i < 4; ++i) sum = (sum << 5 | sum >> 27) ^ answer[i];
  return sum;
}
