"""Serialises programs with their inputs and expected outputs for runner.c, and reads the runner's results."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from cores.core import Core, emulate, runner
from numpy.typing import NDArray

from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host, regions
from tflm_memopt.runtime.host import DeviceArena

MAGIC = 0x434F4D54
CASE_WORDS = 10
TOO_LARGE = -1000
"""Status of a case that needs more RAM or more flash than the machine has. The runner prints the status if the RAM is
too small.
"""


class RunAs(IntEnum):
    """The values equal RUN_ALL, RUN_FIRST, RUN_SECOND and RUN_BOTH in runner.c."""

    ALL = 0
    FIRST = 1
    """If core 0 runs alone, it computes only some of the output bytes, so the output is not checked."""
    SECOND = 2
    BOTH = 3


@dataclass(frozen=True)
class Case:
    program: bytes
    arena: DeviceArena
    inputs: Sequence[NDArray[Any]]
    expected: Sequence[NDArray[Any]]
    by_operator: bool = False
    run_as: RunAs = RunAs.ALL


@dataclass(frozen=True)
class Outcome:
    status: int
    instructions: int
    stack: int
    wrong: int
    canaries: bool
    operators: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    """Number of times that the runner read the clock for each operator. The runner reads the clock once for consecutive
    iterations of an operator.
    """

    @property
    def right(self) -> bool:
        return self.status == 0 and self.wrong == 0 and self.canaries


def model_cases(model: bytes, *, by_operator: bool = False) -> list[Case]:
    rewritten = read(model)
    rng = np.random.default_rng(1)
    cases = []
    for region in regions.regions(rewritten):
        sizes = [rewritten.graph.tensors[t].nbytes for t in (*region.inputs, *region.outputs)]
        inputs = [rng.integers(-128, 128, n, dtype=np.int8) for n in sizes[: len(region.inputs)]]
        for k, tensor in enumerate(region.inputs):
            inputs[k] *= rewritten.graph.tensors[tensor].dtype != "INT32"
        expected = host.run(region.program, inputs, sizes[len(region.inputs) :])
        cases.append(Case(region.program, regions.placement(rewritten, region), inputs, expected, by_operator))
    return cases


def run(core: Core, cases: Sequence[Case]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.bin"
        for data in _blobs(core, cases):
            path.write_bytes(data)
            fits = len(data) <= core.blob_bytes  # QEMU crashes if a file exceeds the machine's memory.
            outcomes += outcomes_of(emulate(core, runner(core), path)) if fits else [Outcome(TOO_LARGE, 0, 0, 0, True)]
    return outcomes


def _blobs(core: Core, cases: Sequence[Case]) -> Iterator[bytes]:
    """Yield files of test cases that fit the memory of the core. A case that does not fit is alone in its file."""
    data = blob(cases)
    if len(data) <= core.blob_bytes or len(cases) == 1:
        yield data
    else:
        half = len(cases) // 2
        yield from _blobs(core, cases[:half])
        yield from _blobs(core, cases[half:])


def blob(cases: Sequence[Case], words: int = CASE_WORDS) -> bytes:
    data = bytearray(4 * (3 + words * len(cases)))

    def add(content: bytes) -> int:
        data.extend(bytes(-len(data) % 16))
        data.extend(content)
        return len(data) - len(content)

    header = [MAGIC, len(cases), 12]
    for case in cases:
        places = [*case.arena.inputs, *case.arena.outputs]
        arrays = [np.ascontiguousarray(a).tobytes() for a in (*case.inputs, *case.expected)]
        io = [word for at, raw in zip(places, arrays, strict=True) for word in (at, len(raw), add(raw))]
        program = add(case.program)
        header += [program, len(case.program), case.arena.nbytes, case.arena.workspace,
                   len(case.inputs), len(case.expected), add(_words(io)), int(case.by_operator),
                   case.arena.state or 0, case.run_as][:words]  # fmt: skip
    data[: 4 * len(header)] = _words(header)
    return bytes(data)


def _words(values: Sequence[int]) -> bytes:
    return np.array(values, "<u4").tobytes()


def outcomes_of(said: str) -> list[Outcome]:
    lines = said.splitlines()
    if not lines or lines[-1] != "done":
        raise RuntimeError(f"the runner did not come to its end:\n{said}")
    loop, ticks = _numbers(lines[0])
    found: list[Outcome] = []
    for line in lines[1:-1]:
        numbers = _numbers(line)
        if line.startswith("operator"):
            last = found.pop()
            operators = (*last.operators, round(numbers[1] * loop / ticks))
            found.append(replace(last, operators=operators, steps=(*last.steps, numbers[2])))
        elif len(numbers) == 1:
            found.append(Outcome(numbers[0], 0, 0, 0, True))
        else:
            status, spent, stack, wrong, canaries = numbers
            found.append(Outcome(status, round(spent * loop / ticks), stack, wrong, bool(canaries)))
    return found


def _numbers(line: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", line)]
