"""Fills in the templates of a project's C++ program, with its stored input and its camera."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.answers.optimized import Sample
from tflm_memopt.answers.report import Report
from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.border import Border, Image, image_of
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.emit.quantizers import C_TYPES, literal
from tflm_memopt.emit.templates import rendered
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import format_of

Texts = Mapping[str, str]
HEADER = "<tflm_memopt.h>"
INVOKE = "interpreter->Invoke() == kTfLiteOk"
ESP_SIZES = (("QQVGA", 160, 120), ("QVGA", 320, 240), ("VGA", 640, 480))
STATIC_MEMORY = """\
/* The model's slow memory is in the section .slow, which you can place in the memory that you want. */
alignas(16) static uint8_t slow_bytes[BYTES] __attribute__((section(".slow")));

static void *slow_memory() { return slow_bytes; }
"""


@dataclass(frozen=True, slots=True)
class Platform:
    includes: tuple[str, ...]
    clock: str
    say: str
    entry: str
    first: str = ""
    unit: str = "us"
    cameras: bool = True
    counter: str = ""
    team: str = ""
    """C++ code of the function second_core(), or "" for a chip with one core. The C++ function returns a tmo_team, or
    NULL.
    """
    slow: str = STATIC_MEMORY
    """C++ code of the function slow_memory(). The C++ function returns NULL, or a buffer of BYTES bytes whose address
    is a multiple of 16.
    """


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    report: Report
    border: Border
    sample: Sample
    labels: tuple[str, ...] = ()
    pixels: tuple[float, float] | None = None
    """Mean and standard deviation of the pixels of the training images, or None if unknown."""

    @property
    def builtin_only(self) -> bool:
        return bool(self.report.planned_for)

    @property
    def slow(self) -> int:
        return self.report.memories.slow if self.report.memories else 0

    @property
    def image(self) -> Image | None:
        own = self.builtin_only or self.report.window  # A camera's picture cannot fill a sliding input.
        return None if own else image_of(self.border, self.pixels)


@dataclass(frozen=True, slots=True)
class Result:
    values: int
    type: str
    quantized: bool
    format: str
    name: str


def result_of(output: Tensor, labels: Sequence[str]) -> Result | None:
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
    return border.outputs[0].elements if border.outputs else 0


def program(subject: Subject, platform: Platform) -> str:
    name = subject.name
    image = subject.image if platform.cameras else None
    if subject.builtin_only:
        platform = replace(platform, includes=tuple(i for i in platform.includes if i != HEADER))
    own = [f"{name}_model.h", f"{name}_ops.h", f"{name}_sample.h", *([f"{name}_camera.h"] if image else [])]
    return rendered(
        "program.cpp.jinja",
        c=identifier(name), about=comment(name), platform=platform, own=own, alignment=ALIGNMENT,
        model=inference(subject, platform, INVOKE), camera_header=f"{name}_camera.h", image=image,
        source=subject.report.source, window=subject.report.window,
        variables=subject.report.arena.variables, team=platform.team if subject.report.cores else "",
        slow=subject.slow,
    )  # fmt: skip


def inference(subject: Subject, platform: Platform, invoke: str, prefix: str = "") -> str:
    """Return C++ code that runs a model, compares its outputs with the stored outputs, and prints its results.

    The argument `invoke` is a C++ expression that runs the interpreter and is true after success. The argument `prefix`
    is a printf format with which each printed line begins.
    """
    c, border = identifier(subject.name), subject.border
    return rendered(
        "model.cpp.jinja",
        c=c, counted=printed(subject.name), platform=platform, invoke=invoke, prefix=prefix,
        result=result_of(border.outputs[0], subject.labels) if border.outputs else None, real=subject.sample.real,
        labels=[escaped(label) for label in subject.labels],
        source=subject.report.source, window=subject.report.window, image=subject.image if platform.cameras else None,
        inputs=len(subject.sample.inputs), outputs=len(subject.sample.outputs),
        stored=f"{{{c}_input_0, sizeof({c}_input_0), {c}_row_bytes, 0, 0, TMO_FORMAT_INT8}}",
    )  # fmt: skip


def printed(text: str) -> str:
    return escaped(text).replace("%", "%%")


def camera(subject: Subject) -> Texts:
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
// {"An" if subject.sample.real else "A random"} input of {comment(name)}, and TFLM's outputs for it on a PC.
// Written by tflm-memopt.
#ifndef {include_guard}
#define {include_guard}

#include <stdint.h>

{arrays}
#endif  // {include_guard}
"""
    }


def escaped(text: str) -> str:
    r"""Escape a text for a C string: all bytes except plain characters become octal escapes.

    >>> print(escaped('a "b" 50 %'), escaped("é"))
    a \042b\042 50 % \303\251
    """
    special = b'"\\?'
    return "".join(chr(b) if 32 <= b < 127 and b not in special else f"\\{b:03o}" for b in text.encode())
