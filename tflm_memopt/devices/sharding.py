"""Splits a graph over devices, each of which computes parts of the operators' outputs.

A device sends elements just before the receiving device first reads them. All devices follow one global order of
operators, so that no two devices can wait for each other forever.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.devices.stripes import (
    ROWS_AXIS,
    Stripe,
    activations,
    bounds,
    even_stripes,
    overlapping_stripes,
    rows_read,
)
from tflm_memopt.errors import UsageError
from tflm_memopt.format.limits import MAX_INPUTS, MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId, without_dead
from tflm_memopt.ops.constraints.base import quantization
from tflm_memopt.ops.context import CONVOLUTIONS, POOLS, OperatorContext, span
from tflm_memopt.ops.message import RECEIVE, SEND, options
from tflm_memopt.ops.opset import row_op
from tflm_memopt.ops.packings import sum_range
from tflm_memopt.ops.partial import ADD_SUMS, SUMS, add_options, bytes_of, sums_options
from tflm_memopt.ops.rowop import Message, RowOp
from tflm_memopt.rewrite.parts import data_of
from tflm_memopt.rewrite.tiling import (
    ELEMENTWISE,
    POINTWISE,
    Tiles,
    along,
    can_tile,
    filter_axis,
    groups_of,
    is_grouped,
)

MOST_DEVICES = 16
RUNNING = ("INT8", "INT16")
OUTPUTS_SPLIT = ("CONV_2D", "FULLY_CONNECTED")
"""Operators in which each output channel has its own weights and reads all input channels."""
WINDOWS = (*CONVOLUTIONS, *POOLS)
STRIDES, DILATIONS = ("strideH", "strideW"), ("dilationHFactor", "dilationWFactor")
LINK = Tensor(0, "link", (0,), "UINT8")
ON_THE_FIRST: Mapping[int, int] = MappingProxyType({})


class DeviceSharding(enum.Enum):
    WHOLE = "whole"
    """One device runs all of the operator, by default the first device."""
    ROWS = "rows"
    """Each device computes some rows of the output, and gets missing input rows from its neighbours (FFMT)."""
    OVERLAP = "overlap"
    """Each device computes all rows that its later operators read, so that devices exchange no rows (FTP)."""
    CHANNELS = "channels"
    """Each device computes some output channels and stores only the weights of these channels (FDT, fan-out)."""
    INPUTS = "inputs"
    """Each device computes partial sums of all output channels from some input channels (FDT, fan-in).

    With partial sums, each device adds up the sums of its own output channels. If one device runs all operators that
    read the output, that device adds up all partial sums.
    """


@dataclass(frozen=True, slots=True)
class Piece:
    axis: int
    first: int
    end: int
    device: int
    tensor: TensorId


@dataclass(frozen=True, slots=True)
class _Sums:
    tensor: TensorId
    nbytes: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DeviceGraphs:
    graphs: tuple[Graph, ...]
    sent: tuple[Tensor, ...]
    outputs: Mapping[TensorId, TensorId]
    """Maps an output of the model to the tensor that holds the output in the first device's graph."""
    identity: int


def possible_shardings(graph: Graph, op: Op) -> tuple[DeviceSharding, ...]:
    found = [DeviceSharding.WHOLE]
    if (_plain(graph, op) and can_tile(graph, op)) or _alike(graph, op, 4):
        found += [DeviceSharding.ROWS, DeviceSharding.OVERLAP]
    if _splits_outputs(graph, op) or _by_channel(graph, op):
        found.append(DeviceSharding.CHANNELS)
    if _splits_inputs(graph, op):
        found.append(DeviceSharding.INPUTS)
    return tuple(found)


def shard(
    graph: Graph,
    shardings: Mapping[int, DeviceSharding],
    devices: int,
    identity: int,
    portions: Sequence[Fraction] = (),
    at: Mapping[int, int] = ON_THE_FIRST,
) -> DeviceGraphs:
    """Return the graphs of the devices. Raises UsageError for an operator that cannot be split as `shardings` demands.

    The argument `shardings` maps Op.index to the split of each operator. The argument `identity` is a number that all
    messages contain, and that differs between conversions. The argument `portions` has the share of channels of each
    device, where 1 is an equal share. The argument `at` maps Op.index to the device of each unsplit operator that is
    not on the first device.
    """
    return _Sharder(graph, shardings, devices, identity, portions, at).sharded()


def _plain(graph: Graph, op: Op) -> bool:
    tensors = [graph.tensors[t] for t in (*activations(graph, op), *op.outputs)]
    known = all(t.dtype in RUNNING and not (t.variable or t.dynamic) and t.shape and all(t.shape) for t in tensors)
    known = known and (op.type not in WINDOWS or bool(op.options))
    return known and len(op.outputs) == 1 and bool(activations(graph, op))


def _splits_outputs(graph: Graph, op: Op) -> bool:
    if op.type not in OUTPUTS_SPLIT or not _plain(graph, op) or len(activations(graph, op)) != 1:
        return False
    weights = graph.tensors[op.inputs[1]]
    whole = weights.constant and weights.shape[0] == graph.tensors[op.outputs[0]].shape[-1]
    return whole and (op.type != "CONV_2D" or groups_of(graph, op) > 0)


def _splits_inputs(graph: Graph, op: Op) -> bool:
    if not _splits_outputs(graph, op):
        return False
    source, weights = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    known = source.dtype == "INT8" and weights.dtype in ("INT8", "INT4") and source.shape[-1] == weights.shape[-1] > 1
    if op.type == "FULLY_CONNECTED":
        return known
    return known and source.shape[0] == 1 and max(weights.shape[1:3]) <= MAX_KERNEL_H


def _alike(graph: Graph, op: Op, rank: int = 0) -> bool:
    if op.type not in ELEMENTWISE or not _plain(graph, op) or len(activations(graph, op)) != len(op.inputs):
        return False
    shapes = {graph.tensors[t].shape for t in (*op.inputs, *op.outputs)}
    return len(shapes) == 1 and (not rank or all(len(s) == rank and s[0] == 1 for s in shapes))


def _by_channel(graph: Graph, op: Op) -> bool:
    if not _plain(graph, op):
        return False
    if _alike(graph, op):
        return True
    if len(activations(graph, op)) != 1 or op.inputs[0] != activations(graph, op)[0]:
        return False
    source, output = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if op.type == "RESHAPE":
        return source.elements == source.shape[-1] == output.shape[-1]
    if source.shape[-1] != output.shape[-1]:
        return False
    if op.type == "DEPTHWISE_CONV_2D":
        return op.options["depthMultiplier"] in (0, 1)
    if op.type == "MEAN":
        rank = len(source.shape)
        return graph.tensors[op.inputs[1]].constant and not np.isin(data_of(graph, op.inputs[1]), (rank - 1, -1)).any()
    if op.type == "PAD":
        return graph.tensors[op.inputs[1]].constant
    return op.type in (*POOLS, *POINTWISE)


@dataclass
class _Sharder(Tiles):
    shardings: Mapping[int, DeviceSharding]
    devices: int
    identity: int
    portions: Sequence[Fraction]
    at: Mapping[int, int]
    device: int = field(default=0, init=False)
    owner: dict[int, int] = field(default_factory=dict, init=False)
    pieces: dict[TensorId, list[Piece]] = field(default_factory=dict, init=False)
    stripes: Mapping[int, Sequence[Stripe]] = field(default_factory=dict, init=False)
    """Maps Op.index to the rows of each device, for operators that devices compute without exchanging rows."""
    own: dict[tuple[TensorId, int], Piece] = field(default_factory=dict, init=False)
    """Maps a tensor and a device to the rows that the device has computed. Two devices may compute the same row of a
    tensor.
    """
    known: dict[tuple[TensorId, int, int, int, int], TensorId] = field(default_factory=dict, init=False)
    """Maps (tensor, axis, first, end, device) to a tensor on the device, which holds the elements from `first` to `end`
    - 1 along the axis.
    """
    reached: dict[tuple[TensorId, int], TensorId] = field(default_factory=dict, init=False)
    """Maps a tensor and a number n to the tensor that holds only the first n rows."""
    received: dict[tuple[TensorId, int], TensorId] = field(default_factory=dict, init=False)
    """Maps a sent tensor and the receiving device to the tensor on the receiving device."""
    sent: dict[TensorId, Tensor] = field(default_factory=dict, init=False)
    """Maps the output of each SEND, which is also the input of a RECEIVE, to the sent tensor."""

    def sharded(self) -> DeviceGraphs:
        for t in (*self.graph.inputs, *(t for t in self.graph.outputs if self.graph.tensors[t].constant)):
            self.pieces[t] = [self._whole(t, 0)]
        for op in self.graph.ops:
            if (sharding := self.shardings[op.index]) not in possible_shardings(self.graph, op):
                raise UsageError(
                    f"operator {op.number} {op.kind} cannot be shared by {sharding.value}",
                    code="cannot_share",
                    hint="choose another split; whole is always possible",
                )
        stack = {index for index, sharding in self.shardings.items() if sharding is DeviceSharding.OVERLAP}
        self.stripes = overlapping_stripes(self.graph, stack, self.devices)
        for op in self.graph.ops:
            {
                DeviceSharding.WHOLE: self._run_whole,
                DeviceSharding.ROWS: self._run_rows,
                DeviceSharding.OVERLAP: self._run_rows,
                DeviceSharding.CHANNELS: self._run_channels,
                DeviceSharding.INPUTS: self._run_inputs,
            }[self.shardings[op.index]](op)
        outputs = {t: self._all(t, 0) for t in self.graph.outputs}
        ends = self.graph.inputs, tuple(outputs[t] for t in self.graph.outputs)
        wanted = without_dead(Graph(self.tensors, tuple(self.new), *ends)).ops
        graphs = (
            Graph(self.tensors, tuple(op for op in wanted if self.owner[op.index] == n), *(((), ()) if n else ends))
            for n in range(self.devices)
        )
        links = {t for op in wanted for t in op.outputs}
        sent = tuple(tensor for link, tensor in self.sent.items() if link in links)
        return DeviceGraphs(tuple(graphs), sent, outputs, self.identity)

    def add(
        self, kind: str, inputs: Sequence[TensorId], output: TensorId, options: Mapping[str, Any], of: Op | None = None
    ) -> TensorId:
        self.owner[self.next] = self.device
        return super().add(kind, inputs, output, options, of)

    def _run_whole(self, op: Op) -> None:
        device = self.at.get(op.index, 0)
        op = self._read_alone(op, {device})
        inputs = [self._all(t, device) if t in self.pieces else t for t in op.inputs]
        self.device = device
        for t in op.outputs:
            self.pieces[t] = [self._whole(t, device)]
        self.add(op.type, inputs, op.outputs[0], op.options, of=op)
        self.new[-1] = replace(self.new[-1], outputs=op.outputs)

    def _run_rows(self, op: Op) -> None:
        output, made = op.outputs[0], []
        for device, first, end in self.stripes.get(op.index) or even_stripes(self.graph, op, self.devices):
            rows = rows_read(self.graph, op, first, end)
            inputs = [self._piece(t, ROWS_AXIS, *rows, device) for t in activations(self.graph, op)]
            self.device = device
            if op.type in ELEMENTWISE:
                x = self._like_part(output, ROWS_AXIS, end - first)
                self.add(op.type, inputs, x, op.options, of=op)
            else:
                x = self.tile(op, inputs[0], (first, end))
            made.append(Piece(ROWS_AXIS, first, end, device, x))
        self.own |= {(output, piece.device): piece for piece in made}
        self.pieces[output] = [*self._disjoint(made)]

    def _disjoint(self, pieces: Sequence[Piece]) -> Iterator[Piece]:
        reached = 0
        for piece in pieces:
            first, reached = max(reached, piece.first), max(reached, piece.end)
            if first < piece.end:
                self.device = piece.device
                x = self.slice_of(piece.tensor, ROWS_AXIS, first - piece.first, piece.end - piece.first)
                yield replace(piece, first=first, tensor=x)

    def _run_channels(self, op: Op) -> None:
        groups = groups_of(self.graph, op) if is_grouped(self.graph, op) else 0
        op, output = self._read_alone(op, set(range(self.devices))), op.outputs[0]
        axis = len(self.tensors[output].shape) - 1
        channels, made = self.tensors[output].shape[axis], []
        unit = channels // groups if groups else 1
        for device, part in enumerate(self._bounds(channels // unit)):
            first, end = (n * unit for n in part)
            if first == end:
                continue
            inputs = [
                self._operand(op, t, first, end, device, grouped=groups > 0)
                if t in self.pieces
                else self._constant(op, t, first, end)
                for t in op.inputs
            ]
            self.device = device
            x = self._like_part(output, axis, end - first)
            self.add(op.type, inputs, x, op.options, of=op)
            made.append(Piece(axis, first, end, device, x))
        self.pieces[output] = made

    def _run_inputs(self, op: Op) -> None:
        row = row_op(OperatorContext(self.graph, op))
        channels = self.tensors[op.inputs[0]].shape[-1]
        own = [(d, part) for d, part in enumerate(self._bounds(channels)) if part[0] < part[1]]
        if not isinstance(row, RowOp) or len(own) == 1:  # A device with all channels needs no partial sums.
            self._run_channels(op)
            return
        op, output = self._read_alone(op, set(range(self.devices))), op.outputs[0]
        axis = len(self.tensors[op.inputs[0]].shape) - 1
        parts = [(d, part, self._piece(op.inputs[0], axis, *part, d)) for d, part in own]
        made = []
        for device, (first, end) in self._adding(output):
            sums = [self._sums(op, d, x, (first, end), part, device) for d, part, x in parts]
            self.device = device
            x = self._added(op, row, sums, first, end)
            made.append(Piece(len(self.tensors[output].shape) - 1, first, end, device, x))
        self.pieces[output] = made

    def _bounds(self, size: int) -> list[tuple[int, int]]:
        return bounds(size, self.devices, self.portions)

    def _adding(self, output: TensorId) -> list[tuple[int, tuple[int, int]]]:
        readers = self.graph.consumers(output)
        whole = {self.at.get(op.index, 0) if self.shardings[op.index] is DeviceSharding.WHOLE else -1 for op in readers}
        alone = whole | ({0} if output in self.graph.outputs else set())
        size = self.tensors[output].shape[-1]
        if len(alone) == 1 and -1 not in alone:
            return [(alone.pop(), (0, size))]
        return [(d, part) for d, part in enumerate(self._bounds(size)) if part[0] < part[1]]

    def _sums(
        self, op: Op, device: int, x: TensorId, outputs: tuple[int, int], inputs: tuple[int, int], receiver: int
    ) -> _Sums:
        """Compute partial sums of some output channels from some input channels, and send the sums to `receiver`."""
        whole, zero = data_of(self.graph, op.inputs[1]), quantization(self.tensors[x]).zero_point[0]
        weights = np.ascontiguousarray(whole[slice(*outputs), ..., slice(*inputs)])
        low, high = sum_range(weights, zero)
        nbytes = bytes_of(int(low.min()), int(high.max()))
        if weights.ndim == 2:
            weights = weights[:, np.newaxis, np.newaxis]
        self.device = device
        filter_ = self.put(Tensor(0, "filter", weights.shape, "INT8", data=weights))
        made, said = self._of_sums(op, nbytes * len(weights)), sums_options(op, self._margins(op), nbytes)
        self.add("CUSTOM", (x, filter_), made, {"custom_code": SUMS, "custom_options": said}, of=op)
        return _Sums(self._send(made, device, receiver), nbytes, low, high)

    def _margins(self, op: Op) -> tuple[int, ...]:
        if op.type == "FULLY_CONNECTED":
            return 0, 0, 0, 0
        sizes, kernel = self.tensors[op.inputs[0]].shape[1:3], self.tensors[op.inputs[1]].shape[1:3]
        strides, dilations = ([int(op.options[name]) for name in names] for names in (STRIDES, DILATIONS))
        each = zip(sizes, kernel, strides, dilations, strict=True)
        spans = (span(*numbers, str(op.options["padding"])) for numbers in each)
        return tuple(margin for one in spans for margin in (one.before, one.after))

    def _of_sums(self, op: Op, channels: int) -> TensorId:
        whole = self.tensors[op.outputs[0]]
        return self.put(replace(whole, shape=(*whole.shape[:-1], channels), quantization=None))

    def _added(self, op: Op, row: RowOp, sums: Sequence[_Sums], first: int, end: int) -> TensorId:
        while len(sums) > MAX_INPUTS:
            some, sums = sums[:MAX_INPUTS], sums[MAX_INPUTS:]
            low, high = (sum(ends) for ends in zip(*((s.low, s.high) for s in some), strict=True))
            nbytes = bytes_of(int(low.min()), int(high.max()))
            made, said = self._of_sums(op, nbytes * (end - first)), add_options([s.nbytes for s in some], nbytes)
            inputs = [s.tensor for s in some]
            self.add("CUSTOM", inputs, made, {"custom_code": ADD_SUMS, "custom_options": said}, of=op)
            sums = [_Sums(made, nbytes, low, high), *sums]
        constants = [row.multipliers, row.shifts, *([] if row.bias is None else [row.bias])]
        own = [values if len(values) == 1 else values[first:end] for values in constants if values is not None]
        operands = [self.put(Tensor(0, "scales", v.shape, v.dtype.name.upper(), data=v)) for v in own]
        x = self._like_part(op.outputs[0], len(self.tensors[op.outputs[0]].shape) - 1, end - first)
        said = add_options([s.nbytes for s in sums], 0, row.output_zero_point, row.activation)
        inputs = [*(s.tensor for s in sums), *operands]
        return self.add("CUSTOM", inputs, x, {"custom_code": ADD_SUMS, "custom_options": said}, of=op)

    def _operand(self, op: Op, t: TensorId, first: int, end: int, device: int, *, grouped: bool) -> TensorId:
        if op.type in OUTPUTS_SPLIT and not grouped:
            return self._all(t, device)
        axis, made = len(self.tensors[t].shape) - 1, self.tensors[op.outputs[0]].shape[-1]
        channels = self.tensors[t].shape[axis]
        return self._piece(t, axis, first * channels // made, end * channels // made, device)

    def _constant(self, op: Op, t: TensorId, first: int, end: int) -> TensorId:
        if op.type == "RESHAPE":
            return self.constant([*self.tensors[op.outputs[0]].shape[:-1], end - first])
        if t < 0 or op.type in ("MEAN", "PAD"):
            return t
        return self.channels_of(t, slice(first, end), filter_axis(self.tensors[t], op))

    def _read_alone(self, op: Op, readers: Set[int]) -> Op:
        """Remove the last input rows, which are then not sent, if no operator on the devices `readers` reads them."""
        t = op.inputs[0]
        if op.type not in WINDOWS or t not in self.pieces:
            return op
        # A tensor is not sent if one device holds and reads all its pieces.
        if len(readers | {p.device for p in self.pieces[t]}) == 1:
            return op
        split = [other for other in self.graph.consumers(t) if self.shardings[other.index] is not DeviceSharding.WHOLE]
        whole = [other for other in self.graph.consumers(t) if self.at.get(other.index, 0) in readers]
        read = max(self._rows_read(other, t) for other in (*split, *whole))
        if read >= self.tensors[t].shape[ROWS_AXIS]:
            return op
        if (t, read) not in self.reached:
            self.reached[t, read] = self._like_part(t, ROWS_AXIS, read)
            self.pieces[self.reached[t, read]] = [*self._up_to(t, read)]
        return replace(op, inputs=(self.reached[t, read], *op.inputs[1:]))

    def _rows_read(self, op: Op, t: TensorId) -> int:
        by_rows = self.shardings[op.index] in (DeviceSharding.ROWS, DeviceSharding.OVERLAP)
        if op.type not in WINDOWS or by_rows or op.inputs[0] != t:
            return self.tensors[t].shape[ROWS_AXIS]
        return along(self.graph, op)[0].reads(0, self.tensors[op.outputs[0]].shape[ROWS_AXIS])[1]

    def _up_to(self, tensor: TensorId, read: int) -> Iterator[Piece]:
        for piece in self.pieces[tensor]:
            first, end = (piece.first, piece.end) if piece.axis == ROWS_AXIS else (0, read)
            if first < read:
                self.device, end = piece.device, min(end, read)
                x = self.slice_of(piece.tensor, ROWS_AXIS, 0, end - first)
                yield replace(piece, tensor=x, end=end if piece.axis == ROWS_AXIS else piece.end)

    def _like_part(self, whole: TensorId, axis: int, size: int) -> TensorId:
        shape = list(self.tensors[whole].shape)
        shape[axis] = size
        return self.like(self.tensors[whole], tuple(shape))

    def _whole(self, tensor: TensorId, device: int) -> Piece:
        shape = self.tensors[tensor].shape
        axis = max(range(len(shape)), key=shape.__getitem__) if shape else 0
        return Piece(axis, 0, shape[axis] if shape else 1, device, tensor)

    def _all(self, tensor: TensorId, device: int) -> TensorId:
        first, *others = self.pieces[tensor]
        if not others:
            return self._send(first.tensor, first.device, device)
        axis = first.axis
        return self._piece(tensor, axis, 0, self.tensors[tensor].shape[axis], device)

    def _piece(self, tensor: TensorId, axis: int, first: int, end: int, device: int) -> TensorId:
        key = tensor, axis, first, end, device
        if key not in self.known:
            self.known[key] = self._put_together(*key)
        return self.known[key]

    def _put_together(self, tensor: TensorId, axis: int, first: int, end: int, device: int) -> TensorId:
        own = self.own.get((tensor, device))
        if own and axis == ROWS_AXIS and own.first <= first and end <= own.end:
            self.device = device
            return self.slice_of(own.tensor, axis, first - own.first, end - own.first)
        found = self.pieces[tensor]
        along_axis = found[0].axis == axis or len(found) == 1
        parts = [*self._along(found, axis, first, end)] if along_axis else [(p, first, end) for p in found]
        got = []
        for piece, low, high in parts:
            self.device = piece.device
            x = self.slice_of(piece.tensor, axis, low, high)
            got.append(self._send(x, piece.device, device))
        self.device = device
        if len(got) == 1:
            return got[0]
        joined = axis if along_axis else found[0].axis
        return self.joined(got, joined, self._like_part(tensor, axis, end - first))

    @staticmethod
    def _along(pieces: Sequence[Piece], axis: int, first: int, end: int) -> Iterator[tuple[Piece, int, int]]:
        for piece in pieces:
            begin = piece.first if piece.axis == axis else 0
            stop = piece.end if piece.axis == axis else end
            low, high = max(first, begin), min(end, stop)
            if low < high:
                yield piece, low - begin, high - begin

    def _send(self, tensor: TensorId, sender: int, receiver: int) -> TensorId:
        """Send a tensor to the receiver, unless the tensor was sent before."""
        if sender == receiver:
            return tensor
        key = tensor, receiver
        if key not in self.received:
            message = Message(self.identity, len(self.sent), sender, receiver)
            copy, link = self.like(self.tensors[tensor], self.tensors[tensor].shape), self.put(LINK)
            self.sent[link] = self.tensors[tensor]
            for code, device in ((SEND, sender), (RECEIVE, receiver)):
                self.device = device
                ends = (tensor, link) if code == SEND else (link, copy)
                self.add("CUSTOM", ends[:1], ends[1], {"custom_code": code, "custom_options": options(message)})
            self.received[key] = copy
        return self.received[key]
