"""From a partitioned graph to a plan: cut every region into blocks, then place all buffers of the model at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.plan import blocks, layout
from tflm_memopt.plan.blocks import Candidate, Chain
from tflm_memopt.plan.liveness import Content, most_alive, separations
from tflm_memopt.plan.plan import Block, Buffer, Builtin, Plan, Role, Step
from tflm_memopt.plan.regions import Kept, Partition
from tflm_memopt.plan.search import best_partition

TFLM_ALIGN = 16
"""TFLM's tensors start at multiples of it (tensorflow/lite/micro/micro_arena_constants.h)."""
_ALIGN = {Role.TENSOR: 1, Role.RING: 1, Role.ACCUMULATOR: 4, Role.COUNTERS: 2}


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan."""

    op_per_block: bool = False
    """One custom operator per block: every tensor between blocks is TFLM's, too."""
    seconds: float = 4.0
    """Time limit of the exact layout of the whole model; a block's alone gets an eighth of it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A step with what is alive in it."""

    step: Step
    contents: tuple[Content, ...]
    """Of a block: what separations follow from."""
    whole: tuple[TensorId, ...]
    """Tensors that are alive in full during the step."""


@dataclass(frozen=True, slots=True)
class Placer:
    """What it takes to turn drafts into a layout problem."""

    sizes: Mapping[TensorId, int]
    inputs: Collection[TensorId]
    outputs: Collection[TensorId]
    known: Collection[TensorId] | None
    """Tensors that TFLM knows and aligns; None: all. The others are inside a workspace."""

    def problem(self, drafts: Sequence[Draft]) -> tuple[list[Buffer], layout.Problem]:
        """The buffers of these steps, and what their offsets must fulfil."""
        buffers: list[Buffer] = []
        tensors: dict[TensorId, int] = {}
        distances: dict[tuple[int, int], int] = {}
        lower_bound = 0
        for number, draft in enumerate(drafts):
            local = [self._index(c, number, drafts, buffers, tensors) for c in draft.contents]
            whole = [self._tensor(t, drafts, buffers, tensors) for t in draft.whole]
            pairs = {(local[u], local[v]): d for (u, v), d in separations(draft.contents).items()}
            everything = (*local, *whole)
            pairs |= {p: buffers[p[0]].nbytes for t in whole for u in everything if u != t for p in ((t, u), (u, t))}
            for pair, distance in pairs.items():
                distances[pair] = max(distance, distances.get(pair, distance))
            lower_bound = max(lower_bound, most_alive(draft.contents) + sum(buffers[t].nbytes for t in whole))
        nbytes, align = tuple(b.nbytes for b in buffers), tuple(b.align for b in buffers)
        return buffers, layout.Problem(nbytes, align, distances, lower_bound)

    def _index(
        self, content: Content, step: int, drafts: Sequence[Draft], buffers: list[Buffer], tensors: dict[TensorId, int]
    ) -> int:
        if content.role is Role.TENSOR:
            return self._tensor(content.key, drafts, buffers, tensors)
        key = step if content.role is Role.COUNTERS else content.key
        buffers.append(Buffer(content.role, key, content.nbytes, step, step + 1, _ALIGN[content.role], content.depth))
        return len(buffers) - 1

    def _tensor(
        self, tensor: TensorId, drafts: Sequence[Draft], buffers: list[Buffer], tensors: dict[TensorId, int]
    ) -> int:
        if tensor not in tensors:
            tensors[tensor] = len(buffers)
            align = TFLM_ALIGN if self.known is None or tensor in self.known else _ALIGN[Role.TENSOR]
            first, last = self._lifetime(tensor, drafts)
            buffers.append(Buffer(Role.TENSOR, tensor, self.sizes[tensor], first, last, align))
        return tensors[tensor]

    def _lifetime(self, tensor: TensorId, drafts: Sequence[Draft]) -> tuple[int, int]:
        steps = [
            i
            for i, d in enumerate(drafts)
            if tensor in d.whole or any(c.role is Role.TENSOR and c.key == tensor for c in d.contents)
        ]
        first = 0 if tensor in self.inputs else min(steps)
        return first, len(drafts) if tensor in self.outputs else max(steps) + 1


def plan(graph: Graph, partition: Partition, options: Options = Options()) -> Plan:
    """The plan of least head that the search finds; not yet checked (plan/check.py)."""
    known = {*graph.inputs, *graph.outputs, *(t for n in partition.nodes for t in (*n.inputs, *n.outputs))}
    sizes = tensor_sizes(graph, partition)
    placer = Placer(sizes, graph.inputs, graph.outputs, None if options.op_per_block else known)
    drafts: list[Draft] = []
    unread = set(graph.inputs).difference(graph.outputs, *(n.inputs for n in partition.nodes))
    for number, node in enumerate(partition.nodes):
        after = set(graph.outputs).union(*(n.inputs for n in partition.nodes[number + 1 :]))
        before = set(graph.inputs).union(*(n.outputs for n in partition.nodes[:number]))
        across = tuple(sorted((before & after).union(unread if number == 0 else ()) - set(node.inputs)))
        if isinstance(node, Kept):
            whole = dict.fromkeys((*across, *node.inputs, *node.outputs))
            drafts.append(Draft(Builtin(node.op), (), tuple(whole)))
        else:
            ops = tuple(partition.ops[i] for i in node.ops)
            chain = Chain(node.ops, ops, frozenset(after), sum(sizes[t] for t in across))
            drafts += _cut(chain, number, across, placer, options.seconds / 8)
    buffers, problem = placer.problem(drafts)
    placed = layout.place(problem, seconds=options.seconds)
    steps = tuple(d.step for d in drafts)
    return Plan(steps, tuple(buffers), placed.offsets, placed.top, problem.lower_bound, placed.proven)


def tensor_sizes(graph: Graph, partition: Partition) -> dict[TensorId, int]:
    """Bytes of every tensor that can be whole."""
    sizes = {t: tensor.nbytes for t, tensor in graph.tensors.items() if not tensor.constant}
    return sizes | {op.output: op.writes.nbytes for op in partition.ops.values()}


def _cut(chain: Chain, region: int, across: tuple[TensorId, ...], placer: Placer, seconds: float) -> list[Draft]:
    """The blocks of a region."""

    def place(candidate: Candidate, enough: int) -> int:
        _, problem = placer.problem([_draft(chain, region, candidate, across)])
        return layout.place(replace(problem, lower_bound=max(problem.lower_bound, enough)), seconds=seconds).top

    return [_draft(chain, region, block, across) for block in best_partition(chain, place).blocks()]


def _draft(chain: Chain, region: int, candidate: Candidate, across: tuple[TensorId, ...]) -> Draft:
    sizes, last_read = chain.rows(), chain.last_read()
    block = blocks.rebuild(chain, candidate)
    at_border = blocks.border(chain, candidate.first, candidate.last, sizes, last_read)
    ops = {m.op.output: m.key for m in block.trace.members}
    sinks = tuple(ops[t] for t in reversed(at_border.born))
    step = Block(region, candidate.stages, sinks, len(block.trace.moments), candidate.macs)
    return Draft(step, block.contents(at_border, sizes), (*across, *at_border.through))
