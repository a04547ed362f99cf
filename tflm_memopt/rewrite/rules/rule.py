"""The type of a rewrite rule, and functions shared by several rules."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.ops.context import EXPLICIT_PADDING, OperatorContext
from tflm_memopt.ops.opset import refusal, row_op
from tflm_memopt.ops.rowop import RowOp

Ops = tuple[Op, ...]


class Rule(Protocol):
    @property
    def __name__(self) -> str: ...
    def rewrite(self, graph: Graph, op: Op) -> Graph | None:
        """Rewrite `op`, and possibly operators after `op`. Return the new graph, or None if the rule does not apply."""
        ...


def name_of(rule: Rule) -> str:
    return rule.__name__.rpartition(".")[2].replace("_", "-")


@dataclass
class NewOps:
    graph: Graph
    op: Op
    ops: list[Op] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tensors = dict(self.graph.tensors)
        self.index = max(op.index for op in self.graph.ops)

    @property
    def extended(self) -> Graph:
        return replace(self.graph, tensors=self.tensors)

    def in_place(self) -> Mapping[int, Ops]:
        """Map the old operator's index to the new operators. The last new operator gets the old operator's index."""
        return {self.op.index: (*self.ops[:-1], replace(self.ops[-1], index=self.op.index))}

    def supported(self) -> Graph | None:
        """Replace the old operator by the new operators, or return None if the library cannot run one of them."""
        return supported(self.extended, self.in_place())

    def put(self, like: Tensor, shape: tuple[int, ...], part: str = "rows", **changes: Any) -> TensorId:
        tensor = max(self.tensors) + 1
        self.tensors[tensor] = replace(like, id=tensor, name=f"{like.name}/{part}", shape=shape, **changes)
        return tensor

    def integers(self, values: ArrayLike) -> TensorId:
        data = np.array(values, np.int32)
        like = replace(self.tensors[self.op.inputs[0]], dtype="INT32", quantization=None)
        return self.put(like, data.shape, data=data)

    def add(self, kind: str, inputs: Sequence[TensorId], output: TensorId, **options: Any) -> TensorId:
        self.index += 1
        self.ops.append(Op(self.index, kind, tuple(inputs), (output,), options, sources=self.op.stands_for))
        return output

    def shaped(self, x: TensorId, *shape: int) -> TensorId:
        return self.add("RESHAPE", [x], self.put(self.tensors[x], shape))

    def cut(self, x: TensorId, begin: Sequence[int], shape: tuple[int, ...]) -> TensorId:
        operands = self.integers(begin), self.integers(shape)
        return self.add("SLICE", [x, *operands], self.put(self.tensors[x], shape))


def without_padding(op: Op, **changes: Any) -> dict[str, Any]:
    kept = {name: value for name, value in op.options.items() if name != EXPLICIT_PADDING}
    return kept | {"padding": "VALID"} | changes


def supported(graph: Graph, new: Mapping[int, Ops]) -> Graph | None:
    """Replace each operator whose Op.index is a key of `new`, or return None if the library cannot run a new
    operator.
    """
    made = (op for ops in new.values() for op in ops if op.type != "RESHAPE")
    return None if any(refused(graph, op) for op in made) else replace_ops(graph, new)


def refused(graph: Graph, op: Op) -> bool:
    """Return whether TFLM's kernel must run the operator."""
    return refusal(OperatorContext(graph, op)) is not None


def has_rows(graph: Graph, op: Op) -> bool:
    return isinstance(row_op(OperatorContext(graph, op)), RowOp)


def has(op: Op, k: int) -> bool:
    return k < len(op.inputs) and op.inputs[k] != ABSENT


def integers_of(graph: Graph, op: Op, k: int) -> list[int] | None:
    data = graph.tensors[op.inputs[k]].data if has(op, k) else None
    return None if data is None or data.dtype.kind != "i" else [int(value) for value in data.flatten()]


def same_numbers(a: Tensor, b: Tensor) -> bool:
    """Return whether both tensors represent every number by the same bytes."""
    qa, qb = a.quantization or Quantization((), ()), b.quantization or Quantization((), ())
    return a.dtype == b.dtype and (qa.scale, qa.zero_point) == (qb.scale, qb.zero_point)


def replace_ops(graph: Graph, new: Mapping[int, Ops]) -> Graph:
    return replace(graph, ops=tuple(n for op in graph.ops for n in new.get(op.index, (op,))))


def sole_readers(graph: Graph, op: Op, types: Collection[str], most: int) -> Iterator[Op]:
    """Yield the operators of a chain after `op`: each is of the given types and is the only reader of the previous
    output.
    """
    for _ in range(most):
        readers = graph.consumers(op.outputs[0])
        if (
            len(readers) != 1
            or readers[0].type not in types
            or readers[0].inputs[0] != op.outputs[0]
            or not readers[0].outputs
            or op.outputs[0] in graph.outputs
        ):
            return
        op = readers[0]
        yield op
