/* Each of the thirty-two pins has a direction, a value, a pad and interrupts. */
#ifndef GPIO_H_
#define GPIO_H_

#include <stdint.h>

enum { GPIO_PINS = 32, GPIO_IN = 0, GPIO_OUT = 1 };

typedef enum { GPIO_IRQ_LOW, GPIO_IRQ_HIGH, GPIO_IRQ_RISE, GPIO_IRQ_FALL } gpio_irq_type;

typedef struct {
  int direction;
  int value; /* value of the pin if the pin is an output */
  gpio_irq_type irq_type;
  int irq_enabled;
  uint8_t pad; /* pull resistor and drive strength of the pin */
} gpio_config;

/* Sets all properties of a pin. gpio_configure() sets the pad before the direction, and enables the interrupt last. */
void gpio_configure(int pin, const gpio_config *config);

void gpio_set_direction(int pin, int direction);
int gpio_get_direction(int pin);
void gpio_set_value(int pin, int value);
int gpio_get_value(int pin);
void gpio_set_pad(int pin, uint8_t pad);
void gpio_set_irq_type(int pin, gpio_irq_type type);
void gpio_set_irq_enabled(int pin, int enabled);

/* Returns a bit for each pin that has requested an interrupt since the last call, and clears the requests. */
uint32_t gpio_get_irq_status(void);

#endif /* GPIO_H_ */
