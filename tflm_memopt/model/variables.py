"""Finds the resource variables of a model, which operators use through handles."""

from collections.abc import Iterable, Mapping

from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import Graph, Op, TensorId

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
Variable = tuple[bytes, bytes]
"""Container and name of a variable."""


def handles(graph: Graph) -> Mapping[TensorId, Variable]:
    """Map each output of a VAR_HANDLE to the operator's variable."""
    made = ((t, op.options) for op in graph.ops if op.type == HANDLE for t in op.outputs)
    return {t: (bytes(o.get("container") or b""), bytes(o.get("sharedName") or b"")) for t, o in made}


def is_stateful(graph: Graph, op: Op) -> bool:
    """Return whether an operator may depend on other operators through variables."""
    return op.type in (HANDLE, READ, ASSIGN, ONCE) or bool(called(op) and variables(graph.subgraphs))


def variables(graphs: Iterable[Graph]) -> set[Variable]:
    return {variable for graph in graphs for variable in handles(graph).values()}
