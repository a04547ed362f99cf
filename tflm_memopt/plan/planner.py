"""From a partitioned graph to a plan: cut every region into blocks, then place all buffers of the whole model at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.plan import blocks, layout
from tflm_memopt.plan.blocks import Candidate, Chain, Growing
from tflm_memopt.plan.liveness import Border, Content, most_alive, separations
from tflm_memopt.plan.plan import Block, Buffer, Builtin, Plan, Role, Step
from tflm_memopt.plan.regions import Kept, Partition, Region
from tflm_memopt.plan.search import partitions

TFLM_ALIGN = 16
"""TFLM's tensors start at multiples of it (tensorflow/lite/micro/micro_arena_constants.h)."""
_ALIGN = {Role.TENSOR: 1, Role.RING: 1, Role.ACCUMULATOR: 4, Role.COUNTERS: 2}


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan."""

    op_per_block: bool = False
    """One custom operator per block: every tensor between blocks is TFLM's, too."""
    seconds: float = 5.0
    """Time limit of the exact layout."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A step with what is alive in it."""

    step: Step
    contents: tuple[Content, ...]
    """Of a block: what separations follow from."""
    whole: tuple[TensorId, ...]
    """Tensors that are alive in full during the step."""


def plan(graph: Graph, partition: Partition, options: Options = Options()) -> Plan:
    """The plan of least head that the search finds; not yet checked (plan/check.py)."""
    sizes = tensor_sizes(graph, partition)
    drafts: list[Draft] = []
    for number, node in enumerate(partition.nodes):
        after = set(graph.outputs).union(*(n.inputs for n in partition.nodes[number + 1 :]))
        before = set(graph.inputs).union(*(n.outputs for n in partition.nodes[:number]))
        across = tuple(sorted((before & after) - set(node.inputs)))
        if isinstance(node, Kept):
            drafts.append(Draft(Builtin(node.op), (), (*across, *node.inputs, *node.outputs)))
        else:
            chain = Chain(node.ops, tuple(partition.ops[i] for i in node.ops), frozenset(after), sum(sizes[t] for t in across))
            drafts.extend(_draft(chain, number, cut, across) for cut in partitions(chain)[0].blocks())
    return _place(graph, drafts, sizes, _tflm_tensors(graph, partition, drafts, options), options)


def tensor_sizes(graph: Graph, partition: Partition) -> dict[TensorId, int]:
    """Bytes of every tensor that can be whole."""
    sizes = {t: tensor.nbytes for t, tensor in graph.tensors.items() if not tensor.constant}
    return sizes | {op.output: op.writes.nbytes for op in partition.ops.values()}


def _draft(chain: Chain, region: int, cut: Candidate, across: tuple[TensorId, ...]) -> Draft:
    sizes, last_read = chain.rows(), chain.last_read()
    block: Growing = blocks.rebuild(chain, cut)
    at_border: Border = blocks.border(chain, cut.first, cut.last, sizes, last_read)
    ops = {m.op.output: m.key for m in block.trace.members}
    sinks = tuple(ops[t] for t in reversed(at_border.born))
    step = Block(region, cut.stages, sinks, len(block.trace.moments), cut.macs)
    return Draft(step, block.contents(at_border, sizes), (*across, *at_border.through))


def _tflm_tensors(graph: Graph, partition: Partition, drafts: Iterable[Draft], options: Options) -> set[TensorId]:
    """Tensors that TFLM knows; the others are inside a workspace."""
    known = {*graph.inputs, *graph.outputs, *(t for n in partition.nodes for t in (*n.inputs, *n.outputs))}
    if options.op_per_block:
        known |= {c.key for d in drafts for c in d.contents if c.role is Role.TENSOR}
    return known


def _place(
    graph: Graph, drafts: Sequence[Draft], sizes: Mapping[TensorId, int], tflm: set[TensorId], options: Options
) -> Plan:
    buffers: list[Buffer] = []
    tensors: dict[TensorId, int] = {}
    distances: dict[tuple[int, int], int] = {}
    lower_bound = 0

    def lifetime(tensor: TensorId) -> tuple[int, int]:
        steps = [i for i, d in enumerate(drafts) if tensor in d.whole or any(_is_tensor(c, tensor) for c in d.contents)]
        first = 0 if tensor in graph.inputs else min(steps, default=0)
        return first, len(drafts) if tensor in graph.outputs else max(steps, default=0) + 1

    def index_of(tensor: TensorId) -> int:
        if tensor not in tensors:
            tensors[tensor] = len(buffers)
            align = TFLM_ALIGN if tensor in tflm else _ALIGN[Role.TENSOR]
            buffers.append(Buffer(Role.TENSOR, tensor, sizes[tensor], *lifetime(tensor), align))
        return tensors[tensor]

    def index_in(step: int, content: Content) -> int:
        if content.role is Role.TENSOR:
            return index_of(content.key)
        key = step if content.role is Role.COUNTERS else content.key
        buffers.append(Buffer(content.role, key, content.nbytes, step, step + 1, _ALIGN[content.role], content.depth))
        return len(buffers) - 1

    for i, draft in enumerate(drafts):
        local = [index_in(i, c) for c in draft.contents]
        whole = [index_of(t) for t in draft.whole]
        pairs = {(local[u], local[v]): d for (u, v), d in separations(draft.contents).items()}
        pairs |= {p: buffers[lower].nbytes for lower in whole for other in (*local, *whole) if other != lower for p in [(lower, other)]}
        pairs |= {(lower, upper): buffers[lower].nbytes for lower in local for upper in whole}
        for pair, distance in pairs.items():
            distances[pair] = max(distance, distances.get(pair, distance))
        lower_bound = max(lower_bound, most_alive(draft.contents) + sum(buffers[t].nbytes for t in whole))

    problem = layout.Problem(
        tuple(b.nbytes for b in buffers), tuple(b.align for b in buffers), distances, lower_bound
    )
    placed = layout.place(problem, seconds=options.seconds)
    return Plan(
        tuple(d.step for d in drafts), tuple(buffers), placed.offsets, placed.top, lower_bound, placed.proven
    )


def _is_tensor(content: Content, tensor: TensorId) -> bool:
    return content.role is Role.TENSOR and content.key == tensor
