/* Runs programs on a bare machine. QEMU loads the programs and their inputs (tests/cores/cases.py) at the address CORE_BLOB. For each program, the
 * runner prints one line of figures and, if requested, one line for each operator. The runner includes the executor's source file to call the
 * executor's static function step(). */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core.h"
#include "tmo/access.h"
#include "tmo/cores.h"
#include "tmo/spin.h"
#include "tmo/tmo.h"

#define tmo_begin profile_begin
#define tmo_step profile_step
#define tmo_more_rows profile_more_rows
#define tmo_run profile_run
#define tmo_push profile_push
#define tmo_run_paused profile_run_paused
#include "tmo_run.c"
#undef tmo_run

#define MAGIC 0x434F4D54u /* "TMOC" */
#define CANARY 0xA5u
#define CANARY_BYTES 64u
#define STACK_PAINT 0x5AA55AA5u
#define STACK_SPARE 16u /* number of words below the stack frame that keep their values */
#define MAX_OPS 256u
#define LOOPS 100000u

typedef struct {
  uint32_t magic, n_cases, cases;
} blob_header;

typedef struct {
  uint32_t program, program_bytes; /* number of bytes from CORE_BLOB to the program */
  uint32_t arena_bytes, workspace;
  uint32_t n_inputs, n_outputs, io;
  uint32_t by_operator;
  uint32_t state; /* offset of the state in the arena */
  uint32_t core;
} blob_case;

enum {
  RUN_ALL,    /* one core runs the whole program */
  RUN_FIRST,  /* core 0 runs alone and computes only its part of each iteration */
  RUN_SECOND, /* core 1 runs alone and computes only its part of each iteration */
  RUN_BOTH
};

typedef struct {
  uint32_t arena;
  uint32_t bytes;
  uint32_t data;  /* number of bytes from CORE_BLOB to the values, or 0 if there are no values */
} blob_io;

typedef struct {
  int status;
  uint64_t ticks;
  uint32_t stack;
} measured;

#ifdef CORE_PARTS
unsigned long long core_parts; /* parts.h */
#endif

static const uint8_t *const blob = (const uint8_t *)CORE_BLOB;

static void write_number(const char *name, int64_t value) {
  char text[40], *end = text + sizeof text;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  *--end = 0;
  do *--end = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) *--end = '-';
  core_write(name);
  core_write(end);
}

static uint64_t calibrate(void) {
  core_clock_start();
#if defined(__riscv) || defined(__xtensa__)
  uint32_t n = LOOPS;
  __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(n));
#else
  uint32_t n = LOOPS;
  __asm__ volatile(".syntax unified\n 1: subs %0, %0, #1\n bne 1b" : "+l"(n) : : "cc");
#endif
  return core_clock_stop();
}

static uint32_t *stack_here(void) {
  volatile uint32_t here = 0;
  const uintptr_t address = (uintptr_t)&here;
  return (uint32_t *)address - STACK_SPARE;
}

static tmo_spin spin;
static tmo_team team = {tmo_spin_wake, tmo_spin_wait, &spin, NULL, NULL, NULL, TMO_OK, NULL};

#ifdef CORE_PAIR
static void help(void) { tmo_run_worker(&team); }
#endif

/* The counter `always` lets tmo_spin_wait() return at once while one core runs alone. */
static tmo_spin always;
static tmo_team alone = {tmo_spin_wake, tmo_spin_wait, &always, NULL, NULL, NULL, TMO_OK, NULL};

static int run_as(uint32_t core, const void *program, void *const *io, void *workspace) {
  if (core == RUN_ALL) return tmo_run(program, io, workspace);
  if (core == RUN_BOTH) return tmo_run_shared(&team, program, io, workspace);
  always = (tmo_spin){{UINT32_MAX, UINT32_MAX}, {0, 0}};
  if (core == RUN_FIRST) return tmo_run_shared(&alone, program, io, workspace);
  tmo_run_worker(&alone);
  return alone.status;
}

__attribute__((noinline)) static measured run(uint32_t core, const void *program, void *const *io, void *workspace) {
  uint32_t *const top = stack_here();
  for (uint32_t *p = core_stack; p < top; ++p) *p = STACK_PAINT;
  core_clock_start();
  const int status = run_as(core, program, io, workspace);
  measured m = {status, core_clock_stop(), 0};
  const uint32_t *low = core_stack;
  while (low < top && *low == STACK_PAINT) ++low;
  m.stack = (uint32_t)((const uint8_t *)top - (const uint8_t *)low);
  return m;
}

static uint64_t op_ticks[MAX_OPS];
static uint32_t op_steps[MAX_OPS];

static uint32_t alike(const tmo_run_state *state) {
  const uint8_t *const at = state->at;
  if (*at >= TMO_LOOP_NEAR) return 1;
  uint32_t n = 1;
  while (at[n] == *at) ++n;
  const bool is_loop = n == 1 && at[1] == TMO_LOOP_END && state->depth > 0 && at == state->loops[state->depth - 1].body;
  return is_loop ? state->loops[state->depth - 1].left : n;
}

static const uint8_t *begun_at;      /* position in the loop code */
static const tmo_group *begun_group; /* current group */

static tmo_status step_alike(tmo_run_state *state) {
  if (state->iterations == 0) return step(state, 1);
  const tmo_status found = find_iteration(state, 1);
  if (found != TMO_MORE) return found;
  begun_at = state->at;
  begun_group = state->group;
  return step(state, alike(state));
}

static void run_by_operator(const void *program, void *const *io, void *workspace) {
  tmo_run_state state;
  int status = TMO_MORE;
  memset(op_ticks, 0, sizeof op_ticks);
  memset(op_steps, 0, sizeof op_steps);
  tmo_begin(&state, program, io, workspace);
  begun_at = NULL;
  while (status == TMO_MORE) {
    core_clock_start();
    status = step_alike(&state);
    const uint64_t ticks = core_clock_stop();
    if (begun_at == NULL) continue;
    const uint32_t op = begun_group->first_op + (uint32_t)read_iteration(begun_at).op;
    if (op >= MAX_OPS) continue;
    op_ticks[op] += ticks;
    ++op_steps[op];
  }
  for (uint32_t i = 0; i < tmo_header_of(program)->n_ops && i < MAX_OPS; ++i) {
    write_number("operator ", i);
    write_number(" ticks ", (int64_t)op_ticks[i]);
    write_number(" steps ", op_steps[i]);
    core_write("\n");
  }
}

static uint8_t *align16(uint8_t *p) { return p + (-(uintptr_t)p & 15u); }

static void fill_inputs(const blob_case *c, const blob_io *io, uint8_t *arena) {
  for (uint32_t i = 0; i < c->arena_bytes; ++i) arena[i] = (uint8_t)(i * 37u + 11u);
  memset(arena + c->state, 0, tmo_header_of(blob + c->program)->state);
  for (uint32_t i = 0; i < c->n_inputs; ++i) memcpy(arena + io[i].arena, blob + io[i].data, io[i].bytes);
}

static uint32_t wrong_bytes(const blob_case *c, const blob_io *io, const uint8_t *arena) {
  uint32_t wrong = 0;
  for (uint32_t i = c->n_inputs; i < c->n_inputs + c->n_outputs; ++i) {
    for (uint32_t b = 0; io[i].data && b < io[i].bytes; ++b) wrong += arena[io[i].arena + b] != blob[io[i].data + b];
  }
  return wrong;
}

static bool canaries_alive(const uint8_t *before, const uint8_t *behind) {
  bool alive = true;
  for (uint32_t i = 0; i < CANARY_BYTES; ++i) alive = alive && before[i] == CANARY && behind[i] == CANARY;
  return alive;
}

static void run_case(const blob_case *c) {
  const blob_io *io = (const blob_io *)(const void *)(blob + c->io);
  const void *program = blob + c->program;
  uint8_t *before = align16(core_free), *arena = align16(before + CANARY_BYTES), *behind = arena + c->arena_bytes;
  if (behind + CANARY_BYTES > core_ram_end) {
    core_write("status -1000\n");
    return;
  }
  const uint32_t n_io = c->n_inputs + c->n_outputs;
  uint32_t bytes[TMO_MAX_IO + 1];
  void *buffers[TMO_MAX_IO + 1];
  for (uint32_t i = 0; i < n_io; ++i) {
    bytes[i] = io[i].bytes;
    buffers[i] = arena + io[i].arena;
  }
  bytes[n_io] = tmo_header_of(program)->state;
  buffers[n_io] = arena + c->state;
  memset(arena - CANARY_BYTES, CANARY, CANARY_BYTES);
  memset(behind, CANARY, CANARY_BYTES);
  fill_inputs(c, io, arena);
  measured m = {0, 0, 0};
#ifdef CORE_PARTS
  core_parts = tmo_header_of(program)->parts;
#endif
  m.status = tmo_check(program, c->program_bytes, bytes, c->n_inputs, c->n_outputs, tmo_header_of(program)->workspace);
  if (m.status == TMO_OK && c->core != RUN_ALL) m.status = tmo_check_cores(program);
  if (m.status == TMO_OK && c->core == RUN_SECOND) { /* core 1 needs data that core 0 prepares */
    run_as(RUN_FIRST, program, buffers, arena + c->workspace);
    fill_inputs(c, io, arena);
  }
  if (m.status == TMO_OK) m = run(c->core, program, buffers, arena + c->workspace);
  write_number("status ", m.status);
  write_number(" ticks ", (int64_t)m.ticks);
  write_number(" stack ", m.stack);
  write_number(" wrong ", c->core == RUN_FIRST || c->core == RUN_SECOND ? 0 : wrong_bytes(c, io, arena));
  write_number(" canaries ", canaries_alive(arena - CANARY_BYTES, behind));
  core_write("\n");
  if (c->by_operator && m.status >= TMO_OK) { /* a positive status means that rows of a sliding input are missing */
    fill_inputs(c, io, arena);
    run_by_operator(program, buffers, arena + c->workspace);
  }
}

int main(void) {
  const blob_header *header = (const blob_header *)(const void *)blob;
  if (header->magic != MAGIC) {
    core_write("no cases\n");
    return 1;
  }
#ifdef CORE_PAIR
  core_start_second(help);
#endif
  write_number("loop ", 2 * LOOPS);
  write_number(" ticks ", (int64_t)calibrate());
  core_write("\n");
  for (uint32_t i = 0; i < header->n_cases; ++i) run_case((const blob_case *)(const void *)(blob + header->cases) + i);
  core_write("done\n");
  return 0;
}
