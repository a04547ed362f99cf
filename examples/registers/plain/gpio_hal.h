/* The registers of the GPIO have one bit for each pin, and one byte for each pad. */
#ifndef GPIO_HAL_H_
#define GPIO_HAL_H_

#include "mmio.h"

#ifndef GPIO_BASE
#define GPIO_BASE 0x1A101000u
#endif

#define GPIO_PADDIR (GPIO_BASE + 0x00u)
#define GPIO_PADIN (GPIO_BASE + 0x04u)
#define GPIO_PADOUT (GPIO_BASE + 0x08u)
#define GPIO_INTEN (GPIO_BASE + 0x0Cu)
#define GPIO_INTTYPE0 (GPIO_BASE + 0x10u) /* INTTYPE0 has bit 0 of the interrupt type of each pin. */
#define GPIO_INTTYPE1 (GPIO_BASE + 0x14u) /* INTTYPE1 has bit 1 of the interrupt type of each pin. */
#define GPIO_INTSTATUS (GPIO_BASE + 0x18u) /* Reading INTSTATUS clears INTSTATUS. */
#define GPIO_PADCFG(pin) (GPIO_BASE + 0x20u + ((uint32_t)(pin) & ~3u)) /* Each register has the settings of four pads, one byte for each pad. */
#define GPIO_PADCFG_SHIFT(pin) (8u * ((uint32_t)(pin) & 3u))

static inline void hal_gpio_write_bit(uintptr_t address, int pin, int value) {
  uint32_t bits = mmio_read32(address);
  if (value)
    bits |= 1u << pin;
  else
    bits &= ~(1u << pin);
  mmio_write32(address, bits);
}

static inline int hal_gpio_read_bit(uintptr_t address, int pin) { return (int)((mmio_read32(address) >> pin) & 1u); }

#endif /* GPIO_HAL_H_ */
