#include "gpio.h"

void gpio_configure(int pin, const gpio_config *config) {
  gpio_set_pad(pin, config->pad);
  gpio_set_value(pin, config->value);
  gpio_set_direction(pin, config->direction);
  gpio_set_irq_type(pin, config->irq_type);
  gpio_set_irq_enabled(pin, config->irq_enabled);
}

void gpio_set_direction(int pin, int direction) { gpio->PADDIR.DIR[pin] = direction == GPIO_OUT; }

int gpio_get_direction(int pin) { return (int)gpio->PADDIR.DIR[pin]; }

void gpio_set_value(int pin, int value) { gpio->PADOUT.OUT[pin] = value != 0; }

int gpio_get_value(int pin) { return (int)gpio->PADIN.IN[pin]; }

void gpio_set_pad(int pin, uint8_t pad) { gpio->PADCFG[pin / 4].CFG[pin % 4] = pad; }

void gpio_set_irq_type(int pin, gpio_irq_type type) {
  gpio->INTTYPE0.TYPE[pin] = type & 1;
  gpio->INTTYPE1.TYPE[pin] = (type & 2) != 0;
}

void gpio_set_irq_enabled(int pin, int enabled) { gpio->INTEN.EN[pin] = enabled != 0; }

uint32_t gpio_get_irq_status(void) { return gpio->INTSTATUS; }
