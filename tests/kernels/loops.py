from collections.abc import Sequence
from dataclasses import replace

from numpy.random import Generator

from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.lower.program import Program
from tflm_memopt.plan.loops import Iteration, Loops, Repeat, iterations

LONGEST = 12


def times(count: int, stage: int = 0) -> Loops:
    return (Repeat(count, (Iteration(stage),)),)


def nested(order: Sequence[Iteration], rng: Generator, depth: int = LOOP_DEPTH) -> Loops:
    found: list[Iteration | Repeat] = []
    at = 0
    while at < len(order):
        period = int(rng.integers(1, LONGEST + 1))
        body = list(order[at : at + period])
        most = 1
        while len(body) == period and list(order[at + most * period : at + (most + 1) * period]) == body:
            most += 1
        count = int(rng.integers(1, most + 1)) if rng.random() < 0.3 else most
        if depth > 0 and (count > 1 or rng.random() < 0.1):
            found.append(Repeat(count, nested(body, rng, depth - 1)))
            at += count * len(body)
        else:
            found.append(order[at])
            at += 1
    return tuple(found)


def nested_otherwise(program: Program, rng: Generator) -> Program:
    groups = (replace(b, loops=nested([*iterations(b.loops)], rng)) for b in program.groups)
    return replace(program, groups=tuple(groups))
