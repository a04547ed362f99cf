"""Blocks that fire from the last row to the first, and which of a plan's blocks should.

An output that grows into what its input leaves lies below the input by what is read late, the halo of its window. Along
a chain of such blocks the tensors wander down through the arena until its end (vMCU lets them wrap around in a circular
pool). A block that is turned upside down shifts its output upwards, so that turning every other block takes back what
its neighbour shifted. The arena is mirrored with it: what lay below lies above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.blocks import MAX_ORDERS, Candidate, Chain, candidates
from tflm_memopt.plan.effort import Meter
from tflm_memopt.plan.links import Links, links
from tflm_memopt.plan.liveness import Content
from tflm_memopt.plan.plan import Block, Role
from tflm_memopt.plan.tiles import tiled_ending
from tflm_memopt.plan.tiles_plan import Settings


def turned(op: RowOp, *, pixels: bool) -> RowOp | None:
    """The operator on tensors whose rows are counted from the last to the first; None where it has no such form.

    pixels: those of each row as well. Row kernels go through a row forwards.
    """
    w, seen, made = op.window, op.reads[0], op.writes
    top = w.reach_h(made.h) - seen.h - w.pad_top
    left = w.reach_w(made.w) - seen.w - w.pad_left if pixels else w.pad_left
    alike = all((r.h, r.w) == (seen.h, seen.w) for r in op.reads)
    axes = op.traits.constants.kernel_axes
    known = op.weights is None or bool(axes) or w.kernel_h == w.kernel_w == 1
    if op.access or not (alike and known) or not (0 <= top < w.extent_h and 0 <= left < w.extent_w):
        return None
    weights = op.weights
    if weights is not None and axes:
        weights = np.flip(weights, axes if pixels else axes[0])
    constant = op.constant and replace(op.constant, values=np.flip(op.constant.values, (0, 1) if pixels else 0))
    return replace(op, window=replace(w, pad_top=top, pad_left=left), weights=weights, constant=constant)


def as_counted(op: RowOp, block: Block) -> RowOp:
    """An operator of a plan's block on rows as that block counts them."""
    other = turned(op, pixels=block.strips > 0) if block.turned else op
    if other is None:
        raise PlanError(f"{op.name} cannot run from the last row to the first", code="plan_turned")
    return other


@dataclass(frozen=True)
class Turned:
    """A chain of turned operators: from which the turned form of a block is taken."""

    chain: Chain
    """With the operators that have no such form as they are."""
    able: frozenset[int]
    """Positions of those that have."""
    joined: Links
    known: dict[tuple[int, bool], tuple[int, Sequence[Candidate]]] = field(default_factory=dict)
    """By position at which they end, and whether they are tiled: blocks of at most so many bytes."""

    def block(self, block: Candidate, settings: Settings | None, limit: int, meter: Meter) -> Candidate | None:
        """The best turned block of the same operators that computes no more; None where there is none.

        `limit`: bytes, at the most. `meter`: what it may cost to find.
        """
        positions, frame = range(block.first, block.last), self.chain.frame
        ops = [self.chain.ops[i] for i in positions]
        framed = frame is not None and any(frame.tensor in op.inputs for op in ops)
        if framed or not self.able.issuperset(positions) or not _seen_alike(ops):
            return None
        key = block.last, block.strips > 0
        most, found = self.known.get(key, (-1, ()))
        best = _best(found, block)
        if best is None and most < limit:
            self.known[key] = limit, self._ending(*key, settings, limit, meter)
            best = _best(self.known[key][1], block)
        return best if best and best.nbytes <= limit else None

    def _ending(
        self, last: int, tiled: bool, settings: Settings | None, limit: int, meter: Meter
    ) -> Sequence[Candidate]:
        if tiled and settings:
            return tiled_ending(self.chain, self.joined, settings, last, limit, meter)
        return list(candidates(self.chain, last, limit, MAX_ORDERS, meter=meter))


def _best(found: Sequence[Candidate], block: Candidate) -> Candidate | None:
    """Of the same operators, the one of fewest bytes that computes no more."""
    same = [c for c in found if c.first == block.first and c.macs <= block.macs]
    return min(same, key=lambda c: (c.nbytes, c.macs), default=None)


def turned_chain(chain: Chain, *, pixels: bool) -> Turned:
    """See turned()."""
    ops = [turned(op, pixels=pixels) for op in chain.ops]
    other = replace(chain, ops=tuple(new or old for new, old in zip(ops, chain.ops, strict=True)))
    return Turned(other, frozenset(i for i, op in enumerate(ops) if op), links(other))


def _seen_alike(ops: Sequence[RowOp]) -> bool:
    """All operators see the same rows of a tensor: what is a row of one is mirrored as a row."""
    seen: dict[TensorId, Rows] = {}
    return all(seen.setdefault(t, rows) == rows for op in ops for t, rows in op.seen())


def in_units(contents: Sequence[Content], unit_bytes: Mapping[TensorId, int]) -> tuple[Content, ...]:
    """What the buffers of a turned block hold: of a whole tensor, whole units (rows, or pixels), not mirrored inside.

    So a firing must not write over what it reads of a whole tensor: it goes through a unit forwards as ever. A scratch
    counts whole where it is in use: firings that want less take its first bytes, in a mirrored arena the last.
    """
    whole = {c.key for c in contents if c.role is Role.TENSOR}

    def units(content: Content) -> Content:
        if content.role is Role.SCRATCH:
            used = (content.top > 0) * content.nbytes
            return replace(content, top=used, before=used)
        if content.role is not Role.TENSOR:
            return replace(content, replaces=content.replaces - whole)
        unit = unit_bytes.get(content.key, content.nbytes)
        top = -(-content.top // unit) * unit
        return replace(
            content, bottom=content.bottom // unit * unit, top=top, before=top,
            replaces=frozenset(), ends_on=frozenset(),
        )  # fmt: skip

    return tuple(map(units, contents))


def mirrored(contents: Sequence[Content], distances: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Separations of a turned block: as of the block in a mirrored arena, but between buffers of its own."""

    def distance(u: int, v: int) -> int:
        if Role.TENSOR not in (contents[u].role, contents[v].role):
            return distances[u, v]
        return distances[v, u] + contents[u].nbytes - contents[v].nbytes

    return {pair: distance(*pair) for pair in distances}
