"""Finds tiled forms of groups of any structure.

Rows that two stripes need are kept in buffers. The search in tiles_search.py is faster than tiles_any.py, but handles
only chains of operators with skip connections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tflm_memopt.format.limits import MAX_TAPS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.groups import Candidate, Chain, exact_bytes, joined
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.plan.search.tiles_search import heights, heights_of_sums
from tflm_memopt.rowgraph.graph import Space


@dataclass(frozen=True, slots=True)
class _Rows:
    """Progress of an operator: stripe 0 computes the rows before row `end`, and each further stripe computes `advance`
    rows.

    The group's first output rows are in stripe 0.
    """

    advance: int
    end: int

    @property
    def first(self) -> int:
        return -((self.end - 1) // self.advance)

    def read(self, op: RowOp) -> _Rows:
        w = op.window
        return _Rows(self.advance * w.stride_h, w.rows.reach(self.end) - w.pad_top)


PIXEL_SECONDS = 5e-6
"""Estimated seconds for counting the bytes of a tiled group, per pixel or tile of the group."""


def iterated(chain: Chain, group: Candidate, settings: Settings, budget: Budget = UNBOUNDED) -> Iterator[Candidate]:
    ops = chain.ops[group.first : group.last]
    pushed = any(chain.spaces.get(t) is Space.STREAM for op in ops for t in op.inputs)
    made = {op.output: op.writes for op in ops}
    alike = all(made.get(t, rows) == rows for op in ops for t, rows in op.seen())
    sinks = [op for op in ops if chain.outlives(op.output, group.last)]
    small = all(op.window.kernel_h * op.window.kernel_w <= MAX_TAPS for op in _running(ops, group))
    tileable = all(op.tileable and not op.message for op in ops)
    if pushed or not (alike and small and tileable and settings.cache) or sinks != [ops[-1]]:
        return
    driver = next((i for i, s in enumerate(group.stages) if s.iterative), len(ops) - 1)
    seen = ops[driver].reads[0] if group.stages[driver].iterative else ops[driver].writes
    pixels = sum(op.writes.h * op.writes.w for op in ops) // settings.tile
    iterative = group.stages[driver].iterative
    for height in heights_of_sums(ops[driver], settings) if iterative else heights(seen.h, settings):
        if not budget.allows(SearchPart.TILED_GROUPS):
            return
        budget.spend(PIXEL_SECONDS * pixels)
        stages = _stages(ops, group.stages, driver, _Rows(height, height), -(-seen.h // height), settings.tile)
        if stages:
            found = joined(chain, replace(group, stages=stages[0], stripes=stages[1]), settings.at_once)
            yield replace(found, nbytes=exact_bytes(chain, found))


def _running(ops: tuple[RowOp, ...], group: Candidate) -> list[RowOp]:
    return [op for op, stage in zip(ops, group.stages, strict=True) if not stage.iterative]


def _stages(
    ops: tuple[RowOp, ...], stages: tuple[Stage, ...], driver: int, rows: _Rows, stripes: int, tile: int
) -> tuple[tuple[Stage, ...], int] | None:
    """Return the loop nests of all operators and the number of stripes, or None if two readers of a tensor need
    different numbers of rows per stripe. The argument `rows` has the rows per stripe of the operator at position
    `driver`. Operators after `driver` run when the output of `driver` is complete.
    """
    if any(stage.iterative for stage in stages[driver + 1 :]):
        return None
    wanted: dict[TensorId, _Rows] = {}
    paces: list[_Rows] = []
    for i in range(driver, -1, -1):
        pace = rows if i == driver else wanted.get(ops[i].output)
        if pace is None:
            return None
        paces.append(pace)
        read = pace if stages[i].iterative else pace.read(ops[i])
        for tensor in ops[i].inputs:
            other = wanted.get(tensor, read)
            if other.advance != read.advance:
                return None
            wanted[tensor] = _Rows(read.advance, max(read.end, other.end))
    base = -min(pace.first for pace in paces)
    stripes += base
    nests = [LoopNest(p.advance, p.end - p.advance * base, p.advance, tile) for p in reversed(paces)]
    nests += [
        LoopNest(h, (2 - stripes) * h, h, tile) for h in (op.writes.h for op in ops[driver + 1 :])
    ]  # If an operator keeps sums, all later operators run only in the last stripe.
    return tuple(replace(stage, nest=nest) for stage, nest in zip(stages, nests, strict=True)), stripes
