/* SPDX-License-Identifier: Apache-2.0 */
/* The second core's side of a run on two cores. The code of the second core is the same for every table of kernels. */
#include "tmo/cores.h"

void tmo_run_worker(tmo_team *team) {
  team->wait(team->context, 1);
  team->status = team->help(team);
  team->wake(team->context, 0);
}
