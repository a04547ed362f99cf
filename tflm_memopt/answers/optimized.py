"""Result of optimize() for one model."""

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
from tflm_memopt.files import paths_below, write_files
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import BoardFit


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs and outputs of one inference, as bytes."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    real: bool = False
    """True if the user gave the inputs, and False if the inputs are random."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """A rewritten model with its report and its plan. The plan of an unchanged model is None."""

    model: bytes
    plan: Plan | None
    report: Report
    original: bytes
    source: Path | None
    """Path of the original model, if optimize() got a path."""
    inspection: Inspection
    memory: MemoryMap
    fits: tuple[BoardFit, ...]
    """Whether the rewritten model fits on each known board, with the bytes that are left."""
    work: tuple[Work, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"<Optimized {outcome(self.report)}>"

    def files(
        self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = (), inputs: Sequence[NDArray[Any]] = ()
    ) -> Mapping[str, bytes]:
        """Return the content of each file that `optimize` writes, by file name.

        The argument `emit` selects the files: "cpp" for TFLM, "c" for a module without an interpreter, "tflite" for the
        model alone, and "arduino", "platformio" or "esp-idf" for a project. Several kinds of files are given as a list,
        or as a text with commas. For a project, the argument `labels` names each value of the model's first output. The
        argument `inputs` has an array of quantized or real values for each input of the model, as for verify(). The
        first inference in `inputs` becomes the stored example of a project or C module. Without `inputs`, the stored
        example is random.
        """
        return generic.files(self, emit, labels, inputs)

    def save(
        self,
        folder: str | os.PathLike[str],
        emit: str | Collection[str] = "cpp",
        labels: Sequence[str] = (),
        inputs: Sequence[NDArray[Any]] = (),
    ) -> list[Path]:
        """Write all files into a folder and return their paths, or write no file if one file cannot be written.

        The original model is never overwritten.
        """
        files = generic.files(self, emit, labels, inputs, Path(folder))
        return write_files(paths_below(Path(folder), files), [self.source] if self.source else [])
