"""Brute-force test of lanes: no two live pixels share a slot, and one slot less is not enough."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import pytest
from conftest import seeds
from unit.plan.tiled import planned, tiled_blocks, trace_of

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window
from tflm_memopt.plan.firing.liveness import Ring
from tflm_memopt.plan.firing.trace import Member, Trace
from tflm_memopt.plan.plan import Lane, Role
from tflm_memopt.plan.search.blocks import UNLIMITED, Chain, rebuild
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import Settings

Pixel = tuple[int, int, int, int]
"""Strip (-1 if rows are made once), group, row, column."""
Life = tuple[int, int]
"""First and last moment."""


def lives_by_hand(trace: Trace, maker: Member) -> dict[Pixel, Life]:
    """Live range of every pixel of an inner tensor, from the list of firings."""
    members = {m.key: m for m in trace.members}
    alive: dict[Pixel, Life] = {}
    for at in trace.moments.tolist():
        member, firing = members[int(trace.op[at])], int(trace.firing[at])
        u = member.units
        for k, tensor in enumerate(member.op.inputs):
            if tensor == maker.op.output:
                for pixel in _read(member, maker, k, firing):
                    alive[pixel] = (alive[pixel][0], at)
        writes = not member.walk.sums or int(u.group[firing]) == member.walk.groups - 1
        if member.key == maker.key and writes:
            for x in range(int(u.x0[firing]), int(u.x1[firing])):
                strip = int(u.strip[firing]) if member.walk.recomputes else -1
                group = int(u.group[firing]) if member.walk.splits else 0
                alive[strip, group, int(u.row[firing]), x] = at, at
    return alive


def _read(member: Member, maker: Member, k: int, firing: int) -> Iterator[Pixel]:
    u, window, seen = member.units, member.op.window, member.op.reads[k]
    row, x0, x1 = int(u.row[firing]), int(u.x0[firing]), int(u.x1[firing])
    if member.walk.sums and int(u.group[firing]) == member.walk.groups - 1:
        return
    top, left = row * window.stride_h - window.pad_top, x0 * window.stride_w - window.pad_left
    right = (x1 - 1) * window.stride_w - window.pad_left + (window.kernel_w - 1) * window.dilation_w
    rows, columns = range(top, top + (window.kernel_h - 1) * window.dilation_h + 1), range(left, right + 1)
    if member.iterative:
        rows, columns = range(row, row + 1), range(x0, x1)
    strip = int(u.strip[firing]) if maker.walk.recomputes else -1
    group = int(u.group[firing]) if maker.walk.splits else 0
    for y in rows:
        for x in columns:
            if 0 <= y < seen.h and 0 <= x < seen.w:
                yield strip, group, y, x


def slots(maker: Member, lanes: tuple[Lane, ...], lives: dict[Pixel, Life]) -> dict[int, list[tuple[int, Life]]]:
    """Per lane: index along the rolling buffer, and live range of every pixel."""
    walk, width = maker.walk, maker.op.writes.w
    result = defaultdict(list)
    for (strip, _, y, x), life in lives.items():
        if walk.recomputes:
            turn, i = 0, y - (strip * walk.advance + walk.end - walk.rows)
        else:
            origin = walk.end
            while origin > 0:
                origin -= walk.advance
            while origin + walk.advance <= 0:
                origin += walk.advance
            turn, i = divmod(y - origin, walk.advance)
        number = 0
        while i >= lanes[number].rows:
            i -= lanes[number].rows
            number += 1
        result[number].append(((turn * width + x) * lanes[number].rows + i, life))
    return result


def collides(pixels: list[tuple[int, Life]], depth: int) -> bool:
    by_slot = defaultdict(list)
    for index, life in pixels:
        by_slot[index % depth].append(life)
    return any(
        before[1] >= after[0] for lives in by_slot.values() for before, after in itertools.pairwise(sorted(lives))
    )


def bottlenecks() -> Chain:
    """Expand, depthwise, project, twice; the second one halves the map."""
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


def assert_exact(trace: Trace, maker: Member, nbytes: int, lanes: tuple[Lane, ...]) -> None:
    assert nbytes == sum(lane.depth for lane in lanes) * maker.pixel_bytes
    for number, pixels in slots(maker, lanes, lives_by_hand(trace, maker)).items():
        assert not collides(pixels, lanes[number].depth)
        assert lanes[number].depth == 1 or collides(pixels, lanes[number].depth - 1)


KINDS: Mapping[str, Callable[[Trace, Member, tuple[Lane, ...]], bool]] = {
    "rows made again": lambda _, maker, _lanes: maker.walk.recomputes,
    "channels in groups": lambda _, maker, _lanes: maker.walk.splits,
    "beside sums of groups": lambda trace, _, _lanes: any(m.walk.sums for m in trace.members),
    "several lanes": lambda _, _maker, lanes: len(lanes) > 1,
    "one lane, strips of several rows": lambda _, maker, lanes: len(lanes) == 1 < maker.walk.rows,
}
MOST = 8
"""Number of rolling buffers tested per kind."""


@cache
def all_rings() -> list[tuple[Trace, Member, Ring]]:
    """Rolling buffers of all tiled groups of the bottlenecks, with the firings and the producer."""
    chain = bottlenecks()
    found = []
    for switches in (Settings(), Settings(cache=False), Settings(group_channels=0)):
        for candidate in itertools.chain(*tiled_candidates(chain, switches, UNLIMITED).values()):
            block = rebuild(chain, candidate)
            trace, rings = block.trace, block.rings
            found += [(trace, m, rings[m.op.output]) for m in trace.members if m.op.output in rings]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_rings_of_every_kind_are_as_deep_as_they_must_be(kind: str) -> None:
    found = [(trace, maker, ring) for trace, maker, ring in all_rings() if KINDS[kind](trace, maker, ring.lanes)]
    assert len(found) >= MOST
    for trace, maker, ring in found[:: len(found) // MOST]:
        assert_exact(trace, maker, ring.nbytes, ring.lanes)


def test_lanes_of_random_plans_are_as_deep_as_they_must_be() -> None:
    for seed in seeds(16):
        _, found = planned(seed)
        for block in tiled_blocks(found):
            trace = trace_of(block, found.graph.ops)
            for maker in trace.members:
                ring = found.plan.find(Role.RING, maker.op.output)
                if ring is not None and not maker.iterative:
                    assert_exact(trace, maker, ring[0].nbytes, ring[0].lanes)
