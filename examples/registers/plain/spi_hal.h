/* For each register field of the SPI, this header has an access function. */
#ifndef SPI_HAL_H_
#define SPI_HAL_H_

#include "mmio.h"

#ifndef SPI_BASE
#define SPI_BASE 0x40013000u
#endif

#define SPI_CR1 (SPI_BASE + 0x00u)
#define SPI_CR1_CPHA_Pos 0u
#define SPI_CR1_CPOL_Pos 1u
#define SPI_CR1_MSTR_Pos 2u
#define SPI_CR1_BR_Pos 3u
#define SPI_CR1_BR_Msk (7u << SPI_CR1_BR_Pos)
#define SPI_CR1_SPE_Pos 6u /* Writing 1 to SPE enables the SPI and starts its clock. */
#define SPI_CR1_LSBFIRST_Pos 7u
#define SPI_CR1_SSI_Pos 8u
#define SPI_CR1_SSM_Pos 9u

#define SPI_CR2 (SPI_BASE + 0x04u)
#define SPI_CR2_SSOE_Pos 2u
#define SPI_CR2_DS_Pos 8u /* DS is the number of bits in a word, minus 1. */
#define SPI_CR2_DS_Msk (15u << SPI_CR2_DS_Pos)
#define SPI_CR2_FRXTH_Pos 12u

#define SPI_SR (SPI_BASE + 0x08u)
#define SPI_SR_RXNE_Pos 0u
#define SPI_SR_TXE_Pos 1u
#define SPI_SR_OVR_Pos 6u
#define SPI_SR_BSY_Pos 7u

#define SPI_DR (SPI_BASE + 0x0Cu) /* Writing DR sends a word, and reading DR removes a received word. */

static inline void hal_spi_set_clock_phase(uint32_t phase) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_CPHA_Pos, phase << SPI_CR1_CPHA_Pos);
}
static inline void hal_spi_set_clock_polarity(uint32_t polarity) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_CPOL_Pos, polarity << SPI_CR1_CPOL_Pos);
}
static inline void hal_spi_set_master(uint32_t master) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_MSTR_Pos, master << SPI_CR1_MSTR_Pos);
}
static inline void hal_spi_set_prescaler(uint32_t prescaler) {
  mmio_modify32(SPI_CR1, SPI_CR1_BR_Msk, prescaler << SPI_CR1_BR_Pos);
}
static inline void hal_spi_set_lsb_first(uint32_t lsb_first) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_LSBFIRST_Pos, lsb_first << SPI_CR1_LSBFIRST_Pos);
}
static inline void hal_spi_set_software_select(uint32_t software) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_SSM_Pos, software << SPI_CR1_SSM_Pos);
}
static inline void hal_spi_set_internal_select(uint32_t selected) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_SSI_Pos, selected << SPI_CR1_SSI_Pos);
}
static inline void hal_spi_set_enabled(uint32_t enabled) {
  mmio_modify32(SPI_CR1, 1u << SPI_CR1_SPE_Pos, enabled << SPI_CR1_SPE_Pos);
}
static inline void hal_spi_set_select_output(uint32_t enabled) {
  mmio_modify32(SPI_CR2, 1u << SPI_CR2_SSOE_Pos, enabled << SPI_CR2_SSOE_Pos);
}
static inline void hal_spi_set_data_size(uint32_t bits) {
  mmio_modify32(SPI_CR2, SPI_CR2_DS_Msk, (bits - 1u) << SPI_CR2_DS_Pos);
}
static inline void hal_spi_set_receive_threshold(uint32_t quarter) {
  mmio_modify32(SPI_CR2, 1u << SPI_CR2_FRXTH_Pos, quarter << SPI_CR2_FRXTH_Pos);
}

static inline int hal_spi_can_send(void) { return (int)((mmio_read32(SPI_SR) >> SPI_SR_TXE_Pos) & 1u); }
static inline int hal_spi_has_received(void) { return (int)((mmio_read32(SPI_SR) >> SPI_SR_RXNE_Pos) & 1u); }
static inline int hal_spi_is_busy(void) { return (int)((mmio_read32(SPI_SR) >> SPI_SR_BSY_Pos) & 1u); }
static inline void hal_spi_send(uint32_t word) { mmio_write32(SPI_DR, word); }
static inline uint32_t hal_spi_receive(void) { return mmio_read32(SPI_DR); }

#endif /* SPI_HAL_H_ */
