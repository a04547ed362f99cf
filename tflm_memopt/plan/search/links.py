"""Determines which operators of a tiled group can follow each other."""

from collections.abc import Mapping
from dataclasses import dataclass

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.groups import Chain


@dataclass(frozen=True, slots=True)
class Links:
    main: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    """For each operator, the indices of its operands, with the operand from the previous operator first."""
    linked: tuple[bool, ...]
    repeated: Mapping[TensorId, int]
    last_read: Mapping[TensorId, int]
    sizes: Mapping[TensorId, int]
    born: Mapping[TensorId, int]

    def tensor(self, chain: Chain, position: int) -> TensorId:
        return chain.ops[position].inputs[self.main[position]]


def links(chain: Chain) -> Links:
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
    return Links(tuple(main), tuple(operands), tuple(linked), repeated, chain.last_read, chain.sizes, born)
