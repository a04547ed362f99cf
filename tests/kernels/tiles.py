"""An explicit model of tiled groups: it lists units, looks pixels up in tables, and finds each column window's depth
from live pixels.

It uses nothing of the package's planner.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kernels.families import BINARY_INT8
from kernels.networks import Network, Shape

from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.runtime.host import ExecutedUnit


class Untileable(Exception):
    """These operators cannot share stripes, or not with these parameters."""


@dataclass(frozen=True)
class Stripes:
    """The rows of a tensor, grouped by stripe."""

    advance: int
    end: int
    rows: int
    height: int
    count: int

    @property
    def cached(self) -> bool:
        return self.rows == self.advance

    def made(self, m: int) -> range:
        top = 0 if m == 0 else self._clamp((m - 1) * self.advance + self.end)
        if not self.cached:
            top = self._clamp(m * self.advance + self.end - self.rows)
        return range(top, self._clamp(m * self.advance + self.end))

    def place(self, m: int, y: int) -> tuple[int, int]:
        """The period, and the row within it."""
        if not self.cached:
            return 0, y - (m * self.advance + self.end - self.rows)
        origin = self.end
        while origin > 0:
            origin -= self.advance
        while origin + self.advance <= 0:
            origin += self.advance
        return divmod(y - origin, self.advance)

    def _clamp(self, y: int) -> int:
        return min(max(y, 0), self.height)


@dataclass(frozen=True)
class Pixel:
    """A version of a pixel, identified also by the stripe and the group that made it."""

    stripe: int
    channel_group: int
    y: int
    x: int


@dataclass(frozen=True)
class Stage:
    """An operator of a group: its units, and the pixels that they read and write."""

    index: int
    op: ProgramOp
    shapes: tuple[Shape, ...]
    out: Stripes
    iterated: Stripes
    """The stripes of `out`, or of the input if the operator is iterative."""
    tile: int
    iterative: bool
    channel_groups: int
    partial: bool
    """True if its output holds one channel group at a time."""

    @cached_property
    def width(self) -> int:
        """Width of the tensor that the units walk over."""
        return self.shapes[self.op.inputs[0] if self.iterative else self.op.output][1]

    @cached_property
    def units(self) -> list[ExecutedUnit]:
        tiles = range(-(-self.width // self.tile))
        return [
            ExecutedUnit(self.index, m, g, j, y)
            for m in range(self.iterated.count)
            for g in range(self.passes)
            for j in tiles
            for y in self.iterated.made(m)
        ]

    @property
    def passes(self) -> int:
        """Passes over a stripe: one per channel group, and one more to write the sums."""
        return self.channel_groups + (self.channel_groups > 1 and not self.partial)

    def columns(self, unit: ExecutedUnit) -> range:
        return range(unit.tile * self.tile, min((unit.tile + 1) * self.tile, self.width))

    def writes(self, unit: ExecutedUnit) -> list[Pixel]:
        if not self.iterative:
            if unit.channel_group < self.passes - 1 and not self.partial:
                return []
            channel_group = unit.channel_group if self.partial else 0
            return [
                Pixel(0 if self.out.cached else unit.stripe, channel_group, unit.row, x) for x in self.columns(unit)
            ]
        h, w, _ = self.shapes[self.op.output]
        return [Pixel(0, 0, y, x) for y in range(h) for x in range(w)] if unit == self.units[-1] else []

    @cached_property
    def made_by(self) -> dict[Pixel, int]:
        return {pixel: i for i, unit in enumerate(self.units) for pixel in self.writes(unit)}

    def reads(self, k: int, unit: ExecutedUnit) -> tuple[set[tuple[int, int]], tuple[int, int] | None]:
        """(y, x) of all pixels of operand k, and of the last one in the clipped window, which is demanded."""
        if unit.channel_group == self.channel_groups:
            return set(), None
        h, w, _ = self.shapes[self.op.inputs[k]]
        if self.iterative:
            taps = {(unit.row, x) for x in self.columns(unit)}
            return taps, max(taps)
        if self.op.kind in BINARY_INT8:
            pixels = {(min(unit.row, h - 1), min(x, w - 1)) for x in self.columns(unit)}
            return pixels, max(pixels)
        v = self.op.window
        ys = [unit.row * v.stride_h - v.pad_top + i * v.dilation_h for i in range(v.kernel_h)]
        xs = [x * v.stride_w - v.pad_left + i * v.dilation_w for x in self.columns(unit) for i in range(v.kernel_w)]
        inside = {(y, x) for y in ys for x in xs if 0 <= y < h and 0 <= x < w}
        return inside, (min(ys[-1], h - 1), min(xs[-1], w - 1))


@dataclass(frozen=True)
class Tiling:
    """A group: its stages by operator, their readers, and the order of iterations."""

    network: Network
    stages: Mapping[int, Stage]
    sinks: tuple[int, ...]

    def producer(self, tensor: int) -> Stage | None:
        return self.stages.get(tensor - self.network.n_inputs)

    @cached_property
    def order(self) -> list[ExecutedUnit]:
        """Sinks from the last operator, operands in order, one unit at a time."""
        executed = dict.fromkeys(self.stages, 0)
        order = []
        for sink in sorted(self.sinks, reverse=True):
            while executed[sink] < len(self.stages[sink].units):
                current = sink
                while (missing := self._missing(current, executed)) is not None:
                    current = missing
                order.append(self.stages[current].units[executed[current]])
                executed[current] += 1
        return order

    def version(self, producer: Stage, unit: ExecutedUnit, y: int, x: int) -> Pixel:
        """Return the version of the pixel that `unit` reads."""
        return Pixel(0 if producer.out.cached else unit.stripe, unit.channel_group if producer.partial else 0, y, x)

    def _missing(self, i: int, executed: dict[int, int]) -> int | None:
        unit = self.stages[i].units[executed[i]]
        for k, tensor in enumerate(self.stages[i].op.inputs):
            producer, demanded = self.producer(tensor), self.stages[i].reads(k, unit)[1]
            if producer is None or demanded is None:
                continue
            last = self.version(producer, unit, *demanded)
            if last not in producer.made_by:
                raise Untileable(f"{last} of tensor {tensor} is never made")
            if executed[producer.index] <= producer.made_by[last]:
                while not producer.out.cached and producer.units[executed[producer.index]].stripe < unit.stripe:
                    executed[producer.index] += 1  # the rest of that stripe is not needed
                return producer.index
        return None

    def depths(self, producer: Stage, column_windows: Sequence[int]) -> list[int]:
        """Pixels of each column window: the largest distance between two live pixels, plus one."""
        written, last_read = self._lifetimes(producer)
        home = {pixel: self._home(producer, column_windows, pixel) for pixel in written}
        depths = [1] * len(column_windows)
        alive: set[Pixel] = set()
        for pixel, time in written.items():
            alive = {p for p in alive if last_read.get(p, -1) > time or written[p] == time}
            column_window, at = home[pixel]
            for other in (p for p in alive if home[p][0] == column_window):
                if home[other][1] == at:
                    raise Untileable(f"{other} and {pixel} are in one place")
                depths[column_window] = max(depths[column_window], abs(home[other][1] - at) + 1)
            alive.add(pixel)
        return depths

    def _lifetimes(self, producer: Stage) -> tuple[dict[Pixel, int], dict[Pixel, int]]:
        """When each pixel is written, in order, and when it is last read."""
        written: dict[Pixel, int] = {}
        last_read: dict[Pixel, int] = {}
        for time, unit in enumerate(self.order):
            stage = self.stages[unit.op]
            for k, tensor in enumerate(stage.op.inputs):
                if tensor == producer.op.output:
                    pixels = [self.version(producer, unit, y, x) for y, x in stage.reads(k, unit)[0]]
                    if not all(written.get(pixel, time) < time for pixel in pixels):
                        raise Untileable("a stripe that another reader skipped is read")
                    last_read |= dict.fromkeys(pixels, time)
            if stage is producer:
                written |= dict.fromkeys(stage.writes(unit), time)
        return written, last_read

    def _home(self, producer: Stage, column_windows: Sequence[int], pixel: Pixel) -> tuple[int, int]:
        """The column window of a pixel, and its index in the column window."""
        period, i = producer.out.place(pixel.stripe, pixel.y)
        column_window = next(n for n, end in enumerate(itertools.accumulate(column_windows)) if i < end)
        first, width = sum(column_windows[:column_window]), producer.shapes[producer.op.output][1]
        return column_window, (period * width + pixel.x) * column_windows[column_window] + i - first
