"""The files of an application: what the command `optimize` writes for app.toml, and AppOptimized.save() in Python."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from tflm_memopt import generic
from tflm_memopt.application.results import AppOptimized
from tflm_memopt.emit import app as header
from tflm_memopt.emit import bundle
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import UsageError
from tflm_memopt.files import keep, write_files
from tflm_memopt.report import app as pages

HERE = ("cpp", "tflite")
"""What is written for several models."""


@generic.files.register
def files(result: AppOptimized, kinds: str | Collection[str], labels: Sequence[str] = ()) -> dict[str, bytes]:
    """File name -> content: those of each model, the header of all, the report and its page.

    Raises UsageError for what is written for one model alone, and for two models whose files have one name.
    """
    wanted = bundle.kinds(kinds)
    if alone := [kind for kind in wanted if kind not in HERE]:
        what = f"--emit {alone[0]} is for one model"
        raise UsageError(what, code="app_emit", hint=f"--emit {', '.join(HERE)}")
    made: dict[str, bytes] = {}
    for name, done in result.models.items():
        own = bundle.files(replace(done, frontier=None), name, wanted, bundle.Given(original=done.original))
        if twice := sorted(own.keys() & made.keys()):
            raise UsageError(
                f"{twice[0]} would be of two models", code="app_same_name", where=f"models.{name}", hint="another name"
            )
        made |= own
    stem = file_stem(result.app.name)
    if "cpp" in wanted:
        made |= {name: text.encode() for name, text in header.files(result).items()}
    made[f"{stem}.report.json"] = bundle.to_json(result.to_json()).encode()
    made[f"{stem}.report.html"] = pages.page(result).encode()
    return made


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
