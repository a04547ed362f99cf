"""The result of `verify` as plain data."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tflm_memopt.runtime.cases import Difference
from tflm_memopt.runtime.process import RecordedArena

How = Literal["tflm-wheel", "host-reference"]
TFLM_WHEEL: How = "tflm-wheel"
HOST_REFERENCE: How = "host-reference"


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of arena that the interpreters took on this machine. A 32-bit device needs fewer bytes, because its
    pointers are shorter and its interpreter records no allocations.
    """

    original: RecordedArena
    rewritten: RecordedArena
    abi: str = "lp64"
    recording: bool = True


@dataclass(frozen=True, slots=True)
class PortBytes:
    output: int
    name: str
    bytes: int
    different: int


@dataclass(frozen=True, slots=True)
class ModuleRuns:
    """The result of running a C module of `optimize --emit c` on this machine."""

    source: str
    sanitized: bool
    """Whether the module was compiled with AddressSanitizer and UndefinedBehaviorSanitizer."""
    runs: int
    ports: tuple[PortBytes, ...]
    """Comparison of each model output, or () if the module did not run."""
    selftest: int
    """Number of wrong bytes in the module's self-test."""
    failure: str = ""
    """Reason why the module did not run to its end, or ""."""

    @property
    def bit_exact(self) -> bool:
        return not self.failure and not self.selftest and not any(port.different for port in self.ports)


@dataclass(frozen=True, slots=True)
class ComparedConstants:
    """Result of comparing weights, biases, multipliers, shifts and tables of two models without running them."""

    equal: int = 0
    """Number of operators in the rewritten model whose constants equal those of the original model."""
    unknown: int = 0
    """Number of operators in the rewritten model without a counterpart in the original model."""
    different: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    runs: int
    extremes: int
    """Number of inferences with extreme inputs: the lowest, the highest, and alternating values."""
    files: int
    seed: int
    guarded: int
    """Number of runs in the host executor that checks all writes."""
    how: How
    """Program that ran the original model: "tflm-wheel", or "host-reference" for the kernels of this package."""
    measured: Measured | None = None
    difference: Difference | None = None
    failure: str = ""
    """Reason why the rewritten model did not run, or the first wrong write, or ""."""
    module: ModuleRuns | None = None
    """Result of running the C module, or None if no C module was given."""
    planned_for: str = ""
    """Kernel library that a model of builtin operators requires, "any", or "" for other models."""
    steps: int = 0
    every_value: int = 0
    """Number of inferences in which each byte of an input takes every value."""
    constants: ComparedConstants | None = None
    """Comparison of the models' constants, or None if they were not compared."""
    threads: tuple[int, ...] = (1,)
    """Numbers of threads on which the rewritten model ran: 1, or 1 and 2 for a model that is made for two cores."""
    undefined: str = ""
    """Reason why TFLM's results of the original model are undefined and may differ between runs, or ""."""

    @property
    def bit_exact(self) -> bool:
        """Whether no comparison found a difference."""
        same = self.difference is None and (self.module is None or self.module.bit_exact)
        return same and not self.failure and not (self.constants and self.constants.different)

    @property
    def tried(self) -> int:
        """Number of inferences that were compared."""
        return self.runs + self.extremes + self.every_value + self.files + self.steps

    @property
    def answer(self) -> str:
        if self.bit_exact:
            return f"no difference in {self.tried:,} runs"
        return "DIFFERENT, but TFLM's results of the original are undefined" if self.undefined else "DIFFERENT"

    def __repr__(self) -> str:
        return f"<Verification: {self.answer}, {self.how}>"

    def to_json(self) -> dict[str, Any]:
        return {"bit_exact": self.bit_exact, "answer": self.answer, "tried": self.tried, **asdict(self)}
