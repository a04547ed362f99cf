"""Describes the inputs and outputs of a model for a C++ program: the types, shapes, scales and images."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tflm_memopt.emit.quantizers import C_TYPES, LIMITS, dequantizer, literal, quantizer
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import METADATA, changes_of, format_of, metadata, with_whole_input
from tflm_memopt.model.reader import Model

SMALLEST_IMAGE, LARGEST_IMAGE = 16, 2048


@dataclass(frozen=True, slots=True)
class Border:
    """Inputs and outputs of a model in the order of the .tflite file. A streamed or external input has the shape of the
    whole input.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def border(rewritten: Model, original: Model | None = None) -> Border:
    """Return a model's inputs and outputs. If `original` is None, the result has no external input, and a streamed
    input has only the rows of one push.
    """
    graph = rewritten.graph
    if original is not None:
        graph = with_whole_input(original.graph, graph, changes_of(metadata(rewritten.tree, METADATA)))
    inputs, outputs = (tuple(graph.tensors[t] for t in side) for side in (graph.inputs, graph.outputs))
    return Border(inputs, outputs)


def scales(c: str, of: Border) -> Iterator[str]:
    for side, tensors in (("input", of.inputs), ("output", of.outputs)):
        for k, tensor in enumerate(tensors):
            form = format_of(tensor)
            if form.scale is not None and math.isfinite(form.scale):
                yield f"constexpr float {c}_{side}_{k}_scale = {literal(form.scale)};"
                yield f"constexpr int32_t {c}_{side}_{k}_zero_point = {form.zero_point};"
                yield from (quantizer if side == "input" else dequantizer)(f"{c}_{side}_{k}", tensor)


@dataclass(frozen=True, slots=True)
class Image:
    height: int
    width: int
    channels: int
    type: str
    lowest: int
    highest: int
    black: float
    white: float
    """The real input values of a black pixel (brightness 0) and of a white pixel (brightness 255)."""
    why: str
    """Text for a C comment about the origin of `black` and `white`, such as "from the model's metadata"."""


def image_of(of: Border, pixels: tuple[float, float] | None) -> Image | None:
    if len(of.inputs) != 1 or len(of.inputs[0].shape) != 4:
        return None
    (tensor,) = of.inputs
    batch, height, width, channels = tensor.shape
    sides = min(height, width) >= SMALLEST_IMAGE and max(height, width) <= LARGEST_IMAGE
    if batch != 1 or channels not in (1, 3) or not sides:
        return None
    if tensor.dtype != "FLOAT32" and (tensor.dtype not in LIMITS or tensor.quantization is None):
        return None
    lowest, highest = LIMITS.get(tensor.dtype, (0, 0))
    black, white, why = _black_and_white(tensor, pixels)
    return Image(height, width, channels, C_TYPES[tensor.dtype], lowest, highest, black, white, why)


def _black_and_white(tensor: Tensor, pixels: tuple[float, float] | None) -> tuple[float, float, str]:
    if pixels is not None:
        mean, deviation = pixels
        return (0 - mean) / deviation, (255 - mean) / deviation, "from the model's metadata"
    form = format_of(tensor)
    if form.scale is None or form.zero_point is None:
        return 0.0, 1.0, "a guess: the input has no scale"
    low, high = ((q - form.zero_point) * form.scale for q in LIMITS[tensor.dtype])
    guess = f"a guess: the input can hold {low:.4g} to {high:.4g}"
    if low < -0.1 * high:
        return (-1.0, 1.0, guess) if max(-low, high) <= 1.5 else (low, high, guess)
    if high <= 2:
        return 0.0, 1.0, guess
    return (0.0, 255.0, guess) if 100 < high <= 300 else (low, high, guess)
