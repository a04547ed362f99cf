/* Memory-mapped registers have 32 bits each. If MMIO_SIMULATED is defined, loads and stores call functions of a bus
 * simulator. */
#ifndef MMIO_H_
#define MMIO_H_

#include <stdint.h>

#ifdef MMIO_SIMULATED
uint32_t mmio_read32(uintptr_t address);
void mmio_write32(uintptr_t address, uint32_t value);
#else
static inline uint32_t mmio_read32(uintptr_t address) { return *(volatile uint32_t *)address; }
static inline void mmio_write32(uintptr_t address, uint32_t value) { *(volatile uint32_t *)address = value; }
#endif

/* Sets the register bits that are 1 in `mask` to the bits of `value`, and keeps all other bits. */
static inline void mmio_modify32(uintptr_t address, uint32_t mask, uint32_t value) {
  mmio_write32(address, (mmio_read32(address) & ~mask) | value);
}

#endif /* MMIO_H_ */
