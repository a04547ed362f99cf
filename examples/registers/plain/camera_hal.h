/* For each register field of the camera interface and of its DMA channel, this header has an access function. */
#ifndef CAMERA_HAL_H_
#define CAMERA_HAL_H_

#include "mmio.h"

#ifndef CAMERA_BASE
#define CAMERA_BASE 0x50050000u
#endif
#ifndef DMA_BASE
#define DMA_BASE 0x40026000u
#endif

#define CAMERA_CR (CAMERA_BASE + 0x00u)
#define CAMERA_CR_CAPTURE_Pos 0u /* The capture starts with the next frame. */
#define CAMERA_CR_SNAPSHOT_Pos 1u
#define CAMERA_CR_CROP_Pos 2u
#define CAMERA_CR_PCKPOL_Pos 5u
#define CAMERA_CR_HSPOL_Pos 6u
#define CAMERA_CR_VSPOL_Pos 7u
#define CAMERA_CR_FCRC_Pos 8u
#define CAMERA_CR_FCRC_Msk (3u << CAMERA_CR_FCRC_Pos)
#define CAMERA_CR_EDM_Pos 10u
#define CAMERA_CR_EDM_Msk (3u << CAMERA_CR_EDM_Pos)
#define CAMERA_CR_ENABLE_Pos 14u

#define CAMERA_RIS (CAMERA_BASE + 0x08u)
#define CAMERA_RIS_FRAME_Pos 0u
#define CAMERA_RIS_OVR_Pos 1u
#define CAMERA_IER (CAMERA_BASE + 0x0Cu)
#define CAMERA_IER_FRAME_Pos 0u
#define CAMERA_IER_OVR_Pos 1u
#define CAMERA_ICR (CAMERA_BASE + 0x14u) /* Writing ones to ICR clears bits of RIS. */
#define CAMERA_CWSTRT (CAMERA_BASE + 0x20u)
#define CAMERA_CWSTRT_HOFFCNT_Pos 0u
#define CAMERA_CWSTRT_HOFFCNT_Msk (0x3FFFu << CAMERA_CWSTRT_HOFFCNT_Pos)
#define CAMERA_CWSTRT_VST_Pos 16u
#define CAMERA_CWSTRT_VST_Msk (0x1FFFu << CAMERA_CWSTRT_VST_Pos)
#define CAMERA_CWSIZE (CAMERA_BASE + 0x24u)
#define CAMERA_CWSIZE_CAPCNT_Pos 0u
#define CAMERA_CWSIZE_CAPCNT_Msk (0x3FFFu << CAMERA_CWSIZE_CAPCNT_Pos)
#define CAMERA_CWSIZE_VLINE_Pos 16u
#define CAMERA_CWSIZE_VLINE_Msk (0x3FFFu << CAMERA_CWSIZE_VLINE_Pos)
#define CAMERA_DR (CAMERA_BASE + 0x28u)

#define DMA_ISR (DMA_BASE + 0x00u)
#define DMA_ISR_TEIF_Pos 3u
#define DMA_ISR_TCIF_Pos 5u
#define DMA_IFCR (DMA_BASE + 0x08u) /* Writing ones to IFCR clears bits of ISR. */
#define DMA_CR (DMA_BASE + 0x10u)
#define DMA_CR_EN_Pos 0u /* Writing 1 to EN starts the DMA channel. */
#define DMA_CR_TEIE_Pos 2u
#define DMA_CR_TCIE_Pos 4u
#define DMA_CR_DIR_Pos 6u
#define DMA_CR_DIR_Msk (3u << DMA_CR_DIR_Pos)
#define DMA_CR_CIRC_Pos 8u
#define DMA_CR_PINC_Pos 9u
#define DMA_CR_MINC_Pos 10u
#define DMA_CR_PSIZE_Pos 11u
#define DMA_CR_PSIZE_Msk (3u << DMA_CR_PSIZE_Pos)
#define DMA_CR_MSIZE_Pos 13u
#define DMA_CR_MSIZE_Msk (3u << DMA_CR_MSIZE_Pos)
#define DMA_CR_PL_Pos 16u
#define DMA_CR_PL_Msk (3u << DMA_CR_PL_Pos)
#define DMA_CR_DBM_Pos 18u
#define DMA_CR_CT_Pos 19u
#define DMA_CR_CHSEL_Pos 25u
#define DMA_CR_CHSEL_Msk (7u << DMA_CR_CHSEL_Pos)
#define DMA_NDTR (DMA_BASE + 0x14u)
#define DMA_PAR (DMA_BASE + 0x18u)
#define DMA_M0AR (DMA_BASE + 0x1Cu)
#define DMA_M1AR (DMA_BASE + 0x20u)

static inline void hal_set_bit(uintptr_t address, uint32_t position, uint32_t value) {
  mmio_modify32(address, 1u << position, (value & 1u) << position);
}
static inline void hal_set_field(uintptr_t address, uint32_t mask, uint32_t position, uint32_t value) {
  mmio_modify32(address, mask, (value << position) & mask);
}
static inline uint32_t hal_get_bit(uintptr_t address, uint32_t position) { return (mmio_read32(address) >> position) & 1u; }

static inline void hal_camera_set_capture(uint32_t on) { hal_set_bit(CAMERA_CR, CAMERA_CR_CAPTURE_Pos, on); }
static inline void hal_camera_set_snapshot(uint32_t on) { hal_set_bit(CAMERA_CR, CAMERA_CR_SNAPSHOT_Pos, on); }
static inline void hal_camera_set_crop(uint32_t on) { hal_set_bit(CAMERA_CR, CAMERA_CR_CROP_Pos, on); }
static inline void hal_camera_set_clock_polarity(uint32_t rises) { hal_set_bit(CAMERA_CR, CAMERA_CR_PCKPOL_Pos, rises); }
static inline void hal_camera_set_hsync_polarity(uint32_t high) { hal_set_bit(CAMERA_CR, CAMERA_CR_HSPOL_Pos, high); }
static inline void hal_camera_set_vsync_polarity(uint32_t high) { hal_set_bit(CAMERA_CR, CAMERA_CR_VSPOL_Pos, high); }
static inline void hal_camera_set_frame_rate(uint32_t skip) {
  hal_set_field(CAMERA_CR, CAMERA_CR_FCRC_Msk, CAMERA_CR_FCRC_Pos, skip);
}
static inline void hal_camera_set_data_mode(uint32_t mode) {
  hal_set_field(CAMERA_CR, CAMERA_CR_EDM_Msk, CAMERA_CR_EDM_Pos, mode);
}
static inline void hal_camera_set_enabled(uint32_t on) { hal_set_bit(CAMERA_CR, CAMERA_CR_ENABLE_Pos, on); }
static inline void hal_camera_set_window_start(uint32_t x, uint32_t y) {
  hal_set_field(CAMERA_CWSTRT, CAMERA_CWSTRT_HOFFCNT_Msk, CAMERA_CWSTRT_HOFFCNT_Pos, x);
  hal_set_field(CAMERA_CWSTRT, CAMERA_CWSTRT_VST_Msk, CAMERA_CWSTRT_VST_Pos, y);
}
static inline void hal_camera_set_window_size(uint32_t bytes, uint32_t lines) {
  hal_set_field(CAMERA_CWSIZE, CAMERA_CWSIZE_CAPCNT_Msk, CAMERA_CWSIZE_CAPCNT_Pos, bytes - 1u);
  hal_set_field(CAMERA_CWSIZE, CAMERA_CWSIZE_VLINE_Msk, CAMERA_CWSIZE_VLINE_Pos, lines - 1u);
}
static inline void hal_camera_enable_frame_irq(uint32_t on) { hal_set_bit(CAMERA_IER, CAMERA_IER_FRAME_Pos, on); }
static inline void hal_camera_enable_overrun_irq(uint32_t on) { hal_set_bit(CAMERA_IER, CAMERA_IER_OVR_Pos, on); }
static inline uint32_t hal_camera_frame_complete(void) { return hal_get_bit(CAMERA_RIS, CAMERA_RIS_FRAME_Pos); }
static inline uint32_t hal_camera_overrun(void) { return hal_get_bit(CAMERA_RIS, CAMERA_RIS_OVR_Pos); }
static inline void hal_camera_clear_frame(void) { mmio_write32(CAMERA_ICR, 1u << CAMERA_RIS_FRAME_Pos); }
static inline void hal_camera_clear_overrun(void) { mmio_write32(CAMERA_ICR, 1u << CAMERA_RIS_OVR_Pos); }

static inline void hal_dma_set_enabled(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_EN_Pos, on); }
static inline uint32_t hal_dma_is_enabled(void) { return hal_get_bit(DMA_CR, DMA_CR_EN_Pos); }
static inline void hal_dma_set_request(uint32_t request) {
  hal_set_field(DMA_CR, DMA_CR_CHSEL_Msk, DMA_CR_CHSEL_Pos, request);
}
static inline void hal_dma_set_direction(uint32_t direction) {
  hal_set_field(DMA_CR, DMA_CR_DIR_Msk, DMA_CR_DIR_Pos, direction);
}
static inline void hal_dma_set_circular(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_CIRC_Pos, on); }
static inline void hal_dma_set_peripheral_increment(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_PINC_Pos, on); }
static inline void hal_dma_set_memory_increment(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_MINC_Pos, on); }
static inline void hal_dma_set_peripheral_size(uint32_t size) {
  hal_set_field(DMA_CR, DMA_CR_PSIZE_Msk, DMA_CR_PSIZE_Pos, size);
}
static inline void hal_dma_set_memory_size(uint32_t size) {
  hal_set_field(DMA_CR, DMA_CR_MSIZE_Msk, DMA_CR_MSIZE_Pos, size);
}
static inline void hal_dma_set_priority(uint32_t level) {
  hal_set_field(DMA_CR, DMA_CR_PL_Msk, DMA_CR_PL_Pos, level);
}
static inline void hal_dma_set_double_buffer(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_DBM_Pos, on); }
static inline void hal_dma_set_current_target(uint32_t target) { hal_set_bit(DMA_CR, DMA_CR_CT_Pos, target); }
static inline uint32_t hal_dma_get_current_target(void) { return hal_get_bit(DMA_CR, DMA_CR_CT_Pos); }
static inline void hal_dma_enable_complete_irq(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_TCIE_Pos, on); }
static inline void hal_dma_enable_error_irq(uint32_t on) { hal_set_bit(DMA_CR, DMA_CR_TEIE_Pos, on); }
static inline void hal_dma_set_length(uint32_t words) { mmio_write32(DMA_NDTR, words); }
static inline void hal_dma_set_peripheral_address(uint32_t address) { mmio_write32(DMA_PAR, address); }
static inline void hal_dma_set_memory_address(uint32_t rows0, uint32_t rows1) {
  mmio_write32(DMA_M0AR, rows0);
  mmio_write32(DMA_M1AR, rows1);
}
static inline uint32_t hal_dma_complete(void) { return hal_get_bit(DMA_ISR, DMA_ISR_TCIF_Pos); }
static inline uint32_t hal_dma_error(void) { return hal_get_bit(DMA_ISR, DMA_ISR_TEIF_Pos); }
static inline void hal_dma_clear_complete(void) { mmio_write32(DMA_IFCR, 1u << DMA_ISR_TCIF_Pos); }
static inline void hal_dma_clear_error(void) { mmio_write32(DMA_IFCR, 1u << DMA_ISR_TEIF_Pos); }

#endif /* CAMERA_HAL_H_ */
