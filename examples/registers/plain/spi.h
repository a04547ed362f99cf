/* A serial peripheral interface as master of its bus. */
#ifndef SPI_H_
#define SPI_H_

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t mode;      /* mode 0 to 3, whose bit 1 is the polarity of the clock and bit 0 its phase */
  uint8_t prescaler; /* the clock is divided by 2^(prescaler + 1) */
  uint8_t bits;      /* bits of a word, 4 to 16 */
  int lsb_first;
} spi_config;

typedef enum { SPI_OK = 0, SPI_TIMEOUT = -1 } spi_status;

void spi_configure(const spi_config *config);

/* Sends `count` words and stores the words that come back. */
spi_status spi_transfer(const uint16_t *sent, uint16_t *received, size_t count);

#endif /* SPI_H_ */
