"""Writes the README.md of a project, which names the file to open, the commands to run, and the place for sensor
values.
"""

from dataclasses import dataclass

from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.program import Subject, Texts
from tflm_memopt.emit.quantizers import dequantizer, quantizer
from tflm_memopt.emit.templates import rendered
from tflm_memopt.model.graph import Tensor


@dataclass(frozen=True, slots=True)
class About:
    name: str
    models: tuple[str, ...]
    arena: str
    """Size of the arena in bytes as text, such as "at least 20,480"."""
    real: bool
    """True if the stored inputs are the user's examples, and False if they are random values."""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """Sentences about each input and output, with the names of the C functions for the conversion of values."""


def about(subject: Subject, arena: int) -> About:
    c, border = identifier(subject.name), subject.border
    inputs = (_port(f"{c}_input_{k}", t, "quantize", "input") for k, t in enumerate(border.inputs))
    outputs = (_port(f"{c}_output_{k}", t, "real", "output") for k, t in enumerate(border.outputs))
    exact = "" if subject.report.arena.exact else "at least "
    return About(subject.name, (subject.name,), f"{exact}{arena:,}", subject.sample.real, tuple(inputs), tuple(outputs))


def _port(name: str, tensor: Tensor, function: str, side: str) -> str:
    shape = " x ".join(map(str, tensor.shape))
    how = quantizer if side == "input" else dequantizer
    converts = f"; `{name}_{function}()` in `*_ops.h` converts a value" if list(how(name, tensor)) else ""
    return f"{side.capitalize()} `{tensor.name}`: {shape} of {tensor.dtype.lower()}{converts}."


def readme(told: About | None, kind: str, steps: str, main: str, *, library: bool) -> Texts:
    if told is None:
        return {}
    return {"README.md": rendered("readme.md.jinja", told=told, kind=kind, steps=steps, main=main, library=library)}
