"""What a rewrite of the graph is, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor

Ops = tuple[Op, ...]


class Rule(NamedTuple):
    """One rewrite. `match` finds the operators that it is about, the anchor first; `check` says why they stay."""

    name: str
    match: Callable[[Graph, Op], Ops | None]
    check: Callable[[Graph, Ops], str | None]
    rewrite: Callable[[Graph, Ops], Graph]


def has(op: Op, k: int) -> bool:
    """Whether operand k is there: a file may say otherwise."""
    return k < len(op.inputs) and op.inputs[k] != ABSENT


def same_numbers(a: Tensor, b: Tensor) -> bool:
    """Equal bytes stand for equal numbers."""
    qa, qb = a.quantization or Quantization((), ()), b.quantization or Quantization((), ())
    return a.dtype == b.dtype and (qa.scale, qa.zero_point) == (qb.scale, qb.zero_point)


def replace_ops(graph: Graph, new: Mapping[int, Ops]) -> Graph:
    """The graph with the operators of these indices replaced."""
    return replace(graph, ops=tuple(n for op in graph.ops for n in new.get(op.index, (op,))))


def sole_readers(graph: Graph, op: Op, types: Collection[str], most: int) -> Iterator[Op]:
    """The chain of operators of these types behind `op`, each the only reader of its predecessor's output."""
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
