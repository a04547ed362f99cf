"""Turns the variables of SVDF and LSTM operators into states: tensors that persist between inferences.

At a reset, TFLM sets int8 variables to their zero point and all other variables to 0 (ResetVariableTensors,
micro/micro_interpreter_graph.cc). An SVDF becomes three operators: a dense layer, a WRITE_STATE that keeps the layer's
output, and a filter along time.
"""

from collections.abc import Collection
from dataclasses import replace

from tflm_memopt.model.graph import FEATURES, STATE, TIME, WRITE_STATE, Graph, Op, StateTensor, Tensor
from tflm_memopt.ops.constraints.memory import svdf_sizes
from tflm_memopt.ops.context import VARIABLES, OperatorContext
from tflm_memopt.ops.opset import refusal


def with_cells(graph: Graph, left_alone: Collection[int] = ()) -> Graph:
    """Replace variables by states, and return the graph. The operators in `left_alone` keep their variables."""
    for op in [op for op in graph.ops if op.type in VARIABLES and op.index not in left_alone]:
        found = replace(graph, states=(*graph.states, *_states(graph, op)))
        if refusal(OperatorContext(found, op)) is None:
            graph = _in_parts(found, op) if op.type == "SVDF" else found
    return graph


def _states(graph: Graph, op: Op) -> tuple[StateTensor, ...]:
    tensors = (graph.tensors.get(op.inputs[k]) for k in VARIABLES[op.type] if k < len(op.inputs))
    return tuple(
        StateTensor(t.id, t.quantization.zero_point[0] if t.dtype == "INT8" and t.quantization else 0)
        for t in tensors
        if t
    )


def _in_parts(graph: Graph, op: Op) -> Graph:
    """The state of an SVDF has one row for each remembered time step, except for the newest step."""
    size, state = svdf_sizes(OperatorContext(graph, op)), graph.tensors[op.inputs[4]]
    made, token, key = max(graph.tensors) + 1, max(graph.tensors) + 2, max(o.index for o in graph.ops) + 1
    step = (1, 1, size.rank, size.units)
    tensors = {
        state.id: replace(state, shape=(1, size.memory - 1, *step[2:])),
        made: replace(state, id=made, name=f"{state.name}/new", shape=step, variable=False),
        token: Tensor(token, f"{state.name}/kept", (0,), "UINT8"),
    }
    parts = (
        Op(key, FEATURES, op.inputs, (made,), op.options, op.stands_for),
        Op(op.index, TIME, (made, *op.inputs[1:]), op.outputs, op.options, op.stands_for),
        Op(key + 1, WRITE_STATE, (made,), (token,), {STATE: state.id}, op.stands_for),
    )
    ops = (part for o in graph.ops for part in (parts if o.index == op.index else (o,)))
    return replace(graph, tensors={**graph.tensors, **tensors}, ops=tuple(ops))
