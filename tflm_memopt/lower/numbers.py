"""Collects the constants of operators, to compare a program with the original model.

The constants of the original model are packed in the same order as the program's constants.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.pack import in_nibbles, pack
from tflm_memopt.lower.program import Program, ProgramOp
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import SCRATCH_VARIES, Family, Packing
from tflm_memopt.ops.packings import has_one_scale, packing
from tflm_memopt.ops.rowop import RowOp

Array = NDArray[Any]
Numbers = Mapping[str, Array]
"""Maps the name of each array of constants to the array. An array that has only zeros is left out, unless its name is
"weights".
"""
CONSTANTS = frozenset({"weights", "scales", "multipliers", "values"})
SUMMED = Kind.SUMS
"""Kind of an operator whose products are added up by several devices."""
NOT_COMPARED = frozenset({Kind.COPY, Kind.SEND, Kind.RECEIVE, Kind.SUMS, Kind.ADD_SUMS})
"""Kinds of operators whose constants are not compared. The operators have no constants, or their constants are divided
among devices.
"""


class ConstantForm(NamedTuple):
    kind: Kind
    packing: Packing
    nibbles: bool
    kernel: tuple[int, int, int]
    """Height, width and channels of the filters of a convolution with packed weights."""


def form_of(op: ProgramOp, program: Program) -> ConstantForm:
    packed, window = op.packing is not Packing.NONE, op.window
    kernel = (window.kernel_h, window.kernel_w, program.tensors[op.inputs[0]].channels) if packed else (0, 0, 0)
    return ConstantForm(op.kind, op.packing, op.nibbles, kernel)


def of_original(op: RowOp, form: ConstantForm, target: int) -> Numbers | None:
    """Return an operator's constants in the given form, or None if the target uses another form."""
    if form.packing is Packing.NONE:
        weights = in_nibbles(op.weights) if form.nibbles and op.weights is not None else op.weights
        return _numbers(
            weights=weights, biases=op.bias, multipliers=op.multipliers, shifts=op.shifts,
            values=op.constant.values if op.constant else None, **_ranges(op),
        )  # fmt: skip
    found = packing(op, Family(target))
    if found is not form.packing and (found, form.packing) != (Packing.DSP_CONV, Packing.DSP_DENSE):
        return None
    wanted = replace(op, packing=form.packing)
    if form.packing is Packing.DSP_DENSE:
        if op.writes.c % 2:  # The form has only pairs of channels.
            return None
        wanted = replace(wanted, param=int(has_one_scale(op)))
    if op.weights is not None and op.is_convolution:  # A dense layer may read its input as one pixel.
        if op.weights[0].size != math.prod(form.kernel):
            return None
        wanted = replace(wanted, weights=op.weights.reshape(len(op.weights), *form.kernel))
    packed = pack(wanted)
    return _numbers(weights=packed.weights, scales=packed.scales, **_ranges(wanted))


def of_program(op: ProgramOp, program: Program) -> Numbers:
    constants = [program.tensors[t].constant for t in op.inputs if program.tensors[t].base == PROGRAM_BASE]
    return _numbers(
        weights=op.copied.weights if op.copied else op.weights, biases=op.bias, scales=op.scales,
        multipliers=op.multipliers, shifts=op.shifts,
        values=np.frombuffer(constants[0], np.int8) if constants else None, **_ranges(op),
    )  # fmt: skip


def digest(numbers: Numbers) -> bytes:
    found = hashlib.sha256()
    for name, values in sorted(numbers.items()):
        found.update(f"{name} {values.size} ".encode())
        found.update(values.tobytes())
    return found.digest()


def differences(found: Numbers, expected: Numbers) -> Mapping[str, int] | None:
    """Compare arrays of the same name, and return for each name how many constants differ. Return None if the arrays
    differ in size, or if only one of the operators has weights.
    """
    counts = {}
    for name in found.keys() | expected.keys():
        first, *others = (each[name] for each in (found, expected) if name in each)
        if any(other.size != first.size for other in others) or (name == "weights" and not others):
            return None
        counts[name] = int(np.count_nonzero(first != others[0] if others else first))
    return {name: count for name, count in counts.items() if count}


def _ranges(op: RowOp | ProgramOp) -> dict[str, Any]:
    # If `packed` is true, the field `param` encodes the scratch's size.
    packed = op.packing in (*SCRATCH_VARIES, Packing.DSP_DEPTHWISE)
    return {
        "zero points": (*op.input_zero_points, op.output_zero_point),
        "activation": op.activation,
        "parameter": (0 if packed else op.param,),
    }


def _numbers(**named: Any) -> Numbers:
    found = {name: values for name, values in named.items() if values is not None}
    arrays = {k: np.asarray(v, np.int8 if k == "weights" else np.int64).reshape(-1) for k, v in found.items()}
    return {name: values for name, values in arrays.items() if values.any() or name == "weights"}
