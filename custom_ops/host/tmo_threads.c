/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tmo_threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint32_t count[2];
  uint32_t seed[2]; /* seed of the random delays of each core, or 0 for no delays */
} barrier;

/* Delays a core at random: one of 8 calls yields, and one of 64 calls waits for up to 20 microseconds. */
static void delay(uint32_t *seed) {
  if (*seed == 0) return;
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  if (*seed % 8 == 0) sched_yield();
  if (*seed % 64 != 1) return;
  const struct timespec some = {0, (long)(*seed >> 8) % 20000};
  nanosleep(&some, NULL);
}

static void wake(void *context, int core) {
  barrier *m = (barrier *)context;
  delay(&m->seed[1 - core]);
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
  delay(&m->seed[core]);
}

static void *work(void *team) {
  tmo_run_worker((tmo_team *)team);
  return NULL;
}

tmo_status tmo_run_threads(const void *program, void *const *io, void *workspace, uint32_t jitter) {
  barrier m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0, 0}, {jitter, jitter ? jitter ^ 0x9E3779B9u : 0}};
  tmo_team team = {.wake = wake, .wait = wait, .context = &m};
  pthread_t worker;
  if (tmo_cores_of(program) == NULL || pthread_create(&worker, NULL, work, &team) != 0) return tmo_run_shared(NULL, program, io, workspace);
  const tmo_status status = tmo_run_shared(&team, program, io, workspace);
  pthread_join(worker, NULL);
  pthread_cond_destroy(&m.changed);
  pthread_mutex_destroy(&m.mutex);
  return status;
}
