#include "gpio.h"

#include "gpio_fields.h"

void gpio_configure(int pin, const gpio_config *config) {
  gpio->pads[pin].cfg = config->pad;
  gpio->pads[pin].out = config->value != 0;
  gpio->pads[pin].dir = config->direction == GPIO_OUT;
  gpio->pads[pin].intType = config->irq_type;
  gpio->pads[pin].intEn = config->irq_enabled != 0;
}

void gpio_set_direction(int pin, int direction) { gpio->pads[pin].dir = direction == GPIO_OUT; }

int gpio_get_direction(int pin) { return (int)gpio->pads[pin].dir; }

void gpio_set_value(int pin, int value) { gpio->pads[pin].out = value != 0; }

int gpio_get_value(int pin) { return (int)gpio->pads[pin].in; }

void gpio_set_pad(int pin, uint8_t pad) { gpio->pads[pin].cfg = pad; }

void gpio_set_irq_type(int pin, gpio_irq_type type) { gpio->pads[pin].intType = type; }

void gpio_set_irq_enabled(int pin, int enabled) { gpio->pads[pin].intEn = enabled != 0; }

uint32_t gpio_get_irq_status(void) { return gpio->intStatus; }
