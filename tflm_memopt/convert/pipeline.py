"""Defines the steps of the conversion, which are functions without side effects."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflm_memopt.check.checker import check
from tflm_memopt.convert.annotation import activations_only, annotate, find_regions
from tflm_memopt.lower.rewrite import rewrite
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.interface import ANY
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.packing import Packing, family
from tflm_memopt.ops.packings import has_one_scale, packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import planner
from tflm_memopt.plan.choices import BUILTIN, PER_GROUP, Ops
from tflm_memopt.plan.iteration.liveness import COUNTER_BYTES
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rewrite.parts import PART
from tflm_memopt.rewrite.tiling import Tiling, tiled
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.inputs import IN_ARENA, SLIDING, InputMode, with_input
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.sliding import with_sliding
from tflm_memopt.rowgraph.supported import AnnotatedGraph
from tflm_memopt.rowgraph.verify import verify
from tflm_memopt.tflm import only_builtin as kernels
from tflm_memopt.tflm.libraries import REFERENCE, Library
from tflm_memopt.tflm.shapes import LeftWhole
from tflm_memopt.tflm.structs import Abi

BUILTIN_ONLY = "only builtin operators are wanted"


@dataclass(frozen=True, slots=True)
class ConversionOptions(planner.Options):
    wide: bool = False
    """Whether packed convolutions get scratch for the maximum number of pixels that they can compute at once."""
    fold: bool = True
    """Whether the conversion removes channels that cannot influence any output (rowgraph/fold.py)."""
    input: InputMode = IN_ARENA
    kernels: str = ANY
    """Library whose kernels run a model with `--ops builtin`."""
    library: Library = REFERENCE
    """Library whose kernels run the builtin operators of the rewritten model."""
    abi: Abi = "ilp32"
    interpreter: bool = True
    """Whether TFLM runs the rewritten model, and not a C module."""
    speeds: tuple[float, float] | None = None
    """Fraction of each core's time that the inference may use (plan/cores.py), or None for one core."""
    allow_ops: tuple[str, ...] = ()
    """Operator types, such as SLICE, that `--ops builtin` may add to a model that contains none of them."""


def row_graph(annotated: AnnotatedGraph, options: ConversionOptions) -> RowGraph | None:
    """Return the row graph to plan, or None if the model has no row operators. Raises UsageError if the input cannot be
    in the place that the user requested.
    """
    mode, window = options.input, None
    if mode.where == SLIDING:
        annotated, window = with_sliding(annotated, mode.rows, mode.layers)
    graph = find_regions(annotated, fold=options.fold)
    if graph is None:
        return None
    graph = with_input(replace(graph, window=window), mode)
    verify(graph, "placing the input")
    graph = pack_for(graph, options.target, wide=options.wide)
    if options.speeds:
        graph = for_two_cores(graph)
    verify(graph, "packing")
    return graph


def interpret(graph: Graph, ops: Ops, whole: LeftWhole | None = None, mode: InputMode = IN_ARENA) -> AnnotatedGraph:
    """Return the graph with the annotations that the planner needs. The argument `whole` is the reason why TFLM runs
    all operators, or None.
    """
    return builtin_alone(graph, whole) if ops == BUILTIN else annotate(graph, whole, sliding=mode.where == SLIDING)


def builtin_alone(graph: Graph, whole: LeftWhole | None = None) -> AnnotatedGraph:
    """Return a graph whose operators all run in TFLM's kernels. The argument `whole` is None if the user chose `--ops
    builtin`.
    """
    rows = annotate(graph, whole).support
    stays = Unsupported("left_whole", whole.why if whole else BUILTIN_ONLY, "", "--ops region")
    plain = {i: s for i, s in rows.items() if isinstance(s, RowOp) and not s.stateful}
    support = {op.index: plain.get(op.index, stays) for op in graph.ops}
    return AnnotatedGraph(activations_only(graph), support)


def in_parts(annotated: AnnotatedGraph, tilings: Sequence[Tiling], library: Library, abi: Abi) -> RowGraph:
    """Return a graph whose operators all run in TFLM's own kernels. The graph runs each chain of operators in `tilings`
    part by part.
    """
    stays = Unsupported("left_whole", BUILTIN_ONLY, "", "--ops region")
    graph = tiled(annotated.graph, tilings)
    before = {op.index: op for op in annotated.graph.ops}
    macs: dict[int, int] = {}
    for op in graph.ops:
        whole = before[op.sources[0]] if PART in op.options and op.sources else op
        row = annotated.support.get(whole.index)
        counted = row.macs if isinstance(row, RowOp) else kernels.multiply_accumulates(annotated.graph, whole)
        if counted:
            made, of = (graph.tensors[o.outputs[0]].elements for o in (op, whole))
            macs[op.index] = counted * made // of
    rows = partition(graph, dict.fromkeys((op.index for op in graph.ops), stays))
    rows = kernels.only_builtin(rows, macs, library, abi)
    verify(rows, "taking builtin operators in parts" if tilings else "looking up kernels")
    return rows


def pack_for(graph: RowGraph, target: str, *, wide: bool = False) -> RowGraph:
    """Return the graph in which operators have the best packed kernels of the target. Operators whose input is outside
    the arena keep unpacked kernels.
    """
    wanted = family(target)
    source = graph.source.tensor if graph.source else None

    def packed(op: RowOp) -> RowOp:
        if source in op.inputs:
            return op
        found = packing(op, wanted)
        one = wide if found is Packing.DSP_CONV else found is Packing.DSP_DENSE and has_one_scale(op)
        return replace(op, packing=found, param=1 if one else op.param)

    return replace(graph, ops={key: packed(op) for key, op in graph.ops.items()})


def for_two_cores(graph: RowGraph) -> RowGraph:
    behind = COUNTER_BYTES * len(graph.ops)
    return replace(graph, ops={key: replace(op, core_1_counters=behind) for key, op in graph.ops.items()})


def checked(graph: RowGraph, found: Plan) -> Planned:
    check(found, graph)
    return Planned(graph, found)


def lower(model: Model, border: Int8Interface, planned: Planned, options: ConversionOptions) -> bytes:
    tree = writer.edit(model)
    for tensor in {*model.graph.inputs, *model.graph.outputs}:  # Users know unnamed tensors by the original index.
        writer.rename_tensor(tree, tensor, model.graph.tensors[tensor].name)
    for outer, inner in border.replaced.items():
        for tensor in (outer, inner):
            writer.rename_tensor(tree, tensor, border.graph.tensors[tensor].name)
    writer.replace_interface(tree, border.replaced)
    changes = border.changes
    if planned.graph.source or planned.graph.window:
        changes = replace(changes, input=str(options.input))
    if options.ops == BUILTIN:
        changes = replace(changes, kernels=options.kernels)
    return rewrite(tree, planned, changes, op_per_group=options.ops == PER_GROUP)
