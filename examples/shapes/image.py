"""Writes shapes_image.h: a test image as the network's int8 input, and the scores that TFLM gives it.

python examples/shapes/image.py
"""

from __future__ import annotations

from dataset import quantize
from evaluate import HERE, load, outputs

from tflm_memopt.runtime.wheel import interpreter

IMAGE = 22
"""Index of the test image: a star."""
ARENA = 1_000_000


def header() -> str:
    """Content of shapes_image.h."""
    model = (HERE / "shapes_int8.tflite").read_bytes()
    images, labels = load()
    chosen = images[IMAGE : IMAGE + 1]
    parameters = interpreter(model, ARENA).get_input_details(0)["quantization_parameters"]
    pixels = quantize(chosen, float(parameters["scales"][0]), int(parameters["zero_points"][0]))[0, :, :, 0]
    scores = outputs(model, chosen)[0]
    rows = "\n".join("  " + "".join(f"{value}," for value in row) for row in pixels)
    return f"""\
// Image {IMAGE} of examples/shapes as the model's int8 input, 96x96 grey, and the scores that TFLM gives it.
#pragma once

#include <stdint.h>

constexpr int shapes_label = {labels[IMAGE]};
constexpr int8_t shapes_scores[] = {{{", ".join(map(str, scores))}}};
constexpr int8_t shapes_image[{pixels.size}] = {{
{rows}
}};
"""


if __name__ == "__main__":
    (HERE / "shapes_image.h").write_text(header(), encoding="utf-8")
