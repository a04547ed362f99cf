"""Result of optimize() for a folder of models."""

from dataclasses import dataclass
from typing import Any

from tflm_memopt.answers.report import Report
from tflm_memopt.errors import MemoptError


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a folder with its report, or with the error that its conversion raised."""

    model: str
    report: Report | None = None
    error: MemoptError | None = None

    def to_json(self) -> dict[str, Any]:
        error = self.error and {k: v for k, v in self.error.to_json().items() if k != "file"}
        return {"model": self.model, "report": self.report and self.report.to_json(), "error": error}


@dataclass(frozen=True, slots=True)
class Batch:
    folder: str
    models: tuple[Entry, ...]

    @property
    def rewritten(self) -> int:
        return sum(m.report is not None and m.report.changed for m in self.models)

    @property
    def failed(self) -> int:
        return sum(m.error is not None for m in self.models)

    @property
    def unchanged(self) -> int:
        return len(self.models) - self.rewritten - self.failed

    def to_json(self) -> dict[str, Any]:
        counts = {"rewritten": self.rewritten, "unchanged": self.unchanged, "failed": self.failed}
        return {"folder": self.folder, **counts, "models": [m.to_json() for m in self.models]}
