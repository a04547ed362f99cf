#include "spi.h"

#include "spi_hal.h"

enum { SPI_POLLS = 1000 }; /* After SPI_POLLS polls of a flag, the driver returns a timeout. */

void spi_configure(const spi_config *config) {
  hal_spi_set_enabled(0);
  hal_spi_set_clock_polarity((config->mode >> 1) & 1u);
  hal_spi_set_clock_phase(config->mode & 1u);
  hal_spi_set_prescaler(config->prescaler & 7u);
  hal_spi_set_lsb_first(config->lsb_first != 0);
  hal_spi_set_software_select(1);
  hal_spi_set_internal_select(1);
  hal_spi_set_master(1);
  hal_spi_set_select_output(0);
  hal_spi_set_data_size(config->bits);
  hal_spi_set_receive_threshold(config->bits <= 8);
}

spi_status spi_transfer(const uint16_t *sent, uint16_t *received, size_t count) {
  spi_status status = SPI_OK;
  int polls;
  hal_spi_set_enabled(1);
  for (size_t i = 0; i < count && status == SPI_OK; ++i) {
    for (polls = 0; polls < SPI_POLLS && !hal_spi_can_send(); ++polls) {
    }
    hal_spi_send(sent[i]);
    for (polls = 0; polls < SPI_POLLS && !hal_spi_has_received(); ++polls) {
    }
    if (polls == SPI_POLLS) status = SPI_TIMEOUT;
    received[i] = (uint16_t)hal_spi_receive();
  }
  for (polls = 0; polls < SPI_POLLS && hal_spi_is_busy(); ++polls) {
  }
  hal_spi_set_enabled(0);
  return status;
}
