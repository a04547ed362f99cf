"""Brings a model into its canonical form, and finds the operators that can run row by row."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from tflm_memopt.analysis.diagnosis import ETHOS_U, custom_operators
from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.model import recurrent
from tflm_memopt.model.calls import called_from_main
from tflm_memopt.model.graph import ABSENT, VIEW, Graph, TensorId
from tflm_memopt.model.reader import Model, read
from tflm_memopt.model.variables import handles
from tflm_memopt.ops.constraints.base import FREEZE
from tflm_memopt.ops.context import PIECE
from tflm_memopt.ops.custom import CUSTOM_OPERATORS
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite import canonicalise
from tflm_memopt.rewrite.cells import with_cells
from tflm_memopt.rewrite.states import builtin_variables, is_setup, reads_unassigned, with_states
from tflm_memopt.rowgraph import rolling_buffers
from tflm_memopt.rowgraph.fold import without_dead_channels
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import AnnotatedGraph, Support, to_row_ops
from tflm_memopt.rowgraph.verify import verify
from tflm_memopt.runtime.regions import demand_sound
from tflm_memopt.tflm.lifetimes import plans_others
from tflm_memopt.tflm.only_builtin import with_calls
from tflm_memopt.tflm.refused import Refusal, refusals
from tflm_memopt.tflm.shapes import LeftWhole, undefined

CONSTANT_INPUT = LeftWhole("an input of the model is a constant", "leave the constant out of the model's inputs")
DYNAMIC = LeftWhole("tensors have shapes that are known only at run time", FREEZE)
FOR_ETHOS_U = LeftWhole("Vela compiled the model for Arm's Ethos-U and planned its memory", "optimize Vela's input")
UNWRITTEN = LeftWhole("an operator, or the caller, reads a tensor that nothing writes")
MOST_NAMED = 4
ONE_SIGNATURE = "convert one function only, or remove the subgraph from the file"


def read_sound(data: bytes) -> Model:
    """Read a model. Raises ModelError for an unreadable model, and for a rewritten model whose program is damaged.

    If the compiled host library is not installed, damaged programs are not found.
    """
    model = read(data)
    with contextlib.suppress(RuntimeUnavailable):
        demand_sound(model)
    return model


def annotate(graph: Graph, whole: LeftWhole | None = None, *, sliding: bool = False) -> AnnotatedGraph:
    """Return the model's canonical form. Operators that TFLM's own kernels run stay unchanged, byte for byte."""
    if whole:
        kept = Unsupported("left_whole", whole.why, "", whole.hint)
        return AnnotatedGraph(activations_only(graph), {op.index: kept for op in graph.ops})
    left_alone, known = frozenset[int](), {*graph.tensors, ABSENT}
    while True:
        cells = with_cells(with_states(graph, left_alone), left_alone)
        canonical = canonicalise.canonicalise(cells, left_alone, sliding=sliding)
        support = to_row_ops(canonical)
        undone = _undone(canonical, support, known, left_alone)
        annotated = AnnotatedGraph(
            activations_only(canonical), {**support, **dict(_explained(graph, support, left_alone))}
        )
        if canonical.states and undone <= left_alone:
            annotated = rolling_buffers.with_rolling_buffers(annotated)
            undone = rolling_buffers.broken(annotated, partition(annotated.graph, annotated.support))
        if undone <= left_alone:
            return annotated
        left_alone |= undone


def make_kernels(model: Model) -> None:
    """Create the user's custom kernels for a model, because the process needs them to run the rewritten model."""
    if CUSTOM_OPERATORS:
        annotate(model.graph, left_whole(model))


def _undone(
    graph: Graph, support: Mapping[int, Support], known: Collection[TensorId], left_alone: Collection[int]
) -> frozenset[int]:
    """Return the original operators that rewrites must not change, because TFLM's kernels run them."""
    undone = set[int]()
    for op in graph.ops:
        if isinstance(support[op.index], RowOp) or op.type == VIEW:
            continue
        new = {*op.inputs, *op.outputs} - {*known}
        if new or len(op.stands_for) > 1 or PIECE in op.options:
            undone |= {*op.stands_for}
        if {*op.stands_for} <= {*left_alone}:
            writers = (graph.producer(t) for t in new)
            undone |= {i for writer in writers if writer is not None for i in writer.stands_for}
    return frozenset(undone)


def _explained(
    graph: Graph, support: Mapping[int, Support], left_alone: Collection[int]
) -> Iterator[tuple[int, Unsupported]]:
    said = "A resource variable must be read, and then assigned once, as rows that stay for the next inference"
    for i, why in builtin_variables(graph, left_alone).items():
        if i in support and not isinstance(support[i], RowOp):
            yield i, Unsupported("resource_variable", said, why, "docs/models.md, section state")
    for i, layer in recurrent.loops(graph).items():
        what = f"TFLM runs {layer} layers whose time steps are a WHILE loop"
        yield i, Unsupported("recurrent_loop", what, "", recurrent.HINTS[layer])


def activations_only(graph: Graph) -> Graph:
    """Return the graph without the outputs that are constants or variables, which need no activation memory in TFLM."""
    placed = (t for t in graph.outputs if not graph.tensors[t].constant and not graph.tensors[t].variable)
    return replace(graph, outputs=tuple(placed))


def left_whole(model: Model) -> LeftWhole | None:
    """Return the reason why no part of the model can be converted, or None if a part can be converted."""
    if ETHOS_U in custom_operators(model):
        return FOR_ETHOS_U
    if plans_others(model.graph.subgraphs) and not is_setup(model.graph) and (uncalled := _uncalled(model)):
        return uncalled
    if any(t.dynamic for t in model.graph.tensors.values() if not t.constant):
        return DYNAMIC
    if any(model.graph.tensors[t].constant for t in model.graph.inputs):
        return CONSTANT_INPUT
    if _reads_unwritten(model.graph) or reads_unassigned(model.graph):
        return UNWRITTEN
    return undefined(model)


def _uncalled(model: Model) -> LeftWhole | None:
    numbers = sorted(set(range(1, model.subgraphs)) - called_from_main(model.graphs))
    if not numbers:
        return None
    others = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    which = f"subgraph{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:MOST_NAMED]))}{others}"
    return LeftWhole(f"no operator calls {which} of the file, but TFLM plans memory for it", ONE_SIGNATURE)


def _reads_unwritten(graph: Graph) -> bool:
    """A tensor that only VAR_HANDLE writes counts as unwritten, because VAR_HANDLE computes no value."""
    values = {t for t in handles(graph) if t != ABSENT and graph.tensors[t].dtype != "RESOURCE"}
    written = {ABSENT, *graph.inputs, *(t for op in graph.ops for t in op.outputs)} - values
    read = {*graph.outputs, *(t for op in graph.ops for t in op.inputs)} - written
    return any(t.elements and not (t.constant or t.variable) for t in map(graph.tensors.__getitem__, read))


def refused(model: Model, annotated: AnnotatedGraph) -> tuple[Refusal, ...]:
    """Return the operators that TFLM's kernels refuse. An operator that becomes part of a custom operator does not need
    TFLM's kernel, and is left out.
    """
    supports = ((op, annotated.support[op.index]) for op in annotated.graph.ops)
    builtin = {i for op, support in supports if isinstance(support, Unsupported) for i in op.stands_for}
    return tuple(one for one in refusals(model) if one.subgraph or one.op in builtin)


@lru_cache(maxsize=1)
def find_regions(annotated: AnnotatedGraph, *, fold: bool = True) -> RowGraph | None:
    """Return the row graph to plan, or None for a graph without row operators."""
    graph = with_calls(partition(annotated.graph, annotated.support))
    if not graph.regions:
        return None
    verify(graph, "partitioning")
    if fold:
        graph = without_dead_channels(graph)
        verify(graph, "folding dead channels")
    return graph


def dead_channels(annotated: AnnotatedGraph, graph: RowGraph) -> Mapping[int, int]:
    """Return the number of dead output channels that were removed from each row operator with weights, by Op.index."""
    whole = {i: s for i, s in annotated.support.items() if isinstance(s, RowOp) and s.weights is not None}
    return {i: op.writes.c - graph.ops[i].writes.c for i, op in whole.items() if i in graph.ops}
