#include "gpio.h"

uint32_t gpio_main(void);

uint32_t gpio_main(void) {
  const gpio_config config = {GPIO_OUT, 0, GPIO_IRQ_RISE, 1, 0x2A};
  uint32_t seen = 0;
  for (int pin = 0; pin < 4; ++pin) gpio_configure(pin, &config);
  for (int pin = 0; pin < 4; ++pin) {
    gpio_set_value(pin, 1);
    seen = (seen << 1) | (uint32_t)gpio_get_value(pin);
    gpio_set_value(pin, 0);
  }
  gpio_set_irq_enabled(2, 0);
  return (seen << 1 | (uint32_t)gpio_get_direction(3)) ^ gpio_get_irq_status();
}
