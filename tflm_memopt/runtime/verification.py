"""The answer of `verify`: plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tflm_memopt.runtime.cases import Difference
from tflm_memopt.runtime.process import RecordedArena

How = Literal["tflm-wheel", "host-reference"]
TFLM_WHEEL: How = "tflm-wheel"
HOST_REFERENCE: How = "host-reference"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the interpreters took, in bytes. Not what a 32-bit device takes: pointers have 64 bits here, and recording
    costs some.
    """

    original: RecordedArena
    rewritten: RecordedArena
    abi: str = "lp64"
    recording: bool = True


@dataclass(frozen=True, slots=True)
class PortBytes:
    """An output of the original model and the same of a C module, over all runs."""

    output: int
    name: str
    bytes: int
    different: int
    """How many of these bytes differ."""


@dataclass(frozen=True, slots=True)
class ModuleRuns:
    """What a C module of `optimize --emit c` did on this machine."""

    source: str
    sanitized: bool
    """Compiled with AddressSanitizer and UndefinedBehaviorSanitizer."""
    runs: int
    ports: tuple[PortBytes, ...]
    """Every output of the model, in its order; none if the module did not run."""
    selftest: int
    """How many bytes its own stored inference gets wrong."""
    failure: str = ""
    """Why it did not run to its end."""

    @property
    def bit_exact(self) -> bool:
        return not self.failure and not self.selftest and not any(port.different for port in self.ports)


@dataclass(frozen=True, slots=True)
class ComparedConstants:
    """What a comparison of constants found that runs no model: weights, biases, multipliers, shifts, tables."""

    equal: int = 0
    """Operators of the rewritten model with the original's constants."""
    unknown: int = 0
    """Operators for which the original has none to compare with."""
    different: tuple[str, ...] = ()
    """What differs, a sentence each."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The answer of `verify`."""

    runs: int
    """Random inputs that were tried."""
    extremes: int
    """And all lowest, all highest, alternating."""
    files: int
    """And the user's own."""
    seed: int
    guarded: int
    """Runs of the rewritten model's programs in the watched executor, canaries around everything."""
    how: How
    """What ran the original: "tflm-wheel", or "host-reference", this package's own kernels where the wheel does not
    exist.
    """
    measured: Measured | None = None
    difference: Difference | None = None
    failure: str = ""
    """Why the rewritten model did not run, or what its programs did wrong in the watched executor."""
    module: ModuleRuns | None = None
    """When a C module was to be verified as well."""
    planned_for: str = ""
    """Whose kernels a rewritten model of builtin operators relies on, as its metadata say; "any" for all."""
    steps: int = 0
    """Inferences one after the other, with resets."""
    every_value: int = 0
    """Inputs of a set in which each input byte takes every value."""
    constants: ComparedConstants | None = None
    """What was found without running; None: not compared."""
    threads: tuple[int, ...] = (1,)
    """Numbers of threads that ran the rewritten model: a model for two cores runs on one and on two."""

    @property
    def bit_exact(self) -> bool:
        """Whether nothing differed in all that was tried."""
        same = self.difference is None and (self.module is None or self.module.bit_exact)
        return same and not self.failure and not (self.constants and self.constants.different)

    @property
    def tried(self) -> int:
        """Inferences that were compared."""
        return self.runs + self.extremes + self.every_value + self.files + self.steps

    @property
    def answer(self) -> str:
        """The answer in a few words."""
        return f"no difference in {self.tried:,} runs" if self.bit_exact else "DIFFERENT"

    def __repr__(self) -> str:
        return f"<Verification: {self.answer}, {self.how}>"

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {"bit_exact": self.bit_exact, "answer": self.answer, "tried": self.tried, **asdict(self)}
