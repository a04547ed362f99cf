"""Draws the figures of a report: memory over time, and the frontier.

In a memory map, addresses grow upwards, and time grows to the right. The width of a step of the schedule is
proportional to the number of operators that run in the step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.plan.memory_map import MappedBuffer, MemoryMap
from tflm_memopt.report.drawing import (
    DARK_ROLES,
    ROLES,
    Drawing,
    Label,
    Line,
    Point,
    Polygon,
    Shape,
    box,
    moved,
    text_width,
)
from tflm_memopt.report.facts import percent

Height = Callable[[float], float]
Area = tuple[float, float, float, float]

LEFT, RIGHT, TOP, BOTTOM = 58.0, 10.0, 26.0, 34.0
"""Margins around a plot in pixels, for the axes and their labels."""
LEGEND = 18.0
WIDTH = 480.0
"""Width in pixels of a figure of `--plot`, which stays readable if it is scaled to 400 pixels."""
HEIGHT = 240.0
PLOT_HEIGHT = 280.0
MACS = "F: multiply-accumulates, divided by the original's"
CEILING = TOP + 2 * LEGEND
FLOOR = CEILING + PLOT_HEIGHT
"""Distance in pixels from the top of a figure to its horizontal axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    nbytes: int
    text: str
    style: str = "bound"


@dataclass(frozen=True, slots=True)
class Series:
    """Each point of a plotted line is a pair of bytes and a cost."""

    name: str
    points: Sequence[tuple[int, float]]
    joined: bool = True
    """Whether horizontal and vertical lines join the points of the plot like stairs."""


def memory_map(
    memory: MemoryMap,
    width: float,
    *,
    height: float,
    full: int = 0,
    marks: Sequence[Mark] = (),
    roles: Collection[str] = (),
) -> Drawing:
    """Draw a rectangle for each buffer, with solid parts where and when the buffer contains data.

    The vertical axis ends at `full` bytes or, if `full` is 0, at the size of the arena. The argument `roles` has the
    roles of buffers in the legend, by default all roles in the map.
    """
    legend = _legend(set(roles) or {b.role for b in memory.buffers}, width)
    top = TOP + LEGEND * (1 + max((row for _, row, _ in legend), default=0))
    shapes = [
        Label(0, 14, f"{memory.title}: {memory.head + memory.tail:,} B", "head-text"),
        *_drawn_legend(legend, TOP + 9),
        *moved(_map(memory, width, height, full or memory.head + memory.tail, marks), 0, top),
    ]
    about = f"Memory map, {memory.title}: head {memory.head:,} bytes, tail {memory.tail:,} bytes over time."
    return Drawing(width, top + height + BOTTOM, tuple(shapes), about)


def before_and_after(result: Optimized) -> Drawing:
    before, after = result.inspection.memory, result.memory
    full, total = before.head + before.tail, after.head + after.tail
    roles = {b.role for memory in (before, after) for b in memory.buffers}
    above = memory_map(before, WIDTH, full=full, roles=roles, height=HEIGHT)
    mark = Mark(total, percent(full, total).replace("-", "−"), "limit")
    below = memory_map(after, WIDTH, full=full, roles=roles, marks=[mark], height=HEIGHT)
    head = Label(0, 16, result.report.model, "head-text"), Label(0, 32, result.report.convention, "small-text")
    top = 42.0
    middle = top + above.height + 12
    shapes = (*head, *moved(above.shapes, 0, top), *moved(below.shapes, 0, middle))
    return Drawing(WIDTH, middle + below.height, shapes, f"{above.title} {below.title}")


def _map(memory: MemoryMap, width: float, height: float, full: int, marks: Sequence[Mark]) -> Iterator[Shape]:
    x = _times(memory, LEFT, width - RIGHT)
    scale = height / max(1, full)

    def y(nbytes: float) -> float:
        return height - nbytes * scale

    yield from _byte_axis(full, y, width)
    for buffer in sorted(memory.buffers, key=lambda b: -b.nbytes * (b.last - b.first)):
        place = box(x[buffer.first], y(buffer.offset), x[buffer.last], y(buffer.offset + buffer.nbytes))
        yield Polygon(place, f"{buffer.role}-box", _tip(buffer))
        for points in _filled(buffer, x, y):
            yield Polygon(points, f"{buffer.role}-fill")
    if memory.tail:
        tip = f"tail: {memory.tail:,} B\nstructs and arrays that stay"
        yield Polygon(box(x[0], y(memory.head), x[-1], y(memory.head + memory.tail)), "tail", tip)
        if memory.tail * scale > 13:
            middle = y(memory.head + memory.tail / 2) + 4
            yield Label(x[0] + 5, middle, f"tail: {memory.tail:,} B", "small-text")
    yield from _phase_axis(memory, x, height)
    taken = list(_mark_boxes(marks, width, y))
    yield from _buffer_labels(memory, x, y, taken)
    for mark in marks:
        yield Line(((LEFT, y(mark.nbytes)), (width - RIGHT, y(mark.nbytes))), mark.style)
        if mark.text:
            yield Label(width - RIGHT - 4, _level(mark, y), mark.text, "text", "end")


def _times(memory: MemoryMap, left: float, right: float) -> list[float]:
    widths = [max(1, len(phase.ops)) for phase in memory.phases]
    pixels = (right - left) / max(1, sum(widths))
    x, result = left, [left]
    for phase, wide in zip(memory.phases, widths, strict=True):
        result += [x + pixels * wide * (k + 1) / phase.moments for k in range(phase.moments)]
        x += pixels * wide
    return result


def _filled(buffer: MappedBuffer, x: Sequence[float], y: Height) -> Iterator[tuple[Point, ...]]:
    """Yield polygons around the parts of a figure where a buffer holds data."""
    run: list[tuple[float, float, float, float]] = []
    for s in buffer.stretches:
        piece = x[s.first], x[s.last], y(buffer.offset + s.bottom), y(buffer.offset + s.top)
        if run and run[-1][1] != piece[0]:
            yield _outline(run)
            run = []
        run.append(piece)
    if run:
        yield _outline(run)


def _outline(run: Sequence[tuple[float, float, float, float]]) -> tuple[Point, ...]:
    above = [point for x0, x1, _, top in run for point in ((x0, top), (x1, top))]
    below = [point for x0, x1, bottom, _ in reversed(run) for point in ((x1, bottom), (x0, bottom))]
    return tuple(point for point, _ in itertools.groupby((*above, *below)))


def _tip(buffer: MappedBuffer) -> str:
    what = ROLES[buffer.role][2]
    until = buffer.offset + buffer.nbytes
    return f"{buffer.name}\n{what}, {buffer.nbytes:,} B ({buffer.kept})\naddress {buffer.offset:,} to {until:,}" + (
        f"\nwritten by {buffer.maker}" if buffer.maker else ""
    )


def _buffer_labels(memory: MemoryMap, x: Sequence[float], y: Height, taken: list[Area]) -> Iterator[Label]:
    """Yield labels for buffers, largest buffer first, at the time when the buffer has the most data."""
    for buffer in sorted(memory.buffers, key=lambda b: -b.nbytes):
        fullest = max(buffer.stretches, key=lambda s: s.top - s.bottom, default=None)
        if fullest is None or y(fullest.bottom) - y(fullest.top) < 13:
            continue
        level = y(buffer.offset + (fullest.bottom + fullest.top) / 2) + 4
        short = f"op {buffer.maker.split(' ')[0]}" if buffer.role != "input" else "input"
        for text in (f"{short}: {buffer.nbytes:,} B", short):
            wide = text_width(text, "on-light")
            start = min(x[fullest.first] + 5, x[buffer.last] - 5 - wide)
            area = start, level - 10, start + wide, level + 2
            if start > x[buffer.first] and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                yield Label(start, level, text, "on-dark" if buffer.role in DARK_ROLES else "on-light")
                break


def _mark_boxes(marks: Iterable[Mark], width: float, y: Height) -> Iterator[Area]:
    for mark in marks:
        if mark.text:
            level = _level(mark, y)
            yield (width - RIGHT - 4 - text_width(mark.text), level - 12, width - RIGHT, level + 4)


def _level(mark: Mark, y: Height) -> float:
    line = y(mark.nbytes)
    return line - 4 if line >= 16 else line + 13


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _phase_axis(memory: MemoryMap, x: Sequence[float], height: float) -> Iterator[Shape]:
    yield Line(((x[0], height), (x[-1], height)), "axis")
    edges = [x[i] for i in itertools.accumulate((p.moments for p in memory.phases), initial=0)]
    free = 0.0
    for phase, start, end in zip(memory.phases, edges, edges[1:], strict=False):
        if phase.group:
            yield Line(((end, 0), (end, height + 6)), "phase")
        ops = f"{phase.ops[0]}" + (f"..{phase.ops[-1]}" if len(phase.ops) > 1 else "")
        name = f"{phase.name}: ops {ops}" if phase.group else phase.name
        for text in (name, f"ops {ops}" if phase.group else ops, ops):
            middle, half = (start + end) / 2, text_width(text, "small-text") / 2
            room = max(end - start - 4, 0 if phase.group else 18)
            if middle - half >= free and 2 * half <= room:
                yield Label(middle, height + 14, text, "small-text", "middle")
                free = middle + half + 6
                break
    yield Label(x[-1], height + 29, "operators of the original, in the order in which they run", "small-text", "end")


def _byte_axis(full: int, y: Height, width: float) -> Iterator[Shape]:
    for tick in ticks(full):
        yield Line(((LEFT, y(tick)), (width - RIGHT, y(tick))), "grid")
        yield Label(LEFT - 6, y(tick) + 4, bytes_text(tick), "small-text", "end")


def _legend(roles: Collection[str], width: float) -> list[tuple[str, int, float]]:
    placed: list[tuple[str, int, float]] = []
    x, row = LEFT, 0
    for role in (r for r in ROLES if r in roles):
        room = 18 + text_width(ROLES[role][2], "small-text") + 14
        if x > LEFT and x + room > width:
            x, row = LEFT, row + 1
        placed.append((role, row, x))
        x += room
    return placed


def _drawn_legend(legend: Sequence[tuple[str, int, float]], top: float) -> Iterator[Shape]:
    for role, row, x in legend:
        y = top + row * LEGEND
        yield Polygon(box(x, y - 9, x + 13, y + 1), f"{role}-fill")
        yield Label(x + 18, y, ROLES[role][2], "small-text")


def frontier(result: Exploration) -> Drawing:
    ram = f"arena ({result.convention})"
    unit, compute = {
        "macs": (1.0, MACS),
        "instructions": (1e6, f"million instructions, {result.core}, estimated"),
        "time": (1.0, f"ms at most, {result.board or result.core}, estimated"),
    }[result.cost]
    points = [(p.memories is not None, (p.arena.total, p.price(result.cost) / unit)) for p in result.points]
    lines = [Series("tflm-memopt", [point for is_slow, point in points if not is_slow])]
    if result.slow:
        lines.append(Series("with slow memory", [point for is_slow, point in points if is_slow]))
    if result.cost == "macs":
        lines.append(Series("TFLM today", [(result.original_arena.total, 1.0)], joined=False))
    return plot(lines, title=result.model, ram=ram, compute=compute)


def plot(lines: Sequence[Series], *, title: str, ram: str, compute: str = MACS) -> Drawing:
    """Draw lines, with RAM on a logarithmic horizontal axis and the amount of computation on the vertical axis."""
    axes = _Axes.of([p for line in lines for p in line.points] or [(1, 1.0)])
    shapes: list[Shape] = [Label(0, 14, title, "head-text"), *_grid(axes)]
    shapes.append(Label(WIDTH - RIGHT, FLOOR + 31, ram, "small-text", "end"))
    shapes.append(Label(4, CEILING - 7, compute, "small-text"))
    x0 = LEFT
    for number, line in enumerate(lines):
        shapes += _series(axes, line, number, compute)
        shapes += [
            Polygon(_dot(x0 + 6, TOP + 4, round_=line.joined), f"dot-{number % 5}"),
            Label(x0 + 16, TOP + 8, line.name, "small-text"),
        ]
        x0 += 30 + text_width(line.name, "small-text")
    return Drawing(WIDTH, FLOOR + 38, tuple(shapes), f"RAM against compute of {title}")


@dataclass(frozen=True, slots=True)
class _Axes:
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, points: Sequence[tuple[int, float]]) -> _Axes:
        low, high = math.log(min(b for b, _ in points)) - 0.08, math.log(max(b for b, _ in points)) + 0.08
        least, most = min(f for _, f in points), max(f for _, f in points)
        least, most = least - 0.06 * (most - least or 1), most + 0.08 * (most - least or 1)
        return cls(low, high, least, most)

    def at(self, nbytes: float, overhead: float) -> Point:
        return (
            LEFT + (math.log(nbytes) - self.low) / (self.high - self.low) * (WIDTH - RIGHT - LEFT),
            CEILING + (self.most - overhead) / (self.most - self.least) * PLOT_HEIGHT,
        )


def _grid(axes: _Axes) -> Iterator[Shape]:
    right = WIDTH - RIGHT
    for tick in _log_ticks(math.exp(axes.low), math.exp(axes.high)):
        x, _ = axes.at(tick, 1)
        yield Line(((x, CEILING), (x, FLOOR)), "grid")
        yield Label(x, FLOOR + 15, bytes_text(tick), "small-text", "middle")
    step = _round_step((axes.most - axes.least) / 5)
    for number in range(math.ceil(axes.least / step), math.floor(axes.most / step) + 1):
        overhead = round(step * number, 6)
        _, y = axes.at(1, overhead)
        yield Line(((LEFT, y), (right, y)), "grid")
        yield Label(LEFT - 6, y + 4, f"{overhead:g}", "small-text", "end")
    yield Line(((LEFT, FLOOR), (right, FLOOR)), "axis")


def _series(axes: _Axes, line: Series, number: int, compute: str) -> Iterator[Shape]:
    points = sorted(line.points)
    ordered = [axes.at(*p) for p in points]
    if line.joined and len(ordered) > 1:
        steps = [q for (x, y), (to_x, _) in itertools.pairwise(ordered) for q in ((x, y), (to_x, y))]
        yield Line((*steps, ordered[-1]), f"line-{number % 5}")
    for (x, y), (nbytes, overhead) in zip(ordered, points, strict=True):
        tip = f"{line.name}\n{nbytes:,} B; {compute}: {overhead:,.3f}"
        yield Polygon(_dot(x, y, round_=line.joined), f"dot-{number % 5}", tip)


def _dot(x: float, y: float, *, round_: bool) -> tuple[Point, ...]:
    if not round_:
        return box(x - 3.5, y - 3.5, x + 3.5, y + 3.5)
    turns = (k * math.pi / 8 for k in range(16))
    return tuple((x + 3.5 * math.cos(a), y + 3.5 * math.sin(a)) for a in turns)


def ticks(top: float) -> list[int]:
    """Return about six round numbers from 0 to at most `top`.

    >>> ticks(118628)
    [0, 20000, 40000, 60000, 80000, 100000]
    """
    step = _round_step(top / 6)
    return [int(step * k) for k in range(int(top / step) + 1)]


def _round_step(least: float) -> float:
    """Return a number of at least `least`: the smallest one that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-9)))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> list[int]:
    """Return round numbers between `low` and `high` whose labels do not overlap on a logarithmic axis."""
    steps: Sequence[float] = (1, 2, 5) if math.log10(high / low) * 3 * 46 < WIDTH else (1,)
    if high / low < 4:
        steps = (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [int(k * 10**p) for p in powers for k in steps if low <= k * 10**p <= high]


def bytes_text(nbytes: float) -> str:
    """Return a number of bytes as text for an axis, with 1,000 bytes in a kB.

    >>> bytes_text(20000), bytes_text(500), bytes_text(1500)
    ('20 kB', '500 B', '1.5 kB')
    """
    return f"{nbytes / 1000:g} kB" if nbytes >= 1000 else f"{nbytes:g} B"
