/* SPDX-License-Identifier: Apache-2.0 */
/* This file has the code that the second core runs. The second core's code does not depend on which kernels the library contains. */
#include "tmo/cores.h"

void tmo_run_worker(tmo_team *team) {
  team->wait(team->context, 1);
  team->status = team->help(team);
  team->wake(team->context, 0);
}
