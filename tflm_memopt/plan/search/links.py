"""How the operators of a chain hang together: which of them may share a tiled block with the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.blocks import Chain


@dataclass(frozen=True, slots=True)
class Links:
    """How the operators of a chain hang together."""

    main: tuple[int, ...]
    """Per operator: the operand that comes from the operator before it; 0 if none does."""
    operands: tuple[tuple[int, ...], ...]
    """Per operator: all of them, the main one first."""
    linked: tuple[bool, ...]
    """Per operator: it can share a block with the operator before it."""
    repeated: Mapping[TensorId, int]
    """Tensors that a later operator reads again and again: the first such. They have to be whole."""
    last_read: Mapping[TensorId, int]
    sizes: Mapping[TensorId, int]
    born: Mapping[TensorId, int]

    def tensor(self, chain: Chain, position: int) -> TensorId:
        """Main input of an operator."""
        return chain.ops[position].inputs[self.main[position]]


def links(chain: Chain) -> Links:
    """Chains with skips can be tiled: each operator reads the one before it, and ADD and the like a second, earlier
    tensor.
    """
    main, linked = [], []
    repeated: dict[TensorId, int] = {}
    made = {op.output: op.writes for op in chain.ops}
    for i, op in enumerate(chain.ops):
        before = chain.ops[i - 1].output if i else None
        plain = [k for k in range(len(op.inputs)) if not op.repeats(k)] or [0]
        k = next((k for k in plain if op.inputs[k] == before), plain[0])
        for n, t in enumerate(op.inputs):
            if op.repeats(n):
                repeated.setdefault(t, i)
        seen_alike = all(made.get(t, rows) == rows for t, rows in zip(op.inputs, op.reads, strict=True))
        follows = op.inputs[k] == before and not op.repeats(k)
        main.append(k)
        linked.append(follows and seen_alike and (len(op.inputs) == 1 or op.is_binary))
    born = {op.output: i for i, op in enumerate(chain.ops)}
    operands = [(k, *(n for n in range(len(op.inputs)) if n != k)) for k, op in zip(main, chain.ops, strict=True)]
    return Links(tuple(main), tuple(operands), tuple(linked), repeated, chain.last_read(), chain.rows(), born)
