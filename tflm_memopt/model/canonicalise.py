"""Graph -> equivalent graph in fewer forms, so that more of it runs row by row.

Each rule is a row of RULES: match -> check -> rewrite. A refusal names the place and the reason; the operators then
stay as they are. The output bytes never change.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tflm_memopt.model.constraints.moving import MAX_MOVED, MAX_OPERANDS
from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.model.movement import STEP
from tflm_memopt.model.opset import Unsupported, refusal, row_op
from tflm_memopt.model.reader import describe
from tflm_memopt.model.site import AXES, EXPLICIT_PADDING, PIECE, STEPS, Site, any_rows

VIEW = "VIEW"
"""Op.type of an operator that changes a tensor's shape only. `sources` has the model's operator."""

Ops = tuple[Op, ...]
NHWC_TO_NCHW = (0, 3, 1, 2)


class Rule(NamedTuple):
    """One rewrite. `match` finds the operators that it is about, the anchor first; `check` says why they stay."""

    name: str
    match: Callable[[Graph, Op], Ops | None]
    check: Callable[[Graph, Ops], str | None]
    rewrite: Callable[[Graph, Ops], Graph]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A match that was left alone."""

    rule: str
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Canonical:
    """The rewritten graph, and what was left alone."""

    graph: Graph
    refusals: tuple[Refusal, ...] = ()


def canonicalise(graph: Graph, left_alone: Collection[int] = ()) -> Canonical:
    """Applies all RULES, in their order, wherever they do not touch the model's operators `left_alone`."""
    refusals: list[Refusal] = []
    for rule in RULES:
        graph, refused = _apply(rule, graph, left_alone)
        refusals += refused
    return Canonical(graph, tuple(refusals))


def views(graph: Graph) -> Mapping[TensorId, TensorId]:
    """Of each VIEW's output, the tensor that holds its bytes."""
    storage: dict[TensorId, TensorId] = {}
    for op in graph.ops:
        if op.type == VIEW:
            storage[op.outputs[0]] = storage.get(op.inputs[0], op.inputs[0])
    return storage


def _apply(rule: Rule, graph: Graph, left_alone: Collection[int]) -> tuple[Graph, list[Refusal]]:
    refusals: list[Refusal] = []
    for anchor in graph.ops:
        ops = rule.match(graph, anchor) if _has(anchor, 0) and anchor.outputs else None
        if ops is None or any(i in left_alone for op in ops for i in op.stands_for):
            continue
        reason = rule.check(graph, ops)
        if reason is None:
            graph = rule.rewrite(graph, ops)
        else:
            refusals.append(Refusal(rule.name, describe(anchor), reason))
    return graph, refusals


# ---- PAD + CONV_2D / DEPTHWISE_CONV_2D ----


def match_pad(graph: Graph, op: Op) -> Ops | None:
    """A PAD and all that read it, if a convolution is among them."""
    if op.type not in ("PAD", "PADV2"):
        return None
    readers = graph.consumers(op.outputs[0])
    return (op, *readers) if any(r.type in _CONVOLUTIONS for r in readers) else None


def check_pad(graph: Graph, ops: Ops) -> str | None:
    pad, *readers = ops
    source, padded = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    if len(source.shape) != 4 or _amounts(graph, pad) is None:
        return "its paddings are not constant, or not four pairs"
    if any(a < 0 or (a and i not in (2, 3, 4, 5)) for i, a in enumerate(_amounts(graph, pad) or ())):
        return "it pads more than height and width"
    value = _pad_value(graph, pad)
    if value is None or padded.quantization is None or value != padded.quantization.zero_point[0]:
        return f"its value is {value}, not the zero point"
    if not _same_numbers(source, padded):
        return "it changes scale or zero point"
    if padded.id in graph.outputs:
        return "its output is an output of the model"
    for reader in readers:
        if reader.type not in _CONVOLUTIONS or reader.inputs.count(padded.id) != 1 or reader.inputs[0] != padded.id:
            return f"operator {reader.index} {reader.type} reads it, too"
        reason = refusal(Site(graph, reader)) or row_op(Site(graph, _padded(graph, pad, reader)))
        if isinstance(reason, Unsupported):
            return f"operator {reader.index} {reader.type} stays builtin: {reason}"
    return None


def rewrite_pad(graph: Graph, ops: Ops) -> Graph:
    """Every reader pads for itself."""
    pad, *readers = ops
    return _replace_ops(graph, {pad.index: (), **{op.index: (_padded(graph, pad, op),) for op in readers}})


def _padded(graph: Graph, pad: Op, op: Op) -> Op:
    """The convolution with the PAD in it. Its own SAME padding, computed on the padded size, comes on top."""
    _, _, top, bottom, left, right, _, _ = _amounts(graph, pad) or (0,) * 8
    vertical, horizontal = Site(graph, op).spans()
    padding = (top + vertical.before, bottom + vertical.after, left + horizontal.before, right + horizontal.after)
    return replace(
        op,
        inputs=(pad.inputs[0], *op.inputs[1:]),
        options={**op.options, EXPLICIT_PADDING: padding},
        sources=(*pad.stands_for, *op.stands_for),
    )


_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")


def _amounts(graph: Graph, pad: Op) -> tuple[int, ...] | None:
    """Before and after of each dimension, flat."""
    data = graph.tensors[pad.inputs[1]].data if _has(pad, 1) else None
    return None if data is None or data.size != 8 or data.dtype.kind != "i" else tuple(int(v) for v in data.flatten())


def _pad_value(graph: Graph, pad: Op) -> int | None:
    """The quantized value that is padded: the output's zero point, unless an operand says otherwise.

    (micro/kernels/pad.cc)
    """
    value = graph.tensors[pad.inputs[2]] if _has(pad, 2) else None
    if value is None:
        quantization = graph.tensors[pad.outputs[0]].quantization
        return None if quantization is None else quantization.zero_point[0]
    return (
        int(value.data.flatten()[0])
        if value.data is not None and value.dtype == "INT8" and value.elements == 1
        else None
    )


# ---- SPLIT, SPLIT_V, UNPACK: one operator per output ----


def match_split(graph: Graph, op: Op) -> Ops | None:
    split = op.type in ("SPLIT", "SPLIT_V", "UNPACK") and PIECE not in op.options
    return (op,) if split and _has(op, int(op.type == "SPLIT")) else None


def check_split(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    parts = _parts(graph, op)
    if parts is None:
        return "its axis or sizes are not constant, or do not fit its input"
    if len(parts) * sum(graph.tensors[t].elements for t in op.outputs) > MAX_MOVED:
        return f"it has {len(parts)} outputs, too many for their size"
    for piece in _pieces(graph, op):
        reason = row_op(Site(graph, piece))
        if isinstance(reason, Unsupported):
            return f"output {op.outputs.index(piece.outputs[0])} cannot be made row by row: {reason}"
    return None


def rewrite_split(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    return _replace_ops(graph, {op.index: _pieces(graph, op)})


def _pieces(graph: Graph, op: Op) -> Ops:
    """Slices; the first has the operator's index, the others new ones."""
    new = max(o.index for o in graph.ops) + 1
    source = op.inputs[int(op.type == "SPLIT")]
    return tuple(
        replace(
            op,
            index=new + k - 1 if k else op.index,
            inputs=(source,),
            outputs=(output,),
            options={PIECE: part},
            sources=op.stands_for,
        )
        for k, (output, part) in enumerate(zip(op.outputs, _parts(graph, op) or (), strict=True))
    )


def _parts(graph: Graph, op: Op) -> list[tuple[int, int, int]] | None:
    """(axis, begin, end) of each output; None when that is not known before run time."""
    axis_operand = {"SPLIT": 0, "SPLIT_V": 2}.get(op.type)
    source = graph.tensors[op.inputs[int(op.type == "SPLIT")]]
    axis = op.options.get("axis") if axis_operand is None else _scalar(graph, op, axis_operand)
    if axis is None or not -len(source.shape) <= axis < len(source.shape):
        return None
    axis %= len(source.shape)
    if op.type == "UNPACK":
        sizes = [1] * len(op.outputs) if op.options.get("num") == len(op.outputs) else []
    else:
        shapes = [graph.tensors[t].shape for t in op.outputs]
        if any(len(s) != len(source.shape) for s in shapes):
            return None
        sizes = [s[axis] for s in shapes]
    ends = list(itertools.accumulate(sizes))
    if not ends or ends[-1] != source.shape[axis]:
        return None
    return [(axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _scalar(graph: Graph, op: Op, k: int) -> int | None:
    """Operand k, a constant number."""
    data = graph.tensors[op.inputs[k]].data if _has(op, k) else None
    return int(data.flatten()[0]) if data is not None and data.size == 1 and data.dtype.kind == "i" else None


# ---- CONCATENATION of many tensors: some first, then the others ----


def match_wide(graph: Graph, op: Op) -> Ops | None:
    wide = op.type == "CONCATENATION" and len(op.inputs) > MAX_OPERANDS
    return (op,) if wide and ABSENT not in op.inputs else None


def check_wide(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    extended, chain = _chained(graph, op)
    for part in chain:
        reason = refusal(Site(extended, part))
        if reason is not None:
            return f"it cannot be made row by row: {reason}"
    return None


def rewrite_wide(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    extended, chain = _chained(graph, op)
    return _replace_ops(extended, {op.index: chain})


def _chained(graph: Graph, op: Op) -> tuple[Graph, Ops]:
    """The graph with new tensors for what is joined already, and the operators: the last one has the old index."""
    shapes = [graph.tensors[t].shape for t in op.inputs]
    axis = int(op.options.get("axis", 0))
    tensors, chain = dict(graph.tensors), list[Op]()
    joined, rest = op.inputs[:1], op.inputs[1:]
    while rest:
        taken, rest = rest[: MAX_OPERANDS - 1], rest[MAX_OPERANDS - 1 :]
        done = len(op.inputs) - len(rest)
        index, output = op.index, op.outputs[0]
        if rest:
            index, output = max(o.index for o in (*graph.ops, *chain)) + 1, max(tensors) + 1
            sizes = list(shapes[0])
            if -len(sizes) <= axis < len(sizes):
                sizes[axis] = sum(s[axis] for s in shapes[:done] if len(s) == len(sizes))
            result = graph.tensors[op.outputs[0]]
            tensors[output] = replace(result, id=output, name=f"{result.name}_{done}", shape=tuple(sizes))
        chain.append(replace(op, index=index, inputs=(*joined, *taken), outputs=(output,), sources=op.stands_for))
        joined = (output,)
    return replace(graph, tensors=tensors), tuple(chain)


# ---- TRANSPOSE_CONV: its output's shape is an operand ----


def match_transpose_conv(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type == "TRANSPOSE_CONV" and len(op.inputs) in (3, 4) else None


def check_transpose_conv(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    shape = graph.tensors[op.inputs[0]] if op.inputs[0] != ABSENT else None
    return None if shape is not None and shape.constant else "the output's shape is computed at run time"


def rewrite_transpose_conv(graph: Graph, ops: Ops) -> Graph:
    """Operands as CONV_2D has them: input, filter, bias."""
    (op,) = ops
    _, filter_, source, *bias = op.inputs
    return _replace_ops(graph, {op.index: (replace(op, inputs=(source, filter_, *bias)),)})


# ---- RESHAPE, SQUEEZE, EXPAND_DIMS ----


def match_view(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS") else None


def check_view(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    for t in (graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]):
        if t.dtype != "INT8":
            return f"tensor {t.id} '{t.name}' is {t.dtype}"
        if t.dynamic or t.constant or t.variable:
            return (
                f"tensor {t.id} '{t.name}' is {'dynamic' if t.dynamic else 'constant' if t.constant else 'a variable'}"
            )
    shapes = [graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0])]
    if graph.tensors[op.inputs[0]].elements != graph.tensors[op.outputs[0]].elements:
        return f"{list(shapes[0])} and {list(shapes[1])} have different sizes"
    if any(i != ABSENT and not graph.tensors[i].constant for i in op.inputs[1:]):
        return "the shape is computed at run time"
    return None


def rewrite_view(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    return _replace_ops(
        graph, {op.index: (replace(op, type=VIEW, inputs=op.inputs[:1], options={}, sources=op.stands_for),)}
    )


# ---- TILE, TRANSPOSE, slices, ... in a row, with views in between and behind: one operator ----


def match_moves(graph: Graph, op: Op) -> Ops | None:
    """The first of them, and all that follow, each the only reader of its predecessor's output. Flat views behind them
    stay views: rows are made one after the other.
    """
    if op.type not in STEP or graph.producer(op.outputs[0]) is not op:
        return None
    chain = [op, *_sole_readers(graph, op, (*STEP, VIEW), len(graph.ops))]
    while chain[-1].type == VIEW and any_rows(graph.tensors[chain[-1].outputs[0]].shape).h == 1:
        chain.pop()
    return tuple(chain) if len(chain) > 1 else None


def check_moves(graph: Graph, ops: Ops) -> str | None:
    for op in ops:
        reason = None if op.type == VIEW else refusal(Site(graph, op))
        if reason is not None:
            return f"operator {op.index} {op.type} stays builtin: {reason}"
    moved = row_op(Site(graph, _as_one(ops)))
    if isinstance(moved, Unsupported):
        return f"they are not regular enough for one operator: {moved}"
    return None if moved.writes == any_rows(graph.tensors[moved.output].shape) else "they would make one long row"


def rewrite_moves(graph: Graph, ops: Ops) -> Graph:
    """In the place of the last one."""
    return _replace_ops(graph, {**{op.index: () for op in ops}, ops[-1].index: (_as_one(ops),)})


def _as_one(ops: Ops) -> Op:
    """It is called as the last one that moves."""
    last = [op for op in ops if op.type in STEP][-1]
    return replace(
        last,
        index=ops[-1].index,
        inputs=(ops[0].inputs[0], *last.inputs[1:]),
        outputs=ops[-1].outputs,
        options={**last.options, STEPS: ops},
        sources=tuple(i for op in ops for i in op.stands_for),
    )


# ---- TRANSPOSE to NCHW + MEAN over what were height and width ----


def match_transposed_mean(graph: Graph, op: Op) -> Ops | None:
    """TRANSPOSE(0, 3, 1, 2), then one MEAN or two, each the only reader of what it reads."""
    if op.type != "TRANSPOSE" or not _has(op, 1) or len(graph.tensors[op.inputs[0]].shape) != 4:
        return None
    perm = graph.tensors[op.inputs[1]].data
    if perm is None or tuple(perm.flatten().tolist()) != NHWC_TO_NCHW:
        return None
    chain = list(_sole_readers(graph, op, ("MEAN",), 2))
    return (op, *chain) if chain else None


def check_transposed_mean(graph: Graph, ops: Ops) -> str | None:
    transpose = ops[0]
    if not _same_numbers(graph.tensors[transpose.inputs[0]], graph.tensors[transpose.outputs[0]]):
        return "it changes scale or zero point"
    steps = _steps(graph, ops)
    if steps is None or sorted(axis for step in steps for axis in step) != [1, 2]:
        return "they are not a mean over height and width, each once"
    extended = _with_middle(graph, ops, steps)
    for op in _mean_ops(graph, ops, steps):
        reason = refusal(Site(extended, op))
        if reason is not None:
            return f"operator {op.index} MEAN stays builtin: {reason}"
    return None


def rewrite_transposed_mean(graph: Graph, ops: Ops) -> Graph:
    """The same MEANs on NHWC, with the original's tensor between them: its scale rounds as before."""
    transpose, *means = ops
    steps = _steps(graph, ops) or ()
    new = _mean_ops(graph, ops, steps)
    graph = _with_middle(graph, ops, steps)
    return _replace_ops(graph, {transpose.index: (), **{old.index: (op,) for old, op in zip(means, new, strict=True)}})


def _steps(graph: Graph, ops: Ops) -> tuple[tuple[int, ...], ...] | None:
    """The NHWC axes that each MEAN reduces; None when they are no constants, or shapes say something else."""
    transpose, *means = ops
    sizes = list(graph.tensors[transpose.inputs[0]].shape)
    left = list(NHWC_TO_NCHW)
    """NHWC axes of the current tensor's dimensions."""
    if graph.tensors[transpose.outputs[0]].shape != tuple(sizes[n] for n in left):
        return None
    steps = []
    for op in means:
        site = Site(graph, op)
        axis = site.tensor(1)
        if axis is None or axis.data is None or axis.data.dtype.kind != "i":
            return None
        axes = site.axes()
        if not axes <= set(range(len(left))):
            return None
        steps.append(tuple(sorted(left[a] for a in axes)))
        for n in steps[-1]:
            sizes[n] = 1
        left = [n for a, n in enumerate(left) if a not in axes] if not op.options.get("keepDims") else left
        if site.output.shape != tuple(sizes[n] for n in left):
            return None
    return tuple(steps)


def _mean_ops(graph: Graph, ops: Ops, steps: Sequence[tuple[int, ...]]) -> Ops:
    """The MEANs on NHWC, the tensor of _with_middle() between them."""
    transpose, *means = ops
    middle = max(graph.tensors) + 1
    result = []
    for k, (op, axes) in enumerate(zip(means, steps, strict=True)):
        source = transpose.inputs[0] if k == 0 else middle
        outputs = op.outputs if k == len(means) - 1 else (middle,)
        sources = (*transpose.stands_for, *op.stands_for) if k == 0 else op.stands_for
        result.append(
            replace(op, inputs=(source,), outputs=outputs, options={**op.options, AXES: axes}, sources=sources)
        )
    return tuple(result)


def _with_middle(graph: Graph, ops: Ops, steps: Sequence[tuple[int, ...]]) -> Graph:
    """The graph with the tensor between two MEANs on NHWC, dimensions kept."""
    transpose, *means = ops
    if len(means) == 1:
        return graph
    original, middle = graph.tensors[means[0].outputs[0]], max(graph.tensors) + 1
    shape = tuple(1 if a in steps[0] else d for a, d in enumerate(graph.tensors[transpose.inputs[0]].shape))
    tensor = replace(original, id=middle, name=f"{original.name}_nhwc", shape=shape)
    return replace(graph, tensors={**graph.tensors, middle: tensor})


def _sole_readers(graph: Graph, op: Op, types: Collection[str], most: int) -> Iterator[Op]:
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


# ---- shared ----


def _has(op: Op, k: int) -> bool:
    """Whether operand k is there: a file may say otherwise."""
    return k < len(op.inputs) and op.inputs[k] != ABSENT


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    """Equal bytes stand for equal numbers."""
    qa, qb = a.quantization or Quantization((), ()), b.quantization or Quantization((), ())
    return a.dtype == b.dtype and (qa.scale, qa.zero_point) == (qb.scale, qb.zero_point)


def _replace_ops(graph: Graph, new: Mapping[int, Ops]) -> Graph:
    """The graph with the operators of these indices replaced."""
    return replace(graph, ops=tuple(n for op in graph.ops for n in new.get(op.index, (op,))))


RULES: tuple[Rule, ...] = (
    Rule("fold-pad", match_pad, check_pad, rewrite_pad),
    Rule("transposed-mean", match_transposed_mean, check_transposed_mean, rewrite_transposed_mean),
    Rule("split", match_split, check_split, rewrite_split),
    Rule("wide-concatenation", match_wide, check_wide, rewrite_wide),
    Rule("transpose-conv", match_transpose_conv, check_transpose_conv, rewrite_transpose_conv),
    Rule("view", match_view, check_view, rewrite_view),
    Rule("moves", match_moves, check_moves, rewrite_moves),
)
