"""Finds operators that TFLM rejects, because no kernel exists, a type is unsupported, or a limit in Prepare is
exceeded.

Sources of the limits: tensorflow/lite/micro/kernels/{add_common,batch_matmul,batch_to_space_nd,concatenation,
expand_dims,fill,l2norm,mirror_pad,pad_common,resize_bilinear,resize_nearest_neighbor,space_to_batch_nd,split,split_v,
strided_slice_common,sub_common,transpose_common}.cc.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.errors import ModelError
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.model.reader import CUSTOM, Model, describe
from tflm_memopt.model.recurrent import UNROLL
from tflm_memopt.ops.quant import ADD_LEFT_SHIFT, INT16_ADD_LEFT_SHIFT, add_output_factor
from tflm_memopt.rewrite.known import evaluated
from tflm_memopt.rewrite.parts import MOST_JOINED
from tflm_memopt.tflm.accepted import FORMS, accepts
from tflm_memopt.tflm.builtin_memory import Node, node_of
from tflm_memopt.tflm.shapes import FIX_BATCH

FULL_INT8 = (
    "full int8: converter.representative_dataset = EXAMPLES, and "
    "converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]"
)
NO_FLEX = "convert it without SELECT_TF_OPS: TFLM runs none of TensorFlow's own operators"
OTHERS = "replace it in the network: docs/models.md, section refused, lists the operators of TFLM"
REPLACED: Mapping[str, str] = {
    "GELU": "replace it by RELU or HARD_SWISH before training, or write x * sigmoid(1.702 * x)",
    "POW": "replace x ** 2 by x * x",
    "SELECT": "give its condition and both choices one shape, or convert again with a current converter",
    "WHERE": "replace tf.where(condition) by tf.where(condition, a, b)",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "use two LSTM layers and reverse the sequence for one of them",
    "BIDIRECTIONAL_SEQUENCE_RNN": f"use two RNN layers and reverse the sequence for one; {UNROLL}",
    "LSTM": UNROLL,
    "RNN": UNROLL,
    "UNIDIRECTIONAL_SEQUENCE_RNN": UNROLL,
    "TILE": "replace it by tf.broadcast_to",
    "DENSIFY": "convert it without Optimize.EXPERIMENTAL_SPARSITY",
}
VARIED = "remove it if its output is always the same, or quantize with examples for which its output varies"
FLOAT_ONLY: Mapping[str, str] = {
    "EXP": "use tf.nn.softmax along one axis or tf.sigmoid, which contain it, or leave it out of the model",
    "LOG": "use tf.nn.log_softmax, which contains it, or leave it out of the model",
    "REDUCE_MAX": "use a MaxPooling layer of the whole size",
    "SQRT": "use squares instead of roots, or leave it out of the model",
}
WEIGHTS: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "CONV_2D": (0, (1,)),
    "DEPTHWISE_CONV_2D": (0, (1,)),
    "FULLY_CONNECTED": (0, (1,)),
    "TRANSPOSE_CONV": (2, (1,)),
    "BATCH_MATMUL": (0, (1,)),
    "SVDF": (0, (1,)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, tuple(range(1, 9))),
}
"""Indices of the activations and weights among an operator's inputs."""
CONSTANTS: Mapping[str, tuple[int, ...]] = {
    "EXPAND_DIMS": (1,),
    "FILL": (0,),
    "PAD": (1,),
    "PADV2": (1,),
    "RESIZE_BILINEAR": (1,),
    "RESIZE_NEAREST_NEIGHBOR": (1,),
    "SPLIT": (0,),
    "SPLIT_V": (2,),
    "STRIDED_SLICE": (1, 2, 3),
    "TRANSPOSE": (1,),
}
RANKS: Mapping[str, tuple[int, int]] = {
    "BATCH_MATMUL": (2, 5),
    "BATCH_TO_SPACE_ND": (3, 4),
    "L2_NORMALIZATION": (0, 4),
    "PAD": (0, 5),
    "PADV2": (0, 5),
    "RESIZE_BILINEAR": (4, 4),
    "RESIZE_NEAREST_NEIGHBOR": (4, 4),
    "SPACE_TO_BATCH_ND": (3, 4),
    "STRIDED_SLICE": (0, 4),
    "TRANSPOSE": (0, 5),
}
"""Least and greatest number of dimensions of the first input."""


SOFTMAX_INPUT_BITS = 26
"""Number of integer bits of inputs of an int8 SOFTMAX (31 - kScaledDiffIntegerBits in softmax_common.cc)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    subgraph: int
    op: int
    what: str
    where: str
    hint: str


def refusals(model: Model) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(number, op.index, what, describe(op), hint)
        for number, graph in enumerate(model.graphs)
        for known in (evaluated(graph)[0],)
        for op in graph.ops
        for what, hint in _refused(graph, op, known)
    )


def refuse(found: Sequence[Refusal], because: str = "") -> None:
    """Raise ModelError if `found` is not empty."""
    if found:
        raise ModelError(f"{summary(found)}{because}", code="tflm_refuses", where=found[0].where, hint=found[0].hint)


def summary(found: Sequence[Refusal]) -> str:
    others = dict.fromkeys(one.where for one in found if one.where != found[0].where)
    more = f"; it refuses {_listed(list(others))}, too" if others else ""
    return f"TFLM refuses this model: {found[0].what}{more}"


def _listed(places: Sequence[str]) -> str:
    names = [place.removeprefix("operator ") for place in places]
    return f"operator{'s' * (len(names) > 1)} {', '.join(names[:5])}{', ...' * (len(names) > 5)}"


def _refused(graph: Graph, op: Op, known: Container[TensorId]) -> Iterator[tuple[str, str]]:
    if op.type == CUSTOM:
        code = str(op.options["custom_code"])
        if code.startswith("Flex"):
            yield f"{code} is an operator of TensorFlow", NO_FLEX
        elif not code:
            yield "it takes no custom operator without a name", "write the operator's name into its custom_code"
        return
    if op.type not in FORMS:
        yield f"it has no {op.type}", REPLACED.get(op.type, OTHERS)
        return
    # If a model accepts any batch size, some of its operators compute shapes.
    of_shapes = any(tensor in known for tensor in (*op.inputs, *op.outputs))
    node = node_of(graph, op)
    inputs = ["" if tensor is None else tensor.dtype for tensor in node.inputs]
    outputs = [tensor.dtype for tensor in node.outputs]
    if not accepts(op.type, inputs, outputs):
        forms = "; ".join(form.readable for form in FORMS[op.type])
        yield (
            f"its {op.type} does not take {_types(inputs)} -> {_types(outputs)}; it takes {forms}",
            FIX_BATCH if of_shapes else _types_hint(op, node),
        )
    elif limit := _limit(op, node):
        yield f"its {op.type} {limit}", FIX_BATCH if of_shapes else OTHERS
    elif op.type in ("ADD", "SUB") and outputs[0] in ("INT8", "INT16") and not _sums_fit(node):
        yield f"its {op.type} takes no output scale that is far below the input scales", VARIED
    elif op.type == "SOFTMAX" and inputs[0] == "INT8" and not _is_multiplied(op, node):
        yield f"its SOFTMAX takes no input scale of 2^-{SOFTMAX_INPUT_BITS} or less, divided by beta", VARIED


def _types(names: Sequence[str]) -> str:
    return ", ".join(name.lower() or "none" for name in names) or "nothing"


def _types_hint(op: Op, node: Node) -> str:
    used = {t.dtype for t in (*node.inputs, *node.outputs) if t is not None}
    if op.type in ("ARG_MAX", "ARG_MIN"):
        return "give it output_type=tf.int32"
    if op.type in WEIGHTS or op.type == "DEQUANTIZE" or used & {"UINT8", "FLOAT16"}:
        return FULL_INT8
    return FLOAT_ONLY.get(op.type, "convert its inputs to a type that it takes, or replace it")


def _sums_fit(node: Node) -> bool:
    """Return whether TFLM accepts the scales of an int8 or int16 ADD or SUB. For scales that TFLM does not accept,
    Prepare() aborts.
    """
    scales = [t.quantization.scale[0] for t in (*node.inputs[:2], node.outputs[0]) if t and t.quantization]
    if len(scales) < 3 or not min(scales) > 0:
        return True
    left_shift = INT16_ADD_LEFT_SHIFT if node.dtype("o0") == "INT16" else ADD_LEFT_SHIFT
    return add_output_factor(2 * max(scales[:2]), scales[2], left_shift) < 1


def _is_multiplied(op: Op, node: Node) -> bool:
    """Return whether TFLM accepts the scale of an int8 SOFTMAX. TFLM multiplies each input by the scale, by beta and by
    a power of two. If the product of the factors is not above 1, Prepare() aborts.
    """
    x = node.inputs[0]
    if x is None or x.quantization is None or not len(x.quantization.scale):
        return True
    return bool(float(op.options.get("beta", 0.0)) * float(x.quantization.scale[0]) * 2.0**SOFTMAX_INPUT_BITS > 1)


def _limit(op: Op, node: Node) -> str:
    least, most = RANKS.get(op.type, (0, len(node.inputs[0].shape) if node.inputs and node.inputs[0] else 0))
    if node.inputs and not least <= node.rank("i0") <= most:
        return (
            f"takes {least} to {most} dimensions, not {node.rank('i0')}"
            if least
            else f"takes at most {most} dimensions"
        )
    for k in CONSTANTS.get(op.type, ()):
        tensor = node.tensor(f"i{k}")
        if tensor is not None and not tensor.constant:
            return f"takes constants only as input {k}"
    if op.type == "CONCATENATION" and len(node.inputs) > MOST_JOINED:
        return f"takes at most {MOST_JOINED} inputs, not {len(node.inputs)}"
    if (
        op.type in ("CONCATENATION", "L2_NORMALIZATION")
        and node.options.get("fusedActivationFunction", "NONE") != "NONE"
    ):
        return "takes no fused activation"
    if op.type == "RESIZE_BILINEAR" and node.options.get("alignCorners") and node.options.get("halfPixelCenters"):
        return "takes align_corners or half_pixel_centers, not both"
    return ""
