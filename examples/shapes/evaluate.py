"""Measure the accuracy of models on 120 test images under TensorFlow Lite Micro.

The exit status is 1 if any model gives other output bytes than the first model of the command line.

Usage: python examples/shapes/evaluate.py shapes_int8.tflite [OPTIMIZED.tflite ...]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from dataset import CLASSES, TEST_SEED, Images, Labels, make, quantize

from tflm_memopt.runtime.wheel import interpreter

HERE = Path(__file__).parent
ARENA = 1_000_000  # arena bytes for the original network


def load() -> tuple[Images, Labels]:
    """Draw the test images and their labels, 20 of each class."""
    return make(20 * len(CLASSES), TEST_SEED)


def outputs(model: bytes, images: Images) -> npt.NDArray[np.int8]:
    """Return the int8 scores [N, classes] that a model gives to each image under TFLM."""
    tflm = interpreter(model, ARENA)
    parameters = tflm.get_input_details(0)["quantization_parameters"]
    answers = []
    for image in quantize(images, float(parameters["scales"][0]), int(parameters["zero_points"][0])):
        tflm.set_input(image[None], 0)
        tflm.invoke()
        answers.append(tflm.get_output(0)[0])
    return np.stack(answers)


def accuracy(answers: npt.NDArray[np.int8], labels: Labels) -> float:
    """Return the fraction of images whose right class has the largest score."""
    return float(np.mean(answers.argmax(axis=1) == labels))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    paths: list[Path] = parser.parse_args().models
    images, labels = load()
    answers = [outputs(path.read_bytes(), images) for path in paths]
    same = [np.array_equal(given, answers[0]) for given in answers]
    for path, given, equal in zip(paths, answers, same, strict=True):
        verdict = "" if path is paths[0] else f", output bytes {'equal' if equal else 'DIFFERENT'}"
        print(f"{path}: {accuracy(given, labels):.1%} of {len(labels)} test images right{verdict}")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
