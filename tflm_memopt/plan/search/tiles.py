"""Converts the tiled groups that tiles_search.py finds to groups of a plan."""

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search import groups
from tflm_memopt.plan.search.groups import Candidate, Chain
from tflm_memopt.plan.search.links import Links, links
from tflm_memopt.plan.search.tiles_labels import Label, Trail, Visit
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.plan.search.tiles_search import Search


def tiled_candidates(
    chain: Chain, settings: Settings, limit: int, budget: Budget = UNBOUNDED
) -> dict[int, list[Candidate]]:
    joined, count = links(chain), len(chain.ops)
    return {
        last: tiled_ending(chain, joined, settings, last, limit, budget.fair(count - last + 1))
        for last in range(1, count + 1)
    }


def tiled_ending(
    chain: Chain, joined: Links, settings: Settings, last: int, limit: int, budget: Budget = UNBOUNDED
) -> list[Candidate]:
    if not budget.allows(SearchPart.TILED_GROUPS):
        return []
    total = sum(op.macs for op in chain.ops)
    grain, slack = int(total * settings.epsilon), int(total * (settings.max_overhead - 1))
    found = Search(chain, joined, settings, last, limit, slack, grain, budget).groups()
    return [
        _candidate(chain, joined, (first, last), label, settings)
        for first, labels in found.items()
        if chain.can_cut(first, last)
        for label in labels
    ]


def _candidate(chain: Chain, joined: Links, where: tuple[int, int], label: Label, settings: Settings) -> Candidate:
    """A plan counts stripes from the first stripe of the group, but the search counts from the first stripe with output
    rows.
    """
    nbytes, macs, trail = label
    tile = settings.tile
    visits = _visits(trail)
    base = -min(v.state.first for v in visits)
    running = next((v for v in visits if v.iterative), visits[-1])
    stripes = base + running.state.stop
    stages: list[Stage] = []
    behind = False
    for visit in visits:
        ops = chain.ops[visit.position : visit.position + visit.length]
        nests = _in_last(ops, visit, stripes, tile) if behind else _nests(ops, visit, base, tile)
        for i, (op, nest) in enumerate(zip(ops, nests, strict=True), visit.position):
            whole = _at_once(op, nest, visit.iterative) if stripes == 1 else nest
            stages.append(Stage(chain.keys[i], joined.operands[i], visit.iterative, whole))
        behind |= visit.iterative
    return groups.joined(chain, Candidate(*where, nbytes, macs, tuple(stages), stripes), settings.at_once)


def _nests(ops: Sequence[RowOp], visit: Visit, base: int, tile: int) -> list[LoopNest]:
    state, channel_groups = visit.state, visit.channel_groups
    end, advance = state.end - state.advance * base, state.advance
    if state.by_rows:
        tile = ops[0].writes.w
    if channel_groups == 1:
        return [LoopNest(advance, end, state.rows, tile)]
    w = ops[1].window
    rows = w.rows.reach(state.rows)
    advances = min(rows, state.advance * w.stride_h)
    first = LoopNest(advances, w.rows.reach(state.end) - w.pad_top - advances * base, rows, tile, channel_groups)
    return _summing([first, *[LoopNest(advance, end, state.rows, tile, channel_groups)] * (visit.length - 1)], visit)


def _in_last(ops: Sequence[RowOp], visit: Visit, stripes: int, tile: int) -> list[LoopNest]:
    heights = (op.writes.h for op in ops)
    return _summing([LoopNest(h, (2 - stripes) * h, h, tile, visit.channel_groups) for h in heights], visit)


def _summing(nests: list[LoopNest], visit: Visit) -> list[LoopNest]:
    return (
        [*nests[:-1], replace(nests[-1], channel_groups=visit.channel_groups + 1, sums=True)] if visit.sums else nests
    )


def _at_once(op: RowOp, nest: LoopNest, iterative: bool) -> LoopNest:
    """If a group has a single stripe, limit the stripe to the rows of the feature map."""
    rows = min(nest.end, (op.reads[0] if iterative else op.writes).h)
    return replace(nest, advance=rows, end=rows, rows=rows) if rows > 0 else nest


def _visits(trail: Trail) -> list[Visit]:
    visits = []
    while trail:
        trail, visit = trail
        visits.append(visit)
    return visits
