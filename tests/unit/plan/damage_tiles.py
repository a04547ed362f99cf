"""Damage plans of tiled groups in one place each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unit.plan.damage import Mutants, with_buffer, with_stage, with_step

from tflm_memopt.plan.plan import Block, Plan, Role


def tiled(plan: Plan) -> Iterator[tuple[int, Block]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Block) and step.strips)


# ---- damage that is always wrong ----


def shallower_lanes(plan: Plan) -> Mutants:
    """The buffer keeps its size or shrinks with the lane."""
    for i, b in enumerate(plan.buffers):
        pixel = b.nbytes // max(1, sum(lane.depth for lane in b.lanes))
        for k, lane in enumerate(b.lanes):
            lanes = (*b.lanes[:k], replace(lane, depth=lane.depth - 1), *b.lanes[k + 1 :])
            for nbytes in (b.nbytes, b.nbytes - pixel):
                yield f"ring {b.key}", with_buffer(plan, i, replace(b, lanes=lanes, nbytes=nbytes))


def lanes_of_other_rows(plan: Plan) -> Mutants:
    """One row more than a stripe has, or one less."""
    for i, b in enumerate(plan.buffers):
        for k, lane in enumerate(b.lanes):
            for change in (-1, 1):
                lanes = (*b.lanes[:k], replace(lane, rows=lane.rows + change), *b.lanes[k + 1 :])
                yield f"ring {b.key} {change:+}", with_buffer(plan, i, replace(b, lanes=lanes))


def rings_of_other_sizes(plan: Plan) -> Mutants:
    """One byte more than all lanes have, or one less."""
    for i, b in enumerate(plan.buffers):
        for change in (-1, 1) if b.lanes else ():
            other = with_buffer(plan, i, replace(b, nbytes=b.nbytes + change))
            yield f"ring {b.key} {change:+}", replace(other, head=plan.head + 1)


def missing_strips(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        if block.strips > 1:
            yield f"step {n}", with_step(plan, n, replace(block, strips=block.strips - 1))


def other_groups(plan: Plan) -> Mutants:
    """Change the groups of one operator out of three."""
    for n, block in tiled(plan):
        for s, stage in enumerate(block.stages):
            if stage.walk.groups > 1:
                for groups in (stage.walk.groups - 1, stage.walk.groups + 1):
                    walk = replace(stage.walk, groups=groups)
                    yield f"operator {stage.op}", with_stage(plan, n, block, s, replace(stage, walk=walk))


def empty_groups(plan: Plan) -> Mutants:
    """More groups than any of these tensors has channels."""
    for n, block in tiled(plan):
        for s, stage in enumerate(block.stages):
            if stage.walk.groups > 1:
                walk = replace(stage.walk, groups=1000 + stage.walk.groups)
                yield f"operator {stage.op}", with_stage(plan, n, block, s, replace(stage, walk=walk))


def missing_rings(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.lanes:
            rest, offsets = (x[:i] + x[i + 1 :] for x in (plan.buffers, plan.offsets))
            yield f"ring {b.key}", replace(plan, buffers=rest, offsets=offsets)


# ---- damage that may be harmless ----


def other_walks(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        for s, stage in enumerate(block.stages):
            for field in ("end", "advance"):
                for change in (-1, 1):
                    walk = replace(stage.walk, **{field: getattr(stage.walk, field) + change})
                    yield (
                        f"operator {stage.op} {field} {change:+}",
                        with_stage(plan, n, block, s, replace(stage, walk=walk)),
                    )


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        if b.role is not Role.TENSOR:
            for distance in (-4, -1, 1, 4):
                offsets = (*plan.offsets[:i], offset + distance, *plan.offsets[i + 1 :])
                yield f"{b.role.value} {b.key} {distance:+}", replace(plan, offsets=offsets, head=plan.head + 4)
