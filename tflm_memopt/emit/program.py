"""The C++ program of a project, its stored input, and its camera: templates, filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.border import Border, Image, image_of, literal
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.emit.quantizers import C_TYPES
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import format_of
from tflm_memopt.results import Report, Sample

Texts = Mapping[str, str]
"""File name or path -> content."""
HEADER = "<tflm_memopt.h>"
"""The C library's, as Arduino finds it."""
INVOKE = "interpreter->Invoke() == kTfLiteOk"
ESP_SIZES = (("QQVGA", 160, 120), ("QVGA", 320, 240), ("VGA", 640, 480))
"""Pictures of esp32-camera, smallest first."""


@dataclass(frozen=True, slots=True)
class Platform:
    """What differs from one platform's program to the other's."""

    includes: tuple[str, ...]
    clock: str
    """An expression: how many units of time have passed."""
    say: str
    """A statement that prints the string `line`."""
    entry: str
    first: str = ""
    """A header before everything else."""
    unit: str = "us"
    """What the clock counts."""
    cameras: bool = True
    counter: str = ""
    """The body of a function that reads the core's counter of cycles, which is told besides; empty: there is none."""
    team: str = ""
    """A function second_core(): the tmo_team whose second core helps, or NULL; empty: there is no second core."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model to write a program for."""

    name: str
    """Stem of its files."""
    report: Report
    border: Border
    sample: Sample
    """What the program runs first, and what has to come out."""
    labels: tuple[str, ...] = ()
    """A label for each value of output 0."""
    pixels: tuple[float, float] | None = None
    """Mean and standard deviation of its training images, if they are known."""

    @property
    def builtin_only(self) -> bool:
        """Whether the project does without the C library: its model was planned for builtin operators alone."""
        return bool(self.report.planned_for)

    @property
    def image(self) -> Image | None:
        """What a camera can fill, with the library's functions."""
        own = self.builtin_only or self.report.window  # of a window's rows no camera's picture is made
        return None if own else image_of(self.border, self.pixels)


@dataclass(frozen=True, slots=True)
class Result:
    """What a program says about output 0: its highest value, by name and as a real number."""

    values: int
    type: str
    quantized: bool
    format: str
    name: str
    """An expression: what the first %-field of `format` takes."""


def result_of(output: Tensor, labels: Sequence[str]) -> Result | None:
    """None for an output without values, or of values that C++ cannot compare."""
    if output.dtype not in C_TYPES or output.dtype == "FLOAT16" or not output.elements:
        return None
    value = "%s%ld.%03ld"
    if output.elements == 1:
        how = f"%s {value}", '"output"'
    elif labels:
        how = f"%s {value}", "labels[best]"
    else:
        vector = max(output.shape, default=1) == output.elements
        how = f"{'class' if vector else 'highest value at'} %d: {value}", "best"
    return Result(output.elements, C_TYPES[output.dtype], format_of(output).scale is not None, *how)


def labels_count(border: Border) -> int:
    """How many labels output 0 can have; 0: it has no output."""
    return border.outputs[0].elements if border.outputs else 0


def program(subject: Subject, platform: Platform, runner_header: str = "") -> str:
    """The program itself. runner_header: it can be a device under a benchmark's runner instead."""
    name = subject.name
    image = subject.image if platform.cameras else None
    if subject.builtin_only:
        platform = replace(platform, includes=tuple(i for i in platform.includes if i != HEADER))
    own = [f"{name}_model.h", f"{name}_ops.h", f"{name}_sample.h", *([f"{name}_camera.h"] if image else [])]
    return rendered(
        "program.cpp.jinja",
        c=identifier(name), about=comment(name), platform=platform, own=own, alignment=ALIGNMENT,
        model=inference(subject, platform, INVOKE), camera_header=f"{name}_camera.h", image=image,
        runner_header=runner_header, frame=subject.report.frame, window=subject.report.window,
        variables=subject.report.arena.variables, team=platform.team if subject.report.cores else "",
    )  # fmt: skip


def inference(subject: Subject, platform: Platform, invoke: str, prefix: str = "") -> str:
    """What a program has of one model: an inference, its self-test, and what it says.

    invoke: an expression, whether the interpreter has run. prefix: of what it says, as a format.
    """
    c, border = identifier(subject.name), subject.border
    return rendered(
        "model.cpp.jinja",
        c=c, counted=printed(subject.name), platform=platform, invoke=invoke, prefix=prefix,
        result=result_of(border.outputs[0], subject.labels) if border.outputs else None, real=subject.sample.real,
        labels=[escaped(label) for label in subject.labels],
        frame=subject.report.frame, window=subject.report.window, image=subject.image if platform.cameras else None,
        inputs=len(subject.sample.inputs), outputs=len(subject.sample.outputs),
        stored=f"{{{c}_input_0, sizeof({c}_input_0), {c}_row_bytes, 0, 0, TMO_FORMAT_INT8}}",
    )  # fmt: skip


def printed(text: str) -> str:
    """`text` for the inside of a format of printf()."""
    return escaped(text).replace("%", "%%")


def camera(subject: Subject) -> Texts:
    """NAME_camera.h, for a model whose input is an image."""
    if (image := subject.image) is None:
        return {}
    name = subject.name
    size = next((s for s, w, h in ESP_SIZES if image.width <= w and image.height <= h), ESP_SIZES[-1][0])
    text = rendered(
        "camera.h.jinja",
        c=identifier(name), about=comment(name), guard=guard(name, "camera"), ops_header=f"{name}_ops.h",
        image=image, black=literal(image.black), white=literal(image.white), esp_size=size,
    )  # fmt: skip
    return {f"{name}_camera.h": text}


def stored(subject: Subject) -> Texts:
    """NAME_sample.h: an input, and what TFLM makes of it."""
    name, c = subject.name, identifier(subject.name)
    arrays = "\n".join(
        f"alignas({ALIGNMENT}) static const uint8_t {c}_{side}_{k}[{len(data)}] = {{\n{lines}\n}};\n"
        for side, values in (("input", subject.sample.inputs), ("output", subject.sample.outputs))
        for k, data in enumerate(values)
        for lines in ["\n".join(byte_lines(data))]
    )
    include_guard = guard(name, "sample")
    return {
        f"{name}_sample.h": f"""\
// {"An" if subject.sample.real else "A random"} input of {comment(name)}, and the output that TFLM gives it on a PC.
// Written by tflm-memopt.
#ifndef {include_guard}
#define {include_guard}

#include <stdint.h>

{arrays}
#endif  // {include_guard}
"""
    }


def escaped(text: str) -> str:
    r"""`text` for the inside of a C string: every byte that is no plain character in octal digits.

    >>> print(escaped('a "b" 50 %'), escaped("é"))
    a \042b\042 50 % \303\251
    """
    special = b'"\\?'
    return "".join(chr(b) if 32 <= b < 127 and b not in special else f"\\{b:03o}" for b in text.encode())


def rendered(template: str, **context: Any) -> str:
    """A template of this folder, filled in."""
    text: str = _templates().from_string(_source(template)).render(**context)
    return text


@cache
def _templates() -> Environment:
    return Environment(  # C, not HTML
        autoescape=False, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )


@cache
def _source(template: str) -> str:
    return resources.files(__package__).joinpath(template).read_text(encoding="utf-8")
