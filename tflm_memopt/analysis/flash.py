"""Flash that a model brings into a firmware: its own bytes, this project's C library, TFLM.

flash.json has what was measured (benchmarks/flash.py): of the library on each core, of TFLM on one. The model's bytes
are exact; the others are sums of parts that were measured one by one, and so estimates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tflm_memopt.ops.packing import Family

LIKE = {"cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4"}
"""Cores that run the code of another one."""
OTHERS = "rv32"
"""Measured in the place of cores that are not: plain C takes most there."""
MODULE_CODE = 256
"""Bytes of a C module's functions and tables, at most, without its stored sample (tests/cores/test_module.py)."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of flash that inference takes on a core."""

    core: str
    """The core whose library was measured."""
    model: int
    """The .tflite file; of a C module, its programs and constants."""
    library: int
    """What a model needs of the C library, and the adapter for TFLM or the module's own code; 0: it needs none."""
    tflm: int
    """TFLM's interpreter, and those of its kernels that the model needs; 0: a C module, which needs none."""

    @property
    def total(self) -> int:
        return self.model + self.library + self.tflm


@dataclass(frozen=True, slots=True)
class Firmware:
    """What a model needs in flash, on any core."""

    model: int
    """Bytes of the .tflite file; of a C module, of its programs and constants."""
    operators: tuple[str, ...]
    """Operators that TFLM's kernels run, each once."""
    parts: tuple[str, ...] = ()
    """What it needs of the C library: kernels, packings and parts of the executor, as flash.json names them."""
    rewritten: bool = False
    """Whether it needs the C library at all."""
    packed: frozenset[Family] = frozenset()
    """Cores that its programs are packed for; a board has to run them all."""
    interpreter: bool = True
    """Whether TFLM runs it; no: a C module."""

    def on(self, core: str) -> Footprint:
        """core: one of analysis/costs.py; another one is taken for OTHERS."""
        return Footprint(core, self.model, self._library(core), tflm(self.operators) if self.interpreter else 0)

    def _library(self, core: str) -> int:
        if not self.rewritten:
            return 0
        known = _library(core)
        around = int(_measured()["tflm"]["adapter"]) if self.interpreter else MODULE_CODE
        middle = sorted(known.each.values())[len(known.each) // 2]
        return known.base + around + sum(known.each.get(name, middle) for name in self.parts)


def tflm(operators: Iterable[str]) -> int:
    """TFLM's interpreter and kernels, with what kernels share counted once."""
    return int(_measured()["tflm"]["interpreter"] + kernels(operators))


def kernels(operators: Iterable[str]) -> int:
    """TFLM's kernels alone. One that was not measured is taken for the median of those that were."""
    known, shared, wanted = _measured()["tflm"]["kernels"], int(_measured()["tflm"]["shared"]), list(operators)
    middle = sorted(known.values())[len(known) // 2]
    own = sum(max(0, known.get(name, middle) - shared) for name in wanted)
    return own + shared if wanted else 0


def source() -> str:
    """Which TFLM was measured, and how it was built."""
    return str(_measured()["tflm"]["source"])


@dataclass(frozen=True, slots=True)
class _Library:
    """The C library on a core."""

    base: int
    each: Mapping[str, int]
    """Kernel, packing or part -> what it adds."""


@cache
def _library(core: str) -> _Library:
    libraries, core = _measured()["library"], LIKE.get(core, core)
    found = libraries[core if core in libraries else OTHERS]
    return _Library(found["base"], {**found["kinds"], **found["packings"], **found["parts"]})


@cache
def _measured() -> Mapping[str, Any]:
    text = resources.files("tflm_memopt.analysis").joinpath("flash.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
