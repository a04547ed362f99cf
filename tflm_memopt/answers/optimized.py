"""What optimize() answers for a model."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tflm_memopt import generic
from tflm_memopt.analysis.costs import Work
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.report import Report, outcome
from tflm_memopt.generic import Picture
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import BoardFit


@dataclass(frozen=True, slots=True)
class Sample:
    """One inference of a rewritten model: the bytes of each input and output, equal to the original's."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    real: bool = False
    """The inputs are an example of the user's, not random numbers."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """A rewritten model, the plan behind it (None when it is unchanged), the report, and what its pictures show."""

    model: bytes
    plan: Plan | None
    report: Report
    original: bytes
    """The model before."""
    source: Path | None
    """The file that it was read from, if it was given as a path."""
    inspection: Inspection
    """The original."""
    memory: MemoryMap
    fits: tuple[BoardFit, ...]
    """The rewritten model on every board."""
    work: tuple[Work, ...] = field(default=(), repr=False)
    """What each operator of the plan does."""
    frontier: Exploration | None = None
    """When it was asked for."""

    def __repr__(self) -> str:
        return f"<Optimized {outcome(self.report)}>"

    def files(self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()) -> Mapping[str, bytes]:
        """Name -> content of all that optimize leaves: model, plan, report, and what to compile in.

        emit: "cpp", for TensorFlow Lite Micro; "c", a module without an interpreter; "c-specialized", the same as code
        for this model alone; "arduino", "platformio", "esp-idf", a project; "tflite", nothing. A list, or names with
        commas between them. labels: of the values of a project's first output.
        """
        return generic.files(self, emit, labels)

    def save(
        self, folder: str | os.PathLike[str], emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()
    ) -> list[Path]:
        """Writes files() into a folder, all or none, and gives their paths. The original is never overwritten."""
        return generic.save(self, Path(folder), emit, labels)

    def plot(self) -> Picture:
        """The memory before and after. A notebook shows it; `.save("map.svg")` writes it."""
        return generic.picture(self)

    def _repr_html_(self) -> str:
        return generic.summary(self)
