/* Simulates the peripherals of examples/registers. */
#include <stddef.h>

#include "bus.h"
#include "ids.h"

uint32_t camera_pixels(uint32_t address, uint32_t bytes);
uint32_t gpio_main(void);
uint32_t spi_main(void);
uint32_t camera_main(void);
uint32_t device_main(void);

#if defined(DEVICE_GPIO)
void device_reset(void) {}
void device_read(unsigned id) { (void)id; }
void device_written(unsigned id, uint32_t value) { (void)id, (void)value; }
uint32_t device_main(void) { return gpio_main(); }

#elif defined(DEVICE_SPI)
/* The SPI has sent a word after three polls. */
static unsigned polls_left;
static uint32_t answer;

void device_reset(void) {
  polls_left = 0;
  bus_values[ID_SR_TXE] = 1;
}
void device_read(unsigned id) {
  if (id == ID_SR_RXNE && polls_left && --polls_left == 0) {
    bus_values[ID_SR_RXNE] = bus_values[ID_SR_TXE] = 1;
    bus_values[ID_SR_BSY] = 0;
    bus_values[ID_DR] = answer;
  }
  if (id == ID_DR) bus_values[ID_SR_RXNE] = 0;
}
void device_written(unsigned id, uint32_t value) {
  if (id != ID_DR || !bus_values[ID_CR1_SPE] || !bus_values[ID_CR1_MSTR] || !bus_values[ID_CR1_SSI]) return;
  answer = (value ^ 0x5Au) & ((2u << bus_values[ID_CR2_DS]) - 1u);
  if (bus_values[ID_CR1_CPOL] != 1 || bus_values[ID_CR1_CPHA] != 1 || bus_values[ID_CR1_BR] != 4) answer = 0;
  polls_left = 3;
  bus_values[ID_SR_BSY] = 1;
  bus_values[ID_SR_TXE] = 0;
}
uint32_t device_main(void) { return spi_main(); }

#elif defined(DEVICE_CAMERA)
/* The camera completes a row in every fourth poll. */
enum { ROW_POLLS = 4, MEMORY = 512 };
static uint8_t memory[MEMORY]; /* at 0x20000000 */
static unsigned polls, row;

void device_reset(void) {
  polls = row = 0;
  for (unsigned i = 0; i < MEMORY; ++i) memory[i] = 0;
}

static int is_running(void) {
  return bus_values[ID_CR_CAPTURE] && bus_values[ID_CR_ENABLE] && bus_values[ID_CR_CROP] && bus_values[ID_dma_CR_EN] &&
         bus_values[ID_dma_CR_CHSEL] == 1 && bus_values[ID_dma_CR_DIR] == 0 && bus_values[ID_dma_CR_MINC] &&
         !bus_values[ID_dma_CR_PINC] && bus_values[ID_dma_CR_DBM] && bus_values[ID_dma_PAR] == 0x50050028u;
}

static void store_row(void) {
  const uint32_t to = bus_values[bus_values[ID_dma_CR_CT] ? ID_dma_M1AR : ID_dma_M0AR] - 0x20000000u;
  const uint32_t bytes = bus_values[ID_dma_NDTR] << bus_values[ID_dma_CR_PSIZE];
  for (uint32_t x = 0; x < bytes && to + x < MEMORY && x <= bus_values[ID_CWSIZE_CAPCNT]; ++x) {
    memory[to + x] = (uint8_t)(17u * (row + bus_values[ID_CWSTRT_VST]) + 3u * (x + bus_values[ID_CWSTRT_HOFFCNT]));
  }
  bus_values[ID_dma_CR_CT] ^= 1u;
  bus_values[ID_dma_ISR_TCIF] = 1;
  if (row++ == bus_values[ID_CWSIZE_VLINE]) bus_values[ID_RIS_FRAME] = 1;
}

void device_read(unsigned id) {
  if (id == ID_dma_ISR_TCIF && is_running() && !bus_values[id] && ++polls % ROW_POLLS == 0) store_row();
}
void device_written(unsigned id, uint32_t value) {
  (void)value;
  if (id == ID_dma_IFCR_TCIF) bus_values[ID_dma_ISR_TCIF] = 0;
  if (id == ID_dma_IFCR_TEIF) bus_values[ID_dma_ISR_TEIF] = 0;
  if (id == ID_ICR_FRAME) bus_values[ID_RIS_FRAME] = 0;
  if (id == ID_ICR_OVR) bus_values[ID_RIS_OVR] = 0;
}
uint32_t camera_pixels(uint32_t address, uint32_t bytes) {
  uint32_t sum = 0;
  for (uint32_t x = 0; x < bytes; ++x) sum = sum * 31u + memory[address - 0x20000000u + x];
  return sum;
}
uint32_t device_main(void) { return camera_main(); }
#endif
