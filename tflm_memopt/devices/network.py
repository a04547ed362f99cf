"""Splits one network among several devices, converts a model for each device, and checks all models together."""

import math
import time
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tflm_memopt.analysis.costs import Work
from tflm_memopt.answers import devices as answers
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.check.checker import check
from tflm_memopt.check.together import HEAD_BYTES, MessageRow, check_devices
from tflm_memopt.convert import speed
from tflm_memopt.convert.annotation import annotate, left_whole, read_sound, refused
from tflm_memopt.convert.request import Request
from tflm_memopt.devices.links import Exchange, LinkSpeed, done
from tflm_memopt.devices.models import device_models
from tflm_memopt.devices.sharding import (
    MOST_DEVICES,
    ON_THE_FIRST,
    DeviceGraphs,
    DeviceSharding,
    possible_shardings,
    shard,
)
from tflm_memopt.devices.switch import SplitLayer, least_memory
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import Graph, Op, Tensor, without_dead
from tflm_memopt.model.reader import Model, describe
from tflm_memopt.model.variables import HANDLE
from tflm_memopt.ops.message import MOST_ROW_BYTES, rows_of
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.partial import weights_of
from tflm_memopt.plan.choices import PER_REGION
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.rewrite.known import with_known
from tflm_memopt.rowgraph.fold import narrowed_model
from tflm_memopt.rowgraph.inputs import IN_ARENA
from tflm_memopt.rowgraph.regions import builtin_with_devices
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.refused import refuse

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
IMPOSSIBLE = ("cannot_share", "unsupported_operator", "too_slow")
KINDS = ("cpp", "tflite")
"""Kinds of files that the converter can write for one of several devices. Projects and C modules cannot exchange
messages with other devices.
"""


def checked_count(devices: int, asked: Request) -> int:
    """Return `devices`. Raises UsageError for an invalid number, or for options that only a single device supports."""
    if not 2 <= devices <= MOST_DEVICES:
        raise UsageError(f"{devices} devices cannot share a network", hint=f"--devices 2 to {MOST_DEVICES}")
    options = asked.options
    for flag, given, hint in (
        (f"--input {options.input}", options.input != IN_ARENA, f"--input {IN_ARENA}"),
        (f"--ops {options.ops}", options.ops != PER_REGION, f"--ops {PER_REGION}"),
        ("--cores 2", options.speeds, "omit --cores"),
        ("--ram-limit", asked.limits.total, "--memory RAM,FLASH"),
        ("--flash-limit", asked.limits.flash, "--memory RAM,FLASH"),
        ("--time-limit", asked.limits.time, "use --memory and --link, which give the fastest split that fits"),
    ):
        if given:
            raise UsageError(f"--devices cannot be combined with {flag}", hint=hint)
    if asked.saved is not None:
        raise UsageError("--plan cannot be combined with --devices", hint="omit --plan")
    return devices


@contextmanager
def where_possible() -> Iterator[None]:
    """Suppress the errors of an impossible split, for example if a device cannot run an operator."""
    try:
        yield
    except (UsageError, DoesNotFit) as error:
        if error.code not in IMPOSSIBLE:
            raise


class Alone(NamedTuple):
    model: Optimized
    report: answers.OneDevice


@dataclass(frozen=True)
class Network:
    """A network that several devices run, and data that all its splits have in common."""

    data: bytes
    name: str
    asked: Request
    optimize: Callable[[bytes, str, bool], tuple[Optimized, Planned | None]]
    """Function that converts a model, given its bytes, its name, and whether the user's limit of instructions applies.

    The returned plan is None if the model is not rewritten.
    """
    link: LinkSpeed | None = None
    """Speed of the link between two devices, or None if times are not estimated."""

    @cached_property
    def source(self) -> Model:
        """Raises the errors of reading a model. Raises UsageError for a model with variables, IF or WHILE, for wrong
        shapes, and for operators without options.
        """
        source = read_sound(self.data)
        kept = left_whole(source)
        annotated = annotate(source.graph, kept)
        refuse(refused(source, annotated))
        if kept:
            raise builtin_with_devices(kept.why, kept.hint)
        for op in annotated.graph.ops:
            support = annotated.support[op.index]
            if isinstance(support, Unsupported) and support.code == "complete_options":
                raise builtin_with_devices(f"{describe(source.graph.ops[op.stands_for[0]])}: {support}", support.hint)
        tensors, ops = source.graph.tensors.values(), source.graph.ops
        if any(t.variable for t in tensors) or any(op.type == HANDLE for op in ops):
            raise UsageError("a model with variables runs on one device", code="cannot_share", hint="omit --devices")
        if callers := {op.type for op in ops if called(op)}:
            what = f"a model with {min(callers)} runs on one device, because its subgraphs cannot be divided"
            raise UsageError(what, code="cannot_share", hint="omit --devices")
        return source

    @cached_property
    def whole(self) -> Graph:
        """The network's graph without dead operators. Constants replace the shapes that the model computes, so that
        devices send no shapes.
        """
        return without_dead(with_known(self.source.graph))

    @cached_property
    def graph(self) -> Graph:
        """The graph that is split among devices, without dead channels unless the user keeps them."""
        return narrowed_model(self.whole) if self.asked.options.fold else self.whole

    @cached_property
    def weights(self) -> int:
        """Number of bytes of all filters and biases in the graph that is split."""
        return _weights(self.graph)

    @cached_property
    def alone(self) -> Alone:
        """The conversion of the network for a single device, without a limit of instructions."""
        one, planned = self.optimize(self.data, self.name, False)
        timed = bool(self.link and planned)
        spent = round(sum(computed(self.asked, planned)), 3) if timed and planned else None
        return Alone(one, answers.OneDevice(one.report.arena, len(one.model), self.weights, spent))

    def sharded(
        self,
        shardings: Mapping[int, DeviceSharding],
        devices: int,
        portions: Sequence[Fraction] = (),
        at: Mapping[int, int] = ON_THE_FIRST,
    ) -> DeviceGraphs:
        others = [*portions, *sorted(at.items())]
        said = repr((devices, sorted((i, sharding.value) for i, sharding in shardings.items()), *others))
        return shard(self.graph, shardings, devices, zlib.crc32(said.encode(), zlib.crc32(self.data)), portions, at)

    def is_enough_for(self, devices: int, shardings: Mapping[int, DeviceSharding]) -> bool:
        return all(graph.ops for graph in self.sharded(shardings, devices).graphs)

    def _optimized(self, sharded: DeviceGraphs, names: Sequence[str]) -> list[tuple[Optimized, Planned]]:
        """Return the model and the plan of each device. An error for a builtin operator names the operator by its index
        in the network, and not in a device's model.
        """
        try:
            made = [self.optimize(*one, True) for one in zip(device_models(self.source, sharded), names, strict=True)]
            return [(one, _demand_whole(one, planned)) for one, planned in made]
        except UsageError as error:
            kept = [one for one in self.alone.model.report.kept_builtin if one.code != "view"]
            if error.code == "unsupported_operator" and kept:
                error.where = f"operator {kept[0].index} {kept[0].operator}: {kept[0].reason}"
            raise

    def converted(
        self,
        shardings: Mapping[int, DeviceSharding],
        devices: int,
        portions: Sequence[Fraction] = (),
        at: Mapping[int, int] = ON_THE_FIRST,
    ) -> answers.OptimizedDevices:
        """Return the converted models of all devices, after a check that the models fit together.

        The argument `shardings` maps Op.index to a split, and the argument `at` maps Op.index to a device. Each device
        gets channels in proportion to its number in `portions`. Raises UsageError if a row is too long to be sent.
        """
        started = time.monotonic()
        sharded = self.sharded(shardings, devices, portions, at)
        _demand_possible(sharded)
        names = [f"device{n}/{self.name}" for n in range(devices)]
        made = self._optimized(sharded, names)
        plans = [planned for _, planned in made]
        message = _demand_received([check(planned.plan, planned.graph) for planned in plans])
        traffic = check_devices(message)
        computing = [computed(self.asked, planned) for planned in plans] if self.link else []
        by_sharding = {s: tuple(op.index for op in self.graph.ops if shardings[op.index] is s) for s in DeviceSharding}
        split = by_sharding[DeviceSharding.CHANNELS] + by_sharding[DeviceSharding.INPUTS]
        done = tuple(one for one, _ in made)
        each = zip(names, done, sharded.graphs, traffic.sent, traffic.received, strict=True)
        report = answers.DevicesReport(
            model=self.name,
            devices=tuple(
                answers.DeviceReport(name, one.report.arena, len(one.model), _weights(graph), *traffic_of)
                for name, one, graph, *traffic_of in each
            ),
            original_arena=predict(self.source, self.asked.options.abi, library=self.asked.options.library),
            original_flash=len(self.data),
            original_weights=_weights(self.whole),
            alone=self.alone.report,
            rows=by_sharding[DeviceSharding.ROWS],
            overlap=by_sharding[DeviceSharding.OVERLAP],
            channels=by_sharding[DeviceSharding.CHANNELS],
            inputs=by_sharding[DeviceSharding.INPUTS],
            whole=by_sharding[DeviceSharding.WHOLE],
            stages=_stages(shardings, at),
            split_weights=tuple(_weights(graph, split) for graph in sharded.graphs),
            original_split_weights=_weights(self.graph, split),
            room=traffic.room,
            room_for_all=traffic.room_for_all,
            identity=sharded.identity,
            seconds=round(time.monotonic() - started, 3),
            time=together(self.link, computing, message) if self.link else None,
        )
        return answers.OptimizedDevices(done, report)


def _stages(shardings: Mapping[int, DeviceSharding], at: Mapping[int, int]) -> tuple[answers.StageOnDevice, ...]:
    """Return the first operator and the device of each sequence of unsplit operators, or () if one device runs them
    all.
    """
    each = [(i, at[i]) for i in sorted(at) if shardings[i] is DeviceSharding.WHOLE]
    begins = [answers.StageOnDevice(d, i) for n, (i, d) in enumerate(each) if n == 0 or d != each[n - 1][1]]
    return tuple(begins) if len(begins) > 1 else ()


def _demand_possible(sharded: DeviceGraphs) -> None:
    for tensor in sharded.sent:
        if rows_of(tensor).row_bytes > MOST_ROW_BYTES:
            raise UsageError(
                f"rows of {rows_of(tensor).row_bytes:,} B are too long to be sent",
                code="cannot_share",
                where=f"tensor {tensor.name!r}",
                hint=f"use another split: a row may have {MOST_ROW_BYTES:,} B",
            )
    devices, idle = len(sharded.graphs), sum(not graph.ops for graph in sharded.graphs)
    if idle:
        what = f"{idle} of {devices} devices would have nothing to do"
        raise UsageError(what, code="cannot_share", hint=f"--devices {devices - idle}")


def _demand_received(message: Sequence[Sequence[MessageRow]]) -> Sequence[Sequence[MessageRow]]:
    """Return `message`. Raises UsageError if a device sends a row before it has received a row. Every device except
    device 0 reads the number of an inference from the first row that it receives (tmo_link.h).
    """
    for device, rows in enumerate(message):
        if device and rows and rows[0].sends:
            raise UsageError(
                f"device {device} would send a row of padding before it has received a row",
                code="cannot_share",
                hint="run the operator before or after the padding on the same device, with another --cut",
            )
    return message


def computed(asked: Request, planned: Planned) -> list[float]:
    """Return the maximum computing time in milliseconds before each exchanged row, and after the last exchanged row.
    Raises UsageError if the run times of operators are unknown.
    """
    clock = asked.clock
    if clock is None:
        raise UsageError(
            "the time of several devices needs a clock",
            code="time_unknown",
            hint="--clock 64MHz with --target or --core",
        )
    clock.within(1)

    def longest(work: Work) -> float | None:
        span = clock.milliseconds(clock.cycles([work]))
        return span[1] if span else None

    return _between(planned, speed.of_stages(planned, longest))


def together(
    link: LinkSpeed, computing: Sequence[Sequence[float]], message: Sequence[Sequence[MessageRow]]
) -> answers.DevicesTime:
    """The argument `computing` has the result of computed() for each device."""
    exchanges = [
        [
            Exchange(spent, row.ends, row.sends, HEAD_BYTES + row.nbytes)
            for spent, row in zip(own[:-1], rows, strict=True)
        ]
        for own, rows in zip(computing, message, strict=True)
    ]
    ends = done(exchanges, [own[-1] for own in computing], link)
    return answers.DevicesTime(
        link.rate, link.latency, tuple(round(sum(own), 3) for own in computing), round(ends[0], 3)
    )


def switch_of(graph: Graph, devices: int) -> int:
    """Estimate how many of the first operators should be divided by rows (see cut()). Raises UsageError if no operator
    can be divided.
    """
    if all(possible_shardings(graph, op) == (DeviceSharding.WHOLE,) for op in graph.ops):
        raise UsageError(
            "no operator of the model can be shared by several devices",
            code="cannot_share",
            hint="convert float layers to int8; inspect lists the operators that run row by row",
        )
    return min(in_rows(graph), least_memory([layer(graph, op) for op in graph.ops], devices))


def bytes_sent(graph: Graph, shardings: Mapping[int, DeviceSharding], devices: int) -> float:
    """Return the number of bytes of all messages in an inference, or infinity if a message cannot be sent."""
    return sum(map(message_bytes, shard(graph, shardings, devices, 0).sent), 0.0)


def message_bytes(tensor: Tensor) -> float:
    rows = rows_of(tensor)
    return rows.h * (HEAD_BYTES + rows.row_bytes) if rows.row_bytes <= MOST_ROW_BYTES else math.inf


def pipeline(graph: Graph, cuts: Sequence[int], devices: int) -> Mapping[int, int]:
    """Return each operator's device by Op.index. Raises UsageError if a device has no operator."""
    last = graph.ops[-1].index
    if len(cuts) != devices - 1 or any(a >= b for a, b in pairwise((0, *cuts, last + 1))):
        raise UsageError(
            f"operators {', '.join(map(str, cuts))} do not cut the network into {devices} parts",
            code="cannot_share",
            hint=f"--cut with {devices - 1} of the operators 1 to {last} in order, as inspect numbers them",
        )
    return {op.index: bisect_right(cuts, op.index) for op in graph.ops}


def in_rows(graph: Graph) -> int:
    return next(
        (i for i, op in enumerate(graph.ops) if DeviceSharding.ROWS not in possible_shardings(graph, op)),
        len(graph.ops),
    )


def cut(
    graph: Graph, switch: int, end: int, front: DeviceSharding = DeviceSharding.ROWS
) -> Mapping[int, DeviceSharding]:
    """Divide the operators before the position `switch` as `front` states, and the operators from `switch` to `end` - 1
    by channels.
    """
    found = {}
    for i, op in enumerate(graph.ops):
        wanted = front if i < switch else DeviceSharding.CHANNELS if i < end else DeviceSharding.WHOLE
        found[op.index] = wanted if wanted in possible_shardings(graph, op) else DeviceSharding.WHOLE
    return found


def layer(graph: Graph, op: Op) -> SplitLayer:
    read = sum(graph.tensors[t].nbytes for t in op.inputs if t >= 0 and not graph.tensors[t].constant)
    return SplitLayer(read, sum(graph.tensors[t].nbytes for t in op.outputs), filter_bytes(graph, op))


def filter_bytes(graph: Graph, op: Op) -> int:
    constants = op.inputs if op.type in WEIGHTED else weights_of(op)
    return sum(graph.tensors[t].nbytes for t in constants if t >= 0 and graph.tensors[t].constant)


def _weights(graph: Graph, of: Sequence[int] | None = None) -> int:
    return sum(filter_bytes(graph, op) for op in graph.ops if of is None or not set(of).isdisjoint(op.stands_for))


def _demand_whole(one: Optimized, planned: Planned | None) -> Planned:
    """Raise UsageError unless the device's plan is a single custom operator.

    When a device continues after a wait, TFLM repeats all operators except the last.
    """
    if planned is not None and len(planned.graph.regions) > 1 and not planned.graph.builtins:
        what = f"a device's custom operator would have more than {MAX_IO} inputs and outputs"
        raise UsageError(what, code="cannot_share", where=one.report.model, hint="omit --devices, or remove outputs")
    if planned is None or planned.graph.builtins:
        kept = one.report.kept_builtin
        why = f": operator {kept[0].index} {kept[0].operator}: {kept[0].reason}" if kept else ""
        raise builtin_with_devices(f"{one.report.model}{why}")
    return planned


def _between(planned: Planned, cost: Mapping[int, float]) -> list[float]:
    """Return the cost of the operators before the first exchanged row, between exchanged rows, and after the last
    exchanged row.
    """
    found = [0.0]
    for group in planned.groups.values():
        executed = group.trace.executed.tolist()
        each = {key: cost[key] / executed.count(key) for key in set(executed)}
        for key in executed:
            found[-1] += each[key]
            if planned.graph.ops[key].message is not None:
                found.append(0.0)
    return found
