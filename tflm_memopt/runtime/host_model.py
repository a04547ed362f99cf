"""Runs a whole model on this machine without TFLM, one operator at a time, with every tensor in its own buffer.

The C library's reference kernels compute the operators, and convert.py computes QUANTIZE and DEQUANTIZE. A model with
operators that the library lacks needs TFLM's wheel.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.lower.lowering import constant_operand, program_op
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.model.interface import format_of
from tflm_memopt.model.reader import describe, is_region
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.loops import Iteration, Repeat
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import Support, View, to_row_ops
from tflm_memopt.runtime import convert, host, regions
from tflm_memopt.runtime.stimuli import Array
from tflm_memopt.runtime.windows import Slide

Values = dict[TensorId, Array]
Step = Callable[[Values], None]


def run_model(
    graph: Graph, inputs: Sequence[Array], runs: int, resets: Sequence[int] = (), step: int = 0
) -> tuple[Array, ...]:
    """Run inferences without TFLM. Raises RuntimeUnavailable for a model that needs TFLM's own kernels, with the
    operator's name.

    The argument `step` is the number of new elements of a sliding input in each inference, or 0 without a sliding
    input.
    """
    steps = compile_steps(graph)
    stacks: list[list[Array]] = [[] for _ in graph.outputs]
    slide = Slide(step) if step else None
    for r in range(runs):
        if r in resets:
            steps = compile_steps(graph)
            if slide:
                slide.forget()
        given: list[list[Array]] = [[stack[r] for stack in inputs]]
        if slide:
            given = [[rows] for rows in slide.steps_to(given[0][0])[0]]
        values: Values = {}
        for arrays in given:
            values = dict(zip(graph.inputs, arrays, strict=True))
            for compute in steps:
                compute(values)
        for stack, t in zip(stacks, graph.outputs, strict=True):
            typed = values[t].view(graph.tensors[t].dtype.lower())
            stack.append(typed.reshape(graph.tensors[t].shape))
    return tuple(np.stack(stack) for stack in stacks)


def compile_steps(graph: Graph) -> list[Step]:
    canonical = canonicalise(graph)
    support = to_row_ops(canonical)
    return [_step(canonical, op, support) for op in canonical.ops]


def _step(graph: Graph, op: Op, support: Mapping[int, Support]) -> Step:
    known = support[op.index]
    if isinstance(known, RowOp):
        return _program(_reference_program(known), known.inputs, (known.output,), graph)
    if isinstance(known, View):
        return lambda values: values.update({known.output: values[known.storage]})
    if is_region(op):
        region = regions.region_of(graph, op)
        external = graph.inputs if region.input == InputPlace.EXTERNAL else ()
        return _program(region.program, (*external, *region.inputs), region.outputs, graph)
    conversion = _border_conversion(graph, op)
    if conversion is None:
        raise RuntimeUnavailable(
            f"only TFLM itself runs this operator: {known}",
            code="unsupported_operator",
            where=describe(op),
            hint="verify on 64-bit Linux on x86 with the extra 'tflm'",
        )
    return lambda values: values.update({op.outputs[0]: conversion(values[op.inputs[0]])})


def _program(program: bytes, inputs: Sequence[TensorId], outputs: Sequence[TensorId], graph: Graph) -> Step:
    sizes, state = [graph.tensors[t].nbytes for t in outputs], host.new_state(program)

    def step(values: Values) -> None:
        values.update(zip(outputs, host.run(program, [values[t] for t in inputs], sizes, state), strict=True))

    return step


CONVERSIONS = ("FLOAT32 INT8", "INT8 FLOAT32", "UINT8 FLOAT32", "INT8 UINT8", "UINT8 INT8")


def _border_conversion(graph: Graph, op: Op) -> convert.Conversion | None:
    if op.type not in ("QUANTIZE", "DEQUANTIZE"):
        return None
    source, target = (format_of(graph.tensors[t]) for t in (op.inputs[0], op.outputs[0]))
    return convert.between(source, target) if f"{source.dtype} {target.dtype}" in CONVERSIONS else None


def _reference_program(op: RowOp) -> bytes:
    n, constant = len(op.inputs), constant_operand(op)
    lone = program_op(op, range(n), n, n + 1, iterative=op.scatters)
    count = op.reads[0].h if op.scatters else op.writes.h
    loops = (Repeat(count, (Iteration(0),)),)
    each = enumerate((*op.reads, op.writes), start=1)
    tensors = tuple(ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, base) for base, rows in each)
    tensors += () if constant is None else (constant,)
    return pack(Program(n, 1, COUNTER_BYTES, count, tensors, (lone,), (ProgramGroup(0, 1, 0, loops),)))


COUNTER_BYTES = 2
