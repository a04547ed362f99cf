"""Convert damaged files in child processes, and report what happened. `python -m hostile.server` reads a seed per line,
and writes [outcome, detail] for each seed.

The server imports all modules once, and then starts child processes by fork(). A crash, a hang or a huge allocation
ends the child process, and becomes the outcome for the file. Another child process continues with the next file.
"""

import contextlib
import faulthandler
import gc
import io
import json
import math
import os
import random
import resource
import signal
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal

from hostile.judge import Outcome
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

SECONDS = 10
"""Seconds of CPU time for examining one file."""
PATIENCE = 1
"""Seconds of CPU time for TFLM with the original model, which usually takes milliseconds."""
BYTES = 2 * 10**9
"""Number of bytes that a child process may use in addition to those of its parent."""
HANGS = 60
"""Limit of real time of a child process, as a multiple of its CPU time, because processes may wait."""
TOLD = 1 / 4
"""Fraction of the files for which reports are written."""

Answer = tuple[Outcome, str]


def examine(data: bytes) -> Answer:
    chance = random.Random(zlib.crc32(data))
    op_per: Literal["region", "group"] = chance.choice(("region", "group"))
    try:
        inspected = tflm_memopt.inspect(data)
        done = tflm_memopt.optimize(data, seconds=0.02, target=chance.choice(sorted(TARGETS)), op_per=op_per)
    except PlanError as error:  # Every PlanError is a defect of the planner.
        return Outcome.DEFECT, str(error)
    except MemoptError as error:
        return Outcome.REFUSED, str(error)
    if chance.random() < TOLD:
        tell(inspected, done)
    if not done.report.changed:
        return Outcome.UNCHANGED, done.report.why_unchanged
    ((expected, _),) = in_children([partial(outputs_anywhere, data)], PATIENCE)  # TFLM may crash or hang.
    if expected is None:
        return Outcome.UNKNOWN, ""
    got = outputs(oracle.rewritten(done.model), read(data).graph)
    return (Outcome.SAME, "") if got == expected else (Outcome.DEFECT, "other output bytes than the original's")


@cache
def warm() -> None:
    """Import lazily loaded modules once for all children of this process."""
    data = corpus()[0]
    examine(data)
    tell(tflm_memopt.inspect(data), tflm_memopt.optimize(data, seconds=0))


def tell(inspected: Inspection, done: Optimized) -> None:
    json.dumps([inspected.to_json(), done.report.to_json(), done.plan.to_json() if done.plan else None])
    console = Console(file=io.StringIO())
    console.print(text.inspection(inspected), text.optimized(done.report, Path(), []))
    html.inspection(inspected)
    html.optimized(done)


def in_children(work: Sequence[Callable[[], object]], seconds: int) -> Iterator[tuple[object, str]]:
    """Run functions in child processes with limits. Yield (JSON result, "") or (None, error text) for each."""
    done = 0
    while done < len(work):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                _work(work[done:], seconds, writer)
            finally:  # A child must not continue its parent's work.
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
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)  # Children of the child keep the existing limit.
    most = _data() + BYTES if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
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
    """Return the number of bytes that count towards RLIMIT_DATA."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def _end(status: int, seconds: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"ended with exit code {os.WEXITSTATUS(status)}"
    cause = signal.Signals(os.WTERMSIG(status))
    return f"over {seconds} s" if cause is signal.SIGXCPU else f"crashed with {cause.name}"


def examine_mutant(seed: int) -> Answer:
    return examine(mutant(seed))


def serve() -> None:
    """Answer requests until standard input ends. TFLM prints to standard output, so answers need another stream."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    fill_memory(-86)  # Kernels must not depend on zeros in memory.
    warm()
    os.dup2(nowhere, 2)
    gc.freeze()  # Child processes share existing objects.
    for line in sys.stdin:
        for answer, failure in in_children([partial(examine_mutant, seed) for seed in json.loads(line)], SECONDS):
            print(json.dumps(answer or [Outcome.DEFECT, failure]), file=answers, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve()
