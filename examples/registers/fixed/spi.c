#include "spi.h"

enum { SPI_POLLS = 1000 }; /* After SPI_POLLS polls of a flag, the driver returns a timeout. */

void spi_configure(const spi_config *config) {
  spi->CR1.SPE = 0;
  spi->CR1.CPOL = config->mode >> 1;
  spi->CR1.CPHA = config->mode;
  spi->CR1.BR = config->prescaler;
  spi->CR1.LSBFIRST = config->lsb_first != 0;
  spi->CR1.SSM = 1;
  spi->CR1.SSI = 1;
  spi->CR1.MSTR = 1;
  spi->CR2.SSOE = 0;
  spi->CR2.DS = config->bits - 1u;
  spi->CR2.FRXTH = config->bits <= 8;
}

spi_status spi_transfer(const uint16_t *sent, uint16_t *received, size_t count) {
  spi_status status = SPI_OK;
  int polls;
  spi->CR1.SPE = 1;
  for (size_t i = 0; i < count && status == SPI_OK; ++i) {
    for (polls = 0; polls < SPI_POLLS && !spi->SR.TXE; ++polls) {
    }
    spi->DR = sent[i];
    for (polls = 0; polls < SPI_POLLS && !spi->SR.RXNE; ++polls) {
    }
    if (polls == SPI_POLLS) status = SPI_TIMEOUT;
    received[i] = (uint16_t)spi->DR;
  }
  for (polls = 0; polls < SPI_POLLS && spi->SR.BSY; ++polls) {
  }
  spi->CR1.SPE = 0;
  return status;
}
