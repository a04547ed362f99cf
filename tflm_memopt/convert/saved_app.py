"""The files of an application: what the command `optimize` writes for app.toml, and AppOptimized.save() in Python."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tflm_memopt import generic
from tflm_memopt.application.results import AppOptimized
from tflm_memopt.convert.app_fit import fit_app
from tflm_memopt.emit import app as header
from tflm_memopt.emit import bundle
from tflm_memopt.emit.app_project import of_app
from tflm_memopt.emit.names import file_stem, identifier
from tflm_memopt.emit.project import Project
from tflm_memopt.errors import UsageError
from tflm_memopt.files import keep, write_files
from tflm_memopt.model.reader import read
from tflm_memopt.report import app as pages
from tflm_memopt.runtime.verify import sample

HERE = ("cpp", "tflite", *bundle.PROJECTS)
"""What is written for several models."""


@generic.files.register
def files(result: AppOptimized, kinds: str | Collection[str], labels: Sequence[str] = ()) -> dict[str, bytes]:
    """File name -> content: those of each model, the header of all, their projects, the report and its page.

    Raises UsageError for what is written for one model alone, and for names that would be given twice.
    """
    wanted = bundle.kinds(kinds)
    if alone := [kind for kind in wanted if kind not in HERE]:
        what = f"--emit {alone[0]} is for one model"
        raise UsageError(what, code="app_emit", hint=f"--emit {', '.join(HERE)}")
    made: dict[str, bytes] = {}
    own_kinds = [kind for kind in wanted if kind not in bundle.PROJECTS]
    taken = {identifier(result.app.name)}
    for name, done in result.models.items():
        own = bundle.files(replace(done, frontier=None), name, own_kinds, bundle.Given(original=done.original))
        if (c := identifier(file_stem(name))) in taken or own.keys() & made.keys():
            what = f"files and identifiers of '{name}' would be of two models, or of the application"
            raise UsageError(what, code="app_same_name", where=f"models.{name}", hint="another name")
        taken.add(c)
        made |= own
    stem = file_stem(result.app.name)
    if "cpp" in wanted:
        made |= {name: text.encode() for name, text in header.files(result).items()}
    if len(own_kinds) < len(wanted):
        project = _project(result)
        for kind in wanted:
            if write := bundle.PROJECTS.get(kind):
                made |= {f"{kind}/{name}": text.encode() for name, text in write(project).items()}
    made[f"{stem}.report.json"] = bundle.to_json(result.to_json()).encode()
    made[f"{stem}.report.html"] = pages.page(result).encode()
    return made


def _project(result: AppOptimized) -> Project:
    """What projects of it are made around."""
    subjects, models = {}, dict[str, str]()
    for name, done in result.models.items():
        given = bundle.Given(partial(sample, done.original, done.model), done.original)
        subjects[name] = bundle.subject(file_stem(name), read(done.model), done, given)
        models |= bundle.cpp(file_stem(name), read(done.model), done, given)
    fitting = [row.board.id for row in fit_app(result).boards if row.rewritten.fits]
    return of_app(result, subjects, models, fitting)


@generic.save.register
def save(
    result: AppOptimized, folder: str | os.PathLike[str], kinds: str | Collection[str], labels: Sequence[str] = ()
) -> list[Path]:
    """Writes them, all or none; no model that was read is overwritten."""
    contents = {Path(folder) / name: content for name, content in files(result, kinds, labels).items()}
    for entry in result.app.models.values():
        if isinstance(entry.model, (str, os.PathLike)):
            keep(Path(entry.model), contents)
    write_files(contents)
    return list(contents)
