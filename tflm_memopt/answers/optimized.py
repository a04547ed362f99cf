"""Result of optimize() for one model."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt import generic
from tflm_memopt.analysis.costs import Work
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.report import Report, outcome
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import BoardFit


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs and outputs of one inference of a rewritten model, as bytes. The original model gives the same outputs."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    real: bool = False
    """Whether the inputs are the user's example instead of random values."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """A rewritten model with its plan (None for an unchanged model), its report, and the data for its figures."""

    model: bytes
    plan: Plan | None
    report: Report
    original: bytes
    """The original model."""
    source: Path | None
    """Path of the model if it was given as a path."""
    inspection: Inspection
    """Inspection of the original model."""
    memory: MemoryMap
    fits: tuple[BoardFit, ...]
    """Fit of the rewritten model on every board."""
    work: tuple[Work, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"<Optimized {outcome(self.report)}>"

    def files(
        self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = (), inputs: Sequence[NDArray[Any]] = ()
    ) -> Mapping[str, bytes]:
        """Return the files that optimize writes, by name: model, plan, report and source files.

        emit: "cpp", for TensorFlow Lite Micro; "c", a module without an interpreter; "arduino", "platformio" or
        "esp-idf", a project; "tflite", only the model. Several kinds can be given as a list or as a text with commas.
        labels: names for the values of a project's first output. inputs: one array per model input, as verify() takes
        them, or with real numbers. A project or a C module stores the first inference of these arrays as its example,
        or a random inference without arrays.
        """
        return generic.files(self, emit, labels, inputs)

    def save(
        self,
        folder: str | os.PathLike[str],
        emit: str | Collection[str] = "cpp",
        labels: Sequence[str] = (),
        inputs: Sequence[NDArray[Any]] = (),
    ) -> list[Path]:
        """Write files() into a folder, all or none, and return their paths. The original is never overwritten."""
        return generic.save(self, Path(folder), emit, labels, inputs)
