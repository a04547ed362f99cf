"""The models of an application, with their options and chosen plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.apps.app import App, AppModel, bad_config
from tflm_memopt.convert.conversion import Conversion
from tflm_memopt.convert.policy import Decision, decide
from tflm_memopt.convert.request import Request, request
from tflm_memopt.errors import about, one_of
from tflm_memopt.files import loaded
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.effort import Progress
from tflm_memopt.tflm.arena import predict_together


@dataclass(frozen=True, slots=True)
class AppMember(Decision):
    retained: tuple[TensorId, ...] = ()

    @property
    def name(self) -> str:
        return self.task.given.name

    @property
    def asked(self) -> Request:
        return self.task.asked

    @property
    def original(self) -> Inspection:
        return self.task.original

    def decided(self, progress: Progress) -> AppMember:
        """Choose a plan for the model alone, without regard to the other models."""
        progress(f"{self.name}: searching groups", 0, 0)
        made = decide(self.task, partial(progress, f"{self.name}: planning points"))
        return AppMember(**{one.name: getattr(made, one.name) for one in fields(made)}, retained=self.retained)

    @property
    def holds(self) -> bool:
        """Whether the model keeps bytes of the arena head between its inferences."""
        return bool(self.retained) or self.is_pushed

    @property
    def is_pushed(self) -> bool:
        """Whether the model waits for rows of its input, so that other models may run during its inference."""
        source = self.conversion.rows.source if self.conversion.rows else None
        return bool(source and source.pushed)


def members_of(app: App, progress: Progress) -> list[AppMember]:
    """Return the models of an application, still without plans."""
    found = []
    for name, entry in app.models.items():
        progress(f"{name}: reading", 0, 0)
        given = {**app.options, **entry.options}
        weights = given.get("weights", "auto")
        if weights == "ram" and entry.most is not None:
            what = f"'{name}' has a time limit, which cannot be combined with weights = \"ram\""
            raise bad_config(what, f"models.{name}.weights", 'set weights = "flash", or omit fps and ms')
        # By default, weights stay in flash, so that other models can use the RAM.
        asked = request({**given, "weights": "flash" if weights == "auto" else weights})
        with about(entry.model if isinstance(entry.model, Path) else Path(name)):
            task = asked.task(loaded(entry.model, name))
        found.append(AppMember(task, task.start, asked.limits, retained=_retained(task.start, name, entry)))
    return found


def _retained(conversion: Conversion, name: str, entry: AppModel) -> tuple[TensorId, ...]:
    graph = conversion.border.graph
    if isinstance(entry.retain, bool):
        return graph.outputs if entry.retain else ()
    names = {str(k): t for k, t in enumerate(graph.outputs)} | {graph.tensors[t].name: t for t in graph.outputs}
    for wanted in map(str, entry.retain):
        if wanted not in names:
            what = f"the model has no output '{wanted}' to retain"
            raise bad_config(what, f"models.{name}.retain", one_of(wanted, names))
    return tuple(dict.fromkeys(names[str(wanted)] for wanted in entry.retain))


def pairs(app: App) -> frozenset[tuple[int, int]]:
    order = list(app.models)
    return frozenset((order.index(a), order.index(b)) for a, b in app.concurrent_pairs)


def tail_once(members: Sequence[AppMember]) -> int:
    """Return the number of bytes that models save if they share one allocator of TFLM."""
    libraries = [m.asked.options.library for m in members]
    together = predict_together(
        [m.conversion.source for m in members], members[0].asked.options.abi, libraries=libraries
    )
    return sum(m.original.arena.tail for m in members) - together.tail
