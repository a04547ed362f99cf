/* A simulated bus with peripherals on it: the oracle of the register generator, of which it knows nothing.
 *
 * It has values of fields, not of registers, so that one peripheral can be at several layouts. What the outside world would
 * see is logged, in order: reads that clear, writes of fields that start something, ones written to clear. */
#ifndef BUS_H_
#define BUS_H_

#include <stdint.h>

enum { BUS_READ_WRITE, BUS_READ_ONLY, BUS_WRITE_ONLY, BUS_READ_CLEARS, BUS_ONE_CLEARS, BUS_ZERO_CLEARS };
enum {
  BUS_WRITE_ACTS = 1, /* a write that changes it is seen */
  BUS_READ_ACTS = 2,  /* any read of its register is seen */
  BUS_PULSE = 4,      /* any write of it is seen, as of a FIFO */
  BUS_VOLATILE = 8,   /* its value changes with all that is seen */
  BUS_MODELLED = 16,  /* device_read() is asked before it is read */
};

typedef struct {
  uint32_t address;
  uint8_t bit, bits, access, flags;
} bus_field;

/* The table of a test: ids are indices. */
extern const bus_field *bus_fields;
extern const char *const bus_names[];
extern const uint32_t bus_initial[];
extern const unsigned bus_count;

extern uint32_t bus_values[];
extern unsigned bus_interrupt_at; /* after so many events, device_interrupt() is called once; 0: never */

void bus_reset(void);
/* Something else that is seen: a call of what is not the driver's. */
void bus_seen(uint32_t value);
/* What has happened: loads and stores, events, values of all fields, in text. */
void bus_report(uint32_t result);

uint32_t mmio_read32(uintptr_t address);
void mmio_write32(uintptr_t address, uint32_t value);

/* Of the peripherals. */
void device_reset(void);
void device_read(unsigned id);
void device_written(unsigned id, uint32_t value);
void device_interrupt(void);

/* Of the machine. */
void bus_put(const char *text);

#endif /* BUS_H_ */
