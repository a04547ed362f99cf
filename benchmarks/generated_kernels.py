"""Instructions of kernels that are written from descriptions, against those that are written by hand, counted in QEMU.

    python benchmarks/generated_kernels.py [--lines] [--update docs/kernel-language.md]

Each layer alone: `dsp` on Cortex-M4, `mve` on Cortex-M55. By hand: the same layer in a model that the library runs, its
firings included. --lines counts the lines of kernels that are left by hand instead (benchmarks/kernel_lines.json).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray
from tables import markdown, update
from vector_kernels import LAYERS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores import cases
from cores.core import CORES, LIBRARY
from cores.described import Call, run
from kernels_cases import SCHEDULES, draw, laid_out, vectorised
from models import Net

import tflm_memopt
from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.instructions import DSP, MVE, InstructionTable
from tflm_memopt.kernels.language import KernelProgram
from tflm_memopt.kernels.rewrites import scheduled
from tflm_memopt.ops.bound import SUMMED

TAKEN = ("max_pool", "add", "depthwise")
"""Descriptions that the library has in C, without a schedule for these cores."""


class Target(NamedTuple):
    """The way in which a kernel is compared."""

    title: str
    core: str
    table: InstructionTable
    packed: str
    """Target of the conversion."""


TARGETS = (
    Target("`dsp`, M4", "m4", DSP, "cortex-m4"),
    Target("`mve`, M55", "m55", MVE, "cortex-m55"),
)
MODELS: Mapping[str, Callable[[Net], int]] = {
    "dense 640 -> 128": lambda net: net.fully_connected(net.input((1, 640)), 128),
    "dense 64 -> 12": lambda net: net.fully_connected(net.input((1, 64)), 12),
    "pointwise 64 -> 64, 5 x 5": lambda net: net.conv2d(net.input((1, 5, 5, 64)), 64),
    "conv 3x3, 16 -> 16, 8 x 8": lambda net: net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 16), 16, kernel=(3, 3)),
    "conv 3x3, 3 -> 8, 16 x 16": lambda net: net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3)),
}


def called(name: str, extents: Mapping[str, int]) -> Call:
    """Return a call of the description with random arrays."""
    values, arrays = draw(name, 1, **extents)
    description = SCHEDULES[name][0]
    return Call(description, values, arrays, expected(description, values, arrays))


def expected(
    description: KernelProgram, values: Mapping[str, int], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the result of NumPy, with as many lanes as needed."""
    wide = vectorised(description.name)
    return dict(meaning.run(wide, values, laid_out(wide, values, arrays), lanes=4096))


def rows() -> Iterator[list[str]]:
    """Return for each layer and target: generated, by hand, their quotient. Raises RuntimeError where bytes differ."""
    for layer, (name, extents) in LAYERS.items():
        if name in TAKEN:
            continue
        call, cells = called(name, extents), [layer]
        net = Net(1)
        made = MODELS[layer](net)
        image = len(net.shape(made)) > 2  # with a mean after it, the model is worth converting
        model = net.model(net.mean(made, (1, 2)) if image else made)
        for target in TARGETS:
            kernel = scheduled(call.kernel, SUMMED[target.table.name][name])
            (ran,) = run([Call(kernel, call.values, call.arrays, call.expected)], target.table, core=target.core)
            converted = tflm_memopt.optimize(model, target=target.packed).model
            (by_hand,) = cases.run(CORES[target.core], cases.model_cases(converted, by_operator=True))
            if ran.wrong or not by_hand.right:
                raise RuntimeError(f"{layer}, {target.title}: bytes differ")
            spent = by_hand.operators[-2 if image else -1]
            cells.append(f"{ran.instructions:,} / {spent:,} = {ran.instructions / spent:.2f}")
        yield cells


FIRST = Path(__file__).with_name("kernel_lines.json")
EXECUTOR = ("camera", "check", "fire.c", "frame", "run", "status", "walk", "window")
"""Prefixes, after tmo_, of the files that contain no kernels."""
PARTS: Mapping[str, Callable[[str], bool]] = {
    "any core, in C": lambda name: name.endswith(("_ref.c", "fixed.c", "backend.c")),
    "packed, in C": lambda name: name.endswith(".c") and not name.endswith(("_ref.c", "fixed.c", "backend.c")),
    "assembly": lambda name: name.endswith(".S"),
}


def lines() -> Iterator[list[str]]:
    """Return lines of code of kernels in C, of packed ones, and in assembly, before any was generated and today."""
    before = json.loads(FIRST.read_text(encoding="utf-8"))["lines"]
    before = {name: n for name, n in before.items() if not name.removeprefix("tmo_").startswith(EXECUTOR)}
    today = {name: path for name in before if (path := LIBRARY / "src" / name).exists()}
    for part, is_in in {**PARTS, "all": lambda _: True}.items():
        first = sum(n for name, n in before.items() if is_in(name))
        left = sum(len(path.read_text(encoding="utf-8").splitlines()) for name, path in today.items() if is_in(name))
        yield [part, f"{first:,}", f"{left:,}", f"{left / first:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", action="store_true", help="lines by hand instead of instructions")
    parser.add_argument("--update", type=Path)
    arguments = parser.parse_args()
    if arguments.lines:
        name, table = "kernels-lines", markdown(["kernels", "at first", "by hand today", "of them"], list(lines()))
    else:
        name, table = "kernels-by-hand", markdown(["layer", *(target.title for target in TARGETS)], list(rows()))
    print(table)
    if arguments.update:
        update(arguments.update, name, table)


if __name__ == "__main__":
    main()
