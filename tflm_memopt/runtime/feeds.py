"""Gives inputs to an interpreter: in the input tensor, by pushing a few rows at a time, or through a pointer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host, wheel
from tflm_memopt.runtime.host import INT8, UINT8, TmoSource
from tflm_memopt.runtime.regions import external_shape, regions
from tflm_memopt.runtime.stimuli import Array
from tflm_memopt.runtime.windows import Slide, step_elements

Feed = Callable[[Sequence[Array], int], int]
"""Function with two arguments: the inputs, and the index of the run. The function runs an inference and returns TFLM's
status (0: success).
"""

ABORT = 15
"""Value of kTfLiteAbort in TFLM's wheel, which the custom operator returns while rows of a streamed input are
missing.
"""
RESET_BEFORE = 2
"""Index of the inference that tests a reset: half of another input is pushed before the reset."""
BORDER = 3


def feeder(interpreter: Any, model: bytes, where: str, resets: Sequence[int] = ()) -> Feed:
    """Return a function that runs inferences of a model. The argument `where` is a value of `Changes.input`.

    The caller resets the interpreter before each inference in `resets`.
    """
    own = regions(read(model))
    if slow := max((host.slow_bytes(region.program) for region in own), default=0):
        wheel.provide_memory(slow)
    if not where:
        pauses = any(region.pauses for region in own)
        return lambda values, _: (_to_the_end if pauses else _whole)(interpreter, values)
    if where == "external":
        shape = external_shape(own)
        return lambda values, number: _external(interpreter, values[0], shape, number)
    if elements := step_elements(read(model).graph, where):
        slide = Slide(elements)
        return lambda values, number: _sliding(interpreter, slide, values[0], anew=number in resets)
    return lambda values, number: _streamed(interpreter, values[0], number)


def _whole(interpreter: Any, values: Sequence[Array]) -> int:
    for k, value in enumerate(values):
        interpreter.set_input(value, k)
    return int(interpreter.invoke())


def _to_the_end(interpreter: Any, values: Sequence[Array]) -> int:
    status = _whole(interpreter, values)
    while status == ABORT:
        status = int(interpreter.invoke())
    return status


def _streamed(interpreter: Any, whole: Array, number: int) -> int:
    shape = interpreter.get_input_details(0)["shape"]
    pushes = np.ascontiguousarray(whole).reshape(-1, *shape)
    if number == RESET_BEFORE and len(pushes) > 1:
        for rows in pushes[: (len(pushes) + 1) // 2]:
            interpreter.set_input((~rows.view(np.uint8)).view(rows.dtype), 0)
            interpreter.invoke()
        interpreter.reset()
    return _pushed(interpreter, pushes, ABORT, "rows were missing")


def _sliding(interpreter: Any, slide: Slide, window: Array, *, anew: bool) -> int:
    """Push rows until a sliding input is complete, and return TFLM's status after the last push. If the argument `anew`
    is true, rows pushed earlier are not used.
    """
    if anew:
        slide.forget()
    shape = interpreter.get_input_details(0)["shape"]
    rows, filling = slide.steps_to(window)
    said = f"the window was {'not ' * filling}full"
    return _pushed(interpreter, rows.reshape(-1, *shape), ABORT if filling else 0, said)


def _pushed(interpreter: Any, pushes: Array, expected: int, when: str) -> int:
    """Push the rows in `pushes` into the interpreter, and return TFLM's status after the last push. Raises RuntimeError
    if TFLM's status after an earlier push is not `expected`.
    """
    for rows in pushes[:-1]:
        interpreter.set_input(rows, 0)
        status = int(interpreter.invoke())
        if status != expected:
            raise RuntimeError(f"Invoke returned status {status} when {when}")
    interpreter.set_input(pushes[-1], 0)
    return int(interpreter.invoke())


def _external(interpreter: Any, values: Array, shape: tuple[int, int, int], number: int) -> int:
    picture = in_a_picture(values, shape, number)
    held = picture.pixels
    wheel.set_source(TmoSource(held.ctypes.data, held.nbytes, picture.pitch, picture.x, picture.y, picture.format))
    status = int(interpreter.invoke())
    wheel.set_source(TmoSource())  # Without a source, reads of the external input fail.
    return status


@dataclass(frozen=True, slots=True)
class CameraFrame:
    pixels: Array
    x: int
    y: int
    format: int

    @property
    def pitch(self) -> int:
        return int(self.pixels[0].nbytes)


def in_a_picture(values: Array, shape: Sequence[int], number: int) -> CameraFrame:
    """Return the input as a camera frame. If the argument `number` is odd, random bytes surround the input in a larger
    frame.

    The argument `shape` has three sizes: rows, pixels per row, and bytes per pixel.
    """
    pixels = np.ascontiguousarray(values).view(np.uint8).reshape(shape)
    if number % 2 == 0:
        return CameraFrame(pixels, 0, 0, INT8)
    h, w, c = shape
    form = UINT8 if values.dtype == np.int8 else INT8
    held = np.random.default_rng(number).integers(0, 256, (h + 2 * BORDER, w + 2 * BORDER, c), dtype=np.uint8)
    held[BORDER : BORDER + h, BORDER : BORDER + w] = pixels ^ (0x80 if form == UINT8 else 0)
    return CameraFrame(held, BORDER, BORDER, form)
