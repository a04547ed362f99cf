"""Implements `--int8-io`: the int8 tensors after QUANTIZE and before DEQUANTIZE become the model's inputs and outputs.

The caller converts float values by q = round(x / scale) + zero_point and x = (q - zero_point) * scale, and uint8 values
by q = u - 128.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.model.interface import Change, Changes, format_of
from tflm_memopt.model.reader import describe

UINT8_OFFSET = 128
CONVERTIBLE = ("FLOAT32", "UINT8")


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """An input or output that keeps its type."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Int8Interface:
    graph: Graph
    changes: Changes
    replaced: Mapping[TensorId, TensorId]
    refusals: tuple[LeftAlone, ...]


@dataclass(frozen=True, slots=True)
class _Border:
    """An input or output whose tensor `outer` is replaced by the int8 tensor `inner`."""

    index: int
    outer: Tensor
    inner: Tensor
    op: Op

    def change(self) -> Change:
        return Change(self.index, self.outer.name, format_of(self.outer), format_of(self.inner))


def int8_io(graph: Graph) -> Int8Interface:
    """Remove the operators that convert inputs and outputs of type float32 or uint8 to int8 and back.

    Operators that are not removed keep their indices. Each int8 tensor gets the name of the tensor that it replaces.
    """
    inputs, refused_inputs = _borders(graph, graph.inputs, _input_border, ())
    outputs, refused_outputs = _borders(graph, graph.outputs, _output_border, inputs)
    new = graph
    for border in (*inputs, *outputs):
        new = _without(new, border)
    refusals = (*refused_inputs, *refused_outputs)
    if not (inputs or outputs or refusals):
        refusals = (LeftAlone("inputs and outputs", f"none is {' or '.join(CONVERTIBLE)}"),)
    return Int8Interface(
        new,
        Changes(tuple(b.change() for b in inputs), tuple(b.change() for b in outputs)),
        {b.outer.id: b.inner.id for b in (*inputs, *outputs)},
        refusals,
    )


_Find = Callable[[Graph, int, Tensor], "_Border | str"]


def _borders(
    graph: Graph, tensors: Sequence[TensorId], find: _Find, others: Sequence[_Border]
) -> tuple[list[_Border], list[LeftAlone]]:
    found: list[_Border] = []
    refusals = []
    for index, tensor in enumerate(tensors):
        if graph.tensors[tensor].dtype in CONVERTIBLE:
            border = find(graph, index, graph.tensors[tensor])
            reason = border if isinstance(border, str) else _reason(graph, border, (*others, *found))
            if reason is None and isinstance(border, _Border):
                found.append(border)
            else:
                where = describe(border.op) if isinstance(border, _Border) else f"'{graph.tensors[tensor].label}'"
                refusals.append(LeftAlone(where, reason or ""))
    return found, refusals


def _input_border(graph: Graph, index: int, outer: Tensor) -> _Border | str:
    readers = graph.consumers(outer.id)
    if len(readers) != 1 or readers[0].type != "QUANTIZE" or outer.id in graph.outputs:
        return "it is not read by exactly one QUANTIZE"
    inner = _first(graph, readers[0].outputs)
    return _Border(index, outer, inner, readers[0]) if inner else "its QUANTIZE writes nothing"


def _output_border(graph: Graph, index: int, outer: Tensor) -> _Border | str:
    op = graph.producer(outer.id)
    wanted = "DEQUANTIZE" if outer.dtype == "FLOAT32" else "QUANTIZE"
    if op is None or op.type != wanted:
        return f"no {wanted} writes it"
    if graph.consumers(outer.id) or graph.outputs.count(outer.id) > 1:
        return f"the output of its {wanted} is read again"
    inner = _first(graph, op.inputs)
    return _Border(index, outer, inner, op) if inner else f"its {wanted} reads nothing"


def _first(graph: Graph, tensors: Sequence[TensorId]) -> Tensor | None:
    return graph.tensors.get(tensors[0]) if tensors else None


def _reason(graph: Graph, border: _Border, taken: Sequence[_Border]) -> str | None:
    inner, outer = border.inner, border.outer
    q, u = inner.quantization, outer.quantization
    if inner.dtype != "INT8" or q is None or len(q.scale) != 1 or inner.constant:
        return f"tensor {inner.id} '{inner.label}' is not an int8 activation with one scale"
    if inner.id in (*graph.inputs, *graph.outputs, *(b.inner.id for b in taken)):
        return f"tensor {inner.id} '{inner.label}' is already an input or output"
    if outer.dtype == "UINT8" and (
        u is None or u.scale != q.scale or u.zero_point[0] - q.zero_point[0] != UINT8_OFFSET
    ):
        return f"uint8 and int8 differ by more than an offset of {UINT8_OFFSET}"
    return None


def _without(graph: Graph, border: _Border) -> Graph:
    old, new = border.outer, border.inner
    tensors = {
        **graph.tensors,
        new.id: replace(new, name=old.name),
        old.id: replace(old, name=f"{old.name}_{old.dtype.lower()}"),
    }

    def swap(ids: tuple[TensorId, ...]) -> tuple[TensorId, ...]:
        return tuple(new.id if t == old.id else t for t in ids)

    ops = tuple(op for op in graph.ops if op.index != border.op.index)
    return replace(graph, tensors=tensors, ops=ops, inputs=swap(graph.inputs), outputs=swap(graph.outputs))
