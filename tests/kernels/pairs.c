/* Runs two programs in one arena repeatedly, each in its own thread.
 *
 *   pairs RUNS ARENA_BYTES [PROGRAM INPUT EXPECTED INPUT_AT OUTPUT_AT WORKSPACE_AT] twice
 *
 * INPUT and EXPECTED are files: the bytes of input 0, and of output 0. Exit code 1 if an output differs. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmo/tmo.h"

#define MOST (1u << 20)

static _Alignas(16) uint8_t programs[2][MOST], inputs[2][MOST], expected[2][MOST], arena[MOST];

typedef struct {
  int number, runs, different;
  size_t input_bytes, output_bytes, input_at, output_at, workspace_at;
} tenant;

static size_t load(const char *path, uint8_t *to) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  const size_t bytes = fread(to, 1, MOST, file);
  fclose(file);
  return bytes;
}

static void *work(void *argument) {
  tenant *t = (tenant *)argument;
  void *io[2] = {arena + t->input_at, arena + t->output_at};
  for (int i = 0; i < t->runs; ++i) {
    memcpy(arena + t->input_at, inputs[t->number], t->input_bytes);
    if (tmo_run(programs[t->number], io, arena + t->workspace_at) != TMO_OK) exit(3);
    t->different += memcmp(arena + t->output_at, expected[t->number], t->output_bytes) != 0;
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 15 || strtoul(argv[2], NULL, 10) > MOST) return 2;
  tenant tenants[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    char **a = argv + 3 + 6 * i;
    load(a[0], programs[i]);
    const tenant t = {i, atoi(argv[1]), 0, load(a[1], inputs[i]), load(a[2], expected[i]),
                      strtoul(a[3], NULL, 10), strtoul(a[4], NULL, 10), strtoul(a[5], NULL, 10)};
    tenants[i] = t;
  }
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, work, &tenants[i]) != 0) return 2;
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d %d\n", tenants[0].different, tenants[1].different);
  return tenants[0].different + tenants[1].different > 0;
}
