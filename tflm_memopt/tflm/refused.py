"""Models that TFLM itself refuses: its kernels' Prepare accept some pairs of types only.

Weights that are stored in a smaller type than activations are computed in (dynamic range quantization, float16) are for
TFLite. Sources: tensorflow/lite/micro/kernels/{conv_common,depthwise_conv_common,fully_connected,transpose_conv,
batch_matmul,svdf_common,unidirectional_sequence_lstm,dequantize_common}.cc, the same in all versions since 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tflm_memopt.errors import ModelError
from tflm_memopt.model.graph import ABSENT, Graph, Op
from tflm_memopt.model.reader import Model, describe

HINT = (
    "full int8: converter.representative_dataset = EXAMPLES, and "
    "converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]"
)
WEIGHTS: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "CONV_2D": (0, (1,)),
    "DEPTHWISE_CONV_2D": (0, (1,)),
    "FULLY_CONNECTED": (0, (1,)),
    "TRANSPOSE_CONV": (2, (1,)),
    "BATCH_MATMUL": (0, (1,)),
    "SVDF": (0, (1,)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, tuple(range(1, 9))),
}
"""Which input of an operator its activations are, and which its weights."""
WITH_FLOATS = "FLOAT32"
"""Activations of this type want weights of it."""
WITH_INTEGERS: Mapping[str, tuple[str, ...]] = {"INT8": ("INT8", "INT4", "INT16"), "INT16": ("INT8", "INT16")}
"""Weights that at least one kernel accepts for quantized activations, by the activations' type."""
DEQUANTIZED = ("INT8", "INT16", "UINT8")
"""What DEQUANTIZE accepts."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why TFLM's AllocateTensors fails."""

    what: str
    where: str


def refusal(model: Model) -> Refusal | None:
    """The first reason, or None where the types speak against nothing."""
    for graph in model.graphs:
        for op in graph.ops:
            for tensor, why in _refused(graph, op):
                return Refusal(f"TFLM refuses this model: {why}", describe(op, graph.tensors[tensor]))
    return None


def accept(model: Model) -> None:
    """Raises ModelError for a model that TFLM refuses."""
    if found := refusal(model):
        raise ModelError(found.what, code="tflm_refuses", where=found.where, hint=HINT)


def _refused(graph: Graph, op: Op) -> Iterator[tuple[int, str]]:
    if op.type == "DEQUANTIZE" and op.inputs and op.inputs[0] != ABSENT:
        dtype = graph.tensors[op.inputs[0]].dtype
        if dtype not in DEQUANTIZED:
            yield op.inputs[0], f"its DEQUANTIZE takes integers of 8 and 16 bits, not {dtype}"
    activations, weights = WEIGHTS.get(op.type, (0, ()))
    if max((activations, *weights)) >= len(op.inputs) or op.inputs[activations] == ABSENT:
        return
    computed = graph.tensors[op.inputs[activations]].dtype
    for tensor in (op.inputs[i] for i in weights if op.inputs[i] != ABSENT):
        stored = graph.tensors[tensor].dtype
        if stored not in ((WITH_FLOATS,) if computed == WITH_FLOATS else WITH_INTEGERS.get(computed, (stored,))):
            yield tensor, f"{op.type} of {computed} activations takes no {stored} weights"
