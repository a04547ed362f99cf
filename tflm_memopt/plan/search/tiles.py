"""Candidate tiled groups of a chain: the results of tiles_search.py as the executor runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.blocks import Candidate, Chain
from tflm_memopt.plan.search.links import Links, links
from tflm_memopt.plan.search.tiles_labels import Found, Trail, Visit
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.plan.search.tiles_search import Search
from tflm_memopt.plan.walk import Walk


def tiled_candidates(
    chain: Chain, settings: Settings, limit: int, meter: Meter | None = None
) -> dict[int, list[Candidate]]:
    """Return the best tiled groups of every length by their end, as far as the budget `meter` allows."""
    joined, meter, count = links(chain), meter or Meter(), len(chain.ops)
    return {
        last: tiled_ending(chain, joined, settings, last, limit, meter.fair(count - last + 1))
        for last in range(1, count + 1)
    }


def tiled_ending(
    chain: Chain, joined: Links, settings: Settings, last: int, limit: int, meter: Meter | None = None
) -> list[Candidate]:
    """Return the tiled groups that end at one position."""
    meter = meter or Meter()
    if not meter.allows(SearchPart.TILED_BLOCKS):
        return []
    total = sum(op.macs for op in chain.ops)
    grain, slack = int(total * settings.epsilon), int(total * (settings.max_overhead - 1))
    return [
        _candidate(chain, joined, found, last, settings)
        for found in Search(chain, joined, settings, last, limit, slack, grain, meter).blocks()
        if chain.can_cut(found.first, last)
    ]


def _candidate(chain: Chain, joined: Links, found: Found, last: int, settings: Settings) -> Candidate:
    """Return the group in the executor's form, with stripes numbered from 0."""
    visits = _visits(found.trail)
    base = -min(v.state.first for v in visits)
    running = next((v for v in visits if v.iterative), visits[-1])
    strips = base + running.state.stop
    stages: list[Stage] = []
    behind = False
    for visit in visits:
        ops = chain.ops[visit.position : visit.position + visit.length]
        walks = _in_last(ops, visit, strips, settings.tile) if behind else _walks(ops, visit, base, settings.tile)
        for i, (op, walk) in enumerate(zip(ops, walks, strict=True), visit.position):
            whole = _at_once(op, walk, visit.iterative) if strips == 1 else walk
            stages.append(Stage(chain.keys[i], joined.operands[i], visit.iterative, whole))
        behind |= visit.iterative
    return Candidate(found.first, last, found.nbytes, found.macs, tuple(stages), strips)


def _walks(ops: Sequence[RowOp], visit: Visit, base: int, tile: int) -> list[Walk]:
    """Return the loop nests of one operator, or of operators that process channel groups together."""
    state, groups = visit.state, visit.groups
    end, advance = state.end - state.advance * base, state.advance
    if state.by_rows:
        tile = ops[0].writes.w
    if groups == 1:
        return [Walk(advance, end, state.rows, tile)]
    w = ops[1].window
    rows, expanded = w.reach_h(state.rows), state.advance * w.stride_h
    first = Walk(min(rows, expanded), w.reach_h(state.end) - w.pad_top - min(rows, expanded) * base, rows, tile, groups)
    return _summing([first, *[Walk(advance, end, state.rows, tile, groups)] * (visit.length - 1)], visit)


def _in_last(ops: Sequence[RowOp], visit: Visit, strips: int, tile: int) -> list[Walk]:
    """Return the loop nests after an iterative operator, which is complete in the last stripe."""
    heights = (op.writes.h for op in ops)
    return _summing([Walk(h, (2 - strips) * h, h, tile, visit.groups) for h in heights], visit)


def _summing(walks: list[Walk], visit: Visit) -> list[Walk]:
    """Add a pass over each stripe for an operator that sums channel groups."""
    return [*walks[:-1], replace(walks[-1], groups=visit.groups + 1, sums=True)] if visit.sums else walks


def _at_once(op: RowOp, walk: Walk, iterative: bool) -> Walk:
    """Limit the only stripe of a group to the map, so that no lane has room for rows outside."""
    rows = min(walk.end, (op.reads[0] if iterative else op.writes).h)
    return replace(walk, advance=rows, end=rows, rows=rows) if rows > 0 else walk


def _visits(trail: Trail) -> list[Visit]:
    """Return the visits of a trail, from the group's front to its end."""
    visits = []
    while trail:
        trail, visit = trail
        visits.append(visit)
    return visits
