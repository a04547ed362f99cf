"""Changes programs so that their input is streamed or external."""

from dataclasses import replace

from numpy.random import Generator

from tflm_memopt.format.codes import InputPlace, RowLayout
from tflm_memopt.lower.program import Program, ProgramTensor
from tflm_memopt.ops.kinds import Kind

ALIGN = 16


def can_be_source(program: Program) -> bool:
    views = {i for i, t in enumerate(program.tensors) if t.base == 1}
    if any(program.tensors[i].layout != RowLayout.HWC for i in views):
        return False
    gathered = {i for op in program.ops if op.kind in (Kind.GATHER, Kind.GATHER_ND) for i in op.inputs}
    return program.n_inputs == 1 and len(views) == 1 and not views & gathered


def can_stream(program: Program) -> bool:
    views = {i for i, t in enumerate(program.tensors) if t.base == 1}
    later = program.ops[program.groups[0].n_ops :]
    return can_be_source(program) and not any(views.intersection(op.inputs) for op in later)


def streamed(program: Program, rng: Generator) -> Program:
    if not can_stream(program):
        return program
    (source,) = (t for t in program.tensors if t.base == 1)
    pushed = int(rng.choice([n for n in range(1, source.height + 1) if source.height % n == 0]))
    at = -(-program.workspace // ALIGN) * ALIGN
    moved = replace(source, offset=at, depth=source.height, pushed=pushed)
    size = at + source.height * source.width * source.channels
    return replace(program, tensors=_with(program, source, moved), workspace=size, input=InputPlace.STREAM)


def external(program: Program, _rng: Generator | None = None) -> Program:
    if not can_be_source(program):
        return program
    (source,) = (t for t in program.tensors if t.base == 1)
    at = -(-program.workspace // ALIGN) * ALIGN
    size = at + 2 * source.height * source.width * source.channels
    moved = replace(source, offset=at, depth=0)
    return replace(program, tensors=_with(program, source, moved), workspace=size, input=InputPlace.EXTERNAL)


def _with(program: Program, old: ProgramTensor, new: ProgramTensor) -> tuple[ProgramTensor, ...]:
    return tuple(new if t is old else t for t in program.tensors)
