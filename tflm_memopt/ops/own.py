"""An operator of your own: a description, put beside the library's operators by a decorator (docs/own-operator.md).

    @operator("CUMSUM", numbers)
    def cumsum(b: Builder) -> None: ...

It makes a pixel `y` of int8 of a pixel `x`, or of `x` and `other`, all of `channels`: what stands along the last
dimension of a tensor. For each operator of a model that has the form, its extents and numbers are put into the
description, the NumPy reading is run, which proves that no element outside of them is accessed, and C is written for
them alone: whatever a damaged program says, that C only ever sees its own numbers.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Mapping

import numpy as np

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.instructions import REF
from tflm_memopt.kernels.language import Index, KernelProgram, Memory, Operand, Reg, Type
from tflm_memopt.kernels.rewrites import bind
from tflm_memopt.kernels.write_c import lines
from tflm_memopt.ops import quant
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.described import DESCRIBED, MADE, Numbers, OwnKernel, OwnOperator
from tflm_memopt.ops.opset import OPSET

__all__ = [
    "Builder",
    "Index",
    "Operand",
    "OperatorContext",
    "Reg",
    "Type",
    "last_dimension",
    "operator",
    "quant",
]  # fmt: skip

TENSORS = (("x", "y"), ("x", "other", "y"))


def operator(name: str, numbers: Numbers = lambda context: {}) -> Callable[[Callable[[Builder], None]], KernelProgram]:
    """Runs all operators of a TFLite name by a description, from now on. numbers: its parameters for one of them."""

    def described(describe: Callable[[Builder], None]) -> KernelProgram:
        program = kernel(name)(describe)
        _is_of_pixels(program)
        if name not in OPSET:
            made = functools.partial(_made, program)
            DESCRIBED[name] = OwnOperator(numbers, lambda values: made(values).identity, len(program.tensors) - 1)
        return program

    return described


def last_dimension(context: OperatorContext, k: int) -> bool:
    """Whether operand k, a constant, is the number of the last dimension."""
    operand, rank = context.tensor(k), len(context.input().shape)
    stated = [] if operand is None or operand.data is None else operand.data.reshape(-1).tolist()
    return len(stated) == 1 and stated[0] % rank == rank - 1


def _is_of_pixels(program: KernelProgram) -> None:
    found = tuple(t.name for t in program.tensors)
    plain = all(
        t.type is Type.INT8 and t.memory is Memory.RAM and t.written == (t.name == "y") for t in program.tensors
    )
    if found not in TENSORS or not plain or program.extents != ("channels",):
        raise KernelError(
            f"{program.name} is no kernel of pixels: extents {', '.join(program.extents)}; tensors "
            + ", ".join(f"{t.name} ({t.memory.value}, {t.type.c})" for t in program.tensors),
            code="kernel_own",
            hint='the extent "channels"; x, or x and other, and an output y of it, int8; all else is a parameter',
        )


def _made(program: KernelProgram, values: Mapping[str, int]) -> OwnKernel:
    """Written once for the same values; KernelError where the description contradicts itself for them."""
    missing = sorted({*program.extents, *program.parameters} ^ values.keys())
    if missing:
        raise KernelError(
            f"{program.name} and its numbers() differ in {', '.join(missing)}",
            code="kernel_numbers",
            hint="a number for each of b.parameters(), and no other",
        )
    bound = bind(values)(program)
    body = "\n".join(lines(bound, REF))
    identity = zlib.crc32(body.encode()) >> 1
    if identity not in MADE:
        channels, inputs = values["channels"], [t.name for t in program.tensors if not t.written]
        for ends in itertools.product((-128, 127), repeat=len(inputs)):
            meaning.run(bound, {}, {x: np.full(channels, end, np.int8) for x, end in zip(inputs, ends, strict=True)})
        head = f"static void pixel_{identity:x}(const int8_t *x, const int8_t *other, int8_t *y) {{"
        function = f"/* {program.name} */\n{head}\n  (void)x, (void)other; /* whatever is read */\n{body}\n}}\n"
        MADE[identity] = OwnKernel(identity, channels, len(inputs), function)
    return MADE[identity]
