"""Implements inspect(), which describes a model and its operators without making a plan."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tflm_memopt.analysis.diagnosis import diagnose
from tflm_memopt.answers.inspection import Inspection, OperatorReport, TensorReport
from tflm_memopt.convert.annotation import annotate, dead_channels, find_regions, left_whole, read_sound, refused
from tflm_memopt.emit.firmware import firmware_of
from tflm_memopt.files import GivenModel, Loaded, loaded
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import memory_map
from tflm_memopt.rowgraph.graph import tensor_sizes
from tflm_memopt.rowgraph.rematerialisation import choices
from tflm_memopt.rowgraph.supported import AnnotatedGraph
from tflm_memopt.targets.boards import fits
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.choices import Kernels
from tflm_memopt.tflm.libraries import Library, whose_kernels
from tflm_memopt.tflm.refused import refusals, summary
from tflm_memopt.tflm.structs import Abi


def inspect(
    model: GivenModel, *, name: str = "", abi: Abi = "ilp32", target: str = GENERIC, kernels: Kernels = "reference"
) -> Inspection:
    """Describe a model without making a plan. The result has the model's operators, the model's tensors, and the RAM
    and flash of the model under TFLM.

    The argument `kernels` names the library of TFLM's kernels, whose scratch buffers count as RAM. CMSIS-NN's scratch
    depends on the core `target`.
    """
    given = loaded(model, name)
    source = read_sound(given.data)
    annotated = annotate(source.graph, left_whole(source))
    return inspection(given, source, annotated, abi, whose_kernels(kernels, target))


def inspection(
    given: Loaded, source: Model, annotated: AnnotatedGraph, abi: Abi, whose: Library, *, int8_interface: bool = False
) -> Inspection:
    """The argument `whose` is the library whose kernels run the original model."""
    graph, arena, nbytes = source.graph, predict(source, abi, library=whose), len(given.data)
    needs = firmware_of(source, nbytes)
    rows = {op.index: s for op in annotated.graph.ops if isinstance(s := annotated.support[op.index], RowOp)}
    parts = find_regions(annotated, fold=True)
    dead = dead_channels(annotated, parts) if parts else {}
    live = _live_bytes(graph)
    operators = tuple(_operators(graph, annotated, rows, dead, live))
    return Inspection(
        model=given.name,
        diagnosis=diagnose(source, whole=left_whole(source) is not None, int8_interface=int8_interface),
        flash=nbytes,
        operators=operators,
        tensors=tuple(
            TensorReport(t.id, t.name, t.shape, t.dtype, t.nbytes, t.constant) for t in graph.tensors.values()
        ),
        arena=arena,
        peak_operator=graph.ops[live.index(max(live))].index if live else None,
        macs=annotated.macs,
        dead_macs=sum(rows[i].macs - op.macs for i, op in parts.ops.items()) if parts else 0,
        channels=sum(op.channels for op in operators),
        dead_channels=sum(dead.values()),
        waiting=len(choices(parts, tensor_sizes(parts))[-1].rematerialisations) if parts else 0,
        memory=memory_map.of_tflm(source, abi, arena, whose),
        firmware=needs,
        fits=fits(arena, needs),
        refused=_refused(source, annotated),
    )


def _refused(source: Model, annotated: AnnotatedGraph) -> str:
    found = refusals(source)
    if not found:
        return ""
    kept = refused(source, annotated)
    if kept:
        return f"{summary(kept)}; {kept[0].hint}"
    return f"{summary(found)}. The rewritten model runs, because our operator replaces this operator."


def _operators(
    graph: Graph, annotated: AnnotatedGraph, rows: Mapping[int, RowOp], dead: Mapping[int, int], live: Sequence[int]
) -> Iterator[OperatorReport]:
    outcome = {i: annotated.support[op.index] for op in annotated.graph.ops for i in op.stands_for}
    types = {op.index: op.type for op in graph.ops}
    macs, channels, without = Counter[int](), Counter[int](), Counter[int]()
    for op in annotated.graph.ops:
        if op.index in rows:
            place = next((i for i in op.stands_for if types[i] == op.type), op.number)
            macs[place] += rows[op.index].macs
            channels[place] += rows[op.index].writes.c if op.index in dead else 0
            without[place] += dead.get(op.index, 0)
    for op, live_now in zip(graph.ops, live, strict=True):
        support = outcome.get(op.index)
        why = (support.code, str(support), support.hint) if isinstance(support, Unsupported) else None
        yield OperatorReport(
            op.index,
            op.type,
            op.inputs,
            op.outputs,
            macs[op.index],
            channels[op.index],
            without[op.index],
            live_now,
            why is None,
            *(why or ("", "", "")),
        )


def _live_bytes(graph: Graph) -> list[int]:
    """Return the number of activation bytes that are live during each operator in TFLM (micro_allocation_info.cc)."""
    first: dict[TensorId, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[TensorId, int] = {}
    for i, op in enumerate(graph.ops):
        for t in op.outputs:
            first.setdefault(t, i)
        for t in (*op.inputs, *op.outputs):
            last[t] = i
    last.update(dict.fromkeys(graph.outputs, len(graph.ops) - 1))
    planned = (graph.tensors[t] for t in first if t in last and first[t] <= last[t])
    lives = ((first[t.id], last[t.id] + 1, t.nbytes) for t in planned if not t.constant and not t.variable)
    return memory_map.live_bytes(lives, len(graph.ops))
