/* SPDX-License-Identifier: Apache-2.0 */
/* This file has the code that the second core runs. The second core's code is the same for every table of kernels. */
#include "tmo/cores.h"

void tmo_run_worker(tmo_team *team) {
  team->wait(team->context, 1);
  team->status = team->help(team);
  team->wake(team->context, 0);
}
