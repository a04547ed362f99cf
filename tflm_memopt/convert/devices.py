"""One network on several devices: who makes what, a model for each, and the proof that they fit together.

The layers in front split their maps in strips, those behind their weights: where that changes is the first of the two
integer programs of plan/devices.py, in bytes. Every device's model is then converted as any other.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tflm_memopt.check.checker import check
from tflm_memopt.check.together import RowCrosses, check_together
from tflm_memopt.convert.request import Request
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.shares import device_models
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import read
from tflm_memopt.plan.devices import SplitLayer, least_memory
from tflm_memopt.plan.planner import PER_REGION
from tflm_memopt.results import DeviceReport, DevicesReport, Optimized, OptimizedDevices
from tflm_memopt.rewrite.shares import MOST_DEVICES, Way, share, ways
from tflm_memopt.rowgraph.inputs import IN_ARENA
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.lifetimes import VAR_HANDLE
from tflm_memopt.tflm.refused import accept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
KINDS = ("cpp", "tflite")
"""What can be written for a device: whole programs would have to know its lines."""


def checked_count(devices: int, asked: Request) -> int:
    """The number of devices. Raises UsageError for one that cannot be, or for options that are for one device."""
    if not 2 <= devices <= MOST_DEVICES:
        raise UsageError(
            f"{devices} devices cannot share a network", code="devices_count", hint=f"--devices 2 to {MOST_DEVICES}"
        )
    options = asked.options
    for flag, wanted, alone in (("--input", str(options.input), str(IN_ARENA)), ("--ops", options.ops, PER_REGION)):
        if wanted != alone:
            raise UsageError(f"several devices have no {flag} {wanted}", code="devices_option", hint=f"{flag} {alone}")
    for flag, given in (
        ("--cores 2", options.speeds),
        ("--board", asked.limits.board),
        ("--ram-limit", asked.limits.ram),
    ):
        if given:
            raise UsageError(f"several devices have no {flag}", code="devices_limit", hint=f"no {flag.split()[0]}")
    if asked.saved is not None:
        raise UsageError("a saved plan is of one device", code="devices_plan", hint="no --plan")
    return devices


def convert(
    data: bytes, name: str, devices: int, asked: Request, optimize: Callable[[bytes, str], Optimized]
) -> OptimizedDevices:
    """The models of all devices. optimize: converts the model of one, which gets a name.

    Raises what conversions raise, and UsageError where the network cannot be shared.
    """
    started = time.monotonic()
    source = read(data)
    accept(source)
    _stateless(source.graph)
    how = chosen(source.graph, devices)
    said = repr((devices, sorted((i, way.value) for i, way in how.items())))
    shared = share(source.graph, how, devices, zlib.crc32(said.encode(), zlib.crc32(data)))
    done = tuple(optimize(model, f"device{n}/{name}") for n, model in enumerate(device_models(source, shared)))
    traffic = check_together([_crossing(asked, one) for one in done])
    by_way = {way: tuple(op.index for op in source.graph.ops if how[op.index] is way) for way in Way}
    each = zip(done, shared.graphs, traffic.sent, traffic.received, strict=True)
    report = DevicesReport(
        model=name,
        devices=tuple(
            DeviceReport(f"device{n}/{name}", one.report.arena, len(one.model), _weights(graph), sent, received)
            for n, (one, graph, sent, received) in enumerate(each)
        ),
        original_arena=predict(source, asked.abi, library=asked.library),
        original_flash=len(data),
        original_weights=_weights(source.graph),
        rows=by_way[Way.ROWS],
        channels=by_way[Way.CHANNELS],
        whole=by_way[Way.WHOLE],
        split_weights=tuple(_weights(graph, by_way[Way.CHANNELS]) for graph in shared.graphs),
        original_split_weights=_weights(source.graph, by_way[Way.CHANNELS]),
        room=traffic.room,
        identity=shared.identity,
        seconds=round(time.monotonic() - started, 3),
    )
    return OptimizedDevices(done, report)


def _stateless(graph: Graph) -> None:
    """Raises UsageError for a model that remembers something: each device would have to keep its part of it."""
    if any(t.variable for t in graph.tensors.values()) or any(op.type == VAR_HANDLE for op in graph.ops):
        raise UsageError("a model with variables runs on one device", code="devices_state", hint="no --devices")


def chosen(graph: Graph, devices: int) -> Mapping[int, Way]:
    """How every operator is shared."""
    possible = {op.index: ways(graph, op) for op in graph.ops}
    rows = next((i for i, op in enumerate(graph.ops) if Way.ROWS not in possible[op.index]), len(graph.ops))
    switch = min(rows, least_memory([layer(graph, op) for op in graph.ops], devices))
    if all(possible[op.index] == (Way.WHOLE,) for op in graph.ops):
        raise UsageError(
            "no operator of the model can be shared by several devices",
            code="devices_nothing",
            hint="inspect says which operators run row by row; of float layers, convert them to int8",
        )
    return {op.index: _way(possible[op.index], in_front=i < switch) for i, op in enumerate(graph.ops)}


def _way(possible: Sequence[Way], *, in_front: bool) -> Way:
    if in_front:
        return Way.ROWS
    return Way.CHANNELS if Way.CHANNELS in possible else Way.WHOLE


def layer(graph: Graph, op: Op) -> SplitLayer:
    """An operator as its sizes in bytes."""
    read = sum(graph.tensors[t].nbytes for t in op.inputs if t >= 0 and not graph.tensors[t].constant)
    return SplitLayer(read, sum(graph.tensors[t].nbytes for t in op.outputs), _filter_bytes(graph, op))


def _filter_bytes(graph: Graph, op: Op) -> int:
    """Bytes of an operator's filter and bias."""
    constants = (graph.tensors[t] for t in op.inputs if t >= 0 and graph.tensors[t].constant)
    return sum(t.nbytes for t in constants) if op.type in WEIGHTED else 0


def _weights(graph: Graph, of: Sequence[int] | None = None) -> int:
    """The same of all operators, or of those that stand for some."""
    return sum(_filter_bytes(graph, op) for op in graph.ops if of is None or not set(of).isdisjoint(op.stands_for))


def _crossing(asked: Request, one: Optimized) -> Sequence[RowCrosses]:
    """The rows that cross, as the checker replays them. Raises UsageError where builtin operators are left.

    TFLM would run them again whenever it goes on after a wait.
    """
    conversion = asked.conversion(one.original)
    planned = conversion.of(one.plan).planned if one.plan else None
    parts = planned.partition if planned else conversion.partition
    if planned is None or parts is None or parts.kept or len(parts.regions) > 1:
        kept = one.report.kept_builtin
        where = f"operator {kept[0].index} {kept[0].operator}: {kept[0].reason}" if kept else one.report.model
        raise UsageError(
            "several devices cannot run operators that stay builtin",
            code="devices_builtin",
            where=where,
            hint="inspect says why; --int8-io where they are at the border",
        )
    return check(planned.plan, planned.understood.graph, parts)
