"""The tiled blocks of a chain that may be in a plan: what tiles_search.py finds, as the executor walks it."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import walk as plan_walk
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.blocks import Candidate, Chain
from tflm_memopt.plan.search.links import Links, links
from tflm_memopt.plan.search.tiles_labels import Found, Trail, Visit
from tflm_memopt.plan.search.tiles_plan import Settings, TiledBlock, TiledWalk
from tflm_memopt.plan.search.tiles_search import Search


def _tiled(chain: Chain, found: Found, last: int, settings: Settings) -> TiledBlock:
    """The block as the executor wants it: strips numbered from 0 on."""
    visits = _visits(found.trail)
    base = -min(v.state.first for v in visits)
    running = next((v for v in visits if v.iterative), visits[-1])
    strips = base + running.state.stop
    walks: list[TiledWalk] = []
    behind = False
    for visit in visits:
        if behind:
            ops = chain.ops[visit.position : visit.position + visit.length]
            in_last = [TiledWalk(h, (2 - strips) * h, h, settings.tile) for h in (op.writes.h for op in ops)]
            walks += [replace(walk, groups=n) for walk, n in zip(in_last, _groups(visit), strict=True)]
        else:
            walks += _walks(chain, visit, base, settings.tile)
        behind |= visit.iterative
    iterative = [v.iterative for v in visits for _ in range(v.length)]
    if strips == 1:
        walks = [_at_once(*each) for each in zip(chain.ops[found.first : last], walks, iterative, strict=True)]
    return TiledBlock(
        first=found.first,
        last=last,
        strips=strips,
        rows=running.state.strip_rows,
        walks=tuple(walks),
        iterative=tuple(iterative),
        group_channels=settings.group_channels if any(v.groups > 1 for v in visits) else 0,
        nbytes=found.nbytes,
        macs=found.macs,
    )


def _at_once(op: RowOp, walk: TiledWalk, iterative: bool) -> TiledWalk:
    """The only strip of a block: no lane needs room for rows above or below the map."""
    rows = min(walk.end, (op.reads[0] if iterative else op.writes).h)
    return replace(walk, advance=rows, end=rows, rows=rows) if rows > 0 else walk


def _walks(chain: Chain, visit: Visit, base: int, tile: int) -> list[TiledWalk]:
    """The walk of one operator, or of those that go through channel groups together."""
    state = visit.state

    def walk(rows: int, end: int, advance: int, groups: int) -> TiledWalk:
        return TiledWalk(advance, end - advance * base, rows, tile, groups, state.first + base)

    if state.by_rows:
        tile = chain.ops[visit.position].writes.w
    if visit.groups == 1:
        return [walk(state.rows, state.end, state.advance, 1)]
    w = chain.ops[visit.position + 1].window
    rows = w.reach_h(state.rows)
    expand, *others = _groups(visit)
    first = walk(rows, w.reach_h(state.end) - w.pad_top, min(rows, state.advance * w.stride_h), expand)
    return [first, *(walk(state.rows, state.end, state.advance, n) for n in others)]


def _groups(visit: Visit) -> list[int]:
    """Times that each operator of a visit walks a strip: what adds groups up walks it once more."""
    return [visit.groups] * (visit.length - 1) + [visit.groups + visit.sums]


def _visits(trail: Trail) -> list[Visit]:
    """Visits of a trail, from the block's front to its end."""
    visits = []
    while trail:
        trail, visit = trail
        visits.append(visit)
    return visits


def tiled_candidates(
    chain: Chain, settings: Settings, limit: int, meter: Meter | None = None
) -> dict[int, list[Candidate]]:
    """The best tiled blocks of every length, by the position at which they end; all that `meter` allows to find."""
    joined, meter, count = links(chain), meter or Meter(), len(chain.ops)
    return {
        last: tiled_ending(chain, joined, settings, last, limit, meter.fair(count - last + 1))
        for last in range(1, count + 1)
    }


def tiled_ending(
    chain: Chain, joined: Links, settings: Settings, last: int, limit: int, meter: Meter | None = None
) -> list[Candidate]:
    """Those that end at one position."""
    meter = meter or Meter()
    if not meter.allows(SearchPart.TILED_BLOCKS):
        return []
    total = sum(op.macs for op in chain.ops)
    grain, slack = int(total * settings.epsilon), int(total * (settings.max_overhead - 1))
    return [
        _candidate(chain, joined, _tiled(chain, found, last, settings))
        for found in Search(chain, joined, settings, last, limit, slack, grain, meter).blocks()
        if chain.can_cut(found.first, last)
    ]


def _candidate(chain: Chain, joined: Links, block: TiledBlock) -> Candidate:
    stages = []
    split = False
    for i, (walk, iterative) in enumerate(zip(block.walks, block.iterative, strict=True), block.first):
        sums = split and walk.groups > 1 and chain.ops[i].is_convolution
        split = walk.groups > 1 and not sums
        main = joined.main[i]
        operands = (main, *(k for k in range(len(chain.ops[i].inputs)) if k != main))
        path = plan_walk.Walk(walk.advance, walk.end, walk.rows, walk.tile, walk.groups, sums)
        stages.append(Stage(chain.keys[i], operands, iterative, path))
    return Candidate(block.first, block.last, block.nbytes, block.macs, tuple(stages), block.strips)
