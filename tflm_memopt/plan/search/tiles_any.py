"""Row blocks pixel by pixel: any block, with branches and shortcuts, walked in strips whose overlap is kept.

The search for tiled blocks (tiles_search.py) knows chains with skips. Which rows each operator makes in a strip follows
for any graph once the strips of the last one are given, if nothing is made twice: what the readers want, the highest of
them. The bytes are counted exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.blocks import Candidate, Chain, tiled_bytes
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.plan.search.tiles_search import MAX_TAPS, heights
from tflm_memopt.plan.walk import Walk


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows below m * advance + end exist after strip m; strip 0 is the first that makes output."""

    advance: int
    end: int

    @property
    def first(self) -> int:
        """The first strip that makes any."""
        return -((self.end - 1) // self.advance)

    def read(self, op: RowOp) -> _Rows:
        """What an operator that makes these rows reads of its operands."""
        w = op.window
        return _Rows(self.advance * w.stride_h, w.reach_h(self.end) - w.pad_top)


PIXEL_SECONDS = 5e-6
"""Work (effort.py) for each pixel of a block that is counted exactly."""


def walked(chain: Chain, block: Candidate, settings: Settings, meter: Meter | None = None) -> Iterator[Candidate]:
    """The row block in strips, for each height that is worth a try; none where it has no such form.

    `meter`: what it may cost.
    """
    meter = meter or Meter()
    ops = chain.ops[block.first : block.last]
    frame = chain.frame
    pushed = frame is not None and frame.pushed and any(frame.tensor in op.inputs for op in ops)
    made = {op.output: op.writes for op in ops}
    alike = all(made.get(t, rows) == rows for op in ops for t, rows in op.seen())
    sinks = [op for op in ops if chain.last_read().get(op.output, -1) >= block.last]
    small = all(op.tileable and op.window.kernel_h * op.window.kernel_w <= MAX_TAPS for op in _running(ops, block))
    if pushed or not (alike and small and settings.cache) or sinks != [ops[-1]]:
        return
    driver = next((i for i, s in enumerate(block.stages) if s.iterative), len(ops) - 1)
    seen = ops[driver].reads[0] if block.stages[driver].iterative else ops[driver].writes
    pixels = sum(op.writes.h * op.writes.w for op in ops) // settings.tile
    for height in heights(seen.h, settings):
        if not meter.allows(SearchPart.TILED_BLOCKS):
            return
        meter.spend(PIXEL_SECONDS * pixels)
        stages = _stages(ops, block.stages, driver, _Rows(height, height), -(-seen.h // height), settings.tile)
        if stages:
            found = replace(block, stages=stages[0], strips=stages[1])
            yield replace(found, nbytes=tiled_bytes(chain, found))


def _running(ops: tuple[RowOp, ...], block: Candidate) -> list[RowOp]:
    """Operators that read windows: not those that add their input up pixel by pixel."""
    return [op for op, stage in zip(ops, block.stages, strict=True) if not stage.iterative]


def _stages(
    ops: tuple[RowOp, ...], stages: tuple[Stage, ...], driver: int, rows: _Rows, strips: int, tile: int
) -> tuple[tuple[Stage, ...], int] | None:
    """Walks of all operators, and the number of strips; None where two readers go at different paces.

    `driver`: the operator whose strips of `rows` are given. What comes behind it runs when it is done.
    """
    if any(stage.iterative for stage in stages[driver + 1 :]):
        return None
    wanted: dict[TensorId, _Rows] = {}
    paces: list[_Rows] = []
    for i in range(driver, -1, -1):
        pace = rows if i == driver else wanted.get(ops[i].output)
        if pace is None:  # read behind the driver only
            return None
        paces.append(pace)
        read = pace if stages[i].iterative else pace.read(ops[i])
        for tensor in ops[i].inputs:
            other = wanted.get(tensor, read)
            if other.advance != read.advance:
                return None
            wanted[tensor] = _Rows(read.advance, max(read.end, other.end))
    base = -min(pace.first for pace in paces)
    strips += base
    walks = [Walk(p.advance, p.end - p.advance * base, p.advance, tile) for p in reversed(paces)]
    walks += [
        Walk(h, (2 - strips) * h, h, tile) for h in (op.writes.h for op in ops[driver + 1 :])
    ]  # in the last strip
    return tuple(replace(stage, walk=walk) for stage, walk in zip(stages, walks, strict=True)), strips
