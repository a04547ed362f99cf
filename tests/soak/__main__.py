"""As many random cases as asked, on all processors: `make soak N=10000` or `python -m soak KIND N`, from tests/.

Every case is drawn from a seed; a failure prints it, and for networks the smallest recipe that shows it.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from hostile.judge import Outcome, judge
from hypothesis import HealthCheck, given, seed, settings
from property.networks import recipes
from property.test_random_models import examine, examine_forced
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

CHUNK = 50
"""Cases that one task draws."""


def networks(cases: range) -> list[str]:
    """Random networks, converted and compared under TFLM; hypothesis makes a failure small."""
    several = settings(
        max_examples=len(cases), deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    try:
        several(seed(cases.start)(given(recipes())(examine)))()
    except BaseException:
        return [f"networks, seed {cases.start}:\n{traceback.format_exc()}"]
    return []


def plans(cases: range) -> list[str]:
    """Plans that no planner would choose, each on a random network."""
    failures = []
    for case in cases:
        try:
            examine_forced(case)
        except Exception:
            failures.append(f"plans, seed {case}:\n{traceback.format_exc()}")
    return failures


def files(cases: range) -> list[str]:
    """Damaged .tflite files."""
    return [f"files, seed {v.seed}: {v.detail}" for v in judge(cases) if v.outcome is Outcome.DEFECT]


KINDS: dict[str, Callable[[range], list[str]]] = {"networks": networks, "plans": plans, "files": files}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when a case failed."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a processor)")
    args = parser.parse_args(arguments)
    end = args.first + args.count
    chunks = [range(at, min(at + CHUNK, end)) for at in range(args.first, end, CHUNK)]
    failures: list[str] = []
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(args.jobs) as pool:
        bar = progress.add_task(args.kind, total=args.count)
        tasks = {pool.submit(KINDS[args.kind], chunk): chunk for chunk in chunks}
        for task in as_completed(tasks):
            for failure in task.result():
                progress.console.print(failure, markup=False, highlight=False)
                failures.append(failure)
            progress.advance(bar, len(tasks[task]))
    print(f"{args.kind}: {args.count:,} cases from seed {args.first}, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
