"""Finds models whose results in TFLM are undefined because they depend on previous contents of memory.

Most of TFLM's kernels trust the shapes in the file. If an output shape contradicts the input shapes, a kernel may
access memory outside its tensors. A kernel may leave a part of the output unwritten, or change the output's
shape (CreateWritableTensorDimsWithCopy, micro/kernels/kernel_util.cc). SPACE_TO_BATCH_ND pads with a value that
its Prepare never sets (micro/kernels/space_to_batch_nd.cc: SpaceToBatchParams::output_offset).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.model import recurrent
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import Model, describe
from tflm_memopt.model.variables import handles
from tflm_memopt.ops.constraints.base import RECONVERT
from tflm_memopt.tflm import shape_rules as rules
from tflm_memopt.tflm.builtin_memory import Node, node_of
from tflm_memopt.tflm.shape_rules import Diagnostics, Shape, Unknown

FIX_BATCH = "fix the batch size to 1 and convert again: keras.Input(shape, batch_size=1)"
PAD_FIRST = f"{FIX_BATCH}, which makes dilated convolutions of it; or pad with PAD before it"
SPACE_TO_BATCH = "SPACE_TO_BATCH_ND"
Alike = Callable[[Shape, Shape], bool]
"""Function that returns whether a kernel accepts the shape in the file instead of the computed shape."""


def exactly(stated: Shape, computed: Shape) -> bool:
    return stated == computed


def same_elements(stated: Shape, computed: Shape) -> bool:
    """Compare how many elements both shapes have, for kernels that use nothing else of the output's shape."""
    return math.prod(stated) == math.prod(computed)


def without_ones(stated: Shape, computed: Shape) -> bool:
    """Compare shapes for kernels that accept additional dimensions of size 1."""
    return [d for d in stated if d != 1] == [d for d in computed if d != 1]


def leading_ones(stated: Shape, computed: Shape) -> bool:
    """Compare shapes for kernels that ignore leading dimensions of size 1."""
    rank = max(len(stated), len(computed))
    return (1,) * (rank - len(stated)) + stated == (1,) * (rank - len(computed)) + computed


def same_rows(stated: Shape, computed: Shape) -> bool:
    """Compare shapes for FULLY_CONNECTED, which uses only the last dimension and the number of elements."""
    return stated[-1:] == computed[-1:] and same_elements(stated, computed)


@dataclass(frozen=True, slots=True)
class ShapeRule:
    outputs: rules.Rule
    alike: Alike = exactly


_ELEMENTS = ShapeRule(lambda node: (rules.of(node, "i0"),), same_elements)
_BROADCAST = ShapeRule(rules.broadcast, leading_ones)
_WINDOW = ShapeRule(rules.pool)
_REDUCED = ShapeRule(rules.reduction, without_ones)

RULES: Mapping[str, ShapeRule] = {
    **dict.fromkeys(
        (
            "ABS", "CAST", "CEIL", "COS", "CUMSUM", "DEQUANTIZE", "DYNAMIC_UPDATE_SLICE", "ELU", "EXP", "FLOOR",
            "HARD_SWISH", "L2_NORMALIZATION", "LEAKY_RELU", "LOG", "LOGICAL_NOT", "LOGISTIC", "LOG_SOFTMAX", "NEG",
            "QUANTIZE", "RELU", "RELU6", "RESHAPE", "REVERSE_V2", "ROUND", "RSQRT", "SIN", "SOFTMAX", "SQRT", "SQUARE",
            "SQUEEZE", "TANH", "ZEROS_LIKE",
        ),
        _ELEMENTS,
    ),
    **dict.fromkeys(
        (
            "ADD", "DIV", "EQUAL", "FLOOR_DIV", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL",
            "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL", "NOT_EQUAL", "PRELU", "SELECT_V2",
            "SQUARED_DIFFERENCE", "SUB",
        ),
        _BROADCAST,
    ),
    **dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), _WINDOW),
    **dict.fromkeys(
        ("ARG_MAX", "ARG_MIN", "MEAN", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "SUM"), _REDUCED
    ),
    "ADD_N": ShapeRule(rules.all_same, same_elements),
    "BATCH_MATMUL": ShapeRule(rules.batch_matmul),
    "BATCH_TO_SPACE_ND": ShapeRule(rules.batch_to_space),
    "BROADCAST_ARGS": ShapeRule(lambda node: ((max(node.elements("i0"), node.elements("i1")),),)),
    "BROADCAST_TO": ShapeRule(rules.broadcast_to),
    "CONCATENATION": ShapeRule(rules.concatenation),
    "CONV_2D": ShapeRule(rules.conv),
    "DEPTHWISE_CONV_2D": ShapeRule(rules.depthwise),
    "DEPTH_TO_SPACE": ShapeRule(rules.depth_to_space),
    "EMBEDDING_LOOKUP": ShapeRule(lambda node: ((rules.of(node, "i0")[0], *rules.of(node, "i1")[1:]),)),
    "EXPAND_DIMS": ShapeRule(rules.expand_dims, same_elements),
    "FILL": ShapeRule(lambda node: (rules.constant(node, "i0"),)),
    "FULLY_CONNECTED": ShapeRule(rules.fully_connected, same_rows),
    "GATHER": ShapeRule(rules.gather),
    "GATHER_ND": ShapeRule(rules.gather_nd),
    "MIRROR_PAD": ShapeRule(rules.pad),
    "PACK": ShapeRule(rules.pack),
    "PAD": ShapeRule(rules.pad),
    "PADV2": ShapeRule(rules.pad),
    "RESIZE_BILINEAR": ShapeRule(rules.resize),
    "RESIZE_NEAREST_NEIGHBOR": ShapeRule(rules.resize),
    "SHAPE": ShapeRule(lambda node: ((node.rank("i0"),),)),
    "SLICE": ShapeRule(rules.slice_, same_elements),
    SPACE_TO_BATCH: ShapeRule(rules.space_to_batch),
    "SPACE_TO_DEPTH": ShapeRule(rules.space_to_depth),
    "SPLIT": ShapeRule(rules.split),
    "SPLIT_V": ShapeRule(rules.split_v),
    "STRIDED_SLICE": ShapeRule(rules.strided_slice),
    "SVDF": ShapeRule(lambda node: ((rules.of(node, "i0")[0], rules.of(node, "i1")[0] // node.options["rank"]),)),
    "TILE": ShapeRule(
        lambda node: (tuple(d * n for d, n in zip(rules.of(node, "i0"), rules.constant(node, "i1"), strict=True)),)
    ),
    "TRANSPOSE": ShapeRule(rules.transpose),
    "TRANSPOSE_CONV": ShapeRule(rules.transpose_conv),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": ShapeRule(
        lambda node: ((*rules.of(node, "i0")[:-1], rules.of(node, "i18")[-1]),)
    ),
    "UNPACK": ShapeRule(rules.unpack, without_ones),
}  # fmt: skip
"""Rules for output shapes by operator. Operators of control flow, resource variables and CIRCULAR_BUFFER have no rule,
and may have outputs of any shape.
"""


def wrong_shape(graphs: Sequence[Graph]) -> str:
    """Describe the first operator whose shapes do not match its inputs, or return "" if all shapes match."""
    found = (f"{describe(op)}: {why}" for graph in graphs for op, why in _wrong(graph))
    return next(found, "") or _wrong_variable(graphs)


@dataclass(frozen=True, slots=True)
class LeftWhole:
    """The reason why a whole model stays unchanged, and a hint for the user."""

    why: str
    hint: str = RECONVERT

    def __str__(self) -> str:
        return f"{self.why}: the model stays unchanged; {self.hint}"


def undefined(model: Model) -> LeftWhole | None:
    if why := wrong_shape(model.graphs):
        if (layers := recurrent.loops(model.graph)) and not wrong_shape((model.graph,)):
            layer = next(iter(layers.values()))
            return LeftWhole(f"the WHILE loop of the layer {layer} has a wrong shape, {why}", recurrent.UNROLL)
        return LeftWhole(f"the file has a wrong shape, {why}", FIX_BATCH if model.free_batch else RECONVERT)
    padded = (describe(op) for graph in model.graphs for op in graph.ops if _pads(graph, op))
    which = next(padded, "")
    return LeftWhole(f"{which} pads with a value that TFLM never sets", PAD_FIRST) if which else None


def _pads(graph: Graph, op: Op) -> bool:
    if op.type != SPACE_TO_BATCH or len(op.inputs) != 3:
        return False
    pads = graph.tensors[op.inputs[2]].data
    return pads is None or bool(pads.any())


def _wrong(graph: Graph) -> Iterator[tuple[Op, str]]:
    for op in graph.ops:
        if op.type in RULES and (why := _why(RULES[op.type], node_of(graph, op))):
            yield op, why


def _why(rule: ShapeRule, node: Node) -> str:
    try:
        computed = rule.outputs(node)
    except (Unknown, KeyError):  # a KeyError means that the file lacks the operator's options
        return ""
    except Diagnostics as diagnostics:
        return str(diagnostics)
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return f"its inputs {', '.join(str(list(t.shape)) for t in node.inputs if t)} do not fit together"
    stated = [tensor.shape for tensor in node.outputs]
    if len(stated) != len(computed):
        return f"{len(computed)} outputs follow from its inputs, the file has {len(stated)}"
    pairs = zip(stated, computed, strict=True)
    different = next((pair for pair in pairs if not rule.alike(*pair)), None)
    return f"its inputs give {list(different[1])}, the file says {list(different[0])}" if different else ""


def _wrong_variable(graphs: Sequence[Graph]) -> str:
    sizes: dict[object, int] = {}
    for graph in graphs:
        named = handles(graph)
        for op in graph.ops:
            value = {"ASSIGN_VARIABLE": op.inputs[1:2], "READ_VARIABLE": op.outputs[:1]}.get(op.type, ())
            handle = next((named[t] for t in op.inputs[:1] if t in named), None)
            if value and value[0] >= 0 and handle:
                nbytes = graph.tensors[value[0]].nbytes
                known = sizes.setdefault(handle, nbytes)
                if nbytes != known:
                    return f"{describe(op)}: its value has {nbytes:,} B, the same variable's elsewhere {known:,} B"
    return ""
