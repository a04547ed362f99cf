"""Brute-force test of column windows: no two live pixels share a slot, and one slot less is not enough."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import pytest
from conftest import seeds
from unit.plan.tiled import planned, tiled_groups, trace_of

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window
from tflm_memopt.plan.iteration.trace import Member, Trace
from tflm_memopt.plan.plan import Buffer, ColumnWindow, Role
from tflm_memopt.plan.search.groups import UNLIMITED, Chain, rebuild
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import Settings

Pixel = tuple[int, int, int, int]
"""Key of a pixel: stripe (-1 if rows are made once), group, row and column."""
Life = tuple[int, int]
"""First and last moment of a pixel's life."""


def lives_by_hand(trace: Trace, maker: Member) -> dict[Pixel, Life]:
    """Return the live range of every pixel of an inner tensor, from the list of iterations."""
    members = {m.key: m for m in trace.members}
    alive: dict[Pixel, Life] = {}
    for at in trace.moments.tolist():
        member, iteration = members[int(trace.op[at])], int(trace.iteration[at])
        u = member.units
        for k, tensor in enumerate(member.op.inputs):
            if tensor == maker.op.output:
                for pixel in _read(member, maker, k, iteration):
                    alive[pixel] = (alive[pixel][0], at)
        writes = not member.nest.sums or int(u.channel_group[iteration]) == member.nest.channel_groups - 1
        if member.key == maker.key and writes:
            for x in range(int(u.x0[iteration]), int(u.x1[iteration])):
                stripe = int(u.stripe[iteration]) if member.nest.recomputes else -1
                channel_group = int(u.channel_group[iteration]) if member.nest.splits else 0
                alive[stripe, channel_group, int(u.row[iteration]), x] = at, at
    return alive


def _read(member: Member, maker: Member, k: int, iteration: int) -> Iterator[Pixel]:
    u, window, seen = member.units, member.op.window, member.op.reads[k]
    row, x0, x1 = int(u.row[iteration]), int(u.x0[iteration]), int(u.x1[iteration])
    if member.nest.sums and int(u.channel_group[iteration]) == member.nest.channel_groups - 1:
        return
    top, left = row * window.stride_h - window.pad_top, x0 * window.stride_w - window.pad_left
    right = (x1 - 1) * window.stride_w - window.pad_left + (window.kernel_w - 1) * window.dilation_w
    rows, columns = range(top, top + (window.kernel_h - 1) * window.dilation_h + 1), range(left, right + 1)
    if member.iterative:
        rows, columns = range(row, row + 1), range(x0, x1)
    stripe = int(u.stripe[iteration]) if maker.nest.recomputes else -1
    channel_group = int(u.channel_group[iteration]) if maker.nest.splits else 0
    for y in rows:
        for x in columns:
            if 0 <= y < seen.h and 0 <= x < seen.w:
                yield stripe, channel_group, y, x


def slots(
    maker: Member, column_windows: tuple[ColumnWindow, ...], lives: dict[Pixel, Life]
) -> dict[int, list[tuple[int, Life]]]:
    """Return, for each column window, the index along the rolling buffer and the live range of every pixel."""
    nest, width = maker.nest, maker.op.writes.w
    result = defaultdict(list)
    for (stripe, _, y, x), life in lives.items():
        if nest.recomputes:
            lap, i = 0, y - (stripe * nest.advance + nest.end - nest.rows)
        else:
            origin = nest.end
            while origin > 0:
                origin -= nest.advance
            while origin + nest.advance <= 0:
                origin += nest.advance
            lap, i = divmod(y - origin, nest.advance)
        number = 0
        while i >= column_windows[number].rows:
            i -= column_windows[number].rows
            number += 1
        result[number].append(((lap * width + x) * column_windows[number].rows + i, life))
    return result


def collides(pixels: list[tuple[int, Life]], depth: int) -> bool:
    by_slot = defaultdict(list)
    for index, life in pixels:
        by_slot[index % depth].append(life)
    return any(
        before[1] >= after[0] for lives in by_slot.values() for before, after in itertools.pairwise(sorted(lives))
    )


def bottlenecks() -> Chain:
    """Return two bottlenecks of expand, depthwise and project. The second bottleneck halves the map."""
    ops: list[RowOp] = []

    def append(kind: Kind, seen: Rows, made: Rows, window: Window = UNIT) -> Rows:
        n = len(ops)
        macs = made.nbytes * window.kernel_h * window.kernel_w * (1 if kind is Kind.DEPTHWISE else seen.c)
        ops.append(RowOp(kind, kind.name, (n,), (n,), n + 1, (seen,), made, (0,), 0, window, macs=macs))
        return made

    rows = Rows(9, 6, 4)
    for stride in (1, 2):
        rows = append(Kind.CONV, rows, replace(rows, c=20))
        small = Rows(-(-rows.h // stride), -(-rows.w // stride), rows.c)
        rows = append(Kind.DEPTHWISE, rows, small, Window(3, 3, stride, stride, 1, 1, 1, 1))
        rows = append(Kind.CONV, rows, replace(rows, c=6))
    return Chain(tuple(range(len(ops))), tuple(ops), frozenset({len(ops)}), 0)


def assert_exact(trace: Trace, maker: Member, nbytes: int, column_windows: tuple[ColumnWindow, ...]) -> None:
    assert nbytes == sum(column_window.depth for column_window in column_windows) * maker.pixel_bytes
    for number, pixels in slots(maker, column_windows, lives_by_hand(trace, maker)).items():
        assert not collides(pixels, column_windows[number].depth)
        assert column_windows[number].depth == 1 or collides(pixels, column_windows[number].depth - 1)


KINDS: Mapping[str, Callable[[Trace, Member, tuple[ColumnWindow, ...]], bool]] = {
    "rows made again": lambda _, maker, _column_windows: maker.nest.recomputes,
    "channels in groups": lambda _, maker, _column_windows: maker.nest.splits,
    "beside sums of groups": lambda trace, _, _column_windows: any(m.nest.sums for m in trace.members),
    "several column windows": lambda _, _maker, column_windows: len(column_windows) > 1,
    "one column window, stripes of several rows": lambda _, maker, column_windows: (
        len(column_windows) == 1 < maker.nest.rows
    ),
}
MOST = 8
"""Number of rolling buffers tested per kind."""


@cache
def all_rolling_buffers() -> list[tuple[Trace, Member, Buffer]]:
    """Yield the rolling buffers of all tiled groups of the bottlenecks, with the iterations and the producer."""
    chain = bottlenecks()
    found = []
    for switches in (Settings(), Settings(cache=False), Settings(group_channels=0)):
        for candidate in itertools.chain(*tiled_candidates(chain, switches, UNLIMITED).values()):
            trace, rolling_buffers = rebuild(chain, candidate)
            found += [(trace, m, rolling_buffers[m.op.output]) for m in trace.members if m.op.output in rolling_buffers]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_rolling_buffers_of_every_kind_are_as_deep_as_they_must_be(kind: str) -> None:
    found = [
        (trace, maker, rolling_buffer)
        for trace, maker, rolling_buffer in all_rolling_buffers()
        if KINDS[kind](trace, maker, rolling_buffer.column_windows)
    ]
    assert len(found) >= MOST
    for trace, maker, rolling_buffer in found[:: len(found) // MOST]:
        assert_exact(trace, maker, rolling_buffer.nbytes, rolling_buffer.column_windows)


def test_column_windows_of_random_plans_are_as_deep_as_they_must_be() -> None:
    for seed in seeds(8):
        _, found = planned(seed)
        for group in tiled_groups(found):
            trace = trace_of(group, found.graph.ops)
            for maker in trace.members:
                rolling_buffer = found.plan.find(Role.ROLLING_BUFFER, maker.op.output)
                if rolling_buffer is not None and not maker.iterative:
                    assert_exact(trace, maker, rolling_buffer[0].nbytes, rolling_buffer[0].column_windows)
