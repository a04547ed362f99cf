/* Damages valid programs, and runs each damaged program that tmo_check() still accepts. A program for two cores runs on two threads if
 * tmo_check_cores() accepts it. The process ends if a run exceeds the time limit or a sanitizer finds an error.
 *
 * A case selects a valid program and a few edits of its fields or buffers.
 *
 *   fuzz SEED COUNT FILE...                              runs COUNT random cases.
 *   fuzz CORPUS -ignore_remaining_args=1 FILE...         With TMO_LIBFUZZER, looks for cases that run new code.
 *
 * A FILE has the uint32 numbers n_inputs and n_outputs, the size of each input and output, the inputs, the expected
 * outputs, and the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h> /* alarm() */

#include "tmo/access.h"
#include "tmo/loops.h"
#include "tmo_threads.h"

#ifdef __SANITIZE_THREAD__
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, size_t size, const char *why);
#else
#define AnnotateBenignRaceSized(file, line, address, size, why) (void)(size)
#endif

#define MAX_IO 8
#define MAX_FILES 256
#define MAX_EDITS 16
#define SECONDS 20 /* time limit of a run in seconds */

typedef struct {
  uint32_t n_inputs, n_outputs;
  uint32_t io_bytes[MAX_IO + 2]; /* an edit may change the size of the state or of slow memory */
  uint8_t *io[MAX_IO]; /* buffers of all inputs, followed by buffers of the expected outputs */
  uint32_t input_bytes, row_bytes;
  uint32_t workspace;
  uint8_t *program;
  size_t size;
  size_t tables;
  uint32_t shardings, n_shardings; /* offset and length of the table tmo_sharding[], for two cores */
} sample;

typedef struct {
  uint8_t kind;
  uint8_t length;
  uint16_t from;
  uint32_t at;
  uint32_t value;
} edit;

static sample samples[MAX_FILES];
static uint32_t n_samples;
static uint64_t most_cost = 2000000; /* maximum number of byte operations in a run */

static void *must(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

static uint8_t *read_exactly(FILE *file, size_t n) {
  uint8_t *bytes = must(malloc(n + 1));
  if (fread(bytes, 1, n, file) != n) abort();
  return bytes;
}

static const tmo_copy *copy_of(const sample *s, const tmo_op *op) {
  return (const tmo_copy *)(const void *)(s->program + op->copy);
}

static size_t tables_end(const sample *s, const tmo_op *op) {
  if (tmo_copies_weights(op)) return op->weights + sizeof(tmo_copied);
  if (op->access == 0) return 0;
  size_t end = op->access + op->n_inputs * sizeof(tmo_access);
  if (op->kind == TMO_OP_COPY) {
    const size_t moves = op->copy + sizeof(tmo_copy) + copy_of(s, op)->n_moves * sizeof(tmo_move);
    end = moves > end ? moves : end;
  }
  return end;
}

static size_t cores_end(const sample *s) {
  const tmo_cores *cores = tmo_cores_of(s->program);
  if (cores == NULL) return 0;
  const tmo_header *h = tmo_header_of(s->program);
  const size_t bits = h->iterations / 8 + 1;
  const size_t ends[] = {(size_t)((const uint8_t *)(cores + 1) - s->program), cores->shardings + h->n_ops * sizeof(tmo_sharding), cores->barriers + bits,
                         cores->serial > 0 ? cores->serial + bits : 0};
  size_t end = 0;
  for (int i = 0; i < 4; ++i) end = ends[i] > end ? ends[i] : end;
  return end;
}

static sample load(const char *path) {
  sample s = {0};
  FILE *file = must(fopen(path, "rb"));
  if (fread(&s.n_inputs, 4, 1, file) != 1 || fread(&s.n_outputs, 4, 1, file) != 1) abort();
  const uint32_t n = s.n_inputs + s.n_outputs;
  if (n > MAX_IO || fread(s.io_bytes, 4, n, file) != n) abort();
  for (uint32_t i = 0; i < n; ++i) s.io[i] = read_exactly(file, s.io_bytes[i]);
  const long start = ftell(file);
  if (start < 0 || fseek(file, 0, SEEK_END) != 0) abort();
  s.size = (size_t)(ftell(file) - start);
  if (fseek(file, start, SEEK_SET) != 0) abort();
  s.program = read_exactly(file, s.size);
  fclose(file);
  const tmo_header *h = tmo_header_of(s.program);
  s.workspace = h->workspace;
  const uint32_t slow = tmo_slow_bytes(s.program);
  s.io_bytes[n] = h->state > 0 ? h->state : slow;
  s.io_bytes[n + 1] = h->state > 0 ? slow : 0;
  s.input_bytes = s.io_bytes[0];
  s.tables = h->groups + h->n_groups * sizeof(tmo_group);
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    const tmo_tensor *t = &tmo_tensors(s.program)[i];
    if (t->base == 1) s.row_bytes = t->width * t->channels;
    if (t->base == 1 && h->input == TMO_INPUT_STREAM) s.io_bytes[0] = t->pushed * s.row_bytes;
    const size_t end = t->column_windows + t->n_column_windows * sizeof(tmo_column_window);
    if (end > s.tables) s.tables = end;
  }
  for (uint32_t i = 0; i < h->n_ops; ++i) {
    const size_t end = tables_end(&s, &tmo_ops(s.program)[i]);
    if (end > s.tables) s.tables = end;
  }
  for (uint32_t i = 0; i < h->n_groups; ++i) {
    const tmo_group *group = &tmo_groups(s.program)[i];
    const tmo_loop_body loops = tmo_read_loop(tmo_loops(s.program, group), s.program + s.size, group->n_ops);
    const size_t end = (size_t)(loops.end + 1 - s.program);
    if (end > s.tables) s.tables = end;
  }
  if (cores_end(&s) > s.tables) s.tables = cores_end(&s);
  if (tmo_cores_of(s.program) != NULL) {
    s.shardings = tmo_cores_of(s.program)->shardings;
    s.n_shardings = h->n_ops;
  }
  for (const tmo_rolling_buffer *rolling_buffer = tmo_rolling_buffers(s.program); h->rolling_buffers > 0; ++rolling_buffer) {
    const size_t end = (size_t)((const uint8_t *)(rolling_buffer + 1) - s.program);
    if (end > s.tables) s.tables = end;
    if (rolling_buffer->depth == 0) break;
  }
  return s;
}

static uint32_t resized(uint32_t size, const edit *e) {
  return e->length % 2 && size > 4 ? size - e->length / 2 % 5 : e->value % 8192;
}

static void apply(sample *s, const edit *e) {
  const size_t tables = s->tables < s->size ? s->tables : s->size;
  if (tables < 4) return;
  switch (e->kind % 11) {
    case 0: s->program[e->at % tables] = (uint8_t)e->value; break;
    case 1: s->program[e->at % tables] ^= (uint8_t)(1u << e->value % 8); break;
    case 2:
    case 3: memcpy(s->program + e->at % (tables / 2) * 2, &e->value, 2); break;
    case 4:
    case 5: memcpy(s->program + e->at % (tables / 4) * 4, &e->value, 4); break;
    case 6: {
      const size_t n = 2u + 2u * (e->length % 30u);
      if (n < tables) memmove(s->program + e->at % (tables - n), s->program + e->from % (tables - n), n);
      break;
    }
    case 7: s->program[e->at % s->size] = (uint8_t)e->value; break;
    case 8: {
      if (s->size < sizeof(tmo_header)) break;
      const tmo_header *h = tmo_header_of(s->program);
      const size_t at = h->tensors + (size_t)(e->at % (h->n_tensors + 1u)) * sizeof(tmo_tensor);
      tmo_tensor t;
      if (at > s->size || s->size - at < sizeof t) break;
      memcpy(&t, s->program + at, sizeof t);
      const uint32_t by = 2u + e->length % 3u, bytes = t.width * t.channels;
      t.channels = e->from % 2 ? t.channels * by : t.channels / by;
      t.width = (uint16_t)(t.channels > 0 ? bytes / t.channels : t.width);
      memcpy(s->program + at, &t, sizeof t);
      break;
    }
    case 9: {
      const tmo_sharding sharding = {(uint16_t)(TMO_SHARDING_COLUMNS + e->length % 2), (uint16_t)(e->value % 48), {e->from % 4u * 4u}};
      const size_t at = s->shardings + (s->n_shardings > 0 ? e->at % s->n_shardings : 0) * sizeof sharding;
      if (s->n_shardings > 0 && at + sizeof sharding <= s->size) memcpy(s->program + at, &sharding, e->from % 2 ? 4 : sizeof sharding);
      break;
    }
    default: {
      const uint32_t n_io = s->n_inputs + s->n_outputs + 1, i = e->at % (n_io + 2);
      if (i < n_io) s->io_bytes[i] = resized(s->io_bytes[i], e);
      else if (i == n_io) s->workspace = resized(s->workspace, e);
      else s->size = resized((uint32_t)s->size - 1, e) % s->size + 1;
    }
  }
}

static uint64_t cost(const sample *s, const tmo_op *op) {
  const tmo_tensor *tensors = tmo_tensors(s->program);
  const tmo_tensor *in = &tensors[op->input[0]], *out = &tensors[op->output];
  const uint64_t taps = (uint64_t)(op->kernel_w < in->width ? op->kernel_w : in->width) * (op->kernel_h < in->height ? op->kernel_h : in->height);
  if (op->kind == TMO_OP_COPY) {
    const tmo_copy *copy = copy_of(s, op);
    const tmo_move *moves = (const tmo_move *)(const void *)(copy + 1);
    uint64_t bytes = (uint64_t)out->width * out->channels;
    for (uint32_t i = 0; i < copy->n_moves; ++i) bytes += (uint64_t)moves[i].count * (1 + moves[i].bytes);
    return bytes;
  }
  const bool part = op->tile > 0 && op->tile < out->width && !tmo_iterative(op);
  const uint64_t bytes = (uint64_t)(part ? op->tile : out->width) * out->channels;
  const bool mixes = op->kind == TMO_OP_CONV || op->kind == TMO_OP_CONV_S16 || op->kind == TMO_OP_TRANSPOSE_CONV || op->kind == TMO_OP_TRANSPOSE_CONV_S16;
  return bytes * (1 + taps * (mixes ? in->channels : 1));
}

static void push(const sample *s, void *const *io, uint32_t n) {
  const uint64_t at = (uint64_t)n * s->io_bytes[0], left = at < s->input_bytes ? s->input_bytes - at : 0;
  memcpy(io[0], s->io[0] + (left > 0 ? at : 0), left < s->io_bytes[0] ? left : s->io_bytes[0]);
}

static uint64_t dearest_iteration(const sample *s) {
  const tmo_op *ops = tmo_ops(s->program);
  uint64_t dearest = 1;
  for (uint32_t i = 0; i < tmo_header_of(s->program)->n_ops; ++i) {
    if (cost(s, &ops[i]) > dearest) dearest = cost(s, &ops[i]);
  }
  return dearest;
}

static bool run_shared(const sample *s, void *const *io, void *workspace) {
  if (tmo_header_of(s->program)->iterations > most_cost / dearest_iteration(s)) return false;
  return tmo_run_threads(s->program, io, workspace, 0) == TMO_OK;
}

static bool run(const sample *s, void *const *io, void *workspace) {
  const tmo_op *ops = tmo_ops(s->program);
  const uint64_t dearest = dearest_iteration(s);
  uint64_t spent = 0;
  uint32_t pushes = 0;
  tmo_run_state state_of_run;
  tmo_begin(&state_of_run, s->program, io, workspace);
  while (spent + dearest < most_cost) {
    const tmo_status status = tmo_step(&state_of_run);
    if (status == TMO_WAIT && state_of_run.stream == NULL) return true;
    if (status == TMO_WAIT) {
      push(s, io, ++pushes);
      tmo_more_rows(&state_of_run);
      ++spent;
    } else if (status == TMO_MORE) {
      spent += 1 + cost(s, &ops[state_of_run.op]);
    } else {
      return status == TMO_OK;
    }
  }
  return false;
}

typedef enum { REFUSED, ACCEPTED, ENDED, RIGHT } outcome;

static void *noise(uint32_t n) {
  void *bytes = memset(must(malloc(n > 0 ? n : 1)), 0x5C, n);
  AnnotateBenignRaceSized(__FILE__, __LINE__, bytes, n, "a damaged program may make both cores use them");
  return bytes;
}

static uint32_t bytes_of(const sample *s, uint32_t i) {
  const bool slow = tmo_header_of(s->program)->pools > 0 && i + 1 == tmo_slow_base(s->program);
  return slow ? tmo_slow_bytes(s->program) : s->io_bytes[i];
}

/* Runs a program in the smallest buffers that tmo_check() allows, and returns RIGHT if its outputs equal the expected
 * outputs. */
static outcome try_program(const sample *s, const sample *original) {
  if (tmo_check(s->program, s->size, s->io_bytes, s->n_inputs, s->n_outputs, s->workspace) != TMO_OK) return REFUSED;
  if (tmo_check_cores(s->program) != TMO_OK) return REFUSED;
  const uint32_t n = s->n_inputs + s->n_outputs;
  void *io[MAX_IO + 2], *workspace = noise(s->workspace);
  for (uint32_t i = 0; i <= n + 1; ++i) io[i] = noise(bytes_of(s, i));
  memset(io[n], 0, bytes_of(s, n));
  tmo_source frame = {s->io[0], original->input_bytes, original->row_bytes, 0, 0, TMO_FORMAT_INT8};
  const uint16_t input = tmo_header_of(s->program)->input;
  for (uint32_t i = 0; i < s->n_inputs; ++i) {
    if (i == 0 && input == TMO_INPUT_STREAM) {
      push(s, io, 0);
      continue;
    }
    memcpy(io[i], s->io[i], s->io_bytes[i] < original->io_bytes[i] ? s->io_bytes[i] : original->io_bytes[i]);
  }
  void *const in_arena = io[0];
  if (input == TMO_INPUT_EXTERNAL) io[0] = &frame;
  outcome result = (tmo_cores_of(s->program) != NULL ? run_shared : run)(s, io, workspace) ? RIGHT : ACCEPTED;
  for (uint32_t i = s->n_inputs; i < n && result == RIGHT; ++i) {
    if (s->io_bytes[i] != original->io_bytes[i] || memcmp(io[i], s->io[i], s->io_bytes[i]) != 0) result = ENDED;
  }
  if (result >= ENDED && input != TMO_INPUT_STREAM && tmo_cores_of(s->program) == NULL) {
    (void)tmo_run(s->program, io, workspace); /* tmo_step() never computes several tiles at once */
  }
  if (s->io_bytes[n] > 0) {
    (void)run(s, io, workspace);
    memset(io[n], 0xA5, bytes_of(s, n));
    (void)run(s, io, workspace);
  }
  io[0] = in_arena;
  free(workspace);
  for (uint32_t i = 0; i <= n + 1; ++i) free(io[i]);
  return result;
}

static void release(sample *s) {
  for (uint32_t i = 0; i < s->n_inputs + s->n_outputs; ++i) free(s->io[i]);
  free(s->program);
}

static bool misaligned_is_refused(const sample *s) {
  uint8_t *room = must(malloc(s->size + 8));
  memcpy(room + 8, s->program, s->size);
  const tmo_status status = tmo_check(room + 8, s->size, s->io_bytes, s->n_inputs, s->n_outputs, s->workspace);
  free(room);
  return status == TMO_ERROR_ALIGNMENT;
}

static int load_all(char **files, int n) {
  if (n < 1 || n > MAX_FILES) return 2;
  for (int i = 0; i < n; ++i) {
    sample *s = &samples[n_samples];
    *s = load(files[i]);
    const tmo_status build = tmo_check_build(s->program, s->size, s->n_inputs, s->n_outputs, s->workspace);
    if (build == TMO_ERROR_KERNEL) { /* this build lacks a kernel of the program */
      release(s);
      continue;
    }
    const bool unlisted = (uint64_t)(TMO_PARTS) != UINT64_MAX && tmo_header_of(s->program)->parts == 0;
    if (try_program(s, s) != RIGHT && !unlisted) return 3; /* the undamaged program must run */
    if (!misaligned_is_refused(s)) return 4;
    ++n_samples;
  }
  return n_samples > 0 ? 0 : 5;
}

/* The first two bytes of a case are the number of a program. */
static outcome try_case(const uint8_t *data, size_t size) {
  uint16_t which = 0;
  memcpy(&which, data, size < sizeof which ? size : sizeof which);
  const sample *good = &samples[which % n_samples];
  sample s = *good;
  uint8_t *room = memcpy(must(malloc(good->size)), good->program, good->size);
  s.program = room;
  for (size_t at = sizeof which, n = 0; at + sizeof(edit) <= size && n < MAX_EDITS; at += sizeof(edit), ++n) {
    edit e;
    memcpy(&e, data + at, sizeof e);
    apply(&s, &e);
  }
  s.program = memcpy(must(malloc(s.size)), room, s.size);
  const outcome result = try_program(&s, good);
  free(s.program);
  free(room);
  return result;
}

static uint64_t state;

static uint32_t random_below(uint32_t n) { /* splitmix64 */
  uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return n == 0 ? 0 : (uint32_t)((z ^ (z >> 31)) >> 32) % n;
}

static uint32_t interesting(void) {
  static const uint32_t values[] = {0, 1, 2, 3, 7, 8, 15, 31, 63, 64, 65, 127, 128, 255, 4095, 32767, 32768, 65535, 65536,
                                    0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF};
  return random_below(3) == 0 ? random_below(100) : values[random_below(sizeof values / sizeof values[0])];
}

static edit random_edit(void) {
  edit e = {(uint8_t)random_below(11), (uint8_t)random_below(256), (uint16_t)random_below(1 << 16), random_below(1 << 30), 0};
  e.value = e.kind >= 7 ? random_below(1 << 16) : interesting();
  return e;
}

#ifdef TMO_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  int first = 1;
  while (first < *argc && strcmp((*argv)[first - 1], "-ignore_remaining_args=1") != 0) ++first;
  const int status = load_all(*argv + first, *argc - first);
  if (status != 0) exit(status);
  most_cost /= 10; /* libFuzzer prefers cases that run long */
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_case(data, size);
  return 0;
}

/* Changes bytes of a case for libFuzzer, or replaces or adds an edit. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
  state = seed;
  const size_t n = size < 2 ? 0 : (size - 2) / sizeof(edit);
  uint8_t *at = data + 2 + random_below((uint32_t)n + 1) * sizeof(edit);
  if (size < 2 || at + sizeof(edit) > data + most || random_below(2)) return LLVMFuzzerMutate(data, size, most);
  const edit e = random_edit();
  memcpy(at, &e, sizeof e);
  return at + sizeof e > data + size ? (size_t)(at + sizeof e - data) : size;
}

#else

int main(int argc, char **argv) {
  const int status = argc < 4 ? 2 : load_all(argv + 3, argc - 3);
  if (status != 0) return status;
  uint64_t outcomes[RIGHT + 1] = {0};
  const uint64_t seed = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
  for (uint64_t i = 0; i < count; ++i) {
    state = seed * 1000003u + i;
    uint8_t data[2 + 3 * sizeof(edit)];
    const uint16_t which = (uint16_t)random_below(n_samples);
    const uint32_t n = 1 + random_below(3);
    memcpy(data, &which, 2);
    for (uint32_t k = 0; k < n; ++k) {
      const edit e = random_edit();
      memcpy(data + 2 + k * sizeof e, &e, sizeof e);
    }
    alarm(SECONDS);
    ++outcomes[try_case(data, 2 + n * sizeof(edit))];
  }
  printf("%llu refused, %llu unfinished, %llu finished, %llu of these with the right outputs\n",
         (unsigned long long)outcomes[REFUSED], (unsigned long long)outcomes[ACCEPTED],
         (unsigned long long)(outcomes[ENDED] + outcomes[RIGHT]), (unsigned long long)outcomes[RIGHT]);
  return 0;
}

#endif
