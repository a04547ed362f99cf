"""Splits chains of builtin operators into parts that run one after the other.

A chain is split into tiles of rows and columns (fused tiling of feature maps, FFMT) or into groups of channels (fan-out
of fused depthwise tiling, FDT). Tiles compute some pixels several times, but groups of channels do not. The fan-in of
FDT is not used, since a sum of rounded partial sums would change int8 results. If a tile has padded pixels, a PAD
before the tile writes the zero point into them, so that the output bytes do not change.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, takewhile

from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.ops.context import CONVOLUTIONS, POOLS, OperatorContext
from tflm_memopt.rewrite.parts import Parts, Range, data_of
from tflm_memopt.rewrite.rules.rule import sole_readers

POINTWISE = ("RELU", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "QUANTIZE", "DEQUANTIZE")
ELEMENTWISE = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
WEIGHTS = ("INT8", "INT32", "INT64", "FLOAT32")
MOVED = ("INT8", "INT16", "FLOAT32")
"""Types that SLICE, PAD and CONCATENATION support in TFLM."""
TILEABLE = (*CONVOLUTIONS, *POOLS, *POINTWISE, "PAD")
FAN_OUT: Mapping[str, Mapping[int, int]] = {"CONV_2D": {1: 0, 2: 0}, "FULLY_CONNECTED": {1: 0, 2: 0}, "GATHER": {0: 1}}
"""Operators that can compute only some of their output channels. Each operator has a mapping from the index of a
constant operand to the operand's channel axis.
"""
CHANNELWISE: Mapping[str, Mapping[int, int]] = {
    "DEPTHWISE_CONV_2D": {1: 3, 2: 0}, "MEAN": {}, **{kind: {} for kind in (*POOLS, *POINTWISE)},
}  # fmt: skip
"""Operators that compute each output channel from a single input channel. As in FAN_OUT, each operator maps the index
of a constant operand to the operand's channel axis.
"""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A chain of operators that runs once for each tile or channel group of its output."""

    ops: tuple[int, ...]
    """Indices of the chain's operators. The output of each operator, except for the last, is read only by the next
    operator of the chain.
    """
    rows: int = 1
    columns: int = 1
    channels: int = 1
    """Number of channel groups; a chain with several channel groups is not tiled."""

    def __str__(self) -> str:
        if self.channels > 1:
            what = f"{self.channels} channel groups"
        elif self.columns == 1:
            what = f"{self.rows} stripes"
        elif self.rows == 1:
            what = f"{self.columns} stripes of columns"
        else:
            what = f"{self.rows} x {self.columns} tiles"
        return f"ops {self.ops[0]}..{self.ops[-1]} in {what}"


@dataclass(frozen=True, slots=True)
class Along:
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    def reads(self, first: int, end: int) -> tuple[int, int]:
        """Return the range of input indices that the outputs from `first` to `end` - 1 read. The range may include
        indices of padding.
        """
        low = first * self.stride - self.before
        return low, (end - 1) * self.stride - self.before + (self.kernel - 1) * self.dilation + 1


def chain(graph: Graph, first: Op) -> tuple[Op, ...]:
    return _chain(graph, first, TILEABLE, can_tile) if can_tile(graph, first) else ()


def fan_out(graph: Graph, first: Op) -> tuple[Op, ...]:
    def continues(graph: Graph, op: Op) -> bool:
        return _can_group(graph, op) and (op.type != "CONV_2D" or groups_of(graph, op) > 1)

    starts = first.type in FAN_OUT and _can_group(graph, first)
    return _chain(graph, first, (*CHANNELWISE, "CONV_2D"), continues) if starts else ()


def channel_unit(graph: Graph, ops: Sequence[Op]) -> int:
    """Return the smallest number of output channels that the first operator of a chain may compute at a time. All other
    allowed numbers are multiples of the smallest number, because a group of a grouped CONV_2D cannot be divided.
    """
    unit, ratio = 1, Fraction(1)
    for op in ops:
        source, made = _channels(graph, op)
        if op is ops[0]:
            unit = made // groups_of(graph, op) if is_grouped(graph, op) else 1
        else:
            if is_grouped(graph, op):
                unit = math.lcm(unit, (ratio * groups_of(graph, op) / source).denominator)
            ratio *= Fraction(made, source)
    return unit


def _chain(graph: Graph, first: Op, types: Collection[str], fits: Callable[[Graph, Op], bool]) -> tuple[Op, ...]:
    readers = sole_readers(graph, first, types, len(graph.ops))
    return first, *takewhile(lambda op: op.inputs.count(op.inputs[0]) == 1 and fits(graph, op), readers)


def _can_group(graph: Graph, op: Op) -> bool:
    if len(op.outputs) != 1 or graph.tensors[op.outputs[0]].dtype not in MOVED:
        return False
    operands = [graph.tensors[t] for t in op.inputs if t >= 0]
    read = operands[1 if op.type == "GATHER" else 0]
    wide = read.constant or any(t.variable or t.dynamic for t in (*operands, graph.tensors[op.outputs[0]]))
    constants = [t for t in operands if t is not read]
    if wide or any(t.data is None or t.dtype not in WEIGHTS for t in constants):
        return False
    match op.type:
        case "GATHER":
            return len(operands[0].shape) == 2 and not op.options.get("axis") and not op.options.get("batchDims")
        case "MEAN":
            rank = len(read.shape)
            return rank - 1 not in {int(a) % rank for a in data_of(graph, op.inputs[1]).ravel()}
        case "FULLY_CONNECTED":
            return not op.options.get("weightsFormat")
        case "CONV_2D":
            return groups_of(graph, op) > 0
    return True


def groups_of(graph: Graph, op: Op) -> int:
    """Return the number of groups of a CONV_2D, or 0 if some groups have more channels than others."""
    source, made = _channels(graph, op)
    each = graph.tensors[op.inputs[1]].shape[-1]
    return source // each if each and source % each == 0 < source and made % (source // each) == 0 else 0


def is_grouped(graph: Graph, op: Op) -> bool:
    return op.type == "CONV_2D" and groups_of(graph, op) != 1


def _channels(graph: Graph, op: Op) -> tuple[int, int]:
    source, made = (graph.tensors[t].shape[-1] for t in (op.inputs[0], op.outputs[0]))
    return source, made


def tiled(graph: Graph, tilings: Sequence[Tiling]) -> Graph:
    for tiling in tilings:
        graph = _Tiler(graph, tiling).graph_in_parts()
    return graph


def along(graph: Graph, op: Op) -> tuple[Along, Along]:
    if op.type == "PAD":
        margins = data_of(graph, op.inputs[1]).reshape(-1, 2).tolist()
        return Along(before=margins[1][0], after=margins[1][1]), Along(before=margins[2][0], after=margins[2][1])
    if op.type in POINTWISE:
        return Along(), Along()
    context = OperatorContext(graph, op)
    each = zip(context.kernel(), context.strides(), context.dilations(), context.spans(), strict=True)
    first, second = (Along(size, stride, dilation, span.before, span.after) for size, stride, dilation, span in each)
    return first, second


def can_tile(graph: Graph, op: Op) -> bool:
    """Return whether rows of the operator's output can be computed from rows of its first input."""
    tensors = [graph.tensors[t] for t in (*op.inputs[:1], *op.outputs)]
    if op.type not in TILEABLE or len(op.outputs) != 1 or any(len(t.shape) != 4 or t.shape[0] != 1 for t in tensors):
        return False
    if any(t.dtype not in MOVED for t in tensors) or (not op.options and op.type not in (*POINTWISE, "PAD")):
        return False
    if any(t.constant or t.variable or t.dynamic for t in tensors):
        return False
    if any(graph.tensors[t].data is None for t in op.inputs[1:] if t >= 0):
        return False
    if op.type == "PAD":
        margins = data_of(graph, op.inputs[1]).reshape(-1, 2)
        return len(margins) == 4 and not margins[[0, 3]].any()
    if op.type in POOLS:
        return not any(a.before or a.after for a in along(graph, op))
    return op.type in POINTWISE or graph.tensors[op.inputs[1]].dtype in ("INT8", "FLOAT32")


def _ranges(size: int, parts: int) -> Iterator[Range]:
    return pairwise(size * n // parts for n in range(parts + 1))


def filter_axis(tensor: Tensor, op: Op) -> int:
    return 3 if op.type == "DEPTHWISE_CONV_2D" and len(tensor.shape) == 4 else 0


class Tiles(Parts):
    def tile(self, op: Op, x: TensorId, rows: Range, columns: Range | None = None) -> TensorId:
        """Return a tensor with a range of rows and a range of columns (default: all) of an operator's output."""
        whole, source = self.tensors[op.outputs[0]], self.graph.tensors[op.inputs[0]]
        ranges = rows, columns or (0, whole.shape[2])
        each = zip(along(self.graph, op), ranges, source.shape[1:3], strict=True)
        margins = [(max(0, -low), max(0, high - size)) for low, high, size in ((*a.reads(*r), n) for a, r, n in each)]
        if any(map(any, margins)):
            x = self.padded(x, *margins)
        if op.type == "PAD":
            return x
        y = self.like(whole, (1, *(end - first for first, end in ranges), whole.shape[3]))
        options = {**op.options, "padding": "VALID"} if "padding" in op.options else op.options
        return self.add(op.type, [x, *op.inputs[1:]], y, options, of=op)


@dataclass
class _Tiler(Tiles):
    tiling: Tiling

    def __post_init__(self) -> None:
        super().__post_init__()
        by_index = {op.index: op for op in self.graph.ops}
        self.chain = [by_index[i] for i in self.tiling.ops]

    def graph_in_parts(self) -> Graph:
        output = self.chain[-1].outputs[0]
        if self.tiling.channels > 1:
            self.joined([*self._channel_groups()], len(self.tensors[output].shape) - 1, output)
        else:
            self._tiles(output)
        inside = {op.index for op in self.chain}
        ops: list[Op] = []
        for op in self.graph.ops:
            if op.index == self.chain[-1].index:
                ops += self.new
            elif op.index not in inside:
                ops.append(op)
        return replace(self.graph, tensors=self.tensors, ops=tuple(ops))

    def _tiles(self, output: TensorId) -> None:
        whole, tiling = self.tensors[output], self.tiling
        stripes = []
        for rows in _ranges(whole.shape[1], tiling.rows):
            tiles = [self._tile(rows, columns) for columns in _ranges(whole.shape[2], tiling.columns)]
            if len(tiles) == 1:
                stripes += tiles
                continue
            alone = tiling.rows == 1
            stripe = output if alone else self.like(whole, (1, rows[1] - rows[0], *whole.shape[2:]))
            stripes.append(self.joined(tiles, 2, stripe))
        if len(stripes) > 1:
            self.joined(stripes, 1, output)

    def _tile(self, rows: Range, columns: Range) -> TensorId:
        wanted = [(rows, columns)]
        for op in reversed(self.chain):
            each = zip(along(self.graph, op), wanted[-1], strict=True)
            (top, bottom), (left, right) = (axis.reads(*made) for axis, made in each)
            _, height, width, _ = self.tensors[op.inputs[0]].shape
            wanted.append(((max(0, top), min(height, bottom)), (max(0, left), min(width, right))))
        x = self.cut_of(self.chain[0].inputs[0], dict(zip((1, 2), wanted.pop(), strict=True)))
        for op in self.chain:
            x = self.tile(op, x, *wanted.pop())
        return x

    def _channel_groups(self) -> Iterator[TensorId]:
        unit = channel_unit(self.graph, self.chain)
        first, channels = self.chain[0], self.tensors[self.chain[0].outputs[0]].shape[-1]
        for part in _ranges(channels // unit, self.tiling.channels):
            low, high = (n * unit for n in part)
            x = self._input_of_group(first, low, high)
            for op in self.chain:
                whole = self.tensors[op.outputs[0]]
                if op is not first:
                    low, high = (n * whole.shape[-1] // self.tensors[op.inputs[0]].shape[-1] for n in (low, high))
                y = self.like(whole, (*whole.shape[:-1], high - low))
                axes = {**FAN_OUT, **CHANNELWISE}[op.type]
                each, own = enumerate(op.inputs), slice(low, high)
                inputs = [self.channels_of(t, own, axes[k]) if k in axes else t for k, t in each]
                if op.type != "GATHER":
                    inputs[0] = x
                x = self.add(op.type, inputs, y, op.options, of=op)
            yield x

    def _input_of_group(self, op: Op, low: int, high: int) -> TensorId:
        source, made = _channels(self.graph, op)
        x = op.inputs[0]
        if not is_grouped(self.graph, op):
            return x
        return self.slice_of(x, len(self.tensors[x].shape) - 1, low * source // made, high * source // made)
