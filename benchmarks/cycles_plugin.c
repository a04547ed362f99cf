/* This QEMU plugin counts executed blocks of code, and the cycles for which a core would wait for flash memory.
 *
 * The plugin uses version 1 of QEMU's plugin interface (docs/devel/tcg-plugins). The script benchmarks/cycles_trace.py
 * builds this plugin and reads its output.
 *
 * A segment is the code between a call of the function at address `start` and a call of the function at address `stop`. The address `marks` has a
 * counter of 8 bytes for each operator. At the end of a segment, the program adds the segment's ticks to the operator's counter
 * (tests/cores/runner.c). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint32_t plugin_mem_info;
typedef void (*on_tb)(plugin_id, struct qemu_plugin_tb *);
typedef void (*on_exec)(unsigned, void *);
typedef void (*on_mem)(unsigned, plugin_mem_info, uint64_t, void *);
typedef void (*on_exit)(plugin_id, void *);
enum { NO_REGISTERS = 0, LOADS_AND_STORES = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, on_tb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_exec, int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, on_mem, int, int, void *);
void qemu_plugin_register_atexit_cb(plugin_id, on_exit, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
bool qemu_plugin_mem_is_store(plugin_mem_info);
unsigned qemu_plugin_mem_size_shift(plugin_mem_info);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

#define MOST_LINES 2048u
#define MOST_FLASHES 16u
#define OPERATORS 256u
#define RUNS 64u
#define TABLE (1u << 20)
#define TAKEN 2u

typedef struct {
  uint64_t start, start_bytes, stop, marks, marks_bytes, rom, rom_bytes;
  const char *out;
} settings;

typedef struct {
  uint64_t at;
  uint32_t bytes, insns, id;
} block;

typedef struct {
  uint64_t key; /* key of an entry: the operator and the two blocks that the edge connects, or 0 if the entry is empty */
  uint64_t count;
} edge;

typedef struct {
  uint64_t instructions, unaligned, constants, fetch_stalls[MOST_FLASHES], data_stalls[MOST_FLASHES]; /* the field `constants` is the number of bytes that are loaded from ROM */
} sums;

typedef struct {
  uint64_t line[MOST_LINES], used[MOST_LINES];
  uint64_t lines, ways, clock, last; /* number of lines of the cache; number of lines in which an address may be stored */
} cache;

typedef struct {
  uint64_t wait, line, prefetch; /* number of wait cycles, size of a cache line in bytes, and 1 if the flash prefetches a line */
  cache code, data;
  bool unified;                 /* whether constants are in the same cache as code (field `code`) */
  uint64_t now, free;
  uint64_t current;
  uint64_t ahead, ahead_ready;
} flash;

static settings s;
static flash flashes[MOST_FLASHES];
static uint32_t n_flashes;
static FILE *out;
static block *blocks[TABLE];
static uint32_t n_blocks;
static edge edges[TABLE], segment[TABLE];
static uint32_t touched[TABLE], n_touched;
static sums all[RUNS * OPERATORS], current;
static const block *previous;
static enum { OFF, STARTING, ON, STOPPED } state;
static uint32_t run;

static uint32_t hash(uint64_t key) { return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 44) & (TABLE - 1); }

static edge *find(edge *table, uint64_t key) {
  uint32_t at = hash(key);
  for (uint32_t tries = 0; table[at].key != 0 && table[at].key != key + 1; at = (at + 1) & (TABLE - 1)) {
    if (++tries == TABLE) {
      fputs("cycles: too many pairs of blocks\n", stderr);
      exit(70);
    }
  }
  return &table[at];
}

static void assign(uint32_t operator_plus_one) {
  if (state != STOPPED) return;
  state = OFF;
  if (operator_plus_one == 0) ++run;
  if (run >= RUNS || operator_plus_one >= OPERATORS) {
    fputs("cycles: too many runs or operators\n", stderr);
    exit(70);
  }
  const uint32_t whose = run * OPERATORS + operator_plus_one;
  for (uint32_t i = 0; i < n_touched; ++i) {
    edge *from = &segment[touched[i]], *to = find(edges, (uint64_t)whose << 40 | (from->key - 1));
    to->key = ((uint64_t)whose << 40 | (from->key - 1)) + 1;
    to->count += from->count;
    from->key = from->count = 0;
  }
  n_touched = 0;
  sums *of = &all[whose];
  of->instructions += current.instructions;
  of->unaligned += current.unaligned;
  of->constants += current.constants;
  for (uint32_t i = 0; i < n_flashes; ++i) {
    of->fetch_stalls[i] += current.fetch_stalls[i];
    of->data_stalls[i] += current.data_stalls[i];
  }
  memset(&current, 0, sizeof current);
}

static uint64_t set_of(const cache *c, uint64_t line) { return line % (c->lines / c->ways) * c->ways; }

static bool meets(cache *c, uint64_t line) {
  ++c->clock;
  if (c->lines == 0) return false;
  if (c->line[c->last] == line + 1) {
    c->used[c->last] = c->clock;
    return true;
  }
  const uint64_t first = set_of(c, line);
  uint64_t oldest = first;
  for (uint64_t i = first; i < first + c->ways; ++i) {
    if (c->line[i] == line + 1) {
      c->last = i;
      c->used[i] = c->clock;
      return true;
    }
    if (c->used[i] < c->used[oldest]) oldest = i;
  }
  c->line[oldest] = line + 1;
  c->used[oldest] = c->clock;
  c->last = oldest;
  return false;
}

static bool holds(const cache *c, uint64_t line) {
  if (c->lines == 0) return false;
  const uint64_t first = set_of(c, line);
  for (uint64_t i = first; i < first + c->ways; ++i) {
    if (c->line[i] == line + 1) return true;
  }
  return false;
}

static uint64_t from_memory(flash *f) {
  if (f->wait == 0) return 0;
  const uint64_t begin = f->now > f->free ? f->now : f->free, stall = begin + f->wait - f->now;
  f->free = begin + f->wait + 1;
  return stall;
}

static uint64_t fetch(flash *f, uint64_t line) {
  if (line == f->current) return 0;
  f->current = line;
  uint64_t stall = 0;
  if (f->prefetch && line == f->ahead) {
    stall = f->ahead_ready > f->now ? f->ahead_ready - f->now : 0;
    meets(&f->code, line);
  } else if (!meets(&f->code, line)) {
    stall = from_memory(f);
  }
  f->now += stall;
  if (f->prefetch && f->ahead != line + 1 && !holds(&f->code, line + 1)) {
    f->ahead = line + 1;
    f->ahead_ready = f->now + from_memory(f) + 1;
  }
  return stall;
}

static void executed(unsigned cpu, void *which) {
  (void)cpu;
  const block *b = which;
  if (b->at == s.stop && state == ON) state = STOPPED;
  if (b->at == s.start) {
    assign(0);
    state = STARTING;
    previous = NULL;
    for (uint32_t i = 0; i < n_flashes; ++i) flashes[i].current = flashes[i].ahead = UINT64_MAX;
  } else if (state == STARTING && b->at - s.start >= s.start_bytes) {
    state = ON;
  }
  if (state != ON) return;
  const uint64_t key = (uint64_t)(previous ? previous->id : 0) << 20 | b->id;
  edge *e = find(segment, key);
  if (e->key == 0) {
    e->key = key + 1;
    touched[n_touched++] = (uint32_t)(e - segment);
  }
  ++e->count;
  current.instructions += b->insns;
  const bool branched = previous && previous->at + previous->bytes != b->at, in_rom = b->at - s.rom < s.rom_bytes;
  for (uint32_t i = 0; i < n_flashes; ++i) {
    flash *f = &flashes[i];
    if (branched) f->now += TAKEN;
    const uint64_t began = f->now, end = b->at + b->bytes;
    uint64_t stalls = 0;
    for (uint64_t at = b->at; in_rom && at < end; at = (at / f->line + 1) * f->line) {
      f->now = began + stalls + b->insns * (at - b->at) / b->bytes;
      stalls += fetch(f, at / f->line);
    }
    f->now = began + stalls + b->insns;
    current.fetch_stalls[i] += stalls;
  }
  previous = b;
}

static void accessed(unsigned cpu, plugin_mem_info info, uint64_t at, void *unused) {
  (void)cpu;
  (void)unused;
  if (qemu_plugin_mem_is_store(info)) return;
  if (state == STOPPED && at - s.marks < s.marks_bytes) assign(1 + (uint32_t)((at - s.marks) / 8));
  if (state != ON) return;
  const unsigned shift = qemu_plugin_mem_size_shift(info);
  if (shift == 1) current.unaligned += at & 1u;
  if (shift == 2) current.unaligned += at & 1u ? 2 : (at & 3u) != 0;
  if (at - s.rom < s.rom_bytes) current.constants += UINT64_C(1) << shift;
  for (uint32_t i = 0; i < n_flashes; ++i) {
    flash *f = &flashes[i];
    ++f->now;
    if (at - s.rom >= s.rom_bytes || meets(f->unified ? &f->code : &f->data, at / f->line)) continue;
    const uint64_t stall = from_memory(f);
    f->now += stall;
    current.data_stalls[i] += stall;
  }
}

/* If a memory page ends between two instructions, QEMU gives only the sum of the instructions' lengths. */
static uint32_t size_of(const uint8_t *bytes) { return bytes[1] >> 3 < 0x1D ? 2 : 4; }

static void translated(plugin_id id, struct qemu_plugin_tb *tb) {
  (void)id;
  uint8_t bytes[4096];
  block b = {qemu_plugin_tb_vaddr(tb), 0, (uint32_t)qemu_plugin_tb_n_insns(tb), 0};
  for (size_t i = 0; i < b.insns; ++i) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    const uint8_t *data = qemu_plugin_insn_data(insn);
    memcpy(bytes + b.bytes, data, size_of(data));
    b.bytes += size_of(data);
    qemu_plugin_register_vcpu_mem_cb(insn, accessed, NO_REGISTERS, LOADS_AND_STORES, NULL);
  }
  uint32_t at = hash(b.at << 12 | b.bytes);
  while (blocks[at] && (blocks[at]->at != b.at || blocks[at]->bytes != b.bytes)) at = (at + 1) & (TABLE - 1);
  if (!blocks[at]) {
    b.id = ++n_blocks;
    blocks[at] = malloc(sizeof b);
    if (!blocks[at]) exit(71);
    *blocks[at] = b;
    fprintf(out, "block %u %llx ", b.id, (unsigned long long)b.at);
    for (uint32_t i = 0; i < b.bytes; ++i) fprintf(out, "%02x", bytes[i]);
    fputc('\n', out);
  }
  qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGISTERS, blocks[at]);
}

static void finished(plugin_id id, void *unused) {
  (void)id;
  (void)unused;
  assign(0);
  for (uint32_t i = 0; i < TABLE; ++i) {
    if (edges[i].key == 0) continue;
    const uint64_t key = edges[i].key - 1, whose = key >> 40;
    fprintf(out, "edge %u %d %u %u %llu\n", (unsigned)(whose / OPERATORS), (int)(whose % OPERATORS) - 1,
            (unsigned)(key >> 20 & 0xFFFFF), (unsigned)(key & 0xFFFFF), (unsigned long long)edges[i].count);
  }
  for (uint32_t i = 0; i < RUNS * OPERATORS; ++i) {
    const sums *of = &all[i];
    if (of->instructions == 0) continue;
    fprintf(out, "sums %u %d %llu %llu %llu", i / OPERATORS, (int)(i % OPERATORS) - 1,
            (unsigned long long)of->instructions, (unsigned long long)of->unaligned, (unsigned long long)of->constants);
    for (uint32_t f = 0; f < n_flashes; ++f) {
      fprintf(out, " %llu %llu", (unsigned long long)of->fetch_stalls[f], (unsigned long long)of->data_stalls[f]);
    }
    fputc('\n', out);
  }
  fclose(out);
}

/* The argument has the form "flash=WAIT:LINE:INSTRUCTION_LINES:DATA_LINES:PREFETCH:UNIFIED_WAYS". If UNIFIED_WAYS is not 0, code and constants share
 * a set-associative cache. */
static bool set_flash(const char *argument) {
  unsigned wait, line, instruction_lines, data_lines, prefetch, ways;
  const int found =
      sscanf(argument, "flash=%u:%u:%u:%u:%u:%u", &wait, &line, &instruction_lines, &data_lines, &prefetch, &ways);
  if (found != 6 || line == 0 || instruction_lines > MOST_LINES || data_lines > MOST_LINES || ways > instruction_lines) return false;
  if (n_flashes == MOST_FLASHES) return false;
  flash *f = &flashes[n_flashes++];
  f->wait = wait;
  f->line = line;
  f->prefetch = prefetch;
  f->code.lines = instruction_lines;
  f->code.ways = ways ? ways : instruction_lines;
  f->data.lines = f->data.ways = data_lines;
  f->unified = ways > 0;
  f->current = f->ahead = UINT64_MAX;
  return true;
}

static bool set(const char *argument) {
  static const struct {
    const char *name;
    uint64_t *value;
  } numbers[] = {
      {"start=", &s.start}, {"start_bytes=", &s.start_bytes}, {"stop=", &s.stop},         {"marks=", &s.marks},
      {"rom=", &s.rom},     {"rom_bytes=", &s.rom_bytes},     {"marks_bytes=", &s.marks_bytes},
  };
  if (strncmp(argument, "out=", 4) == 0) {
    s.out = argument + 4;
    return true;
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    const size_t n = strlen(numbers[i].name);
    if (strncmp(argument, numbers[i].name, n) == 0) {
      *numbers[i].value = strtoull(argument + n, NULL, 0);
      return true;
    }
  }
  return set_flash(argument);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (!set(argv[i])) return 1;
  }
  out = s.out ? fopen(s.out, "w") : NULL;
  if (!out) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}
