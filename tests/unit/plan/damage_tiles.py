"""Damage plans of tiled groups in one place each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unit.plan.damage import Mutants, with_buffer, with_stage, with_step

from tflm_memopt.plan.plan import Group, Plan, Role


def tiled(plan: Plan) -> Iterator[tuple[int, Group]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Group) and step.stripes)


# ---- damage that is always wrong ----


def shallower_column_windows(plan: Plan) -> Mutants:
    """Make column windows shallower. The buffer keeps its size or shrinks with the column window."""
    for i, b in enumerate(plan.buffers):
        pixel = b.nbytes // max(1, sum(column_window.depth for column_window in b.column_windows))
        for k, column_window in enumerate(b.column_windows):
            column_windows = (
                *b.column_windows[:k],
                replace(column_window, depth=column_window.depth - 1),
                *b.column_windows[k + 1 :],
            )
            for nbytes in (b.nbytes, b.nbytes - pixel):
                yield (
                    f"rolling buffer {b.key}",
                    with_buffer(plan, i, replace(b, column_windows=column_windows, nbytes=nbytes)),
                )


def column_windows_of_other_rows(plan: Plan) -> Mutants:
    """Give column windows one row more or less than a stripe has."""
    for i, b in enumerate(plan.buffers):
        for k, column_window in enumerate(b.column_windows):
            for change in (-1, 1):
                column_windows = (
                    *b.column_windows[:k],
                    replace(column_window, rows=column_window.rows + change),
                    *b.column_windows[k + 1 :],
                )
                yield (
                    f"rolling buffer {b.key} {change:+}",
                    with_buffer(plan, i, replace(b, column_windows=column_windows)),
                )


def rolling_buffers_of_other_sizes(plan: Plan) -> Mutants:
    """Give rolling buffers one byte more or less than all column windows have."""
    for i, b in enumerate(plan.buffers):
        for change in (-1, 1) if b.column_windows else ():
            other = with_buffer(plan, i, replace(b, nbytes=b.nbytes + change))
            yield f"rolling buffer {b.key} {change:+}", replace(other, head=plan.head + 1)


def missing_stripes(plan: Plan) -> Mutants:
    for n, group in tiled(plan):
        if group.stripes > 1:
            yield f"step {n}", with_step(plan, n, replace(group, stripes=group.stripes - 1))


def other_groups(plan: Plan) -> Mutants:
    """Change the groups of one operator out of three."""
    for n, group in tiled(plan):
        for s, stage in enumerate(group.stages):
            if stage.nest.channel_groups > 1:
                for channel_groups in (stage.nest.channel_groups - 1, stage.nest.channel_groups + 1):
                    nest = replace(stage.nest, channel_groups=channel_groups)
                    yield f"operator {stage.op}", with_stage(plan, n, group, s, replace(stage, nest=nest))


def empty_groups(plan: Plan) -> Mutants:
    """Set more channel groups than any of these tensors has channels."""
    for n, group in tiled(plan):
        for s, stage in enumerate(group.stages):
            if stage.nest.channel_groups > 1:
                nest = replace(stage.nest, channel_groups=1000 + stage.nest.channel_groups)
                yield f"operator {stage.op}", with_stage(plan, n, group, s, replace(stage, nest=nest))


def missing_rolling_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.column_windows:
            rest, offsets = (x[:i] + x[i + 1 :] for x in (plan.buffers, plan.offsets))
            yield f"rolling buffer {b.key}", replace(plan, buffers=rest, offsets=offsets)


# ---- damage that may be harmless ----


def other_nests(plan: Plan) -> Mutants:
    for n, group in tiled(plan):
        for s, stage in enumerate(group.stages):
            for field in ("end", "advance"):
                for change in (-1, 1):
                    nest = replace(stage.nest, **{field: getattr(stage.nest, field) + change})
                    yield (
                        f"operator {stage.op} {field} {change:+}",
                        with_stage(plan, n, group, s, replace(stage, nest=nest)),
                    )


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        if b.role is not Role.TENSOR:
            for distance in (-4, -1, 1, 4):
                offsets = (*plan.offsets[:i], offset + distance, *plan.offsets[i + 1 :])
                yield f"{b.role.value} {b.key} {distance:+}", replace(plan, offsets=offsets, head=plan.head + 4)
