/* Prints the arena bytes that the executor reads and writes for the cases of tests/cores/cases.py, with all inputs 0.
 *
 *   touches CASES cores    cores 1: iteration by iteration; 2: between two barriers, on two threads
 *
 * The library is compiled for ThreadSanitizer, which calls a function before each access; this file defines these functions. The linker
 * wraps calls of memcpy() and similar functions. Output: uint32_t case, stretch or iteration, core, written (0 or 1), first byte, end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tmo/access.h"
#include "tmo/cores.h"

enum { READ = 1, WRITTEN = 2 };

typedef struct {
  uint32_t program, program_bytes, arena_bytes, workspace, n_inputs, n_outputs, io, by_operator, state, core;
} blob_case;

typedef struct {
  uint32_t arena, bytes, data;
} blob_io;

typedef struct {
  uint8_t *marks; /* READ and WRITTEN of each byte of the arena, since the last flush */
  uint32_t core, step;
} touches;

static const uint8_t *arena;
static uint32_t arena_bytes, current_case;
static _Thread_local touches *mine;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void touch(const void *at, size_t n, uint8_t how) {
  const uintptr_t first = (uintptr_t)at - (uintptr_t)arena;
  for (size_t i = 0; mine != NULL && i < n; ++i) {
    if (first + i < arena_bytes) mine->marks[first + i] |= how;
  }
}

/* Prints the bytes touched since the last flush. */
static void flush(void) {
  touches *const t = mine;
  pthread_mutex_lock(&output);
  for (uint32_t written = 0; written < 2; ++written) {
    const uint8_t how = written ? WRITTEN : READ;
    for (uint32_t at = 0; at < arena_bytes; ++at) {
      const uint32_t first = at;
      while (at < arena_bytes && (t->marks[at] & how) != 0) ++at;
      const uint32_t line[] = {current_case, t->step, t->core, written, first, at};
      if (at > first) fwrite(line, sizeof line, 1, stdout);
    }
  }
  pthread_mutex_unlock(&output);
  for (uint32_t at = 0; at < arena_bytes; ++at) t->marks[at] = 0;
  ++t->step;
}

#define HOOKS(n)                                                       \
  void __tsan_read##n(void *at) { touch(at, n, READ); }                \
  void __tsan_write##n(void *at) { touch(at, n, WRITTEN); }            \
  void __tsan_unaligned_read##n(void *at) { touch(at, n, READ); }      \
  void __tsan_unaligned_write##n(void *at) { touch(at, n, WRITTEN); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_read_range(void *at, size_t n) { touch(at, n, READ); }
void __tsan_write_range(void *at, size_t n) { touch(at, n, WRITTEN); }

void *__real_memcpy(void *to, const void *from, size_t n), *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n) {
  touch(from, n, READ);
  touch(to, n, WRITTEN);
  return __real_memcpy(to, from, n);
}
void *__wrap_memmove(void *to, const void *from, size_t n) {
  touch(from, n, READ);
  touch(to, n, WRITTEN);
  return __real_memmove(to, from, n);
}
void *__wrap_memset(void *to, int value, size_t n) {
  touch(to, n, WRITTEN);
  return __real_memset(to, value, n);
}

static void *must(void *memory) {
  if (memory == NULL) exit(2);
  return memory;
}

static uint8_t *zeros(size_t n) { return must(calloc(1, n + 16)); }

static uint8_t *loaded(const char *path) {
  FILE *file = must(fopen(path, "rb"));
  if (fseek(file, 0, SEEK_END) != 0) exit(2);
  const long size = ftell(file);
  uint8_t *bytes = must(aligned_alloc(16, ((size_t)size + 15) / 16 * 16));
  rewind(file);
  if (fread(bytes, 1, (size_t)size, file) != (size_t)size) exit(2);
  fclose(file);
  return bytes;
}

/* Synchronises two cores with counting semaphores. A core's touched bytes are flushed at each barrier. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int count[2];
} barrier;

static void wake(void *context, int core) {
  barrier *m = (barrier *)context;
  pthread_mutex_lock(&m->mutex);
  ++m->count[core];
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->mutex);
}

static void wait(void *context, int core) {
  barrier *m = (barrier *)context;
  pthread_mutex_lock(&m->mutex);
  while (m->count[core] == 0) pthread_cond_wait(&m->changed, &m->mutex);
  --m->count[core];
  pthread_mutex_unlock(&m->mutex);
  if (mine != NULL) {
    flush();
  } else { /* core 1 begins */
    mine = must(calloc(1, sizeof *mine));
    mine->marks = zeros(arena_bytes);
    mine->core = 1;
  }
}

static void *work(void *team) {
  tmo_run_worker((tmo_team *)team);
  flush();
  return NULL;
}

static tmo_status run_two(const void *program, void *const *io, void *workspace) {
  barrier m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0, 0}};
  tmo_team team = {.wake = wake, .wait = wait, .context = &m};
  pthread_t worker;
  if (pthread_create(&worker, NULL, work, &team) != 0) exit(2);
  const tmo_status status = tmo_run_shared(&team, program, io, workspace);
  pthread_join(worker, NULL);
  return status;
}

/* Runs on one core. A step that waits for rows of a streamed input counts towards the next iteration. */
static tmo_status run_one(const void *program, void *const *io, void *workspace) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  while (status == TMO_MORE || (status == TMO_WAIT && run.stream != NULL)) {
    const uint32_t left = run.iterations;
    if (status == TMO_WAIT) tmo_more_rows(&run);
    status = tmo_step(&run);
    if (run.iterations < left) flush();
  }
  return status;
}

/* An external input: uint8, which the executor converts to int8 in the arena. */
static tmo_source source_of(const void *program) {
  const tmo_tensor *t = tmo_tensors(program);
  while (t->base != 1) ++t;
  const uint32_t bytes = tmo_row_bytes(t) * t->height;
  const tmo_source frame = {zeros(bytes), bytes, tmo_row_bytes(t), 0, 0, TMO_FORMAT_UINT8};
  return frame;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const uint8_t *blob = loaded(argv[1]);
  const bool two = argv[2][0] == '2';
  const uint32_t *words = (const uint32_t *)(const void *)blob;
  const blob_case *cases = (const blob_case *)(const void *)(blob + words[2]);
  for (current_case = 0; current_case < words[1]; ++current_case) {
    const blob_case *c = &cases[current_case];
    const blob_io *io = (const blob_io *)(const void *)(blob + c->io);
    uint8_t *memory = must(aligned_alloc(16, (c->arena_bytes + 15) / 16 * 16));
    void *buffers[TMO_MAX_IO + 2];
    tmo_source frame;
    uint32_t n = 0;
    if (tmo_input_of(blob + c->program) == TMO_INPUT_EXTERNAL) {
      frame = source_of(blob + c->program);
      buffers[n++] = &frame;
    }
    for (uint32_t i = 0; i < c->arena_bytes; ++i) memory[i] = 0;
    for (uint32_t i = 0; i < c->n_inputs + c->n_outputs; ++i) buffers[n++] = memory + io[i].arena;
    buffers[n] = memory + c->state;
    arena = memory;
    arena_bytes = c->arena_bytes;
    touches first = {zeros(arena_bytes), 0, 0};
    mine = &first;
    const tmo_status status = (two ? run_two : run_one)(blob + c->program, buffers, memory + c->workspace);
    mine = NULL;
    if (status != TMO_OK && status != TMO_WAIT) return 1;
    free(first.marks);
    free(memory);
  }
  return 0;
}
