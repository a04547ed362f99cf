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
    """Bytes of arena that interpreters take on this machine. A 32-bit device needs fewer bytes, because its pointers
    are shorter and its interpreter records no allocations.
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
    source: str
    sanitized: bool
    runs: int
    ports: tuple[PortBytes, ...]
    """Comparison of each model output, or no comparisons if the module did not run."""
    selftest: int
    """Number of wrong bytes in the self-test of the module."""
    failure: str = ""
    """Reason why the C module stopped early, or ""."""

    @property
    def bit_exact(self) -> bool:
        return not self.failure and not self.selftest and not any(port.different for port in self.ports)


@dataclass(frozen=True, slots=True)
class ComparedConstants:
    """Result of comparing the weights, biases, multipliers, shifts and tables of two models."""

    equal: int = 0
    """Number of operators that have equal constants in the rewritten and in the original model."""
    unknown: int = 0
    different: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    runs: int
    extremes: int
    """Number of inferences with extreme inputs: the lowest, the highest, or alternating values."""
    files: int
    seed: int
    guarded: int
    """Number of runs that checked each write of the rewritten model."""
    how: How
    """Runtime of the original model: "tflm-wheel", or "host-reference" for the kernels of this package."""
    measured: Measured | None = None
    difference: Difference | None = None
    failure: str = ""
    """Why the rewritten model did not run, or a description of the first wrong write, or "" after success."""
    module: ModuleRuns | None = None
    """Result of running the C module, or None without a C module."""
    planned_for: str = ""
    """Kernel library for which a model of builtin operators is valid: a value of `--kernels`, or "any". The text is
    empty for a model with custom operators.
    """
    steps: int = 0
    every_value: int = 0
    """Number of inferences for a test in which each input byte takes all 256 values, one after the other."""
    constants: ComparedConstants | None = None
    """Comparison of the models' constants, or None if no constants were compared."""
    threads: tuple[int, ...] = (1,)
    """How many threads ran the model in the tests: 1, or both 1 and 2 for a model made for two cores."""
    undefined: str = ""
    """Reason why TFLM's outputs of the original model are undefined and may vary, or ""."""

    @property
    def bit_exact(self) -> bool:
        same = self.difference is None and (self.module is None or self.module.bit_exact)
        return same and not self.failure and not (self.constants and self.constants.different)

    @property
    def tried(self) -> int:
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
