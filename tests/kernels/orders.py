"""Programs that say in which order they fire, made from others by watching them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numpy.random import Generator

from tflm_memopt.lower.program import Program, ProgramBlock
from tflm_memopt.plan.firing.order import Order
from tflm_memopt.runtime.host import Firing


def ordered(program: Program, firings: Sequence[Firing], rng: Generator) -> Program:
    """Any parts of each block's firings, but the first, as far as no operator leaves out units there."""
    orders: list[Order] = []
    start = 0
    for block in program.blocks:
        ops = range(block.first_op, block.first_op + block.n_ops)
        end = start + sum(f.op in ops for f in firings)
        while (order := _part(program, block, firings, start, end, rng)) is not None:
            orders.append(order)
            start = order.start + order.count - int(rng.integers(2))  # there may be none between it and the next
        start = end
    return replace(program, orders=tuple(orders))


def unordered(program: Program) -> Program:
    return replace(program, orders=())


def _part(
    program: Program, block: ProgramBlock, firings: Sequence[Firing], start: int, end: int, rng: Generator
) -> Order | None:
    if end - start < 2:
        return None
    first = last = int(rng.integers(start + 1, end))
    while last < end and not _may_skip(program, firings, last):
        last += 1
    if first == last:
        return None
    ops = [f.op - block.first_op for f in firings[first:last]]
    period = next(p for p in range(1, len(ops) + 1) if ops[p:] == ops[:-p])
    return Order(first, last - first, tuple(ops[:period]))


def _may_skip(program: Program, firings: Sequence[Firing], number: int) -> bool:
    """Whether the operator comes from another strip of a tensor that is made again, which need not have been ended."""
    walk = program.tensors[program.ops[firings[number].op].output].walk
    if walk is None or walk.rows == walk.advance:
        return False
    before = [f.strip for f in firings[:number] if f.op == firings[number].op]
    return before[-1:] != [firings[number].strip]
