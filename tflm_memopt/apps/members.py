"""The models of an application, with their options and chosen plans."""

from collections.abc import Sequence
from dataclasses import dataclass

from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.apps.app import App, AppModel, bad_config
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.inspecting import inspection
from tflm_memopt.convert.policy import Decision
from tflm_memopt.convert.request import Request, request
from tflm_memopt.errors import one_of
from tflm_memopt.files import loaded
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.waiting import Progress
from tflm_memopt.tflm.arena import Arena, predict_together


@dataclass(frozen=True, slots=True)
class AppMember:
    name: str
    data: bytes
    asked: Request
    original: Inspection
    made: Decision
    retained: tuple[TensorId, ...]

    @property
    def conversion(self) -> Conversion:
        return self.made.conversion

    @property
    def chosen(self) -> Converted | None:
        return self.made.chosen

    @property
    def holds(self) -> bool:
        """Whether the model keeps bytes of the head between its inferences."""
        return bool(self.retained) or self.is_pushed

    @property
    def slow(self) -> int:
        return self.chosen.planned.plan.slow_bytes if self.chosen else 0

    @property
    def is_pushed(self) -> bool:
        """Whether other models may run during an inference of this model, which waits for rows of its input."""
        source = self.conversion.rows.source if self.conversion.rows else None
        return bool(source and source.pushed)

    @property
    def arena(self) -> Arena:
        return self.chosen.arena if self.chosen else self.original.arena


def members_of(app: App, progress: Progress) -> list[AppMember]:
    """Return the models of an application, still without plans."""
    found = []
    for name, entry in app.models.items():
        progress(f"{name}: reading", 0, 0)
        data, _, _ = loaded(entry.model, name)
        given = {**app.options, **entry.options}
        weights = given.get("weights", "auto")
        if weights == "ram" and entry.most is not None:
            what = f"'{name}' has a time limit, which cannot be combined with weights = \"ram\""
            raise bad_config(what, f"models.{name}.weights", 'set weights = "flash", or omit fps and ms')
        # Copied weights would leave less RAM for other models.
        asked = request({**given, "weights": "flash" if weights == "auto" else weights})
        conversion = asked.conversion(data)
        original = inspection(
            name, len(data), conversion.source, conversion.original, asked.abi, asked.library,
            int8_interface=asked.int8_io,
        )  # fmt: skip
        made = Decision(conversion, asked.limits, None, "", None)
        found.append(AppMember(name, data, asked, original, made, _retained(conversion, name, entry)))
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
    """Return the pairs of model numbers that may run at the same time."""
    order = list(app.models)
    return frozenset((order.index(a), order.index(b)) for a, b in app.concurrent_pairs)


def tail_once(members: Sequence[AppMember]) -> int:
    """Return the bytes that several models save if they share one allocator of TFLM, and therefore one tail."""
    libraries = [m.asked.library for m in members]
    together = predict_together([m.data for m in members], members[0].asked.abi, libraries=libraries)
    return sum(m.original.arena.tail for m in members) - together.tail
