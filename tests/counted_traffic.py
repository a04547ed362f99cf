"""Counts how many bytes of slow memory and of constants a program accesses in the C executor. Tests compare the counts
with the figures of lower/traffic.py.
"""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import executor
import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import InputPlace
from tflm_memopt.lower.program import Program, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.lower.traffic import BytesMoved, shares
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.kinds import Constants, traits
from tflm_memopt.runtime import guard, host, host_model
from tflm_memopt.runtime.host import OpIteration
from tflm_memopt.runtime.regions import regions


def counted(model: Model) -> BytesMoved:
    each = []
    for region in regions(model):
        sizes = [model.graph.tensors[t].nbytes for t in region.inputs]
        if region.input in (InputPlace.STREAM, InputPlace.EXTERNAL):
            sizes = [int(np.prod(host.source_shape(region.program))), *sizes[region.input == InputPlace.STREAM :]]
        outputs = [model.graph.tensors[t].nbytes for t in region.outputs]
        each.append(of_program(region.program, [np.zeros(n, np.int8) for n in sizes], outputs))
    return _sum(each)


def _sum(each: Sequence[BytesMoved]) -> BytesMoved:
    return BytesMoved(*map(sum, zip(*map(astuple, each), strict=True)))


def assert_equal_outputs(before: Model, after: Model) -> None:
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-128, 128, (3, *before.graph.tensors[t].shape), np.int8) for t in before.graph.inputs]
    expected, got = (host_model.run_model(m.graph, inputs, 3) for m in (before, after))
    assert all(np.array_equal(a, b) for a, b in zip(expected, got, strict=True))
    done, problem = guard.guarded_runs(after, [[stack[r] for stack in inputs] for r in range(3)], seed=1)
    assert done == 3, problem


def of_program(data: bytes, inputs: Sequence[NDArray[Any]], output_bytes: Sequence[int]) -> BytesMoved:
    program, each = unpack(data), []
    order = np.array(executor.iteration_order(data, inputs, output_bytes), dtype=np.int64).reshape(-1, 5)
    tiled = {i for g in program.groups for i in range(g.first_op, g.first_op + g.n_ops) if g.stripes}
    for number, op in enumerate(program.ops):
        executed = OpIteration(*order[order[:, 0] == number].T)
        each.append(_of_op(program, op, executed, tiled=number in tiled))
    return _sum(each)


def _of_op(program: Program, op: ProgramOp, executed: OpIteration, *, tiled: bool) -> BytesMoved:
    base = 1 + program.n_inputs + program.n_outputs + (program.state > 0) if program.slow else -1
    tensors = program.tensors
    slow = [(k, tensors[i]) for k, i in enumerate(op.inputs) if tensors[i].base == base]
    read = sum(_read(op, k, tensor, tensors[op.output], executed, tiled=tiled) for k, tensor in slow)
    output = tensors[op.output]
    return BytesMoved(
        read, _written(op, output, executed, tiled=tiled) if output.base == base else 0, _weights(op, tensors, executed)
    )


def _read(
    op: ProgramOp, k: int, tensor: ProgramTensor, output: ProgramTensor, executed: OpIteration, *, tiled: bool
) -> int:
    row, w = np.asarray(executed.row), op.window
    if op.iterative:
        top, bottom = row, row + 1
    elif op.access:
        top = op.access[k].first(row, tensor.height)
        bottom = top + op.access[k].extent
    else:
        top = np.minimum(row * w.stride_h - w.pad_top, tensor.height - 1)
        bottom = top + (w.kernel_h - 1) * w.dilation_h + 1
    if op.sums:
        bottom = np.where(np.asarray(executed.channel_group) == op.channel_groups, top, bottom)
    rows = np.maximum(np.minimum(bottom, tensor.height) - np.maximum(top, 0), 0)
    if not tiled:
        return int(rows.sum()) * tensor.width * tensor.channels
    x0 = np.asarray(executed.tile) * op.tile
    x1 = np.minimum(x0 + op.tile, tensor.width if op.iterative else output.width)
    left, right = x0, x1
    if not op.iterative:
        left = np.minimum(x0 * w.stride_w - w.pad_left, tensor.width - 1)
        right = (x1 - 1) * w.stride_w - w.pad_left + (w.kernel_w - 1) * w.dilation_w + 1
    columns = np.maximum(np.minimum(right, tensor.width) - np.maximum(left, 0), 0)
    return int((rows * columns).sum()) * tensor.channels


def _written(op: ProgramOp, tensor: ProgramTensor, executed: OpIteration, *, tiled: bool) -> int:
    if op.iterative:
        return tensor.height * tensor.width * tensor.channels
    if not tiled:
        return len(np.asarray(executed.row)) * tensor.width * tensor.channels
    group, x0 = np.asarray(executed.channel_group), np.asarray(executed.tile) * op.tile
    pixels = np.minimum(x0 + op.tile, tensor.width) - x0
    if op.sums:
        return int(pixels[group == op.channel_groups].sum()) * tensor.channels
    if op.channel_groups <= 1:
        return int(pixels.sum()) * tensor.channels
    return int((pixels * np.minimum(op.group_channels, tensor.channels - group * op.group_channels)).sum())


def _weights(op: ProgramOp, tensors: Sequence[ProgramTensor], executed: OpIteration) -> int:
    count = len(np.asarray(executed.row))
    if traits(op.kind).constants is Constants.ROWS:
        return count * tensors[op.output].width * tensors[op.output].channels
    arrays = (op.weights, op.bias, op.scales, op.multipliers, op.shifts)
    nbytes = sum(array.nbytes for array in arrays if array is not None)
    copied = op.copied.bytes if op.copied else 0
    if op.channel_groups <= 1:
        return copied + nbytes * count
    split = tensors[op.inputs[0]].channels if op.sums else tensors[op.output].channels
    return copied + shares(nbytes, split, op.group_channels, np.asarray(executed.channel_group))
