"""A model's inputs and outputs as the C++ around it needs them: types, shapes, scales, and which input is an image."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tflm_memopt.emit.quantizers import C_TYPES, dequantizer, quantizer
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import METADATA, changes_of, format_of, metadata, with_whole_input
from tflm_memopt.model.reader import Model

RANGES: Mapping[str, tuple[int, int]] = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}
"""The least and the greatest value of the quantized types that a camera's pixels can become."""
SMALLEST_IMAGE, LARGEST_IMAGE = 16, 2048
"""Pixels of a side."""


@dataclass(frozen=True, slots=True)
class Border:
    """In the model's order; a streamed or external input as the whole that it stands for."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def border(rewritten: Model, original: Model | None = None) -> Border:
    """Without the original the rewritten model's own tensors: no external input, and of a streamed one a push."""
    graph = rewritten.graph
    if original is not None:
        graph = with_whole_input(original.graph, graph, changes_of(metadata(rewritten.tree, METADATA)))
    inputs, outputs = (tuple(graph.tensors[t] for t in side) for side in (graph.inputs, graph.outputs))
    return Border(inputs, outputs)


def scales(c: str, of: Border) -> Iterator[str]:
    """Constants of the quantized inputs and outputs, in C++11."""
    for side, tensors in (("input", of.inputs), ("output", of.outputs)):
        for k, tensor in enumerate(tensors):
            form = format_of(tensor)
            if form.scale is not None and math.isfinite(form.scale):
                yield f"constexpr float {c}_{side}_{k}_scale = {literal(form.scale)};"
                yield f"constexpr int32_t {c}_{side}_{k}_zero_point = {form.zero_point};"
                yield from (quantizer if side == "input" else dequantizer)(f"{c}_{side}_{k}", tensor)


def literal(value: float) -> str:
    """A float constant of C.

    >>> literal(1.0), literal(0.00390625), literal(1e-12)
    ('1.0f', '0.00390625f', '1e-12f')
    """
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


@dataclass(frozen=True, slots=True)
class Image:
    """A model's only input, as a camera fills it."""

    height: int
    width: int
    channels: int
    type: str
    """In C."""
    lowest: int
    highest: int
    """The least and the greatest quantized value; both 0: it takes real ones."""
    black: float
    white: float
    """Real values of brightness 0 and 255."""
    why: str
    """Where these two are from."""


def image_of(of: Border, pixels: tuple[float, float] | None) -> Image | None:
    """None for a model whose input is none. pixels: mean and standard deviation, if the model's metadata has them."""
    if len(of.inputs) != 1 or len(of.inputs[0].shape) != 4:
        return None
    (tensor,) = of.inputs
    batch, height, width, channels = tensor.shape
    sides = min(height, width) >= SMALLEST_IMAGE and max(height, width) <= LARGEST_IMAGE
    if batch != 1 or channels not in (1, 3) or not sides:
        return None
    if tensor.dtype != "FLOAT32" and (tensor.dtype not in RANGES or tensor.quantization is None):
        return None
    lowest, highest = RANGES.get(tensor.dtype, (0, 0))
    black, white, why = _black_and_white(tensor, pixels)
    return Image(height, width, channels, C_TYPES[tensor.dtype], lowest, highest, black, white, why)


def _black_and_white(tensor: Tensor, pixels: tuple[float, float] | None) -> tuple[float, float, str]:
    if pixels is not None:
        mean, deviation = pixels
        return (0 - mean) / deviation, (255 - mean) / deviation, "the model's metadata says so"
    form = format_of(tensor)
    if form.scale is None or form.zero_point is None:
        return 0.0, 1.0, "a guess: the input has no scale"
    low, high = ((q - form.zero_point) * form.scale for q in RANGES[tensor.dtype])
    guess = f"a guess: the input can hold {low:.4g} to {high:.4g}"
    if low < -0.1 * high:
        return (-1.0, 1.0, guess) if max(-low, high) <= 1.5 else (low, high, guess)
    if high <= 2:
        return 0.0, 1.0, guess
    return (0.0, 255.0, guess) if 100 < high <= 300 else (low, high, guess)
