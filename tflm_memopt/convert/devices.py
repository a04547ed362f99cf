"""One network on several devices: who makes what, a model for each, and the proof that they fit together.

The layers in front split their maps in strips, those behind their weights: where that changes is the first of the two
integer programs of plan/devices.py, in bytes. Every device's model is then converted as any other.
"""

from __future__ import annotations

import math
import time
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from tflm_memopt.analysis.lines import Exchange, LineSpeed, done
from tflm_memopt.check.checker import check
from tflm_memopt.check.together import HEAD_BYTES, RowCrosses, check_together
from tflm_memopt.convert.annotation import annotate, left_whole, refused
from tflm_memopt.convert.request import Request
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.shares import device_models
from tflm_memopt.model.graph import Graph, Op, without_dead
from tflm_memopt.model.reader import Model, read
from tflm_memopt.ops.crossing import MOST_ROW_BYTES, rows_of
from tflm_memopt.ops.partial import weights_of
from tflm_memopt.plan.choices import PER_REGION
from tflm_memopt.plan.devices import SplitLayer, least_memory
from tflm_memopt.plan.firing.crossings import between
from tflm_memopt.plan.firing.work import work
from tflm_memopt.plan.plan import Block
from tflm_memopt.plan.planned import Planned
from tflm_memopt.results import DeviceReport, DevicesReport, DevicesTime, Optimized, OptimizedDevices
from tflm_memopt.rewrite.shares import MOST_DEVICES, ON_THE_FIRST, DeviceGraphs, Way, share, ways
from tflm_memopt.rowgraph.inputs import IN_ARENA
from tflm_memopt.rowgraph.regions import kept_with_devices
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.lifetimes import VAR_HANDLE
from tflm_memopt.tflm.refused import refuse

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
KINDS = ("cpp", "tflite")
"""What can be written for a device: whole programs would have to know its lines."""


def checked_count(devices: int, asked: Request) -> int:
    """The number of devices. Raises UsageError for one that cannot be, or for options that are for one device."""
    if not 2 <= devices <= MOST_DEVICES:
        raise UsageError(
            f"{devices} devices cannot share a network", code="bad_option", hint=f"--devices 2 to {MOST_DEVICES}"
        )
    options = asked.options
    for flag, wanted, alone in (("--input", str(options.input), str(IN_ARENA)), ("--ops", options.ops, PER_REGION)):
        if wanted != alone:
            raise UsageError(f"several devices have no {flag} {wanted}", code="bad_option", hint=f"{flag} {alone}")
    for flag, given, hint in (
        ("--cores 2", options.speeds, "no --cores"),
        ("--ram-limit", asked.limits.total, "--memory RAM,FLASH"),
        ("--flash-limit", asked.limits.flash, "--memory RAM,FLASH"),
    ):
        if given:
            raise UsageError(f"several devices have no {flag}", code="bad_option", hint=hint)
    if asked.saved is not None:
        raise UsageError("a saved plan is of one device", code="bad_option", hint="no --plan")
    return devices


@dataclass(frozen=True)
class Network:
    """A model that is to be shared, and what all conversions of it have in common."""

    data: bytes
    name: str
    asked: Request
    optimize: Callable[[bytes, str], tuple[Optimized, Planned | None]]
    """Converts the model of one device, which gets a name; None: it has no plan, and stays as it is."""
    line: LineSpeed | None = None
    """Between two devices; None: nobody said, and no time is told."""

    @cached_property
    def source(self) -> Model:
        """Raises what reading raises, and UsageError for a model that remembers something."""
        source = read(self.data)
        refuse(refused(source, annotate(source.graph, left_whole(source))))
        _stateless(source.graph)
        return source

    @cached_property
    def graph(self) -> Graph:
        """Without operators on which no output depends: no device is to have nothing but such."""
        return without_dead(self.source.graph)

    def shared(
        self,
        how: Mapping[int, Way],
        devices: int,
        portions: Sequence[Fraction] = (),
        at: Mapping[int, int] = ON_THE_FIRST,
    ) -> DeviceGraphs:
        """The graphs of so many devices."""
        others = [*portions, *sorted(at.items())]
        said = repr((devices, sorted((i, way.value) for i, way in how.items()), *others))
        return share(self.graph, how, devices, zlib.crc32(said.encode(), zlib.crc32(self.data)), portions, at)

    def is_enough_for(self, devices: int, how: Mapping[int, Way]) -> bool:
        """Whether each of so many devices has something to do."""
        return all(graph.ops for graph in self.shared(how, devices).graphs)

    def converted(
        self,
        how: Mapping[int, Way],
        devices: int,
        portions: Sequence[Fraction] = (),
        at: Mapping[int, int] = ON_THE_FIRST,
    ) -> OptimizedDevices:
        """Their models, checked together. how, at: by Op.index. portions: of channels, as bounds() has them.

        Raises what conversions raise, and UsageError where the network cannot be shared.
        """
        started = time.monotonic()
        shared = self.shared(how, devices, portions, at)
        _demand_work(shared)
        models = device_models(self.source, shared)
        made = [self.optimize(model, f"device{n}/{self.name}") for n, model in enumerate(models)]
        done = tuple(one for one, _ in made)
        plans = [_demand_whole(one, planned) for one, planned in made]
        crossing = [check(planned.plan, planned.graph) for planned in plans]
        traffic = check_together(crossing)
        computing = [computed(self.asked, planned) for planned in plans] if self.line else []
        by_way = {way: tuple(op.index for op in self.graph.ops if how[op.index] is way) for way in Way}
        split = by_way[Way.CHANNELS] + by_way[Way.INPUTS]
        each = zip(done, shared.graphs, traffic.sent, traffic.received, strict=True)
        report = DevicesReport(
            model=self.name,
            devices=tuple(
                DeviceReport(
                    f"device{n}/{self.name}", one.report.arena, len(one.model), _weights(graph), sent, received
                )
                for n, (one, graph, sent, received) in enumerate(each)
            ),
            original_arena=predict(self.source, self.asked.abi, library=self.asked.library),
            original_flash=len(self.data),
            original_weights=_weights(self.graph),
            rows=by_way[Way.ROWS],
            channels=by_way[Way.CHANNELS],
            inputs=by_way[Way.INPUTS],
            whole=by_way[Way.WHOLE],
            cut=tuple(min(i for i in at if at[i] == n) for n in sorted({*at.values()} - {0})),
            split_weights=tuple(_weights(graph, split) for graph in shared.graphs),
            original_split_weights=_weights(self.graph, split),
            room=traffic.room,
            identity=shared.identity,
            seconds=round(time.monotonic() - started, 3),
            time=together(self.line, computing, crossing) if self.line else None,
        )
        return OptimizedDevices(done, report)


def _demand_work(shared: DeviceGraphs) -> None:
    """Raises UsageError where a device has no operator."""
    devices, idle = len(shared.graphs), sum(not graph.ops for graph in shared.graphs)
    if idle:
        what = f"{idle} of {devices} devices would have nothing to do"
        raise UsageError(what, code="cannot_share", hint=f"--devices {devices - idle}")


def computed(asked: Request, planned: Planned) -> list[float]:
    """Milliseconds that a device computes before each row that crosses, and behind the last, at most.

    Raises UsageError where nobody knows.
    """
    clock = asked.clock
    if clock is None:
        raise UsageError(
            "how long devices take together needs a clock",
            code="time_unknown",
            hint="--clock 64MHz, with the --target or --core that it is of",
        )
    clock.within(1)
    keys = [stage.op for step in planned.plan.steps if isinstance(step, Block) for stage in step.stages]
    spans = (clock.milliseconds(clock.cycles([one])) for one in work(planned.plan, planned.graph.ops))
    return between(planned, {key: span[1] if span else 0.0 for key, span in zip(keys, spans, strict=True)})


def together(
    line: LineSpeed, computing: Sequence[Sequence[float]], crossing: Sequence[Sequence[RowCrosses]]
) -> DevicesTime:
    """What all devices take. computing: of each, as computed() has it."""
    exchanges = [
        [
            Exchange(spent, row.line, row.sends, HEAD_BYTES + row.nbytes)
            for spent, row in zip(own[:-1], rows, strict=True)
        ]
        for own, rows in zip(computing, crossing, strict=True)
    ]
    ends = done(exchanges, [own[-1] for own in computing], line)
    return DevicesTime(line.rate, line.latency, tuple(round(sum(own), 3) for own in computing), round(ends[0], 3))


def _stateless(graph: Graph) -> None:
    """Raises UsageError for a model that remembers something: each device would have to keep its part of it."""
    if any(t.variable for t in graph.tensors.values()) or any(op.type == VAR_HANDLE for op in graph.ops):
        raise UsageError("a model with variables runs on one device", code="cannot_share", hint="no --devices")


def chosen(graph: Graph, devices: int) -> Mapping[int, Way]:
    """How every operator is shared so that a device has the least to hold."""
    possible = {op.index: ways(graph, op) for op in graph.ops}
    if all(possible[op.index] == (Way.WHOLE,) for op in graph.ops):
        raise UsageError(
            "no operator of the model can be shared by several devices",
            code="cannot_share",
            hint="inspect says which operators run row by row; of float layers, convert them to int8",
        )
    switch = min(in_rows(graph), least_memory([layer(graph, op) for op in graph.ops], devices))
    return cut(graph, switch, len(graph.ops))


def with_fan_in(graph: Graph, how: Mapping[int, Way], devices: int) -> Mapping[int, Way]:
    """The same with partial sums, where the devices send fewer bytes so, heads included.

    Whatever layers do, their outputs lie where their channels are made. So each tensor decides for itself: all of it
    goes to all devices, or the sums of those layers that read it do.
    """
    readers: dict[int, list[int]] = {}
    for op in graph.ops:
        if how[op.index] is Way.CHANNELS and Way.INPUTS in ways(graph, op):
            readers.setdefault(op.inputs[0], []).append(op.index)
    best, least = how, bytes_sent(graph, how, devices)
    for layers in readers.values():
        other = {**best, **dict.fromkeys(layers, Way.INPUTS)}
        sent = bytes_sent(graph, other, devices)
        if sent < least:
            best, least = other, sent
    return best


def bytes_sent(graph: Graph, how: Mapping[int, Way], devices: int) -> float:
    """Bytes of all messages; infinite where one cannot be sent."""
    rows = [rows_of(crosses.tensor) for crosses in share(graph, how, devices, 0).crossings]
    return sum((r.h * (HEAD_BYTES + r.row_bytes) if r.row_bytes <= MOST_ROW_BYTES else math.inf for r in rows), 0.0)


def pipeline(graph: Graph, cuts: Sequence[int], devices: int) -> Mapping[int, int]:
    """The device of each operator, by Op.index, where a new device begins at each of some operators.

    Raises UsageError for cuts that leave a device without operators, or are not one less than the devices.
    """
    last = graph.ops[-1].index
    if len(cuts) != devices - 1 or any(a >= b for a, b in pairwise((0, *cuts, last + 1))):
        raise UsageError(
            f"operators {', '.join(map(str, cuts))} do not cut the network in {devices}",
            code="cannot_share",
            hint=f"--cut: {devices - 1} of the operators 1 to {last}, in order, as inspect counts them",
        )
    return {op.index: bisect_right(cuts, op.index) for op in graph.ops}


def in_rows(graph: Graph) -> int:
    """How many operators in front can be shared by rows."""
    return next((i for i, op in enumerate(graph.ops) if Way.ROWS not in ways(graph, op)), len(graph.ops))


def cut(graph: Graph, switch: int, end: int, front: Way = Way.ROWS) -> Mapping[int, Way]:
    """Operators before `switch` as the front is, from `end` on by the first device, and the others by channels."""
    found = {}
    for i, op in enumerate(graph.ops):
        wanted = front if i < switch else Way.CHANNELS if i < end else Way.WHOLE
        found[op.index] = wanted if wanted in ways(graph, op) else Way.WHOLE
    return found


def layer(graph: Graph, op: Op) -> SplitLayer:
    """An operator as its sizes in bytes."""
    read = sum(graph.tensors[t].nbytes for t in op.inputs if t >= 0 and not graph.tensors[t].constant)
    return SplitLayer(read, sum(graph.tensors[t].nbytes for t in op.outputs), _filter_bytes(graph, op))


def _filter_bytes(graph: Graph, op: Op) -> int:
    """Bytes of an operator's filter and bias."""
    constants = op.inputs if op.type in WEIGHTED else weights_of(op)
    return sum(graph.tensors[t].nbytes for t in constants if t >= 0 and graph.tensors[t].constant)


def _weights(graph: Graph, of: Sequence[int] | None = None) -> int:
    """The same of all operators, or of those that stand for some."""
    return sum(_filter_bytes(graph, op) for op in graph.ops if of is None or not set(of).isdisjoint(op.stands_for))


def _demand_whole(one: Optimized, planned: Planned | None) -> Planned:
    """The plan of a device whose operators all run in one region.

    Raises UsageError where builtin operators are left: TFLM would run them again whenever it goes on after a wait.
    """
    if planned is None or planned.graph.kept or len(planned.graph.regions) > 1:
        kept = one.report.kept_builtin
        where = f"operator {kept[0].index} {kept[0].operator}: {kept[0].reason}" if kept else one.report.model
        raise kept_with_devices(where)
    return planned
