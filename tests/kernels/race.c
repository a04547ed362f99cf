/* Runs each program of the file CASES on two threads. Each program runs RUNS times, with a different delay in each run. The exit code is 1 if an
 * output is wrong or a run fails.
 *
 *   race CASES RUNS SEED */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmo/access.h"
#include "tmo_threads.h"

typedef struct {
  uint32_t program, program_bytes, arena_bytes, workspace, n_inputs, n_outputs, io, by_operator, state, core;
} blob_case;

typedef struct {
  uint32_t arena, bytes, data;
} blob_io;

static uint8_t *loaded(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(2);
  const long size = ftell(file);
  uint8_t *bytes = aligned_alloc(16, ((size_t)size + 15) / 16 * 16);
  rewind(file);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) exit(2);
  fclose(file);
  return bytes;
}

static bool runs_right(const uint8_t *blob, const blob_case *c, uint32_t runs, uint32_t seed) {
  const blob_io *io = (const blob_io *)(const void *)(blob + c->io);
  const void *program = blob + c->program;
  uint8_t *arena = aligned_alloc(16, (c->arena_bytes + 15) / 16 * 16);
  uint32_t bytes[TMO_MAX_IO];
  void *buffers[TMO_MAX_IO];
  if (arena == NULL || c->n_inputs + c->n_outputs > TMO_MAX_IO) exit(2);
  for (uint32_t i = 0; i < c->n_inputs + c->n_outputs; ++i) {
    bytes[i] = io[i].bytes;
    buffers[i] = arena + io[i].arena;
  }
  tmo_status status = tmo_check(program, c->program_bytes, bytes, c->n_inputs, c->n_outputs, tmo_header_of(program)->workspace);
  if (status == TMO_OK) status = tmo_check_cores(program);
  bool right = status == TMO_OK;
  if (!right) printf("refused with status %d\n", status);
  for (uint32_t run = 0; right && run < runs; ++run) {
    memset(arena, (int)run, c->arena_bytes);
    for (uint32_t i = 0; i < c->n_inputs; ++i) memcpy(buffers[i], blob + io[i].data, io[i].bytes);
    status = tmo_run_threads(program, buffers, arena + c->workspace, seed + run);
    right = status == TMO_OK;
    for (uint32_t i = c->n_inputs; i < c->n_inputs + c->n_outputs; ++i) right = right && memcmp(buffers[i], blob + io[i].data, io[i].bytes) == 0;
    if (!right) printf("status %d, or other outputs, in the run with seed %u\n", status, seed + run);
  }
  free(arena);
  return right;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const uint8_t *blob = loaded(argv[1]);
  const uint32_t runs = (uint32_t)strtoul(argv[2], NULL, 10), seed = (uint32_t)strtoul(argv[3], NULL, 10);
  uint32_t words[3];
  memcpy(words, blob, sizeof words);
  const blob_case *cases = (const blob_case *)(const void *)(blob + words[2]);
  for (uint32_t i = 0; i < words[1]; ++i) {
    if (!runs_right(blob, &cases[i], runs, seed)) {
      printf("case %u of %u differs\n", i, words[1]);
      return 1;
    }
  }
  printf("%u cases, %u runs each\n", words[1], runs);
  return 0;
}
