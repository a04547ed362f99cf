/* SPDX-License-Identifier: Apache-2.0 */
/* This file has the function that core 1 runs. */
#include "tmo/cores.h"

void tmo_run_worker(tmo_team *team) {
  team->wait(team->context, 1);
  team->status = team->help(team);
  team->wake(team->context, 0);
}
