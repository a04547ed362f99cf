"""Build the Arduino library from arduino/, custom_ops/ and examples/shapes.

The folder FOLDER/tflm-memopt can be copied into a sketchbook's `libraries` folder. The file
FOLDER/tflm-memopt-VERSION.zip contains the same folder for "Add .ZIP Library". The build copies the C library to src/,
because Arduino follows no symbolic links, and converts the sketches' models.

Usage: python scripts/arduino.py [-o FOLDER] (default: build/arduino)
"""

import argparse
import os
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples/shapes"))
from image import header

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.emit import library as c_library
from tflm_memopt.runtime.verify import sample

ROOT = Path(__file__).parents[1]
BY_HAND = ROOT / "arduino"
SHAPES = ROOT / "examples/shapes"
OUTPUT = ROOT / "build/arduino"
NAME = "tflm-memopt"
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
"""Date of files in archives, in seconds since 1970. The default date is 1980-01-01, the earliest date of zip files."""


@dataclass(frozen=True)
class Sketch:
    emit: str = "cpp"
    options: Mapping[str, Any] = field(default_factory=dict)
    image: bool = False


SKETCHES = {
    "shapes": Sketch(image=True),
    "camera": Sketch(options={"input": "stream"}),
    "two_cores": Sketch(options={"cores": 2}, image=True),
    "no_interpreter": Sketch("c", {"max_macs": 1.1}),
}


def files() -> dict[str, bytes]:
    texts = {"LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"), **c_library.arduino()}
    return {**{name: text.encode() for name, text in texts.items()}, **dict(_by_hand()), **dict(_models())}


def _by_hand() -> Iterator[tuple[str, bytes]]:
    for path in BY_HAND.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            yield path.relative_to(BY_HAND).as_posix(), path.read_bytes()


def _models() -> Iterator[tuple[str, bytes]]:
    model = (SHAPES / "shapes_int8.tflite").read_bytes()
    for name, sketch in SKETCHES.items():
        converted = tflm_memopt.optimize(model, **sketch.options)
        extras = bundle.Extras(partial(sample, model, converted.model), model)
        for file, data in bundle.files(converted, "shapes_int8", (sketch.emit,), extras).items():
            if file.endswith((".h", ".c", ".cpp")):
                yield f"examples/{name}/{file}", data
        if sketch.image:
            yield f"examples/{name}/shapes_image.h", header().encode()


def build(output: Path) -> tuple[Path, Path]:
    """Write the library's folder and its zip below `output`, and return both paths. Only files that have changed are
    written, so that later builds compile less.
    """
    folder, contents = output / NAME, files()
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in contents:
            path.unlink()
    archive = output / f"{NAME}-{tflm_memopt.__version__}.zip"
    return folder, write_zip(archive, {f"{NAME}/{name}": data for name, data in contents.items()})


def write_zip(path: Path, contents: Mapping[str, bytes]) -> Path:
    date = time.gmtime(EPOCH)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # The value 3 marks a zip entry that was made on Unix.
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, contents[name])
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT, help="folder for the library and its zip")
    folder, archive = build(parser.parse_args().output)
    print(f"{folder}: copy this folder into your sketchbook's libraries folder, or")
    print(f"{archive}: choose this file in the IDE's Sketch > Include Library > Add .ZIP Library")
    return 0


if __name__ == "__main__":
    sys.exit(main())
