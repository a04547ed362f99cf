"""Run random cases on all processors: `make soak N=10000` or `python -m soak KIND N`, from tests/.

Every case is drawn from a seed, and a failed case prints the command that repeats it and, for networks, a small recipe.
If a process dies, all of its cases are counted as failures. The kind `programs` uses libFuzzer, which needs clang and
writes damaged programs to build/soak.
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from soak.cases import KINDS, Failure, work


def apart(kind: str, cases: range) -> list[Failure]:
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return process.submit(work, kind, cases).result()
    except BrokenProcessPool as ended:
        return [Failure(cases, str(ended))]


def told(kind: str, failure: Failure) -> str:
    first, count = failure.cases.start, len(failure.cases)
    again = f"{sys.executable} -m soak {kind} {count} --first {first} --jobs 1"
    what = f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"
    return f"{kind}, {what}: {failure.detail.rstrip()}\nagain, in tests/: {again}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a processor)")
    args = parser.parse_args(arguments)
    if args.count < 1 or args.jobs < 1:
        parser.error("count and jobs are at least 1")
    end = args.first + args.count
    chunk = max(1, min(KINDS[args.kind][1], -(-args.count // args.jobs)))
    chunks = [range(at, min(at + chunk, end)) for at in range(args.first, end, chunk)]
    failures = 0
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(args.jobs) as pool:
        bar = progress.add_task(args.kind, total=args.count)
        tasks = {pool.submit(apart, args.kind, cases): cases for cases in chunks}
        for task in as_completed(tasks):
            for failure in task.result():
                progress.console.print(told(args.kind, failure), markup=False, highlight=False, soft_wrap=True)
                failures += 1
            progress.advance(bar, len(tasks[task]))
    print(f"{args.kind}: {args.count:,} cases from seed {args.first}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
