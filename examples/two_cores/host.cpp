/* A PC: the second core is a thread, and each core has a semaphore, which orders memory. */
#include <pthread.h>
#include <semaphore.h>

#include "classify.h"

namespace {

sem_t woken[2];

void wake(void *, int core) { sem_post(&woken[core]); }

void wait(void *, int core) {
  while (sem_wait(&woken[core]) != 0) {
  }
}

tmo_team team = {wake, wait, nullptr, nullptr, nullptr, nullptr, TMO_OK, nullptr};

void *second_core(void *) {
  for (;;) tmo_run_worker(&team);
}

}  // namespace

int main() {
  pthread_t thread;
  sem_init(&woken[0], 0, 0);
  sem_init(&woken[1], 0, 0);
  if (!prepare(&team) || pthread_create(&thread, nullptr, second_core, nullptr) != 0) return 1;
  classify();
  return 0; /* the thread ends with it */
}
