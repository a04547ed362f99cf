"""Damages one place of a plan that has tiles."""

from collections.abc import Iterator
from dataclasses import replace

from unit.plan.damage import Mutants, with_buffer, with_offset, with_stage, with_step

from tflm_memopt.plan.plan import Buffer, Group, Plan, Role


def tiled(plan: Plan) -> Iterator[tuple[int, Group]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Group) and step.stripes)


def _column_windows(plan: Plan, field: str, change: int) -> Iterator[tuple[int, Buffer]]:
    for i, b in enumerate(plan.buffers):
        for k, column_window in enumerate(b.column_windows):
            other = replace(column_window, **{field: getattr(column_window, field) + change})
            yield i, replace(b, column_windows=(*b.column_windows[:k], other, *b.column_windows[k + 1 :]))


def _nests(plan: Plan, field: str, change: int, least: int | None = None) -> Mutants:
    for n, group in tiled(plan):
        for s, stage in enumerate(group.stages):
            if least is None or getattr(stage.nest, field) >= least:
                nest = replace(stage.nest, **{field: getattr(stage.nest, field) + change})
                what = f"operator {stage.op} {field} {change:+}"
                yield what, with_stage(plan, n, group, s, replace(stage, nest=nest))


def shallower_column_windows(plan: Plan) -> Mutants:
    for i, b in _column_windows(plan, "depth", -1):
        pixel = b.nbytes // sum(column_window.depth for column_window in plan.buffers[i].column_windows)
        for nbytes in (b.nbytes, b.nbytes - pixel):
            yield f"rolling buffer {b.key}", with_buffer(plan, i, replace(b, nbytes=nbytes))


def column_windows_of_other_rows(plan: Plan) -> Mutants:
    for change in (-1, 1):
        for i, b in _column_windows(plan, "rows", change):
            yield f"rolling buffer {b.key} {change:+}", with_buffer(plan, i, b)


def rolling_buffers_of_other_sizes(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        for change in (-1, 1) if b.column_windows else ():
            other = with_buffer(plan, i, replace(b, nbytes=b.nbytes + change))
            yield f"rolling buffer {b.key} {change:+}", replace(other, head=plan.head + 1)


def missing_stripes(plan: Plan) -> Mutants:
    for n, group in tiled(plan):
        if group.stripes > 1:
            yield f"step {n}", with_step(plan, n, replace(group, stripes=group.stripes - 1))


def other_groups(plan: Plan) -> Mutants:
    for change in (-1, 1, 1000):
        yield from _nests(plan, "channel_groups", change, least=2)


def other_nests(plan: Plan) -> Mutants:
    for field in ("end", "advance"):
        for change in (-1, 1):
            yield from _nests(plan, field, change)


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        for distance in (-4, -1, 1, 4) if b.role is not Role.TENSOR else ():
            what = f"{b.role.value} {b.key} {distance:+}"
            yield what, replace(with_offset(plan, i, offset + distance), head=plan.head + 4)
