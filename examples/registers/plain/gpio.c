#include "gpio.h"

#include "gpio_hal.h"

void gpio_configure(int pin, const gpio_config *config) {
  gpio_set_pad(pin, config->pad);
  gpio_set_value(pin, config->value);
  gpio_set_direction(pin, config->direction);
  gpio_set_irq_type(pin, config->irq_type);
  gpio_set_irq_enabled(pin, config->irq_enabled);
}

void gpio_set_direction(int pin, int direction) { hal_gpio_write_bit(GPIO_PADDIR, pin, direction == GPIO_OUT); }

int gpio_get_direction(int pin) { return hal_gpio_read_bit(GPIO_PADDIR, pin); }

void gpio_set_value(int pin, int value) { hal_gpio_write_bit(GPIO_PADOUT, pin, value); }

int gpio_get_value(int pin) { return hal_gpio_read_bit(GPIO_PADIN, pin); }

void gpio_set_pad(int pin, uint8_t pad) {
  const uint32_t shift = GPIO_PADCFG_SHIFT(pin);
  mmio_modify32(GPIO_PADCFG(pin), 0xFFu << shift, (uint32_t)pad << shift);
}

void gpio_set_irq_type(int pin, gpio_irq_type type) {
  hal_gpio_write_bit(GPIO_INTTYPE0, pin, (int)type & 1);
  hal_gpio_write_bit(GPIO_INTTYPE1, pin, (int)type & 2);
}

void gpio_set_irq_enabled(int pin, int enabled) { hal_gpio_write_bit(GPIO_INTEN, pin, enabled); }

uint32_t gpio_get_irq_status(void) { return mmio_read32(GPIO_INTSTATUS); }
