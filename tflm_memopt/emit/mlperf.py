"""Writes NAME_mlperf.h, MLPerf Tiny's runner interface for a model of that benchmark.

Source of the tasks and their data formats: mlcommons/tiny, benchmark/reference_submissions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflm_memopt.emit.border import Border
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.emit.program import Subject, Texts, rendered
from tflm_memopt.model.interface import format_of


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """One model of the benchmark."""

    id: str
    shape: tuple[int, ...]
    """Shape of the int8 input without the batch."""
    values: int
    """Number of values of the int8 output."""
    sent: str
    """C type of the values that the runner sends."""
    error: bool = False
    """The result is the mean squared difference of output and input."""


TASKS = (
    BenchmarkTask("kws01", (49, 10, 1), 12, "int8_t"),
    BenchmarkTask("vww01", (96, 96, 3), 2, "uint8_t"),
    BenchmarkTask("ic01", (32, 32, 3), 10, "uint8_t"),
    BenchmarkTask("ad01", (640,), 640, "float", error=True),
)


def task_of(of: Border) -> BenchmarkTask | None:
    """Return the benchmark task of a model, or None."""
    if len(of.inputs) != 1 or len(of.outputs) != 1:
        return None
    source, result = of.inputs[0], of.outputs[0]
    quantized = all(t.dtype == "INT8" and format_of(t).scale is not None for t in (source, result))
    fitting = (t for t in TASKS if source.shape in {(1, *t.shape), t.shape} and result.elements == t.values)
    return next(fitting, None) if quantized else None


def runner(subject: Subject) -> Texts:
    """Return NAME_mlperf.h by name for a model of the benchmark, or nothing for other models."""
    if (task := task_of(subject.border)) is None:
        return {}
    text = rendered(
        "mlperf.h.jinja",
        c=identifier(subject.name), about=comment(subject.name), guard=guard(subject.name, "mlperf"), task=task,
        source=subject.report.source, elements=subject.border.inputs[0].elements,
    )  # fmt: skip
    return {f"{subject.name}_mlperf.h": text}
