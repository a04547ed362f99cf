"""Damages a plan in one place."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tflm_memopt.plan.loops import iterations
from tflm_memopt.plan.plan import Buffer, Group, Plan, Role, Stage

Mutants = Iterator[tuple[str, Plan]]


def with_buffer(plan: Plan, i: int, buffer: Buffer) -> Plan:
    return replace(plan, buffers=(*plan.buffers[:i], buffer, *plan.buffers[i + 1 :]))


def with_offset(plan: Plan, i: int, offset: int) -> Plan:
    return replace(plan, offsets=(*plan.offsets[:i], offset, *plan.offsets[i + 1 :]))


def place(found: Plan, role: Role, key: int, offset: int, **buffer: int) -> Plan:
    (i,) = (i for i, b in enumerate(found.buffers) if (b.role, b.key) == (role, key))
    moved = with_offset(with_buffer(found, i, replace(found.buffers[i], **buffer)), i, offset)  # type: ignore[arg-type]
    return replace(moved, head=max(found.head, offset + moved.buffers[i].nbytes))


def with_step(plan: Plan, n: int, *steps: Group) -> Plan:
    return replace(plan, steps=(*plan.steps[:n], *steps, *plan.steps[n + 1 :]))


def with_stage(plan: Plan, n: int, group: Group, s: int, stage: Stage) -> Plan:
    return with_step(plan, n, replace(group, stages=(*group.stages[:s], stage, *group.stages[s + 1 :])))


def groups(plan: Plan) -> Iterator[tuple[int, Group]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Group))


def shallower_rolling_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.role is Role.ROLLING_BUFFER and b.depth > 1:
            row = b.nbytes // b.depth
            yield f"rolling buffer {b.key}", with_buffer(plan, i, replace(b, nbytes=b.nbytes - row, depth=b.depth - 1))


def smaller_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        yield f"{b.role} {b.key}", with_buffer(plan, i, replace(b, nbytes=b.nbytes - 1))


def missing_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        rest, offsets = (x[:i] + x[i + 1 :] for x in (plan.buffers, plan.offsets))
        yield f"{b.role} {b.key}", replace(plan, buffers=rest, offsets=offsets)


def wrong_iterations(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for change in (-1, 1):
            yield f"step {n} {change:+}", with_step(plan, n, replace(group, iterations=group.iterations + change))


def wrong_macs(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for change in (-1, 1):
            yield f"step {n} {change:+}", with_step(plan, n, replace(group, macs=group.macs + change))


def missing_steps(plan: Plan) -> Mutants:
    for n, _ in groups(plan):
        yield f"step {n}", with_step(plan, n)


def repeated_steps(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        yield f"step {n}", with_step(plan, n, group, group)


def swapped_steps(plan: Plan) -> Mutants:
    for n in range(len(plan.steps) - 1):
        steps = list(plan.steps)
        steps[n], steps[n + 1] = steps[n + 1], steps[n]
        yield f"step {n}", replace(plan, steps=tuple(steps))


def missing_stages(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for s in range(len(group.stages)):
            yield f"step {n}", with_step(plan, n, replace(group, stages=group.stages[:s] + group.stages[s + 1 :]))


def missing_iterations(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        order = tuple(iterations(group.loops))
        yield f"step {n}", with_step(plan, n, replace(group, loops=order[:-1], iterations=len(order) - 1))


def other_orders(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        first, *others = iterations(group.loops)
        yield f"step {n}", with_step(plan, n, replace(group, loops=(*others, first)))


def other_ways_to_sum(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for s, stage in enumerate(group.stages):
            if stage.iterative:
                yield f"operator {stage.op}", with_stage(plan, n, group, s, replace(stage, iterative=False))


def lower_heads(plan: Plan) -> Mutants:
    yield "head", replace(plan, head=max(o + b.nbytes for b, o in plan.placed()) - 1)


def negative_offsets(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        yield f"{b.role} {b.key}", with_offset(plan, i, -16)


def misaligned(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        if b.align > 1:
            moved = with_offset(with_buffer(plan, i, replace(b, align=1)), i, offset + b.align // 2)
            yield f"{b.role} {b.key}", replace(moved, head=plan.head + 16)


def other_operands(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for s, stage in enumerate(group.stages):
            for operands in (stage.operands[1:], (*stage.operands, 0), tuple(k + 1 for k in stage.operands)):
                yield f"operator {stage.op}", with_stage(plan, n, group, s, replace(stage, operands=operands))


ALWAYS_WRONG: tuple[Callable[[Plan], Mutants], ...] = (
    shallower_rolling_buffers,
    smaller_buffers,
    missing_buffers,
    wrong_iterations,
    wrong_macs,
    missing_steps,
    repeated_steps,
    swapped_steps,
    missing_stages,
    missing_iterations,
    other_ways_to_sum,
    lower_heads,
    negative_offsets,
    misaligned,
    other_operands,
)


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        for distance in (-16, -1, 1, 16):
            roomy = replace(plan, head=plan.head + max(0, distance))
            yield f"{b.role.value} {b.key} {distance:+}", with_offset(roomy, i, offset + distance)


def exchanged_buffers(plan: Plan) -> Mutants:
    for i in range(len(plan.buffers)):
        for k in range(i):
            offsets = list(plan.offsets)
            offsets[i], offsets[k] = offsets[k], offsets[i]
            yield f"buffers {i} and {k}", replace(plan, offsets=tuple(offsets))


def other_operand_orders(plan: Plan) -> Mutants:
    for n, group in groups(plan):
        for s, stage in enumerate(group.stages):
            if len(stage.operands) > 1:
                swapped = replace(stage, operands=stage.operands[::-1])
                yield f"operator {stage.op}", with_stage(plan, n, group, s, swapped)


MAY_BE_HARMLESS = (moved_buffers, exchanged_buffers, other_operand_orders, other_orders)
