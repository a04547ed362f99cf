"""Computes the work of TFLM kernels that read windows of an image or multiply matrices."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Tensor
from tflm_memopt.tflm.builtin_memory import ConvShape, Node, conv_shape

Amounts = Mapping[str, float]
Found = tuple[str, Amounts]
"""The name of a kernel's variant, and the kernel's amounts of work."""


def dtype_of(node: Node, name: str) -> str:
    return node.dtype(name).lower()


def scales_of(tensor: Tensor | None) -> tuple[float, ...]:
    return tensor.quantization.scale if tensor is not None and tensor.quantization is not None else ()


def _inside(size: int, out: int, kernel: int, stride: int, dilation: int, pad: int) -> NDArray[np.int64]:
    """For each window along one axis, return the number of taps inside the input."""
    first = np.arange(out) * stride - pad
    taps = first[:, None] + np.arange(kernel)[None, :] * dilation
    found: NDArray[np.int64] = ((taps >= 0) & (taps < size)).sum(axis=1)
    return found


class _Taps(NamedTuple):
    """Sums over all windows of a channel: the window rows and the window pixels that are inside the input."""

    rows: int
    taps: int


def _taps(w: ConvShape) -> _Taps:
    high = int(_inside(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.dilation_h, w.pad_h).sum())
    wide = int(_inside(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.dilation_w, w.pad_w).sum())
    return _Taps(w.batches * high * w.out_w, w.batches * high * wide)


def _product(pixels: int, channels: int, depth: int) -> Amounts:
    pairs, twos = channels // 2, pixels // 2
    blocks, alone = pairs * twos, pairs * (pixels % 2)
    left = (channels % 2) * pixels
    return {
        "pixels": pixels, "blocks": blocks, "fours": blocks * (depth // 4), "rest": blocks * (depth % 4),
        "alone": alone, "alone fours": alone * (depth // 4), "alone rest": alone * (depth % 4),
        "left": left, "left fours": left * (depth // 4), "left rest": left * (depth % 4),
        "weights": channels * depth,
    }  # fmt: skip


def convolution(node: Node) -> Found:
    w = conv_shape(node)
    depth = node.elements("i1") // max(1, w.out_channels)
    pixels = w.batches * w.out_h * w.out_w
    if dtype_of(node, "i0") not in ("int8", "int16"):
        return "", {"pixels": pixels, "written": node.elements("o0"), "macs": pixels * w.out_channels * depth}
    groups = max(1, w.channels // max(1, node.dim("i1", 3)))
    plain = w.dilation_h == w.dilation_w == 1 and groups == 1
    if w.kernel_h == w.kernel_w == 1 and w.pad_h == w.pad_w == 0 and plain and dtype_of(node, "i0") == "int8":
        if w.stride_h == w.stride_w == 1:
            return "1x1", _by_sixteen(_product(pixels, w.out_channels, depth), w, pixels, depth)
        rows = w.batches * w.out_h
        each = _by_sixteen(_product(w.out_w, w.out_channels, depth), w, w.out_w, depth)
        return "1x1 strided", {"rows": rows, **{name: rows * n for name, n in each.items()}}
    taps = _taps(w)
    product = _product(pixels, w.out_channels, depth)
    c = depth // (w.kernel_h * w.kernel_w)
    gathered = {
        "taps": pixels * w.kernel_h * w.kernel_w, "inside": taps.taps, "inside words": taps.taps * (c // 4),
        "inside bytes": taps.taps * (c % 4), "bytes": pixels * depth * groups,
        "odd bytes": pixels * (depth % 4) * groups,
    }  # fmt: skip
    return "grouped" if groups > 1 else "", {**product, **gathered}


def _by_sixteen(product: Amounts, w: ConvShape, pixels: int, depth: int) -> Amounts:
    """arm_nn_mat_mult_nt_t_s8() multiplies blocks of 16 values, and then blocks of 4 values."""
    blocks = (w.out_channels // 2) * (pixels // 2)
    return {**product, "sixteens": blocks * (depth // 16)}


def depthwise(node: Node, *, dsp: bool = True) -> Found:
    """arm_depthwise_conv_wrapper_s8() gathers windows only on cores with the DSP extension."""
    w, dtype = conv_shape(node), dtype_of(node, "i0")
    taps, pixels, c = _taps(w), w.batches * w.out_h * w.out_w, w.out_channels
    all_taps = w.kernel_h * w.kernel_w
    plain = w.batches == 1 and w.dilation_h == w.dilation_w == 1
    single = w.multiplier == 1 or w.channels == c
    if dtype == "int8" and single and plain and w.kernel_h == w.kernel_w == 3 and max(w.pad_h, w.pad_w) <= 1:
        return "3x3", {
            "pixels": pixels, "fours": pixels * (c // 4), "four rows": taps.rows * (c // 4),
            "four taps": taps.taps * (c // 4), "left": pixels * (c % 4), "left rows": taps.rows * (c % 4),
            "left taps": taps.taps * (c % 4),
        }  # fmt: skip
    if dtype == "int8" and single and plain and dsp:
        return "gathered", {
            "pixels": pixels, "taps": pixels * all_taps, "inside": taps.taps, "inside bytes": taps.taps * c,
            "fours": pixels * (c // 4), "four pairs": pixels * (c // 4) * (all_taps // 2),
            "four odd": pixels * (c // 4) * (all_taps % 2), "left": pixels * (c % 4),
            "left taps": pixels * (c % 4) * all_taps, "bytes": pixels * c * all_taps,
        }  # fmt: skip
    if w.multiplier % 4 == 0 and plain:
        n = c // 4
        return "fours", {"pixels": pixels, "fours": pixels * n, "four rows": taps.rows * n, "four taps": taps.taps * n}
    variant = "dilated" if w.dilation_h > 1 or w.dilation_w > 1 else "one by one"
    return variant, {"pixels": pixels, "written": pixels * c, "rows": taps.rows * c, "macs": taps.taps * c}


def dense(node: Node, *, dsp: bool = True) -> Found:
    """arm_nn_vec_mat_mult_t_s8() computes two outputs at once, or three on cores without the DSP extension."""
    units = max(1, node.dim("i1", 0))
    depth, batches = node.elements("i1") // units, node.elements("o0") // units
    per_channel = node.tensor("i1") is not None and len(scales_of(node.tensor("i1"))) > 1
    if node.rank("o0") > 2 and dtype_of(node, "i0") == "int8" and per_channel:
        return "1x1", _product(batches, units, depth)
    variant = "per channel" if per_channel else ""
    if not dsp:
        threes, alone = batches * (units // 3), batches * (units % 3)
        return variant, {
            "batches": batches, "threes": threes, "three values": threes * depth, "alone": alone,
            "alone values": alone * depth,
        }  # fmt: skip
    pairs, odd = units // 2, units % 2
    return variant, {
        "batches": batches, "pairs": batches * pairs, "fours": batches * pairs * (depth // 4),
        "rest": batches * pairs * (depth % 4), "odd": batches * odd, "odd fours": batches * odd * (depth // 4),
        "odd rest": batches * odd * (depth % 4),
    }  # fmt: skip


def pool(node: Node) -> Found:
    w = conv_shape(node)
    (rows, taps), pixels, c = _taps(w), w.batches * w.out_h * w.out_w, w.channels
    return "", {
        "pixels": pixels, "rows": rows, "taps": taps, "tap fours": taps * (c // 4), "tap rest": taps * (c % 4),
        "written": pixels * c, "weighed": (taps - pixels) * c,
    }  # fmt: skip


def transpose_conv(node: Node) -> Found:
    """The variant "reversed" of arm_transpose_conv_wrapper_s8() inserts gaps between input pixels."""
    filters, inputs, out = node.tensor("i1"), node.tensor("i2"), node.outputs[0]
    if filters is None or inputs is None:
        return "", {"written": node.elements("o0")}
    c, taps = inputs.shape[-1], math.prod(filters.shape[1:3])
    out_c, pixels, in_pixels = out.shape[-1], math.prod(out.shape[:-1]), math.prod(inputs.shape[:-1])
    strides = [int(node.options.get(name, 1)) for name in ("strideH", "strideW")]
    reverse = inputs.dtype == "INT8" and c > 16 and max(strides) <= 2
    if reverse:
        product = _product(pixels, out_c, taps * c)
        gathered = {"taps": pixels * taps, "bytes": pixels * taps * c, "in taps": in_pixels * taps}
        return "reversed", {**product, **gathered, "in bytes": in_pixels * taps * c}
    if inputs.dtype != "INT8":
        products = in_pixels * taps * out_c
        return "", {"in pixels": in_pixels, "in taps": in_pixels * taps, "products": products, "macs": products * c,
                    "written": out.elements}  # fmt: skip
    each, alone = ((in_pixels // inputs.shape[2]) * n * taps * out_c for n in divmod(inputs.shape[2], 4))
    wide = (inputs.shape[2] - 1) * strides[1] + max(filters.shape[2], strides[1])
    resets = wide * (out.shape[1] + filters.shape[1])
    return "", {
        "in pixels": in_pixels, "in taps": in_pixels * taps, "each": each, "each fours": each * (c // 4),
        "each rest": each * (c % 4), "alone": alone, "alone fours": alone * (c // 4), "alone rest": alone * (c % 4),
        "resets": resets, "reset bytes": 4 * resets * out_c, "written": out.elements,
    }  # fmt: skip
