"""Estimates the flash that a model adds to a firmware: its own bytes, this project's C library, and TFLM.

flash.json has measurements (benchmarks/flash.py) of the library on each core and of TFLM on one core. The bytes of the
model are exact. The figures of the library and TFLM are estimates, namely sums of separately measured parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis.costs import LIKE, measured
from tflm_memopt.ops.packing import Family

OTHERS = "rv32"
"""Core whose code sizes are used for unmeasured cores, because plain C takes the most flash on this core."""
MODULE_CODE = 384
"""Bytes for the functions of a C module, and for code that only several kernels together need."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of flash that a model and the code that runs it need on a core."""

    core: str
    """Core for which the library's code size was measured."""
    model: int
    """Bytes of the .tflite file or, for a C module, of the module's programs and constants."""
    library: int
    """Bytes of the needed parts of the C library, with the adapter for TFLM or the module's own code."""
    tflm: int
    """Bytes of TFLM's interpreter and kernels, or 0 for a C module."""

    @property
    def total(self) -> int:
        return self.model + self.library + self.tflm


@dataclass(frozen=True, slots=True)
class Firmware:
    """What a model needs in a firmware, for any core."""

    model: int
    """Bytes of the .tflite file or, for a C module, of the module's programs and constants."""
    operators: tuple[str, ...]
    """Types of the operators that TFLM's kernels run, each type once."""
    parts: tuple[str, ...] = ()
    """Names in flash.json of the C library's parts that are needed: kernels, packings and parts of the executor."""
    rewritten: bool = False
    packed: frozenset[Family] = frozenset()
    """Families of cores for which the model's weights are packed."""
    interpreter: bool = True
    """Whether TFLM's interpreter runs the model, and not a C module."""

    def on(self, core: str) -> Footprint:
        """Return the bytes of flash on a core. OTHERS names the core whose figures stand for unmeasured cores."""
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
    """Return the bytes of TFLM's kernels for these operators. An unmeasured kernel counts as a median kernel."""
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
