"""Judges files, one a line: `python -m hostile.server` reads seeds of mutants and writes [outcome, detail] as JSON.

It imports everything once, then forks for each file: a crash, a hang or a run-away allocation ends the child, and is
the answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial

import numpy as np
from hostile.judge import Outcome
from hostile.mutants import corpus, mutant
from property import oracle

import tflm_memopt
from tflm_memopt.errors import MemoptError
from tflm_memopt.lower.names import OFFLINE_PLAN, OFFLINE_PLAN_VERSION, ONLINE
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

SECONDS = 10
"""Of the processor's time, for one file."""
BYTES = 2 * 10**9
BLIND = ("complete_options", "depth_multiplier")
"""Refusals of operators with which TFLM computes on whatever lies there."""

Answer = tuple[Outcome, str]


def examine(data: bytes) -> Answer:
    """Optimizes, and runs both models where TFLM runs the original."""
    try:
        tflm_memopt.inspect(data)
        done = tflm_memopt.optimize(data, seconds=0.2)
    except MemoptError as error:
        return Outcome.REFUSED, str(error)
    if not done.report.changed:
        return Outcome.UNCHANGED, done.report.why_unchanged
    if any(kept.code in BLIND for kept in done.report.kept_builtin):
        return Outcome.UNKNOWN, "an operator's options are missing or contradict its shapes: TFLM trusts them"
    # TFLM trusts its file: it may crash, hang, or go beyond a tensor's end; then it depends on what lies there.
    expected, _ = in_a_child(lambda: outputs(oracle.original(data), data))
    for gap in (0, 1 << 17):
        elsewhere, _ = in_a_child(partial(outputs_elsewhere, data, gap))
        if expected is None or expected != elsewhere:
            return Outcome.UNKNOWN, ""
    got = outputs(oracle.rewritten(done.model), data)
    return (Outcome.SAME, "") if got == expected else (Outcome.DEFECT, "other output bytes than the original's")


def outputs_elsewhere(data: bytes, gap: int) -> list[list[str]]:
    return outputs(oracle.original(moved(data, gap), arena=1 << 24), data)


def moved(data: bytes, gap: int) -> bytes:
    """The model with every tensor in bytes of its own, the last one first, `gap` bytes between them."""
    model = read(data)
    tree = writer.edit(model)
    tensors = range(len(tree.subgraphs[0].tensors))
    graph = model.graph
    place, end = {}, 0
    for t in reversed(tensors):
        if not graph.tensors[t].constant and not graph.tensors[t].variable:
            place[t] = end
            end += -(-graph.tensors[t].nbytes // 16) * 16 + gap
    table = [OFFLINE_PLAN_VERSION, 1, len(tensors), *(place.get(t, ONLINE) for t in tensors)]
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    return writer.write(tree)


def outputs(interpreter: object, data: bytes) -> list[list[str]]:
    """What comes out, in hexadecimal, for a few inputs, the last of which is the first."""
    count = len(oracle.read(data).graph.outputs)
    inputs = oracle.draw_inputs(data, seed=1)
    runs = [oracle.run(interpreter, values, count) for values in (*inputs, inputs[0])]
    return [[output.tobytes().hex() for output in run] for run in runs]


def in_a_child(work: Callable[[], object]) -> tuple[object, str]:
    """What `work` returns, as JSON has it, in a process with limits; or None and what happened."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            answer = [work(), ""]
        except BaseException:
            answer = [None, traceback.format_exc()]
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
            pipe.flush()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        cause = signal.Signals(os.WTERMSIG(status))
        return None, f"over {SECONDS} s" if cause in (signal.SIGKILL, signal.SIGXCPU) else f"crashed with {cause.name}"
    answer, failure = json.loads(text)
    return answer, failure


def serve() -> None:
    """Answers until standard input ends. Standard output is the answers' alone: TFLM prints, too."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    examine(corpus()[0])  # so that all is imported that is imported late
    os.dup2(nowhere, 2)
    for line in sys.stdin:
        answer, failure = in_a_child(partial(examine, mutant(int(line))))
        print(json.dumps(answer or [Outcome.DEFECT, failure]), file=answers, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve()
