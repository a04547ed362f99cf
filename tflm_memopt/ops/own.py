"""Adds a user's own operators to the library by a decorator (docs/own-operator.md).

    @operator("CUMSUM", numbers)
    def cumsum(b: Builder) -> None: ...

The description of a kernel states how the kernel computes an int8 pixel `y` from a pixel `x`, or from `x` and `other`.
A pixel has `channels` elements along the tensor's last dimension. The sizes and parameters of each operator in a model
are inserted in the kernel's description. A run of the description in NumPy proves that all accesses are in bounds. C is
generated only for the proved sizes, so a damaged program cannot use other sizes.
"""

import functools
import itertools
import zlib
from collections.abc import Callable, Mapping

import numpy as np

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.instructions import REF
from tflm_memopt.kernels.language import Index, KernelProgram, Memory, Operand, Reg, Type, bind
from tflm_memopt.kernels.write_c import Writer, lines
from tflm_memopt.ops import quant
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.custom import CUSTOM_OPERATORS, MADE, Numbers, OwnKernel, OwnOperator
from tflm_memopt.ops.opset import OPSET

__all__ = ["Builder", "Index", "Operand", "OperatorContext", "Reg", "Type", "last_dimension", "operator", "quant"]

TENSORS = (("x", "y"), ("x", "other", "y"))


def operator(name: str, numbers: Numbers = lambda context: {}) -> Callable[[Callable[[Builder], None]], KernelProgram]:
    """Return a decorator that registers a description for all operators with a TFLite name. The function `numbers`
    returns the parameters of the kernel's description for one operator of a model.
    """

    def decorate(describe: Callable[[Builder], None]) -> KernelProgram:
        program = kernel(name)(describe)
        _is_of_pixels(program)
        if name not in OPSET:
            made = functools.partial(_made, program)
            CUSTOM_OPERATORS[name] = OwnOperator(
                numbers, lambda values: made(values).identity, len(program.tensors) - 1
            )
        return program

    return decorate


def last_dimension(context: OperatorContext, k: int) -> bool:
    """Return whether operand k is constant and contains only the index of the last dimension."""
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
            f"{program.name} is not a kernel of pixels: extents {', '.join(program.extents)}; tensors "
            + ", ".join(f"{t.name} ({t.memory.value}, {t.type.c})" for t in program.tensors),
            hint='use the extent "channels" and int8 tensors x, optionally other, and y; make all else parameters',
        )


def _made(program: KernelProgram, values: Mapping[str, int]) -> OwnKernel:
    missing = sorted({*program.extents, *program.parameters} ^ values.keys())
    if missing:
        raise KernelError(
            f"{program.name} and its numbers() differ in {', '.join(missing)}",
            hint="return exactly one number for each of b.parameters()",
        )
    bound = bind(values)(program)
    body = "\n".join(lines(bound, Writer(REF)))
    identity = zlib.crc32(body.encode()) >> 1
    if identity not in MADE:
        channels, inputs = values["channels"], [t.name for t in program.tensors if not t.written]
        for ends in itertools.product((-128, 127), repeat=len(inputs)):
            meaning.run(bound, {}, {x: np.full(channels, end, np.int8) for x, end in zip(inputs, ends, strict=True)})
        head = f"static void pixel_{identity:x}(const int8_t *x, const int8_t *other, int8_t *y) {{"
        function = f"/* {program.name} */\n{head}\n  (void)x, (void)other; /* may be unused */\n{body}\n}}\n"
        MADE[identity] = OwnKernel(identity, channels, len(inputs), function)
    return MADE[identity]
