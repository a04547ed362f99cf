"""Estimates the flash that a model adds to a firmware: its own bytes, this project's C library, and TFLM.

The sizes of the library and of TFLM are sums of separately measured parts (flash.json, benchmarks/flash.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis.costs import LIKE, measured
from tflm_memopt.ops.packing import Family

OTHERS = "rv32"
"""Core whose code sizes stand for those of unmeasured cores, because plain C takes the most flash on this core."""
MODULE_CODE = 640
"""Number of bytes of code in a C module, including library code that only some combinations of kernels need."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Number of flash bytes that a model and its code need on a core."""

    core: str
    """Core for which the code size of the C library was measured."""
    model: int
    """Number of bytes of the .tflite file or, for a C module, of the module's programs and constants."""
    library: int
    """Number of bytes of the used parts of the C library, including the adapter for TFLM or the module's code."""
    tflm: int
    """Number of bytes of TFLM's interpreter and kernels, or 0 for a C module."""

    @property
    def total(self) -> int:
        return self.model + self.library + self.tflm


@dataclass(frozen=True, slots=True)
class Firmware:
    model: int
    operators: tuple[str, ...]
    """Types of the operators that TFLM's kernels run, without repetition."""
    parts: tuple[str, ...] = ()
    """Names in flash.json of the parts of the C library that the model uses."""
    rewritten: bool = False
    packed: frozenset[Family] = frozenset()
    """Families of cores for which the model's weights are packed."""
    interpreter: bool = True
    """True if TFLM's interpreter runs the model, and False for a C module."""

    def on(self, core: str) -> Footprint:
        return Footprint(core, self.model, self._library(core), tflm(self.operators) if self.interpreter else 0)

    def _library(self, core: str) -> int:
        if not self.rewritten:
            return 0
        base, each = _library(core)
        around = int(measured("flash.json")["tflm"]["adapter"]) if self.interpreter else MODULE_CODE
        middle = sorted(each.values())[len(each) // 2]
        return base + around + sum(each.get(name, middle) for name in self.parts)


def tflm(operators: Iterable[str]) -> int:
    return int(measured("flash.json")["tflm"]["interpreter"] + kernels(operators))


def kernels(operators: Iterable[str]) -> int:
    """Return the number of bytes of TFLM's kernels for `operators`. A kernel whose size was not measured counts as the
    median kernel.
    """
    tflm = measured("flash.json")["tflm"]
    known, shared, wanted = tflm["kernels"], int(tflm["shared"]), list(operators)
    middle = sorted(known.values())[len(known) // 2]
    own = sum(max(0, known.get(name, middle) - shared) for name in wanted)
    return own + shared if wanted else 0


def source() -> str:
    return str(measured("flash.json")["tflm"]["source"])


@cache
def _library(core: str) -> tuple[int, Mapping[str, int]]:
    libraries, core = measured("flash.json")["library"], LIKE.get(core, core)
    found = libraries[core if core in libraries else OTHERS]
    return found["base"], {**found["kinds"], **found["packings"], **found["parts"]}
