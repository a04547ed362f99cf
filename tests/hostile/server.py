"""Judges files: `python -m hostile.server` reads seeds of mutants, many a line, and writes [outcome, detail] for each.

It imports everything once, then forks: a crash, a hang or a run-away allocation ends the child, and is the answer for
the file that it was at; another child goes on with the next one.
"""

from __future__ import annotations

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
from tflm_memopt.errors import MemoptError, PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.report import html, text
from tflm_memopt.results import Inspection, Optimized

SECONDS = 10
"""Of the processor's time, for one file."""
PATIENCE = 1
"""The same for TFLM alone and the original, which takes milliseconds unless the damage leads it astray."""
BYTES = 2 * 10**9
"""Of memory, beside what the process has that forks."""
HANGS = 60
"""Times the processor's time that it may take until it is over: a process that waits takes none."""
TOLD = 1 / 4
"""Of the files, those whose reports are written, too."""

Answer = tuple[Outcome, str]


def examine(data: bytes) -> Answer:
    """Optimizes for some target, reports, and runs both models where TFLM runs the original."""
    chance = random.Random(zlib.crc32(data))
    op_per: Literal["region", "block"] = chance.choice(("region", "block"))
    try:
        inspected = tflm_memopt.inspect(data)
        done = tflm_memopt.optimize(data, seconds=0.02, target=chance.choice(sorted(TARGETS)), op_per=op_per)
    except PlanError as error:  # of a plan of our own
        return Outcome.DEFECT, str(error)
    except MemoptError as error:
        return Outcome.REFUSED, str(error)
    if chance.random() < TOLD:
        tell(inspected, done)
    if not done.report.changed:
        return Outcome.UNCHANGED, done.report.why_unchanged
    ((expected, _),) = in_children([partial(outputs_anywhere, data)], PATIENCE)  # TFLM may crash, or hang
    if expected is None:
        return Outcome.UNKNOWN, ""
    got = outputs(oracle.rewritten(done.model), read(data).graph)
    return (Outcome.SAME, "") if got == expected else (Outcome.DEFECT, "other output bytes than the original's")


@cache
def warm() -> None:
    """Imports what is imported late, once for all children of this process."""
    data = corpus()[0]
    examine(data)
    tell(tflm_memopt.inspect(data), tflm_memopt.optimize(data, seconds=0))


def tell(inspected: Inspection, done: Optimized) -> None:
    """All that programs and people are told: it has the file's names and numbers in it."""
    json.dumps([inspected.to_json(), done.report.to_json(), done.plan.to_json() if done.plan else None])
    console = Console(file=io.StringIO())
    console.print(text.inspection(inspected), text.optimized(done.report, Path(), []))
    html.inspection(inspected)
    html.optimized(done)


def in_children(work: Sequence[Callable[[], object]], seconds: int) -> Iterator[tuple[object, str]]:
    """What each returns, as JSON has it, or None and what happened: in a process with limits for each, and in another
    one after what ended it.
    """
    done = 0
    while done < len(work):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                _work(work[done:], seconds, writer)
            finally:  # whatever happens, a child never goes on with what its parent does
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
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)  # a child's child keeps the limit that is there
    most = _data() + BYTES if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()  # crashes are answers
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
    """Bytes that count for RLIMIT_DATA."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def _end(status: int, seconds: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"ended with exit code {os.WEXITSTATUS(status)}"
    cause = signal.Signals(os.WTERMSIG(status))
    return f"over {seconds} s" if cause is signal.SIGXCPU else f"crashed with {cause.name}"


def examine_mutant(seed: int) -> Answer:
    return examine(mutant(seed))


def serve() -> None:
    """Answers until standard input ends. Standard output is the answers' alone: TFLM prints, too."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    fill_memory(-86)  # no luck with zeros
    warm()
    os.dup2(nowhere, 2)
    gc.freeze()  # what is here stays shared with the children
    for line in sys.stdin:
        for answer, failure in in_children([partial(examine_mutant, seed) for seed in json.loads(line)], SECONDS):
            print(json.dumps(answer or [Outcome.DEFECT, failure]), file=answers, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve()
