"""Turns resource variables into states: tensors that persist between inferences.

A variable is a state if each inference first reads the variable and then assigns it once. The operators READ_VARIABLE
and VAR_HANDLE of a state are removed, and a CALL_ONCE that only fills states with initial values is removed.

At a reset, TFLM fills all bytes of a variable with the zero point of the assigned tensor (micro_resource_variable.cc).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import STATE, WRITE_STATE, Graph, Op, StateTensor, Tensor, TensorId, renamed
from tflm_memopt.model.variables import ASSIGN, HANDLE, ONCE, READ, Variable, handles


@dataclass(slots=True)
class _Uses:
    ops: list[Op] = field(default_factory=list)
    assigned: list[Tensor] = field(default_factory=list)
    elsewhere: bool = False
    """True if another subgraph reads the variable, or if an operator passes on the variable's handle."""


def with_states(graph: Graph, left_alone: Collection[int] = ()) -> Graph:
    """Replace variables of the first subgraph by states, and return the subgraph. The operators in `left_alone` keep
    their variables.
    """
    uses = _uses(graph)
    states = {key: op for key, use in uses.items() if isinstance(op := _state(graph, use, left_alone), Op)}
    setup = _setup(graph)
    while spoilt := [once for once, keys in setup.items() if once in left_alone or not keys <= states.keys()]:
        filled = {key for once in spoilt for key in setup.pop(once)}
        states = {key: op for key, op in states.items() if key not in filled}
    if not states and not setup:
        return graph
    return _with_tensors(graph, {key: uses[key] for key in states}, states, setup.keys())


def builtin_variables(graph: Graph, left_alone: Collection[int] = ()) -> Mapping[int, str]:
    """Map the index of each operator that uses builtin variables to the reason why the operator stays builtin."""
    names, uses = handles(graph), _uses(graph)
    why = {key: _state(graph, use, left_alone) for key, use in uses.items()}
    with_others = "its subgraph also fills variables that stay builtin"
    said = {
        key: f"variable '{key[1].decode(errors='replace')}': {with_others if isinstance(found, Op) else found}"
        for key, found in why.items()
    }
    of_op = ((op.index, names.get(t)) for op in graph.ops for t in (*op.inputs[:1], *op.outputs[:1]))
    return {index: said[key] for index, key in of_op if key in said}


def reads_unassigned(graph: Graph) -> bool:
    """Return whether the graph reads a variable that no subgraph assigns, so that READ_VARIABLE copies nothing in
    TFLM.
    """
    return any(
        any(op.type == READ for op in use.ops) and not (use.assigned or any(op.type == ASSIGN for op in use.ops))
        for use in _uses(graph).values()
    )


def is_setup(graph: Graph) -> bool:
    left = with_states(graph).ops
    run = {number for op in graph.ops for number in called(op)}
    return run == set(range(1, len(graph.subgraphs))) and not any(called(op) for op in left)


def _uses(graph: Graph) -> Mapping[Variable, _Uses]:
    names = handles(graph)
    uses = {key: _Uses() for key in names.values()}
    for op in graph.ops:
        for t in (t for t in op.inputs if t in names):
            use = uses[names[t]]
            use.ops.append(op)
            use.elsewhere |= (
                op.type not in (READ, ASSIGN) or op.inputs[0] != t or len(op.inputs) != 1 + (op.type == ASSIGN)
            )
    for t in names.keys() & {*graph.inputs, *graph.outputs}:
        uses[names[t]].elsewhere = True
    again = {k for each in graph.subgraphs for op in each.ops if op.type != ONCE for k in called(op)}
    for number, other in enumerate(graph.subgraphs[1:], 1):
        _look_into(other, uses, fills=number not in again)
    return uses


def _look_into(other: Graph, uses: Mapping[Variable, _Uses], *, fills: bool) -> None:
    names = handles(other)
    for op in other.ops:
        for t in (t for t in op.inputs if names.get(t) in uses):
            use = uses[names[t]]
            if fills and op.type == ASSIGN and len(op.inputs) == 2 and op.inputs[0] == t and op.inputs[1] >= 0:
                use.assigned.append(other.tensors[op.inputs[1]])
            else:
                use.elsewhere = True


def _state(graph: Graph, use: _Uses, left_alone: Collection[int]) -> Op | str:
    assigns = [op for op in use.ops if op.type == ASSIGN]
    if use.elsewhere:
        return "another subgraph does more than assign it, or its handle is passed on"
    if len(assigns) != 1:
        return f"it is assigned {len(assigns)} times in an inference, not once"
    if len(use.ops) < 2:
        return "nothing reads it"
    if use.ops[-1] is not assigns[0]:
        return "it is assigned before it is read"
    if any(op.index in left_alone for op in use.ops):
        return "an operator that writes or reads its rows stays builtin"
    value = graph.tensors.get(assigns[0].inputs[1])
    read = [graph.tensors[op.outputs[0]] for op in use.ops[:-1] if len(op.outputs) == 1 and op.outputs[0] >= 0]
    if value is None or len(read) < len(use.ops) - 1 or value.constant or value.variable or not value.nbytes:
        return "the assigned tensor is not computed in each inference"
    for t in (*read, *use.assigned):
        if (t.shape, t.dtype) != (value.shape, value.dtype):
            return f"it is {t.dtype}{list(t.shape)} in one place, and {value.dtype}{list(value.shape)} in another"
    filled = np.array([_fill(value)], np.int8).view(np.uint8)
    same = (t.data is not None and (np.frombuffer(t.data.tobytes(), np.uint8) == filled).all() for t in use.assigned)
    if all(same) and all(_fill(t) == _fill(value) for t in use.assigned):
        return assigns[0]
    return "its initial value is not its zero point, which a reset would write"


def _fill(value: Tensor) -> int:
    zero_point = value.quantization.zero_point[0] if value.quantization else 0
    return int(np.array(zero_point).astype(np.int8))


def _setup(graph: Graph) -> dict[int, set[Variable]]:
    run_by = {op.index: [graph.subgraphs[k] for k in called(op)] for op in graph.ops if op.type == ONCE}
    return {
        once: {key for other in run for key in handles(other).values()}
        for once, run in run_by.items()
        if all(_only_fills(other) for other in run)
    }


def _only_fills(graph: Graph) -> bool:
    return not (graph.inputs or graph.outputs) and all(op.type in (HANDLE, ASSIGN) for op in graph.ops)


def _with_tensors(
    graph: Graph, uses: Mapping[Variable, _Uses], states: Mapping[Variable, Op], setup: Collection[int]
) -> Graph:
    tensors, same = dict(graph.tensors), dict[TensorId, TensorId]()
    kept: dict[int, Op] = {}
    names = handles(graph)
    gone = set(setup) | {op.index for op in graph.ops if any(names.get(t) in states for t in op.outputs)}
    found: list[StateTensor] = []
    for key, assign in states.items():
        reads = [op for op in uses[key].ops if op.type == READ]
        state, token = reads[0].outputs[0], max(tensors) + 1
        same |= {op.outputs[0]: state for op in reads[1:]}
        gone |= {op.index for op in reads}
        value = tensors[assign.inputs[1]]
        tensors[token] = Tensor(token, f"{tensors[state].name}/kept", (0,), "UINT8")
        sources = (assign.index, *(op.index for op in reads))
        kept[assign.index] = Op(assign.index, WRITE_STATE, (value.id,), (token,), {STATE: state}, sources)
        found.append(StateTensor(state, _fill(value)))
    left = (op for op in graph.ops if op.index not in gone)
    ops = tuple(kept.get(op.index, replace(op, inputs=renamed(op.inputs, same))) for op in left)
    return replace(graph, tensors=tensors, ops=ops, outputs=renamed(graph.outputs, same), states=tuple(found))
