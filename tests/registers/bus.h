/* Simulates a bus with peripherals, independently of the generator of register drivers.
 *
 * The bus stores values of fields, not of registers, so that fields can move to other registers. The bus logs reads
 * that clear a field, writes that start something, and writes that clear a field. */
#ifndef BUS_H_
#define BUS_H_

#include <stdint.h>

enum { BUS_READ_WRITE, BUS_READ_ONLY, BUS_WRITE_ONLY, BUS_READ_CLEARS, BUS_ONE_CLEARS, BUS_ZERO_CLEARS };
enum {
  BUS_WRITE_ACTS = 1, /* the peripheral acts if a write changes the field */
  BUS_READ_ACTS = 2,  /* the peripheral acts at every read of the field's register */
  BUS_PULSE = 4,      /* the peripheral acts at every write to the field, for example to a FIFO */
  BUS_MODELLED = 8,   /* a simulated peripheral computes the field's value in device_read() */
};

typedef struct {
  uint32_t address;
  uint8_t bit, bits, access, flags;
} bus_field;

/* All arrays of the bus are indexed by the number of a field. */
extern const bus_field *bus_fields;
extern const char *const bus_names[];
extern const uint32_t bus_initial[];
extern const unsigned bus_count;

extern uint32_t bus_values[];

void bus_reset(void);
void bus_report(uint32_t result);

uint32_t mmio_read32(uintptr_t address);
void mmio_write32(uintptr_t address, uint32_t value);

/* The simulated peripherals define device_reset(), device_read() and device_written(). */
void device_reset(void);
void device_read(unsigned id);
void device_written(unsigned id, uint32_t value);

void bus_put(const char *text);

#endif /* BUS_H_ */
