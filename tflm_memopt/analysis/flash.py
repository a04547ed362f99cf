"""Estimates the flash that a model adds to a firmware: its own bytes, this project's C library, and TFLM.

flash.json has measurements (benchmarks/flash.py) of the library on each core and of TFLM on one core. The bytes of the
model are exact. The figures of the library and TFLM are only estimates: sums of separately measured parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis.costs import LIKE, measured
from tflm_memopt.ops.packing import Family

OTHERS = "rv32"
"""Core whose sizes are used for unmeasured cores, because plain C takes the most flash on this core."""
MODULE_CODE = 256
"""Largest size of a C module's functions and tables, without its sample (tests/cores/test_module.py)."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The bytes of flash that inference needs on a core."""

    core: str
    """Core on which the library was measured."""
    model: int
    """Bytes of the .tflite file or, for a C module, of the module's programs and constants."""
    library: int
    """Bytes of the C library's parts and of the adapter for TFLM or the module's own code, or 0 if none is needed."""
    tflm: int
    """Bytes of TFLM's interpreter and kernels, or 0 for a C module."""

    @property
    def total(self) -> int:
        return self.model + self.library + self.tflm


@dataclass(frozen=True, slots=True)
class Firmware:
    """The parts of a firmware that a model needs, for any core."""

    model: int
    """Bytes of the .tflite file or, for a C module, of the module's programs and constants."""
    operators: tuple[str, ...]
    """Operators that TFLM's kernels run, without duplicates."""
    parts: tuple[str, ...] = ()
    """Parts of the C library (kernels, packings and parts of the executor) by their names in flash.json."""
    rewritten: bool = False
    """Whether the model needs the C library."""
    packed: frozenset[Family] = frozenset()
    """Families of cores for which the model's programs are packed."""
    interpreter: bool = True
    """Whether TFLM runs the model instead of a C module."""

    def on(self, core: str) -> Footprint:
        """Return the parts of flash that inference needs on a core, or on the core OTHERS for an unmeasured core."""
        return Footprint(core, self.model, self._library(core), tflm(self.operators) if self.interpreter else 0)

    def _library(self, core: str) -> int:
        if not self.rewritten:
            return 0
        base, each = _library(core)
        around = int(measured("flash.json")["tflm"]["adapter"]) if self.interpreter else MODULE_CODE
        middle = sorted(each.values())[len(each) // 2]
        return base + around + sum(each.get(name, middle) for name in self.parts)


def tflm(operators: Iterable[str]) -> int:
    """Return the bytes of TFLM's interpreter and kernels. Code that several kernels share counts once."""
    return int(measured("flash.json")["tflm"]["interpreter"] + kernels(operators))


def kernels(operators: Iterable[str]) -> int:
    """Return the bytes of TFLM's kernels. A kernel that was not measured counts as the median of all kernels."""
    tflm = measured("flash.json")["tflm"]
    known, shared, wanted = tflm["kernels"], int(tflm["shared"]), list(operators)
    middle = sorted(known.values())[len(known) // 2]
    own = sum(max(0, known.get(name, middle) - shared) for name in wanted)
    return own + shared if wanted else 0


def source() -> str:
    """Return a description of the measured TFLM and its build."""
    return str(measured("flash.json")["tflm"]["source"])


@cache
def _library(core: str) -> tuple[int, Mapping[str, int]]:
    """Return the bytes of the C library without parts, and the bytes of each kernel, packing and part on a core."""
    libraries, core = measured("flash.json")["library"], LIKE.get(core, core)
    found = libraries[core if core in libraries else OTHERS]
    return found["base"], {**found["kinds"], **found["packings"], **found["parts"]}
