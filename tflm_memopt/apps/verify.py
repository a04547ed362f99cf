"""Verifies that an application's rewritten models compute equal outputs and do not disturb each other."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tflm_memopt.apps.app import App
from tflm_memopt.apps.members import AppMember, members_of
from tflm_memopt.apps.optimize import check_app
from tflm_memopt.apps.pipeline import expanded
from tflm_memopt.convert.conversion import Converted
from tflm_memopt.convert.verify import verify
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import InterfaceError, PlanError, UsageError, about
from tflm_memopt.files import read_file, read_model
from tflm_memopt.plan.effort import Progress
from tflm_memopt.runtime.verification import Verification


@dataclass(frozen=True, slots=True)
class AppVerification:
    models: Mapping[str, Verification]

    @property
    def bit_exact(self) -> bool:
        return all(one.bit_exact for one in self.models.values())

    def to_json(self) -> dict[str, Any]:
        return {"bit_exact": self.bit_exact, "models": {name: one.to_json() for name, one in self.models.items()}}


def verify_app(
    app: App, folder: Path, progress: Progress, *, runs: int | None = None, seed: int = 0
) -> AppVerification:
    """Compare every output byte of each original model and its rewritten model in `folder`.

    All plans are also checked for every order in which the models may run. Raises InterfaceError if models overwrite
    each other's bytes. Raises the errors of verify() for each model.
    """
    app = expanded(app)
    rewritten = {name: read_model(folder / f"{file_stem(name)}.tflite") for name in app.models}
    members, given = [], list(members_of(app, progress))
    others = sum(member.conversion.largest for member in given)
    for member in given:
        with about(folder / f"{file_stem(member.name)}.plan.json"):
            chosen = _as_saved(member, rewritten[member.name], folder, others)
        members.append(replace(member, chosen=chosen))
    try:
        check_app(members, app)
    except PlanError as error:
        raise InterfaceError(
            "the models overwrite each other's bytes: they were not rewritten for one arena",
            code="other_model",
            where=error.what,
            hint="optimize app.toml instead of single models",
        ) from error
    found = {}
    for member in members:
        progress(f"{member.name}: running", 0, 0)
        found[member.name] = verify(member.task.given.data, rewritten[member.name], runs=runs, seed=seed)
    return AppVerification(found)


def _as_saved(member: AppMember, model: bytes, folder: Path, others: int) -> Converted | None:
    if model == member.task.given.data:
        return None
    document = json.loads(read_file(folder / f"{file_stem(member.name)}.plan.json"))
    found: Converted = member.conversion.saved(document, others)
    if found.model != model:
        raise UsageError(
            f"the plan is not that of {file_stem(member.name)}.tflite in the same folder",
            code="bad_plan",
            hint="optimize app.toml again, into a new folder",
        )
    return found
