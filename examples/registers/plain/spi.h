/* Driver for the master of an SPI bus. */
#ifndef SPI_H_
#define SPI_H_

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t mode;      /* SPI mode 0 to 3: bit 1 is the clock's polarity, bit 0 the clock's phase. */
  uint8_t prescaler; /* The SPI divides the frequency of its input clock by 2^(prescaler + 1). */
  uint8_t bits;      /* number of bits in a word of the SPI, 4 to 16 */
  int lsb_first;
} spi_config;

typedef enum { SPI_OK = 0, SPI_TIMEOUT = -1 } spi_status;

void spi_configure(const spi_config *config);

/* Sends `count` words and stores the received words. */
spi_status spi_transfer(const uint16_t *sent, uint16_t *received, size_t count);

#endif /* SPI_H_ */
