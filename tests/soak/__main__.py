"""As many random cases as asked, on all processors: `make soak N=10000` or `python -m soak KIND N`, from tests/.

Every case is drawn from a seed; a failure prints it, and for networks the smallest recipe that shows it. `programs` are
for libFuzzer, which needs clang; what it finds is left in build/soak.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from conftest import ROOT
from hostile.judge import Outcome, judge
from hypothesis import HealthCheck, given, seed, settings
from kernels.conftest import compiled
from kernels.test_fuzz import write_samples
from property.networks import recipes
from property.test_random_models import examine, examine_forced
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

FOLDER = ROOT / "build/soak"
FUZZER = "clang -DTMO_LIBFUZZER -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
LIMITS = ("-timeout=10", "-rss_limit_mb=2000", "-max_len=194", "-len_control=0")
"""Of one program: seconds, and MB of everything; and bytes of a case: 16 edits."""


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


def programs(cases: range) -> list[str]:
    """Damaged programs in the C executor, under AddressSanitizer and UndefinedBehaviorSanitizer (kernels/fuzz.c)."""
    folder = FOLDER / f"programs{cases.start}"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    good = write_samples(folder)
    for number in range(len(good)):
        (corpus / f"good{number}").write_bytes(number.to_bytes(2, "little"))
    fuzzer = compiled(FUZZER, "fuzz.c", folder / "fuzz")
    flags = [f"-runs={len(cases)}", f"-seed={cases.start + 1}", f"-artifact_prefix={folder}/", *LIMITS]
    command = [fuzzer, *flags, corpus, "-ignore_remaining_args=1", *good]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = done.stderr[done.stderr.rfind("ERROR: ") :] if "ERROR: " in done.stderr else done.stderr[-2000:]
        return [f"programs, seed {cases.start + 1}, kept in {folder}:\n{said}"]
    shutil.rmtree(folder)
    return []


KINDS: dict[str, tuple[Callable[[range], list[str]], int]] = {
    "networks": (networks, 50), "plans": (plans, 50), "files": (files, 500), "programs": (programs, 50_000),
}  # fmt: skip
"""What a task does with its cases, and how many it gets at most."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when a case failed."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a processor)")
    args = parser.parse_args(arguments)
    end = args.first + args.count
    work, most = KINDS[args.kind]
    chunk = max(1, min(most, -(-args.count // args.jobs)))
    chunks = [range(at, min(at + chunk, end)) for at in range(args.first, end, chunk)]
    failures: list[str] = []
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(args.jobs) as pool:
        bar = progress.add_task(args.kind, total=args.count)
        tasks = {pool.submit(work, cases): cases for cases in chunks}
        for task in as_completed(tasks):
            for failure in task.result():
                progress.console.print(failure, markup=False, highlight=False)
                failures.append(failure)
            progress.advance(bar, len(tasks[task]))
    print(f"{args.kind}: {args.count:,} cases from seed {args.first}, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
