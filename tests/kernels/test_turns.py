"""Test tmo/turns.h: which of several models in one arena may run, for any order of calls."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiling import run
from conftest import ROOT

MODELS, CALLS, SEED = 5, 4_000, 41
ENTER, PAUSE, LEAVE = range(3)
OK, WAIT, TABLE = 0, 2, -7
MAIN = """
#include <stdio.h>
#include "tmo/turns.h"
int main(void) {
  static tmo_excluded excluded[TMO_MAX_MODELS];
  tmo_turns turns = {excluded, 0, 0, 0};
  unsigned call, model;
  if (scanf("%u", &turns.models) != 1) return 1;
  for (unsigned i = 0; i < turns.models; ++i) {
    if (scanf("%u %u", &excluded[i].running, &excluded[i].paused) != 2) return 1;
  }
  while (scanf("%u %u", &call, &model) == 2) {
    int said = 0;
    if (call == 0) said = tmo_enter(&turns, model);
    if (call == 1) tmo_pause(&turns, model);
    if (call == 2) tmo_leave(&turns, model);
    printf("%d %d\\n", said, tmo_has_turn(&turns, model));
  }
  return 0;
}
"""


def expected(excluded: list[tuple[set[int], set[int]]], calls: list[tuple[int, int]]) -> list[str]:
    """Return the expected answers of the calls, computed with sets of models."""
    running, paused, said = set[int](), set[int](), []
    for call, model in calls:
        status = OK
        if call == ENTER and model >= len(excluded):
            status = TABLE
        elif call == ENTER:
            not_running, not_paused = excluded[model]
            wait = model in running or running & not_running or (paused - {model}) & not_paused
            status = WAIT if wait else OK
            if not wait:
                running.add(model)
                paused.discard(model)
        elif model in running:
            running.discard(model)
            paused |= {model} if call == PAUSE else set()
        said.append(f"{status} {int(model in running)}")
    return said


@pytest.mark.slow
def test_any_order_of_calls(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined"]
    command = ["gcc", *strict, f"-I{ROOT}/custom_ops/include", "main.c", "-o", "turns"]
    run(*command, cwd=tmp_path)
    rng = np.random.default_rng(SEED)
    for models in (1, MODELS, 32):
        sets = [[{j for j in range(models) if rng.random() < 0.4} for _ in range(2)] for _ in range(models)]
        table = [(running, paused) for running, paused in sets]
        drawn = zip(rng.integers(0, 3, CALLS), rng.integers(0, models + 2, CALLS), strict=True)
        calls = [(int(call), int(model)) for call, model in drawn]
        masks = [f"{sum(1 << j for j in a)} {sum(1 << j for j in b)}" for a, b in table]
        given = "\n".join([str(models), *masks, *(f"{call} {model}" for call, model in calls)])
        got = subprocess.run([tmp_path / "turns"], input=given, capture_output=True, text=True, check=True).stdout
        assert got.splitlines() == expected(table, calls), f"seed {SEED}, {models} models"
