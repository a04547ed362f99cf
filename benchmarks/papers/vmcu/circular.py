"""Compares a circular pool, as in vMCU, with the arena of this package: buffers may wrap at the pool's end.

    python benchmarks/papers/vmcu/circular.py MODEL.tflite...

Two buffers that are live together keep their least distance in both directions around the pool. CP-SAT finds the least
pool for the buffers of each plan, with all groups in forward order and with the groups that the planner reversed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

sys.path[0] = str(Path(__file__).parents[2])  # bottleneck.py in this folder would hide the package of that name

import tflm_memopt  # noqa: E402
from tflm_memopt.plan import cp_sat  # noqa: E402
from tflm_memopt.plan.effort import SearchPart  # noqa: E402
from tflm_memopt.plan.layout import offsets  # noqa: E402
from tflm_memopt.plan.layout.offsets import Layout, LayoutProblem  # noqa: E402

SECONDS = 5.0
"""Deterministic seconds of CP-SAT for each pool."""
ALIGNMENT = 16


def layouts(model: Path) -> list[tuple[LayoutProblem, Layout]]:
    """Return the layouts of the whole model that the planner finds."""
    found: list[tuple[LayoutProblem, Layout]] = []

    def place(problem: LayoutProblem, **limits: object) -> Layout:
        layout = original(problem, **limits)  # type: ignore[arg-type]
        if limits.get("part") is SearchPart.LAYOUT:
            found.append((problem, layout))
        return layout

    original = offsets.place
    with mock.patch.object(offsets, "place", place):
        tflm_memopt.optimize(model, effort="low", if_worthwhile=False)
    return found


def pool(problem: LayoutProblem, below: int) -> int | None:
    """Return the bytes of the least circular pool below a limit, or None if there is none."""
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    model = cp_model.CpModel()
    size = model.new_int_var(max(problem.nbytes, default=0), below - 1, "pool")
    at = [model.new_int_var(0, (below - 1) // align, f"{i}") * align for i, align in enumerate(problem.align)]
    for start in at:
        model.add(start < size)
    for (a, b), distance in problem.constraints.items():
        if a < b:
            back = problem.constraints[b, a]
            above = model.new_bool_var("")
            model.add(at[b] - at[a] >= distance).only_enforce_if(above)
            model.add(size - at[b] + at[a] >= back).only_enforce_if(above)
            model.add(at[a] - at[b] >= back).only_enforce_if(~above)
            model.add(size - at[a] + at[b] >= distance).only_enforce_if(~above)
    model.minimize(size)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = SECONDS
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    return round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None


def rows(models: Sequence[Path]) -> Iterator[tuple[str, int, int | None]]:
    """Yield each model with the top of its layout and a smaller circular pool, if there is one."""
    for model in models:
        found = layouts(model)
        if not found:
            continue
        least = min(layout.top for _, layout in found)
        limit = -(-least // ALIGNMENT) * ALIGNMENT - ALIGNMENT + 1
        problem, layout = next(one for one in found if one[1].top == least)
        ways = {frozenset[int](), layout.backward}
        pools = [pool(problem.decided(backward), limit) for backward in ways if limit > max(problem.nbytes)]
        yield model.name, least, min((n for n in pools if n is not None), default=None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.tflite")
    args = parser.parse_args(arguments)
    for name, top, circular in rows(args.models):
        print(
            f"{name}: {top:,} B, circular pool {'not smaller' if circular is None else f'{circular:,} B'}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
