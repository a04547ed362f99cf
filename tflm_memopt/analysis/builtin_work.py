"""Finds the TFLM kernel that runs an operator, and the amounts of the kernel's work.

An operator runs a kernel of CMSIS-NN if TFLM has a wrapper for the kernel (tensorflow/lite/micro/kernels/cmsis_nn).
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from tflm_memopt.analysis import builtin_windows as windows
from tflm_memopt.analysis.builtin_windows import Amounts, Found, dtype_of, scales_of
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.model.reader import CUSTOM
from tflm_memopt.tflm.builtin_memory import Node, node_of


class KernelWork(NamedTuple):
    kernel: str
    """One text with the operator's type, the type of its values, and the variant of its kernel."""
    amounts: Amounts


def kernel_work(graph: Graph, op: Op, *, dsp: bool = True) -> KernelWork:
    node = node_of(graph, op)
    own = (None if dsp else WITHOUT_DSP.get(op.type)) or OWN.get(op.type)
    variant, amounts = own(node) if own else _elements(node)
    types = [_computed(node), *([dtype_of(node, "o0")] if op.type in CONVERSIONS else [])]
    name = str(op.options.get("custom_code", CUSTOM)) if op.type == CUSTOM else op.type
    return KernelWork(" ".join(filter(None, (name, *types, variant))), {"calls": 1, **amounts})


CONVERSIONS = ("QUANTIZE", "DEQUANTIZE", "CAST")


def _computed(node: Node) -> str:
    """Return the type of the values with which an operator computes, apart from indices, shapes and handles."""
    inputs = [t.dtype.lower() for t in _activations(node)]
    return next((dtype for dtype in inputs if dtype != "int32"), dtype_of(node, "i0"))


def _activations(node: Node) -> list[Tensor]:
    return [t for t in node.inputs if t is not None and not t.constant]


def _elements(node: Node) -> Found:
    read = sum(t.elements for t in _activations(node))
    return "", {"read": read, "written": sum(t.elements for t in node.outputs)}


def _binary(node: Node) -> Found:
    n = node.elements("o0")
    if node.elements("i0") != node.elements("i1"):
        return "broadcast", {"written": n}
    return "", {"fours": n // 4, "rest": n % 4}


def _copied(node: Node) -> Found:
    return "", {"bytes": sum(t.nbytes for t in node.outputs)}


def _concatenation(node: Node) -> Found:
    axis = int(node.options.get("axis", 0)) % max(1, node.rank("o0"))
    shape = node.outputs[0].shape
    pieces = math.prod(shape[:axis]) * len(node.inputs)
    return "", {"pieces": pieces, "bytes": node.outputs[0].nbytes, "operands": len(node.inputs)}


def _split(node: Node) -> Found:
    whole, part = max(_activations(node), key=lambda t: t.elements), node.outputs[0]
    axis = next((a for a, (d, e) in enumerate(zip(whole.shape, part.shape, strict=False)) if d != e), 0)
    pieces = math.prod(whole.shape[:axis]) * len(node.outputs)
    return "", {"pieces": pieces, "bytes": whole.nbytes, "operands": len(node.outputs)}


def _pad(node: Node) -> Found:
    shape = (1, 1, 1, 1, *(node.dim("i0", axis) for axis in range(node.rank("i0"))))[-4:]
    nbytes = sum(t.nbytes for t in _activations(node))
    filled = node.outputs[0].nbytes - nbytes
    return "", {"rows": math.prod(shape[:2]), "pixels": math.prod(shape[:3]), "bytes": nbytes, "filled": filled}


def _slice(node: Node) -> Found:
    out = node.outputs[0]
    rows = out.elements // max(1, out.shape[-1] if out.shape else 1)
    return "", {"rows": rows, "written": out.elements}


def _reduced(node: Node) -> Found:
    """Count the values that a reduction reads and writes."""
    axes = node.inputs[1].data if len(node.inputs) > 1 and node.inputs[1] is not None else None
    rank = node.rank("i0")
    chosen = sorted({int(a) % max(1, rank) for a in np.asarray(axes).ravel()}) if axes is not None else []
    variant = "images" if chosen == [1, 2] and rank == 4 else ""
    return variant, {"read": node.elements("i0"), "written": node.elements("o0")}


def _resized(node: Node) -> Found:
    out = node.outputs[0]
    return "", {"pixels": out.elements // max(1, out.shape[-1]), "written": out.elements}


def _softmax(node: Node) -> Found:
    """Count the exponentials of SOFTMAX, without the values that TFLM skips (softmax_common.cc)."""
    shape, n = node.outputs[0].shape, node.elements("o0")
    scale = _scale(node.inputs[0]) * float(node.options.get("beta", 1.0))
    near = min(1.0, _radius(scale, 5) / 256)
    return "", {"rows": math.prod(shape[:-1]), "written": n, "near": n * near}


def _sigmoid(node: Node) -> Found:
    """Count the exponentials of LOGISTIC and TANH that TFLM computes, if all int8 values are equally likely."""
    n, tensor = node.elements("o0"), node.inputs[0]
    quantization = tensor.quantization if tensor is not None else None
    if tensor is None or tensor.dtype != "INT8" or quantization is None:
        return "", {"written": n}
    zero, radius = int(quantization.zero_point[0]), _radius(_scale(tensor), 4)
    near = max(0.0, min(127, zero + radius) - max(-128, zero - radius) + 1) / 256
    return "", {"written": n, "near": n * near}


def _radius(scale: float, bits: int) -> float:
    """Return the largest input that TFLM does not treat as infinite (CalculateInputRadius in quantization_util.cc)."""
    _, shift = math.frexp(scale * 2 ** (31 - bits))
    return math.floor(((1 << bits) - 1) * 2.0 ** (31 - bits) / 2.0**shift)


def _scale(tensor: Tensor | None) -> float:
    return (scales_of(tensor) or (1.0,))[0]


def _blocks(node: Node) -> Found:
    out = node.outputs[0]
    pixels = max(node.elements(name) // max(1, node.dim(name, 3)) for name in ("i0", "o0"))
    return "", {"pixels": pixels, "written": out.elements}


def _lstm(node: Node) -> Found:
    """Count the work of arm_nn_lstm_step_s8.c, which computes eight matrix products for the gates."""
    shape, units = (node.inputs[0].shape if node.inputs[0] is not None else (1, 1, 1)), node.dim("o0", 2)
    steps = math.prod(shape[:-1])
    products = steps * 4 * units
    return "", {
        "steps": steps, "products": products, "input macs": products * shape[-1], "hidden macs": products * units,
        "cells": steps * units, "weights": 4 * units * (shape[-1] + units),
    }  # fmt: skip


def _svdf(node: Node) -> Found:
    """The kernel arm_svdf_s8.c computes a dense layer, and then sums over time."""
    filters, inputs = node.dim("i1", 0), node.dim("i1", 1)
    memory, units = node.dim("i2", 1), node.dim("o0", 1)
    return "", {
        "filters": filters, "feature macs": filters * inputs, "time macs": filters * memory, "units": units,
        "moved": filters * memory,
    }  # fmt: skip


def _matrices(node: Node) -> Found:
    """The kernel arm_batch_matmul_s8.c may first transpose the right operand."""
    left, right, out = node.inputs[0], node.inputs[1], node.outputs[0]
    if left is None or right is None:
        return _elements(node)
    depth, rows = left.shape[-1], out.elements // out.shape[-1]
    pairs = rows * (out.shape[-1] // 2)
    odd = rows * (out.shape[-1] % 2)
    moved = 0 if node.options.get("adjY") else right.elements
    return "", {
        "rows": rows, "pairs": pairs, "fours": pairs * (depth // 4), "rest": pairs * (depth % 4), "odd": odd,
        "odd macs": odd * depth, "moved": moved, "weights": right.elements,
    }  # fmt: skip


def _variable(node: Node) -> Found:
    return "", {"bytes": sum(t.nbytes for t in (*node.outputs, *_activations(node)) if t.dtype != "RESOURCE")}


OWN: Mapping[str, Callable[[Node], Found]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"), _binary),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _copied),
    **dict.fromkeys(("CONCATENATION", "PACK"), _concatenation),
    **dict.fromkeys(("SPLIT", "SPLIT_V", "UNPACK"), _split),
    **dict.fromkeys(("PAD", "PADV2"), _pad),
    **dict.fromkeys(("SLICE", "STRIDED_SLICE", "TRANSPOSE"), _slice),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX"), _softmax),
    **dict.fromkeys(("LOGISTIC", "TANH"), _sigmoid),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), _blocks),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "SVDF": _svdf,
    "BATCH_MATMUL": _matrices,
    **dict.fromkeys(("READ_VARIABLE", "ASSIGN_VARIABLE"), _variable),
    "CONV_2D": windows.convolution,
    "DEPTHWISE_CONV_2D": windows.depthwise,
    "FULLY_CONNECTED": windows.dense,
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), windows.pool),
    "TRANSPOSE_CONV": windows.transpose_conv,
}
WITHOUT_DSP: Mapping[str, Callable[[Node], Found]] = {
    "DEPTHWISE_CONV_2D": partial(windows.depthwise, dsp=False),
    "FULLY_CONNECTED": partial(windows.dense, dsp=False),
}
"""Functions for operators that CMSIS-NN computes differently on cores without the DSP extension."""
