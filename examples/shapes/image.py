"""Write shapes_image.h with a test image as int8 input, and with the scores of TFLM for this image.

Usage: python examples/shapes/image.py
"""

import numpy as np
from dataset import quantize
from evaluate import HERE, load

from tflm_memopt.model.reader import read
from tflm_memopt.runtime.verify import sample

IMAGE = 22
"""IMAGE is the index of a test image that shows a star."""


def header() -> str:
    model = (HERE / "shapes_int8.tflite").read_bytes()
    images, labels = load()
    graph = read(model).graph
    affine = graph.tensors[graph.inputs[0]].quantization
    if affine is None:
        raise ValueError("the network's input is quantized")
    pixels = quantize(images[IMAGE : IMAGE + 1], affine.scale[0], affine.zero_point[0])
    scores = np.frombuffer(sample(model, model, inputs=[pixels]).outputs[0], np.int8)
    rows = "\n".join("  " + "".join(f"{value}," for value in row) for row in pixels[0, :, :, 0])
    return "\n".join(
        [
            f"// Image {IMAGE} of examples/shapes as the model's int8 input, 96x96 grey, and TFLM's scores for it.",
            "#pragma once",
            "",
            "#include <stdint.h>",
            "",
            f"constexpr int shapes_label = {labels[IMAGE]};",
            f"constexpr int8_t shapes_scores[] = {{{', '.join(map(str, scores))}}};",
            f"constexpr int8_t shapes_image[{pixels.size}] = {{",
            rows,
            "};\n",
        ]
    )


if __name__ == "__main__":
    (HERE / "shapes_image.h").write_text(header(), encoding="utf-8")
