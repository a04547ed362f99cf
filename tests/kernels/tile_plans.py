"""Random tilings of random networks: stripes, tiles, column windows and buffers, drawn without the package's
planner.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from kernels import networks
from kernels.families import BINARY_INT8
from kernels.loops import nested
from kernels.networks import Network
from kernels.programs import Bump, can_iterate, last_reader
from kernels.tiles import Stage, Stripes, Tiling, Untileable
from numpy.random import Generator

from tflm_memopt.lower.program import ColumnWindowRecord, NestRecord, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.plan.loops import Iteration
from tflm_memopt.runtime.host import DeviceArena, ExecutedUnit

MAX_TAPS = 64


@dataclass(frozen=True)
class Grouped:
    """Operators of a network that run in `count` groups of `channels` channels.

    The last one adds the groups up or, with `fills`, concatenates them in a whole tensor.
    """

    ops: tuple[int, ...]
    count: int
    channels: int
    fills: bool

    def partial(self, i: int) -> bool:
        """Whether an operator writes one group at a time."""
        return self.fills or i != self.ops[-1]


@dataclass(frozen=True)
class Lowered:
    """A program of tiled groups, and its buffers in one arena."""

    program: Program
    arena: DeviceArena
    order: tuple[ExecutedUnit, ...]
    """The order of all iterations."""


@dataclass(frozen=True)
class Need:
    """The rows of a tensor's stripes that a reader needs."""

    advance: int
    end: int
    top: int
    """First row that stripe 0 reads, including earlier stripes; negative for rows of earlier stripes."""


class Planner:
    """Draw a tiling of one group from its end: stripes follow from those of their readers."""

    def __init__(
        self,
        network: Network,
        members: range,
        iterative: set[int],
        grouped: Sequence[Grouped],
        rng: Generator,
        single: bool,
    ) -> None:
        self.network, self.members, self.rng, self.single = network, members, rng, single
        self.iterative = {i for i in members if i in iterative}
        self.group_of = {i: g for g in grouped for i in g.ops if i in members}
        self.sinks = tuple(i for i in members if last_reader(network, i) >= members.stop)
        self.late = set(self.iterative)
        """Operators that cannot start before the last stripe."""
        for i in members:
            self.late |= {i} if any(t - network.n_inputs in self.late for t in network.ops[i].inputs) else set()

    def tiling(self) -> Tiling:
        first = self._first_stripes()
        stripes: dict[int, Stripes] = {}
        for i in reversed(self.members):
            stripes[i] = self._stripes(i, first, stripes)
        return Tiling(self.network, {i: self._stage(i, stripes) for i in self.members}, self.sinks)

    def column_windows(self, stripes: Stripes) -> list[int]:
        """Draw a division of the rows into column windows."""
        cuts = self.rng.integers(1, stripes.rows + 1, int(self.rng.integers(0, 4))).tolist()
        return [b - a for a, b in itertools.pairwise(sorted({0, *cuts, stripes.rows}))]

    def _height(self, tensor: int) -> int:
        return self.network.shapes[tensor][0]

    def _first_stripes(self) -> Stripes:
        """Stripes of the last sink, or of an iterative operator's input."""
        last = self.network.ops[self.members[-1]]
        height = self._height(last.output)
        if self.members[-1] in self.late:
            height = max(self._height(self.network.ops[i].inputs[0]) for i in self.iterative)
        advance = int(self.rng.integers(1, 9))
        end = int(self.rng.integers(-2, advance + 3)) if self.rng.random() < 0.5 else advance
        return Stripes(advance, end, advance, self._height(last.output), max(1, -(-(height - end) // advance) + 1))

    def _stripes(self, i: int, first: Stripes, stripes: dict[int, Stripes]) -> Stripes:
        """Stripes of operator i's output."""
        tensor = self.network.ops[i].output
        height, count = self._height(tensor), first.count
        if i in self.late:
            return Stripes(height, height * (2 - count), height, height, count)
        if i == self.members[-1]:
            return first
        readers = [r for r in self.members if tensor in self.network.ops[r].inputs]
        again = [r for r in readers if self._repeats(r, height)]
        needs = [
            self._need(self.network.ops[r], stripes[r]) for r in readers if r not in self.iterative and r not in again
        ]
        if not needs:
            return self._covering(-(-height // count), 0, height, count)
        if len({need.advance for need in needs}) > 1:
            raise Untileable("readers of one tensor advance differently")
        advance = needs[0].advance
        end = max(need.end for need in needs) + int(self.rng.random() < 0.2)
        if i in self.sinks or again or any(r in self.iterative for r in readers):
            return self._covering(advance, end, height, count)
        rows = end - min(need.top for need in needs) + int(self.rng.random() < 0.2)
        partial = i in self.group_of and self.group_of[i].partial(i)
        anew = rows > advance and (partial or self.rng.random() < 0.5)
        return Stripes(advance, end, rows if anew else advance, height, count)

    def _repeats(self, reader: int, height: int) -> bool:
        """Whether it reads an operand's only row in every stripe."""
        op = self.network.ops[reader]
        return op.kind in BINARY_INT8 and height < self._height(op.output)

    def _need(self, op: ProgramOp, by: Stripes) -> Need:
        w = op.window
        extent = (w.kernel_h - 1) * w.dilation_h + 1
        top = (by.end - by.rows) * w.stride_h - w.pad_top
        return Need(
            by.advance * w.stride_h,
            (by.end - 1) * w.stride_h - w.pad_top + extent,
            min(top, 0) if by.cached and by.end > by.advance else top,  # its stripe 0 has more rows than the others
        )

    def _covering(self, advance: int, end: int, height: int, count: int) -> Stripes:
        """All rows, each exactly once."""
        enough = height - (count - 1) * advance + int(self.rng.integers(0, 2))
        return Stripes(advance, max(enough, end), advance, height, count)

    def _stage(self, i: int, stripes: dict[int, Stripes]) -> Stage:
        op, iterative, grouped = self.network.ops[i], i in self.iterative, self.group_of.get(i)
        if not iterative and op.window.kernel_h * op.window.kernel_w > MAX_TAPS:
            raise Untileable("too many taps")
        iterated, (height, width, _) = stripes[i], self.network.shapes[op.inputs[0] if iterative else op.output]
        if iterative:
            producer = op.inputs[0] - self.network.n_inputs
            inside = producer in self.members
            iterated = (
                stripes[producer] if inside else self._covering(-(-height // iterated.count), 0, height, iterated.count)
            )
        tile = 1 if self.single else int(self.rng.integers(1, width + 1))
        partial = grouped is not None and grouped.partial(i)
        count = grouped.count if grouped else 1
        return Stage(i, op, self.network.shapes, stripes[i], iterated, tile, iterative, count, partial)


class Lowering:
    """Collect the tables of a program, group by group."""

    def __init__(self, network: Network, rng: Generator) -> None:
        self.network, self.bump = network, Bump(rng)
        last = len(network.shapes) - 1
        self.io = (*range(network.n_inputs), last)
        bases = {t: n + 1 for n, t in enumerate(self.io)}
        self.tensors = [ProgramTensor(0, h, w, c, h, bases.get(t, 0)) for t, (h, w, c) in enumerate(network.shapes)]
        self.views: dict[int, int] = {}
        """Additional records for a tensor, for iterative operators that process it in their own stripes."""
        self.ops: list[ProgramOp] = []
        self.groups: list[ProgramGroup] = []
        self.order: list[ExecutedUnit] = []

    def add(self, planner: Planner) -> None:
        tiling, members = planner.tiling(), planner.members
        self.order += tiling.order
        stripes = tiling.stages[members[0]].iterated.count
        counters = self.bump.place(8 * len(members), 2)
        loops = nested(_iterations(tiling, members[0]), self.bump.rng)
        self.groups.append(ProgramGroup(members[0], len(members), counters, loops, stripes))
        for i, stage in tiling.stages.items():
            channel_group = planner.group_of.get(i)
            pixel = (
                channel_group.channels if channel_group and stage.partial else self.tensors[stage.op.output].channels
            )
            self._place_output(stage, () if i in planner.sinks else self._column_windows(planner, tiling, stage, pixel))
            self.ops.append(
                dataclasses.replace(
                    stage.op,
                    inputs=self._inputs(stage, members),
                    iterative=stage.iterative,
                    sums=stage.passes > stage.channel_groups,
                    accumulator=self.bump.place(_sum_bytes(stage), 4),
                    tile=stage.tile,
                    channel_groups=channel_group.count if channel_group else 0,
                    group_channels=channel_group.channels if channel_group else 0,
                )
            )

    def lowered(self) -> Lowered:
        for t, (h, w, c) in enumerate(self.network.shapes):
            if t in self.io or self.tensors[t].column_windows:
                continue
            offset = self.bump.place(h * w * c)
            for n in (t, *(view for view, of in self.views.items() if of == t)):
                self.tensors[n] = dataclasses.replace(self.tensors[n], offset=offset)
        workspace = self.bump.top
        io = [self.bump.place(int(np.prod(self.network.shapes[t]))) for t in self.io]
        tables = tuple(self.tensors), tuple(self.ops), tuple(self.groups)
        program = Program(self.network.n_inputs, 1, workspace, len(self.order), *tables)
        return Lowered(program, DeviceArena(self.bump.top + 16, tuple(io[:-1]), tuple(io[-1:]), 0), tuple(self.order))

    def _column_windows(
        self, planner: Planner, tiling: Tiling, stage: Stage, pixel: int
    ) -> tuple[ColumnWindowRecord, ...]:
        rows = planner.column_windows(stage.out)
        depths = tiling.depths(stage, rows)
        return tuple(ColumnWindowRecord(self.bump.place(d * pixel), d, r) for d, r in zip(depths, rows, strict=True))

    def _place_output(self, stage: Stage, column_windows: tuple[ColumnWindowRecord, ...]) -> None:
        record = self.tensors[stage.op.output]
        nest = _nest(stage.out)
        depth = -nest.end % nest.advance if column_windows else record.depth
        self.tensors[stage.op.output] = dataclasses.replace(
            record, column_windows=column_windows, nest=nest, depth=depth
        )

    def _producer(self, tensor: int, members: range) -> int | None:
        producer = tensor - self.network.n_inputs
        return producer if producer in members else None

    def _inputs(self, stage: Stage, members: range) -> tuple[int, ...]:
        if not stage.iterative or self._producer(stage.op.inputs[0], members) is not None:
            return stage.op.inputs
        view = len(self.tensors)
        self.views[view] = stage.op.inputs[0]
        self.tensors.append(dataclasses.replace(self.tensors[stage.op.inputs[0]], nest=_nest(stage.iterated)))
        return (view,)


def _iterations(tiling: Tiling, first: int) -> list[Iteration]:
    """Iterations of a tiling, including stripes that operators skip."""
    executed = dict.fromkeys(tiling.stages, 0)
    found = []
    for unit in tiling.order:
        units = tiling.stages[unit.op].units
        found.append(Iteration(unit.op - first, unit.stripe - units[executed[unit.op]].stripe))
        executed[unit.op] = units.index(unit, executed[unit.op]) + 1
    return found


def _nest(stripes: Stripes) -> NestRecord:
    return NestRecord(stripes.advance, stripes.end, stripes.rows)


def _sum_bytes(stage: Stage) -> int:
    _, w, c = stage.shapes[stage.op.output]
    if stage.iterative:
        return 4 * w * c
    highest = max(len(stage.out.made(m)) for m in range(stage.out.count))
    return 4 * w * c * highest if stage.channel_groups > 1 and not stage.partial else 0


def lower(
    network: Network,
    cuts: Sequence[int],
    iterative: set[int],
    rng: Generator,
    grouped: Sequence[Grouped] = (),
    *,
    single: bool = False,
) -> Lowered:
    """Lower the tiled groups [0, cuts[0]), [cuts[0], cuts[1]) .. [.., n). Raises Untileable. `single`: by pixel."""
    lowering = Lowering(network, rng)
    for first, end in itertools.pairwise([0, *cuts, len(network.ops)]):
        lowering.add(Planner(network, range(first, end), iterative, grouped, rng, single))
    return lowering.lowered()


def draw(seed: int) -> tuple[Network, Lowered, Generator]:
    """The first random network of this seed with random groups that can be tiled."""
    for rng in (np.random.default_rng((seed, attempt)) for attempt in itertools.count()):
        network = networks.draw(rng, int(rng.integers(1, 8)))
        cuts = sorted({int(c) for c in rng.integers(0, len(network.ops), int(rng.integers(0, 3)))} - {0})
        iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op) and rng.random() < 0.8}
        with contextlib.suppress(Untileable):
            return network, lower(network, cuts, iterative, rng), rng
    raise AssertionError


def draw_pixels(seed: int) -> tuple[Network, Lowered, Generator]:
    """The first random network of this seed that can be tiled pixel by pixel, with many channels or few."""
    for rng in (np.random.default_rng((seed, attempt)) for attempt in itertools.count()):
        network = networks.draw_deep(rng, 3) if rng.random() < 0.7 else networks.draw(rng, 4)
        with contextlib.suppress(Untileable):
            return network, lower(network, [], set(), rng, single=True), rng
    raise AssertionError


def draw_groups(seed: int) -> tuple[Network, Lowered, Generator]:
    """The first random bottleneck of this seed that can be tiled, in at most one group per channel."""
    for rng in (np.random.default_rng((seed, attempt)) for attempt in itertools.count()):
        fills = rng.random() < 0.3
        network, bottleneck = networks.draw_groups(rng, fills=fills)
        channels = network.shapes[network.ops[bottleneck[0]].output][2]
        each = int(rng.integers(1, channels + 1))
        with contextlib.suppress(Untileable):
            grouped = Grouped(tuple(bottleneck), -(-channels // each), each, fills)
            return network, lower(network, [], set(), rng, [grouped]), rng
    raise AssertionError
