"""Writes shapes_image.h: a test image as the network's int8 input, and the scores that TFLM gives it.

python examples/shapes/image.py
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from dataset import quantize
from evaluate import HERE, load, outputs

from tflm_memopt.runtime import interpreter

IMAGE = 22
"""Index of the test image: a star."""
ARENA = 1_000_000
PER_LINE = 24


def header() -> str:
    """Content of shapes_image.h."""
    model = (HERE / "shapes_int8.tflite").read_bytes()
    images, labels = load()
    chosen = images[IMAGE : IMAGE + 1]
    parameters = interpreter(model, ARENA).get_input_details(0)["quantization_parameters"]
    pixels = quantize(chosen, float(parameters["scales"][0]), int(parameters["zero_points"][0])).reshape(-1)
    scores = outputs(model, chosen)[0]
    return f"""\
// Image {IMAGE} of examples/shapes as the model's int8 input, 96x96 grey, and the scores that TFLM gives it.
#pragma once

#include <stdint.h>

constexpr int shapes_label = {labels[IMAGE]};
constexpr int8_t shapes_scores[] = {{{", ".join(map(str, scores))}}};
constexpr int8_t shapes_image[{pixels.size}] = {{
{chr(10).join(_lines(pixels))}
}};
"""


def _lines(pixels: npt.NDArray[np.int8]) -> Iterator[str]:
    for first in range(0, pixels.size, PER_LINE):
        yield "  " + "".join(f"{value}," for value in pixels[first : first + PER_LINE])


if __name__ == "__main__":
    (HERE / "shapes_image.h").write_text(header(), encoding="utf-8")
