"""Instructions of kernels that are written from descriptions, against those that are written by hand, counted in QEMU.

    python benchmarks/generated_kernels.py [--code] [--update docs/kernel-language.md]

Each layer alone: C for any core (`ref`) on RV32IMAC and Cortex-M4, `dsp` on Cortex-M4, `mve` on Cortex-M55. By hand:
the same layer in a model that the library runs, its firings included.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray
from size import compiled
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
from tflm_memopt.kernels.descriptions.pixels import conv_pixel, depthwise_pixel
from tflm_memopt.kernels.instructions import DSP, MVE, REF, InstructionTable
from tflm_memopt.kernels.language import KernelProgram
from tflm_memopt.kernels.rewrites import scheduled
from tflm_memopt.kernels.write_c import function, operands_struct
from tflm_memopt.ops.bound import SUMMED

TAKEN = ("max_pool", "add")
"""Descriptions whose C the library has: there is no kernel by hand any more."""


class Target(NamedTuple):
    """Where a kernel is compared."""

    title: str
    core: str
    table: InstructionTable
    packed: str
    """What models are converted for."""


TARGETS = (
    Target("`ref`, RV32", "rv32", REF, "generic"),
    Target("`ref`, M4", "m4", REF, "generic"),
    Target("`dsp`, M4", "m4", DSP, "cortex-m4"),
    Target("`mve`, M55", "m55", MVE, "cortex-m55"),
)
MODELS: Mapping[str, Callable[[Net], int]] = {
    "dense 640 -> 128": lambda net: net.fully_connected(net.input((1, 640)), 128),
    "dense 64 -> 12": lambda net: net.fully_connected(net.input((1, 64)), 12),
    "pointwise 64 -> 64, 5 x 5": lambda net: net.conv2d(net.input((1, 5, 5, 64)), 64),
    "conv 3x3, 16 -> 16, 8 x 8": lambda net: net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 16), 16, kernel=(3, 3)),
    "conv 3x3, 3 -> 8, 16 x 16": lambda net: net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3)),
    "depthwise 3x3, 64, 5 x 5": lambda net: net.depthwise_conv2d(net.input((1, 5, 5, 64)), kernel=(3, 3)),
}


def called(name: str, extents: Mapping[str, int]) -> Call:
    """A call of the description, with drawn arrays."""
    values, arrays = draw(name, 1, **extents)
    description = SCHEDULES[name][0]
    return Call(description, values, arrays, expected(description, values, arrays))


def expected(
    description: KernelProgram, values: Mapping[str, int], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """What NumPy makes of it, with as many lanes as it likes."""
    wide = vectorised(description.name)
    return dict(meaning.run(wide, values, laid_out(wide, values, arrays), lanes=4096))


def written(kernel: KernelProgram, table: InstructionTable) -> KernelProgram | None:
    """With the table's schedule; None where it has none."""
    if table is REF:
        return kernel
    steps = SUMMED[table.name].get(kernel.name)
    return None if steps is None else scheduled(kernel, steps)


def rows() -> Iterator[list[str]]:
    """Of each layer, for each target: generated, by hand, their quotient. RuntimeError where bytes differ."""
    for layer, (name, extents) in LAYERS.items():
        if name in TAKEN:
            continue
        call, cells = called(name, extents), [layer]
        net = Net(1)
        made = MODELS[layer](net)
        image = len(net.shape(made)) > 2  # a mean behind it makes the conversion worth while
        model = net.model(net.mean(made, (1, 2)) if image else made)
        for target in TARGETS:
            kernel = written(call.kernel, target.table)
            if kernel is None:
                cells.append("")
                continue
            (ran,) = run([Call(kernel, call.values, call.arrays, call.expected)], target.table, core=target.core)
            converted = tflm_memopt.optimize(model, target=target.packed).model
            (by_hand,) = cases.run(CORES[target.core], cases.model_cases(converted, by_operator=True))
            if ran.wrong or not by_hand.right:
                raise RuntimeError(f"{layer}, {target.title}: bytes differ")
            spent = by_hand.operators[-2 if image else -1]
            cells.append(f"{ran.instructions:,} / {spent:,} = {ran.instructions / spent:.2f}")
        yield cells


BY_HAND: Mapping[str, str] = {"conv_pixel": "tmo_conv_ref.c", "depthwise_pixel": "tmo_depthwise_ref.c"}
"""The file of the kernel by hand."""
LEVEL = "-Os"


def sizes() -> Iterator[list[str]]:
    """Bytes of each `ref` kernel's code, generated and by hand, on two cores."""
    described = {kernel.name: kernel for kernel in (conv_pixel, depthwise_pixel)}
    for name, file in BY_HAND.items():
        cells = [f"`{name}`"]
        for core in ("rv32", "m4"):
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / f"{name}.c"
                text = f'#include "tmo/fixed.h"\n{operands_struct(described[name])}{function(described[name], REF)}'
                source.write_text(text)
                made = sum(functions(core, source, Path(folder)).values())
                hand = functions(core, LIBRARY / "src" / file, Path(folder))
            whole = sum(hand.values())
            cells.append(f"{made:,} / {whole:,} = {made / whole:.2f}")
        yield cells


def functions(core: str, source: Path, folder: Path) -> dict[str, int]:
    """Bytes of each of a file's functions."""
    target = compiled(CORES[core], LEVEL, [f"-I{LIBRARY / 'src'}"], source, folder)
    command = [CORES[core].prefix + "size", "-A", str(target)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: int(n) for name, n in re.findall(r"^\.text\.(\S+) +(\d+)", said, re.MULTILINE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", action="store_true", help="bytes of code instead of instructions")
    parser.add_argument("--update", type=Path)
    arguments = parser.parse_args()
    if arguments.code:
        name, table = "kernels-code", markdown(["`ref`, bytes of code", "RV32", "M4"], list(sizes()))
    else:
        name, table = "kernels-by-hand", markdown(["layer", *(target.title for target in TARGETS)], list(rows()))
    print(table)
    if arguments.update:
        update(arguments.update, name, table)


if __name__ == "__main__":
    main()
