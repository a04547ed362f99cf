"""Move tensors of a program from its workspace to slow memory."""

from collections import Counter
from dataclasses import replace

from numpy.random import Generator

from tflm_memopt.lower.program import Program, ProgramTensor

ALIGN = 16


def in_slow_memory(program: Program, rng: Generator) -> Program:
    views = Counter(t.offset for t in program.tensors if t.base == 0)
    movable = [t for t in program.tensors if t.base == 0 and views[t.offset] == 1 and not t.column_windows]
    moved: dict[int, ProgramTensor] = {}
    top, base = 0, 1 + program.n_inputs + program.n_outputs + (program.state > 0)
    for tensor in movable:
        if rng.random() < 0.5 or not moved:
            moved[id(tensor)] = replace(tensor, base=base, offset=top)
            top += -(-tensor.depth * tensor.width * tensor.channels // ALIGN) * ALIGN
    return replace(program, tensors=tuple(moved.get(id(t), t) for t in program.tensors), slow=top)
