/* Which of six drawn shapes is it? TensorFlow Lite Micro on core 0; the other core helps inside its Invoke(). */
#ifndef CLASSIFY_H_
#define CLASSIFY_H_

#include "tmo/cores.h"

/* Once, before the other core calls tmo_run_worker(team) for ever. False: TFLM has said why. */
bool prepare(tmo_team *team);

/* Prints the shape, and whether its scores are those of a PC. */
void classify();

#endif  // CLASSIFY_H_
