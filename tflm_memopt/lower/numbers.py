"""The numbers that an operator computes with, in one form for original operators and operators of a program.

They are weights, biases, multipliers, shifts, tables, zero points, the activation and the parameter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.pack import pack
from tflm_memopt.lower.program import Program, ProgramOp
from tflm_memopt.lower.unpack import add_scales, packed_sums
from tflm_memopt.model.reader import unpacked_int4
from tflm_memopt.ops.kinds import KINDS, OPERAND_SCALES, Channels, Kind
from tflm_memopt.ops.packing import OF_CHANNELS, Packing
from tflm_memopt.ops.packings import filters, folded_bias
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.ops.select import without_rows

Array = NDArray[Any]
Numbers = Mapping[str, Array]
"""Numbers by name. Names that an operator lacks, or whose numbers are all 0, are missing."""
CONSTANTS = frozenset({"weights", "multipliers", "values"})
"""Names of numbers that are stored for a single operator."""
SUMMED = Kind.SUMS
"""Kind of operators whose products are summed over several devices."""
NOT_COMPARED = frozenset({Kind.COPY, Kind.SEND, Kind.RECEIVE, Kind.SUMS, Kind.ADD_SUMS})
"""Kinds without constants, and parts of operators that are shared by several devices."""


def of_original(op: RowOp) -> Numbers:
    """Return the numbers of an operator in the original model."""
    return _numbers(
        weights=op.weights, biases=op.bias, multipliers=op.multipliers, shifts=op.shifts,
        values=op.constant.values if op.constant else None, **_ranges(op),
    )  # fmt: skip


def of_packed_original(op: RowOp) -> Numbers:
    """Return the same numbers as packed: the bias contains the zero point, and channels with multiplier 0 contain
    zeros.
    """
    if op.multipliers is None or op.shifts is None or not (op.is_convolution or op.is_depthwise):
        return of_original(op)
    multipliers, shifts = (np.broadcast_to(scales, op.writes.c) for scales in (op.multipliers, op.shifts))
    alive = (multipliers != 0).astype(np.int64)
    return _numbers(
        weights=filters(op) * alive[:, None, None, None], biases=folded_bias(op) * alive, multipliers=multipliers,
        shifts=shifts * alive, **_ranges(op),
    )  # fmt: skip


def of_program(op: ProgramOp, program: Program) -> Numbers:
    """Return the unpacked numbers of a program's operator, with operands in the original's order."""
    order = [1, 0] if op.swapped else [0, 1]
    zeros = op.input_zero_points
    multipliers: Array | None = op.multipliers
    shifts: Array | None = op.shifts
    if op.packing is Packing.DSP_ADD and op.scales is not None:
        multipliers, shifts = add_scales(op.scales, op.param)
    elif op.packing:
        return _sums(op, program)
    if KINDS[op.kind].scales == OPERAND_SCALES and multipliers is not None and shifts is not None:
        multipliers, shifts = multipliers[[*order, 2]], shifts[[*order, 2]]
    constants = [program.tensors[t].constant for t in op.inputs if program.tensors[t].base == PROGRAM_BASE]
    return _numbers(
        weights=_weights(op, program), biases=op.bias, multipliers=multipliers, shifts=shifts,
        values=np.frombuffer(constants[0], np.int8) if constants else None,
        **_ranges(replace(op, input_zero_points=tuple(zeros[k] for k in order) if len(zeros) == len(order) else zeros)),
    )  # fmt: skip


def _weights(op: ProgramOp, program: Program) -> Array | None:
    """Return the weights as int8, or as they are stored if they have other types."""
    if not op.nibbles or op.weights is None:
        return op.weights
    inputs = 1 if KINDS[op.kind].channels is Channels.FILTERED else program.tensors[op.inputs[0]].channels
    count = op.window.kernel_h * op.window.kernel_w * inputs * program.tensors[op.output].channels
    return unpacked_int4(op.weights.view(np.uint8), count)


def _sums(op: ProgramOp, program: Program) -> Numbers:
    if op.weights is None:
        raise ValueError(f"{op.kind.name} is packed without weights")
    kernel = op.window.kernel_h, op.window.kernel_w, program.tensors[op.inputs[0]].channels
    channels = program.tensors[op.output].channels
    if op.packing in OF_CHANNELS:
        kernel = *kernel[:2], 1
    found = packed_sums(op.packing, op.weights, op.scales, kernel, channels)
    alive = (found.multipliers != 0).astype(np.int64)
    each = {"weights": found.filters, "biases": found.bias, "multipliers": found.multipliers,
            "shifts": found.shifts * alive}  # fmt: skip
    first = {name: np.zeros((channels, *values.shape[1:]), np.int64) for name, values in each.items()}
    for name, values in each.items():
        first[name][found.channels] = values
    again = {f"{name} again": values - first[name][found.channels] for name, values in each.items()}
    return _numbers(**first, **again, **_ranges(op))


def filled(op: RowOp, found: ProgramOp, program: Program) -> bool:
    """Return whether the packing's padding and rounding constants equal those of an operator with the same numbers."""
    if not found.packing:
        return True
    wanted = replace(op, packing=found.packing)
    if found.swapped and op.multipliers is not None and op.shifts is not None:
        wanted = replace(wanted, multipliers=op.multipliers[[1, 0, 2]], shifts=op.shifts[[1, 0, 2]])
    if op.weights is not None and op.is_convolution:  # a dense layer may read its input as one pixel
        kernel = found.window.kernel_h, found.window.kernel_w, program.tensors[found.inputs[0]].channels
        wanted = replace(wanted, weights=op.weights.reshape(len(op.weights), *kernel))
    packed = pack(wanted)
    pairs = (found.weights, packed.weights), (found.scales, packed.scales)
    return all(a is b is None or (a is not None and b is not None and a.tobytes() == b.tobytes()) for a, b in pairs)


def digest(kind: Kind, numbers: Numbers) -> bytes:
    """Return a digest that is equal for operators of one kind with the same numbers."""
    found = hashlib.sha256(kind.name.encode())
    for name, values in sorted(numbers.items()):
        found.update(f"{name} {values.size} ".encode())
        found.update(values.tobytes())
    return found.digest()


def differences(found: Numbers, expected: Numbers) -> Mapping[str, int] | None:
    """Return how many numbers of each name differ; None if the shapes of the operators differ."""
    counts = {}
    for name in found.keys() | expected.keys():
        a, b = found.get(name), expected.get(name)
        if a is None or b is None:
            some = a if b is None else b
            if name == "weights" or some is None:
                return None
            counts[name] = int(np.count_nonzero(some))
        elif a.size != b.size:
            return None
        else:
            counts[name] = int(np.count_nonzero(a != b))
    return {name: count for name, count in counts.items() if count}


def _ranges(op: RowOp | ProgramOp) -> dict[str, Any]:
    return {
        "zero points": (*op.input_zero_points, op.output_zero_point),
        "activation": op.activation,
        "parameter": (_parameter(op),),
    }


def _parameter(op: RowOp | ProgramOp) -> int:
    """Return the parameter without what depends on the order of operands or on the packing."""
    if op.kind is Kind.SELECT:
        return without_rows(op.param)
    return 0 if op.packing is Packing.DSP_CONV else op.param


def _numbers(**named: Any) -> Numbers:
    """Return the numbers as flat arrays of one type."""
    arrays = {name: np.asarray(values, np.int64).reshape(-1) for name, values in named.items() if values is not None}
    return {name: values for name, values in arrays.items() if values.any() or name == "weights"}
