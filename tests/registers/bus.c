#include "bus.h"

#define MOST_FIELDS 4096
#define MOST_EVENTS 512

typedef struct {
  const char *what;
  unsigned id;
  uint32_t value, state;
} event;

uint32_t bus_values[MOST_FIELDS];

static event events[MOST_EVENTS];
static unsigned event_count, loads, stores, strays;

static uint32_t ones(unsigned bits) { return bits >= 32 ? 0xFFFFFFFFu : (1u << bits) - 1u; }

void bus_reset(void) {
  event_count = loads = stores = strays = 0;
  for (unsigned i = 0; i < bus_count; ++i) bus_values[i] = bus_initial[i] & ones(bus_fields[i].bits);
  device_reset();
}

/* Returns a hash of the values of all fields, without the fields that a simulated peripheral computes. */
static uint32_t state(void) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < bus_count; ++i) {
    if (!(bus_fields[i].flags & BUS_MODELLED)) sum = (sum << 5 | sum >> 27) ^ (bus_values[i] * 2654435761u);
  }
  return sum;
}

static void seen(const char *what, unsigned id, uint32_t value) {
  const event e = {what, id, value, state()};
  if (event_count < MOST_EVENTS) events[event_count] = e;
  ++event_count;
}

uint32_t mmio_read32(uintptr_t address) {
  uint32_t word = 0;
  int known = 0;
  ++loads;
  for (unsigned i = 0; i < bus_count; ++i) {
    const bus_field *f = &bus_fields[i];
    if (f->address != address) continue;
    known = 1;
    if (f->flags & BUS_MODELLED) device_read(i);
    if (f->access != BUS_WRITE_ONLY) word |= (bus_values[i] & ones(f->bits)) << f->bit;
  }
  for (unsigned i = 0; i < bus_count; ++i) {
    const bus_field *f = &bus_fields[i];
    if (f->address != address) continue;
    if (f->access == BUS_READ_CLEARS) bus_values[i] = 0;
    if (f->access == BUS_READ_CLEARS || f->flags & BUS_READ_ACTS) seen("read", i, (word >> f->bit) & ones(f->bits));
  }
  strays += !known;
  return word;
}

static void write_field(unsigned id, uint32_t value) {
  const bus_field *f = &bus_fields[id];
  const uint32_t before = bus_values[id];
  uint32_t cleared = 0;
  if (f->access == BUS_READ_ONLY || f->access == BUS_READ_CLEARS) return;
  if (f->access == BUS_ONE_CLEARS) cleared = value;
  if (f->access == BUS_ZERO_CLEARS) cleared = ~value & ones(f->bits);
  if (f->access == BUS_ONE_CLEARS || f->access == BUS_ZERO_CLEARS) {
    bus_values[id] = before & ~cleared;
    if (cleared) seen("clear", id, cleared);
    if (cleared) device_written(id, cleared);
    return;
  }
  if (f->access == BUS_WRITE_ONLY) { /* writing 0 to a command field has no effect */
    if (value) seen("command", id, value);
    if (value) device_written(id, value);
    return;
  }
  bus_values[id] = value;
  if (f->flags & BUS_PULSE || (f->flags & BUS_WRITE_ACTS && value != before)) {
    seen("write", id, value);
    device_written(id, value);
  }
}

void mmio_write32(uintptr_t address, uint32_t value) {
  int known = 0;
  ++stores;
  /* Writes all fields of a word. A field that makes the peripheral act is written last. */
  for (int acts = 0; acts < 2; ++acts) {
    for (unsigned i = 0; i < bus_count; ++i) {
      const bus_field *f = &bus_fields[i];
      const int is_seen = f->flags & (BUS_PULSE | BUS_WRITE_ACTS) || f->access >= BUS_ONE_CLEARS || f->access == BUS_WRITE_ONLY;
      if (f->address != address) continue;
      known = 1;
      if (is_seen == acts) write_field(i, (value >> f->bit) & ones(f->bits));
    }
  }
  strays += !known;
}

static void put_number(uint32_t value) {
  char text[12];
  int at = 11;
  text[at] = 0;
  do {
    text[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  bus_put(&text[at]);
}

static void put_line(const char *word, const char *name, uint32_t value) {
  bus_put(word);
  bus_put(" ");
  bus_put(name);
  bus_put(" ");
  put_number(value);
  bus_put("\n");
}

void bus_report(uint32_t result) {
  put_line("count", "loads", loads);
  put_line("count", "stores", stores);
  put_line("count", "strays", strays);
  put_line("count", "events", event_count);
  put_line("result", "value", result);
  for (unsigned i = 0; i < event_count && i < MOST_EVENTS; ++i) {
    bus_put("event ");
    bus_put(events[i].what);
    put_line("", bus_names[events[i].id], events[i].value);
    put_line("state", "sum", events[i].state);
  }
  for (unsigned i = 0; i < bus_count; ++i) put_line("field", bus_names[i], bus_values[i]);
}
