"""Tiles chains of builtin operators: stripes of rows, or groups of channels, one after the other.

Stripes are fused tiling of feature maps (FFMT): each recomputes the rows that its windows share with the previous
stripe. Channel groups are the fan-out of fused depthwise tiling (FDT), which recomputes nothing. A fan-in would add
rounded partial sums, which changes int8 results. No output byte changes: a convolution with padding equals one without
padding on a map that PAD enlarged, since PAD fills in the zero point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor, TensorId
from tflm_memopt.ops.context import span
from tflm_memopt.rewrite.parts import Parts, data_of

MOST_PARTS = 10
"""Limit of CONCATENATION's inputs in TFLM (kMaxInputNum, concatenation.cc)."""
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
POINTWISE = ("RELU", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "QUANTIZE", "DEQUANTIZE")
WEIGHTS = ("INT8", "INT32", "INT64", "FLOAT32")
"""Types of constants that can be cut along an axis."""
MOVED = ("INT8", "INT16", "FLOAT32")
"""Types that TFLM's SLICE, PAD and CONCATENATION all support."""
TILEABLE = (*CONVOLUTIONS, *POOLS, *POINTWISE, "PAD")
FAN_OUT: Mapping[str, Mapping[int, int]] = {"CONV_2D": {1: 0, 2: 0}, "FULLY_CONNECTED": {1: 0, 2: 0}, "GATHER": {0: 1}}
"""Operators whose output channels have separate constants: the operands that hold them, and their axis."""
CHANNELWISE: Mapping[str, Mapping[int, int]] = {
    "DEPTHWISE_CONV_2D": {1: 3, 2: 0}, "MEAN": {}, **{kind: {} for kind in (*POOLS, *POINTWISE)},
}  # fmt: skip
"""The same for operators that compute each output channel from one input channel."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A chain of operators that runs once for each part of its last output."""

    ops: tuple[int, ...]
    """Operators by Op.index; each is the only reader of the one before."""
    parts: int
    channels: bool = False
    """Groups of channels instead of stripes of rows."""

    def __str__(self) -> str:
        what = "channel groups" if self.channels else "stripes"
        return f"ops {self.ops[0]}..{self.ops[-1]} in {self.parts} {what}"


@dataclass(frozen=True, slots=True)
class Along:
    """An operator's window along one axis."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    """Padding after the end, in elements."""

    def reads(self, first: int, end: int) -> tuple[int, int]:
        """Return the range that outputs [first, end) read, including padding before 0 and after the end."""
        low = first * self.stride - self.before
        return low, (end - 1) * self.stride - self.before + (self.kernel - 1) * self.dilation + 1


def chain(graph: Graph, first: Op) -> tuple[Op, ...]:
    """Return the longest chain of operators that can be tiled by rows, starting at `first`."""
    found = [first] if can_tile(graph, first) else []
    while found:
        output = found[-1].outputs[0]
        readers = graph.consumers(output)
        if output in graph.outputs or len(readers) != 1 or readers[0].inputs.count(output) != 1:
            break
        if readers[0].inputs[0] != output or not can_tile(graph, readers[0]):
            break
        found.append(readers[0])
    return tuple(found)


def fan_out(graph: Graph, first: Op) -> tuple[Op, ...]:
    """Return the longest chain of operators that can be tiled by channel groups, starting at `first`."""
    found = [first] if first.type in FAN_OUT and _can_group(graph, first) else []
    while found:
        output = found[-1].outputs[0]
        readers = graph.consumers(output)
        if output in graph.outputs or len(readers) != 1 or readers[0].inputs.count(output) != 1:
            break
        if readers[0].inputs[0] != output or readers[0].type not in CHANNELWISE or not _can_group(graph, readers[0]):
            break
        found.append(readers[0])
    return tuple(found)


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
    return True


def tiled(graph: Graph, tilings: Sequence[Tiling]) -> Graph:
    """Return the graph with these chains tiled."""
    for tiling in tilings:
        graph = _Tiler(graph, tiling).graph_in_parts()
    return graph


def along(graph: Graph, op: Op) -> tuple[Along, Along]:
    """Return the window of an operator along height and width."""
    if op.type == "PAD":
        margins = data_of(graph, op.inputs[1]).reshape(-1, 2).tolist()
        return Along(before=margins[1][0], after=margins[1][1]), Along(before=margins[2][0], after=margins[2][1])
    if op.type in POINTWISE:
        return Along(), Along()
    options, source = op.options, graph.tensors[op.inputs[0]]
    pool = op.type in POOLS
    kernels = (options["filterHeight"], options["filterWidth"]) if pool else graph.tensors[op.inputs[1]].shape[1:3]
    dilations = (1, 1) if pool else (options["dilationHFactor"], options["dilationWFactor"])
    strides = options["strideH"], options["strideW"]
    each = zip(source.shape[1:3], kernels, strides, dilations, strict=True)
    first, second = (_along(*numbers, str(options["padding"])) for numbers in each)
    return first, second


def _along(size: int, kernel: int, stride: int, dilation: int, padding: str) -> Along:
    found = span(size, kernel, stride, dilation, padding)
    return Along(kernel, stride, dilation, found.before, found.after)


def can_tile(graph: Graph, op: Op) -> bool:
    """Return whether rows of the operator's output can be computed from rows of its first input."""
    tensors = [graph.tensors[t] for t in (*op.inputs[:1], *op.outputs)]
    if op.type not in TILEABLE or len(op.outputs) != 1 or any(len(t.shape) != 4 or t.shape[0] != 1 for t in tensors):
        return False
    if any(t.dtype not in MOVED for t in tensors):
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


def filter_axis(tensor: Tensor, op: Op) -> int:
    """Return the axis of the output channels of a filter or a bias."""
    return 3 if op.type == "DEPTHWISE_CONV_2D" and len(tensor.shape) == 4 else 0


class Stripes(Parts):
    """Builder of a graph whose feature maps are computed in stripes of rows."""

    def stripe(self, op: Op, x: TensorId, first: int, end: int, *, padded: bool) -> TensorId:
        """Return rows [first, end) of an operator's output. padded: the input already contains the padding."""
        down, across = along(self.graph, op)
        low, high = down.reads(first, end)
        size = self.graph.tensors[op.inputs[0]].shape[1]
        margins = (max(0, -low), max(0, high - size)), (across.before, across.after)
        if not padded and any(map(any, margins)):
            x = self.padded(x, *margins)
        if op.type == "PAD":
            return x
        whole = self.tensors[op.outputs[0]]
        y = self.like(whole, (1, end - first, *whole.shape[2:]))
        options = {**op.options, "padding": "VALID"} if "padding" in op.options else op.options
        return self.add(op.type, [x, *op.inputs[1:]], y, options, of=op)


@dataclass
class _Tiler(Stripes):
    """Builds the tiled graph for one chain."""

    tiling: Tiling

    def __post_init__(self) -> None:
        super().__post_init__()
        by_index = {op.index: op for op in self.graph.ops}
        self.chain = [by_index[i] for i in self.tiling.ops]

    def graph_in_parts(self) -> Graph:
        pieces = list(self._channel_groups() if self.tiling.channels else self._stripes())
        output = self.chain[-1].outputs[0]
        axis = len(self.tensors[output].shape) - 1 if self.tiling.channels else 1
        self.joined(pieces, axis, output)
        inside = {op.index for op in self.chain}
        ops: list[Op] = []
        for op in self.graph.ops:
            if op.index == self.chain[-1].index:
                ops += self.new
            elif op.index not in inside:
                ops.append(op)
        return replace(self.graph, tensors=self.tensors, ops=tuple(ops))

    # --- stripes

    def _stripes(self) -> Iterator[TensorId]:
        parts, rows = self.tiling.parts, self.tensors[self.chain[-1].outputs[0]].shape[1]
        down, _ = along(self.graph, self.chain[0])
        source, wider = self._padded_source(down)
        bounds = [rows * n // parts for n in range(parts + 1)]
        for first, end in pairwise(bounds):
            wanted = [(first, end)]
            for op in reversed(self.chain):
                low, high = along(self.graph, op)[0].reads(*wanted[-1])
                size = self.tensors[op.inputs[0]].shape[1]
                last = op is self.chain[0]
                wanted.append((low + wider, high + wider) if last and wider >= 0 else (max(0, low), min(size, high)))
            x = self.slice_of(source, 1, *wanted.pop())
            for op in self.chain:
                first_row, end_row = wanted.pop()
                x = self.stripe(op, x, first_row, end_row, padded=op is self.chain[0] and wider >= 0)
            yield x

    def _padded_source(self, down: Along) -> tuple[TensorId, int]:
        """Return the chain's input including its first operator's padding, and the padding rows at the top, or -1
        without padding.
        """
        first = self.chain[0]
        _, across = along(self.graph, first)
        if first.type == "PAD" or not any((down.before, down.after, across.before, across.after)):
            return first.inputs[0], -1
        return self.padded(first.inputs[0], (down.before, down.after), (across.before, across.after)), down.before

    # --- channel groups

    def _channel_groups(self) -> Iterator[TensorId]:
        channels = self.tensors[self.chain[0].outputs[0]].shape[-1]
        bounds = [channels * n // self.tiling.parts for n in range(self.tiling.parts + 1)]
        for first, end in pairwise(bounds):
            x, low, high = ABSENT, first, end
            for op in self.chain:
                multiplier = int(op.options.get("depthMultiplier", 1)) if op is not self.chain[0] else 1
                low, high = low * multiplier, high * multiplier
                whole = self.tensors[op.outputs[0]]
                y = self.like(whole, (*whole.shape[:-1], high - low))
                axes = {**FAN_OUT, **CHANNELWISE}[op.type]
                inputs = [self.channels_of(t, low, high, axes[k]) if k in axes else t for k, t in enumerate(op.inputs)]
                if op is not self.chain[0]:
                    inputs[0] = x
                x = self.add(op.type, inputs, y, op.options, of=op)
            yield x
