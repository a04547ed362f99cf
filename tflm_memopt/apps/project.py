"""Writes the C++ program of a project with several models that share an arena (emit/project.py)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflm_memopt.apps.header import files as header
from tflm_memopt.apps.header import library_file
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.array import ALIGNMENT
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.emit.names import comment, file_stem, identifier
from tflm_memopt.emit.program import INVOKE, Platform, Subject, Texts, escaped, inference, printed, stored
from tflm_memopt.emit.project import Project
from tflm_memopt.emit.readme import About
from tflm_memopt.emit.templates import rendered
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.telling import keeps_state


def of_app(result: AppOptimized, subjects: Mapping[str, Subject], models: Texts, boards: Collection[str]) -> Project:
    """The argument `subjects` states what the program prints and tests for each model. The argument `boards` has the
    boards on which all models fit.
    """
    name, each = file_stem(result.app.name), list(result.models.values())
    inputs = {file: text for subject in subjects.values() for file, text in stored(subject).items()}

    def main(platform: Platform) -> str:
        return _program(result, subjects, replace(platform, cameras=False))

    return Project(
        name=name,
        main=main,
        files={**header(result), **models, **inputs},
        library=bool(library_file(result)),
        boards=boards,
        about=About(
            name,
            tuple(subject.name for subject in subjects.values()),
            f"{result.report.arena_size:,}" if result.report.arena_size else "an unknown number of",
            all(subject.sample.real for subject in subjects.values()),
        ),
        packed=frozenset(family for done in each for family in firmware(done.model).packed),
        board=next((done.report.board.board for done in each if done.report.board), ""),
        slow=result.report.slow,
        models=sum(len(done.model) for done in each),
    )


def _program(result: AppOptimized, subjects: Mapping[str, Subject], platform: Platform) -> str:
    runs = {one.model: one.runs for one in result.report.pausing}
    models = [
        _model(subject, platform, [identifier(subjects[other].name) for other in runs.get(name, ())])
        | {"slow_at": result.report.slow_offsets.get(name)}
        | {"stateful": keeps_state(read(result.models[name].original)) or bool(subject.report.window)}
        for name, subject in subjects.items()
    ]
    name = file_stem(result.app.name)
    return rendered(
        "app.cpp.jinja",
        c=identifier(name), about=comment(name), platform=platform, alignment=ALIGNMENT, models=models,
        slow=result.report.slow,
        own=[f"{name}_app.h", *(f"{subject.name}_sample.h" for subject in subjects.values())],
    )  # fmt: skip


def _model(subject: Subject, platform: Platform, runs: Sequence[str]) -> dict[str, Any]:
    """The argument `runs` has the C names of the models that run while the model of `subject` pauses."""
    said, source = f"{printed(subject.name)}: ", subject.report.source
    return {
        "c": identifier(subject.name),
        "about": comment(subject.name),
        "said": escaped(subject.name),
        "runs": runs,
        "inference": inference(subject, platform, "run_with_pauses()" if runs else INVOKE, said),
        "variables": subject.report.arena.variables,
        "external": bool(source and not source.pushed),
        "slides": bool(subject.report.window),
    }
