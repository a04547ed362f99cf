"""Makes the Arduino library in arduino/ from custom_ops/, and the models of its sketches and of examples/esp_idf.

    python scripts/arduino.py            writes what has changed
    python scripts/arduino.py --replan   plans the sketches' models anew, too
    python scripts/arduino.py --check    writes nothing; exits 1 when something is stale

Arduino compiles what is below src/, all of it, with src/ as the only include folder, and follows no symbolic links:
hence copies. Sketches (.ino) and README.md are written by hand. The plans of the sketches' models are kept in extras/,
so that the same library and converter always write the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.emit import library as c_library
from tflm_memopt.errors import MemoptError
from tflm_memopt.results import Optimized
from tflm_memopt.runtime import interpreter
from tflm_memopt.runtime.verify import sample

ROOT = Path(__file__).parents[1]
GENERATED = "arduino/src"
"""A folder in which nothing is written by hand."""

SHAPES = ROOT / "examples/shapes"
IMAGE = 22
"""Of the stored test images: a star."""
ARENA = 1_000_000


@dataclass(frozen=True)
class Sketch:
    """A program, and how its model, the one of examples/shapes, is made."""

    name: str
    folder: str
    emit: str
    max_macs: float = 1.0
    input: str = "arena"
    cores: int = 1

    @property
    def plan(self) -> str:
        return f"arduino/extras/{self.name}.plan.json"


SKETCHES = (
    Sketch("shapes", "arduino/examples/shapes", "cpp"),
    Sketch("camera", "arduino/examples/camera", "cpp", input="stream"),
    Sketch("two_cores", "arduino/examples/two_cores", "cpp", cores=2),
    Sketch("no_interpreter", "arduino/examples/no_interpreter", "c", max_macs=1.1),  # fits 16 KB of RAM
    Sketch("esp_idf", "examples/esp_idf/main", "cpp", input="external"),
)
WITH_IMAGE = ("shapes", "two_cores")
"""Sketches that look at the stored image."""


def library() -> Mapping[str, bytes]:
    """The library itself, by path."""
    files = {"LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"), **c_library.arduino()}
    return {f"arduino/{name}": text.encode() for name, text in files.items()}


def sketches(*, replan: bool) -> Mapping[str, bytes]:
    """The models of the sketches, by path."""
    model = (SHAPES / "shapes_int8.tflite").read_bytes()
    image = shapes_image(model).encode()
    written = {f"arduino/examples/{name}/shapes_image.h": image for name in WITH_IMAGE}
    for sketch in SKETCHES:
        converted = _converted(sketch, model, replan=replan)
        given = bundle.Extras(partial(sample, model, converted.model), model)
        files = bundle.files(converted, "shapes_int8", (sketch.emit,), given)
        sources = {name: data for name, data in files.items() if name.endswith((".h", ".c", ".cpp"))}
        written |= {f"{sketch.folder}/{name}": data for name, data in sources.items()}
        written[sketch.plan] = files["shapes_int8.plan.json"]
    return written


def _converted(sketch: Sketch, model: bytes, *, replan: bool) -> Optimized:
    """With the plan that is kept, if there is one that can still be used."""
    plan = ROOT / sketch.plan
    if plan.is_file() and not replan:
        try:
            kept = json.loads(plan.read_bytes())
            return tflm_memopt.optimize(model, input=sketch.input, cores=sketch.cores, plan=kept)
        except MemoptError as error:
            print(f"{sketch.plan} is of no use any more, planning anew: {error.what}", file=sys.stderr)
    asked = {"max_macs": sketch.max_macs} if sketch.cores == 1 else {"cores": sketch.cores}
    return tflm_memopt.optimize(model, input=sketch.input, **asked)


def shapes_image(model: bytes) -> str:
    """shapes_image.h: a test image as the model's input, and the scores that TFLM gives it."""
    with np.load(SHAPES / "shapes_test.npz") as stored:
        image, label = stored["images"][IMAGE], int(stored["labels"][IMAGE])
    tflm = interpreter(model, ARENA)
    border = tflm.get_input_details(0)["quantization_parameters"]
    # Grey values 0..15 stand for 0.0..1.0 (examples/shapes/dataset.py).
    levels = np.rint(image / (15 * float(border["scales"][0]))) + int(border["zero_points"][0])
    pixels = np.clip(levels, -128, 127).astype(np.int8)
    tflm.set_input(pixels[None], 0)
    tflm.invoke()
    scores = tflm.get_output(0)[0]
    return f"""\
// Image {IMAGE} of examples/shapes as the model's int8 input, 96x96 grey, and the scores that TFLM gives it.
#pragma once

#include <stdint.h>

constexpr int shapes_label = {label};
constexpr int8_t shapes_scores[] = {{{", ".join(map(str, scores))}}};
constexpr int8_t shapes_image[{pixels.size}] = {{
{chr(10).join(_rows(pixels))}
}};
"""


def _rows(pixels: np.ndarray) -> Iterator[str]:
    flat = pixels.reshape(-1)
    for first in range(0, flat.size, 24):
        yield "  " + "".join(f"{value}," for value in flat[first : first + 24])


def stale(files: Mapping[str, bytes]) -> list[str]:
    """What differs from `files`, as sentences."""
    differs = [n for n, data in files.items() if not (ROOT / n).is_file() or (ROOT / n).read_bytes() != data]
    return [*(f"{name} is stale" for name in differs), *(f"{name} has no source" for name in strays(files))]


def strays(files: Mapping[str, bytes]) -> list[str]:
    """What is in GENERATED and comes from nowhere."""
    there = (path.relative_to(ROOT).as_posix() for path in (ROOT / GENERATED).rglob("*") if path.is_file())
    return sorted(name for name in there if name not in files)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is stale")
    parser.add_argument("--replan", action="store_true", help="plan the sketches' models anew")
    args = parser.parse_args()
    files = {**library(), **sketches(replan=args.replan)}
    if args.check:
        problems = stale(files)
        print("\n".join([*problems, "try: python scripts/arduino.py"] if problems else ["arduino/ is up to date"]))
        return 1 if problems else 0
    for name in strays(files):
        (ROOT / name).unlink()
    for name, data in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
