"""Convert damaged files in child processes, and judge what happened.

A crash, a hang or a huge allocation ends only a child process, and becomes the outcome for the damaged file.
"""

import faulthandler
import io
import json
import math
import os
import random
import resource
import signal
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from hostile.mutants import corpus, mutant
from hostile.witness import fill_memory, outputs, outputs_anywhere
from property import oracle
from rich.console import Console

import tflm_memopt
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.errors import MemoptError, PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.report import html, text

CPU_SECONDS = 10
TFLM_CPU_SECONDS = 1
MOST_EXTRA_BYTES = 2 * 10**9
HANGS = 60
"""Longest run of a child process, as a multiple of its limit of CPU time."""
REPORTED = 1 / 4


class Outcome(str, Enum):
    REFUSED = "refused"
    """The converter refused the file with one of the package's errors."""
    UNCHANGED = "unchanged"
    SAME = "same bytes"
    """The converter accepted the file, and TFLM gives the same output bytes for both models."""
    UNKNOWN = "converted; what TFLM makes of the original is undefined"
    DEFECT = "defect"


Answer = tuple[Outcome, str]


@dataclass(frozen=True)
class Verdict:
    seed: int
    outcome: Outcome
    detail: str = ""


def judge(seeds: Sequence[int]) -> Iterator[Verdict]:
    """Judge the converter's results for damaged files, in child processes with limited time and memory."""
    warm()
    work = [partial(_examined, seed) for seed in seeds]
    for seed, (answer, failure) in zip(seeds, in_children(work, CPU_SECONDS), strict=True):
        outcome, detail = answer or (Outcome.DEFECT, failure)
        yield Verdict(seed, Outcome(outcome), detail)


def _examined(seed: int) -> Answer:
    fill_memory(-86)  # Free memory is filled with -86, so that kernels that read uninitialised memory give wrong bytes.
    return examine(mutant(seed))


def examine(data: bytes) -> Answer:
    chance = random.Random(zlib.crc32(data))
    op_per: Literal["region", "group"] = chance.choice(("region", "group"))
    try:
        inspected = tflm_memopt.inspect(data)
        done = tflm_memopt.optimize(data, seconds=0.02, target=chance.choice(sorted(TARGETS)), op_per=op_per)
    except PlanError as error:
        return Outcome.DEFECT, str(error)
    except MemoptError as error:
        return Outcome.REFUSED, str(error)
    if chance.random() < REPORTED:
        tell(inspected, done)
    if not done.report.changed:
        return Outcome.UNCHANGED, done.report.why_unchanged
    ((expected, _),) = in_children([partial(outputs_anywhere, data)], TFLM_CPU_SECONDS)
    if expected is None:
        return Outcome.UNKNOWN, ""
    got = outputs(oracle.rewritten(done.model), read(data).graph)
    return (Outcome.SAME, "") if got == expected else (Outcome.DEFECT, "other output bytes than the original's")


@cache
def warm() -> None:
    """Import all modules before the first fork(), so that child processes start quickly."""
    data = corpus()[0]
    examine(data)
    tell(tflm_memopt.inspect(data), tflm_memopt.optimize(data, seconds=0))


def tell(inspected: Inspection, done: Optimized) -> None:
    json.dumps([inspected.to_json(), done.report.to_json(), done.plan.to_json() if done.plan else None])
    console = Console(file=io.StringIO())
    console.print(text.inspection(inspected), text.optimized(done.report, Path(), []))
    html.inspection(inspected)
    html.optimized(done)


def in_children(work: Sequence[Callable[[], object]], seconds: int) -> Iterator[tuple[Any, str]]:
    """Run functions in child processes, and yield (result, "") or (None, error text) for each function."""
    done = 0
    while done < len(work):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                _work(work[done:], seconds, writer)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            for line in pipe:
                if line.endswith("\n"):
                    done += 1
                    answer, failure = json.loads(line)
                    yield answer, failure
        status = os.waitpid(child, 0)[1]
        if done < len(work):
            done += 1
            yield None, _end(status, seconds)


def _work(work: Sequence[Callable[[], object]], seconds: int, answers: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _data() + MOST_EXTRA_BYTES if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # TFLM prints to standard output.
    os.dup2(nowhere, 2)
    with os.fdopen(answers, "w") as pipe:
        for one in work:
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used) + seconds, resource.RLIM_INFINITY))
            signal.alarm(HANGS * seconds)
            try:
                answer = [one(), ""]
            except BaseException:
                answer = [None, traceback.format_exc()]
            print(json.dumps(answer), file=pipe, flush=True)


def _data() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def _end(status: int, seconds: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"ended with exit code {os.WEXITSTATUS(status)}"
    cause = signal.Signals(os.WTERMSIG(status))
    return f"over {seconds} s" if cause is signal.SIGXCPU else f"crashed with {cause.name}"
