"""Describes an application as plain data: its models, their options, and which of them may run at the same time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import NAME_HINT, GivenModel, name_fault, same_on_disk

Options = Mapping[str, Any]
"""Options of optimize() by name, as listed by OptimizeOptions in options.py."""
MOST_MODELS = 32
"""Maximum number of models, as TMO_MAX_MODELS in the C library."""


def bad_config(what: str, where: str, hint: str) -> UsageError:
    return UsageError(what, code="bad_config", where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class AppModel:
    model: GivenModel
    options: Options = field(default_factory=dict)
    """Options of optimize() that replace the application's options for the model."""
    retain: bool | Collection[int | str] = False
    """Indices or names of outputs that stay valid until the model runs again, or True for all outputs."""
    fps: float | None = None
    """Number of inferences per second that the model must reach."""
    ms: float | None = None
    """Time limit of one inference, in milliseconds."""
    ms_measured: float | None = None
    """Measured milliseconds of an inference without recompute, to which the estimated times of all plans are scaled."""
    pipeline: Sequence[int | str] = ()
    """Operators at which the model is cut into models NAME_1, NAME_2, ... An operator is given by its index or by the
    name of its output.
    """

    @property
    def most(self) -> float | None:
        return min((n for n in (self.ms, 1000 / self.fps if self.fps else None) if n is not None), default=None)


@dataclass(frozen=True, slots=True)
class App:
    """Several models that share an arena. Only models in one set of the field `concurrent` run at the same time."""

    models: Mapping[str, AppModel]
    """Models of the application by name. The names of written files and of C identifiers contain the model's name."""
    concurrent: Sequence[Collection[str]] = ()
    """Sets of model names. The models of a set may all run at the same time."""
    yields: float | None = None
    """Maximum milliseconds between two pauses of a model, or None if no model pauses.

    If two models may run at the same time, the longer model pauses for the shorter model. Without pauses, models that
    may run at the same time share no bytes.
    """
    ram: int | None = None
    """Limit in bytes of the arena that all models share."""
    model_cores: int = 1
    """Number of cores that run different models at the same time. Models that must not run at the same time stay on one
    core.
    """
    name: str = "app"
    options: Options = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.models:
            raise bad_config("the application has no models", "", '[models.NAME] with file = "NAME.tflite"')
        if len(self.models) > MOST_MODELS:
            what = f"{len(self.models)} models are too many for one application"
            raise bad_config(what, "models", f"use at most {MOST_MODELS} models")
        if self.model_cores > 1 and self.yields is not None:
            what = "models that pause for each other share bytes, so they run on one core"
            raise bad_config(what, "model_cores", "omit yield or model_cores")
        _demand_file_names(self.models)
        for name in (name for group in self.concurrent for name in group):
            if name not in self.models:
                raise bad_config(f"unknown model '{name}'", "concurrent", one_of(name, self.models))
        if alone := [group for group in self.concurrent if len(set(group)) == 1]:
            what = f"'{next(iter(alone[0]))}' has no other model in its group"
            raise bad_config(what, "concurrent", 'name groups of two or more models, as in [["a", "b"]]')

    @property
    def concurrent_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of models that may run at the same time, in the order of the models."""
        order = list(self.models)
        pairs = (pair for group in self.concurrent for pair in combinations(sorted(set(group), key=order.index), 2))
        return frozenset(pairs)

    def on_one_core(self) -> list[list[int]]:
        """Return sets of the indices of models that must stay on one core, because they exclude each other."""
        import networkx as nx  # noqa: PLC0415

        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(len(self.models)))
        concurrent = self.concurrent_pairs
        pairs = combinations(enumerate(self.models), 2)
        graph.add_edges_from((i, j) for (i, a), (j, b) in pairs if (a, b) not in concurrent)
        return sorted(sorted(members) for members in nx.connected_components(graph))

    def groups(self) -> list[tuple[str, ...]]:
        """Return the largest sets of models that may all run at the same time."""
        import networkx as nx  # noqa: PLC0415

        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.models)
        graph.add_edges_from(self.concurrent_pairs)
        order = list(self.models)
        return sorted(tuple(sorted(clique, key=order.index)) for clique in nx.find_cliques(graph))


def _demand_file_names(names: Iterable[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        if fault := name_fault(name):
            raise bad_config(f"a model cannot be called {name!r}: {fault}", "models", NAME_HINT)
        if (other := known.setdefault(same_on_disk(name), name)) != name:
            what = f"the files of '{name}' and '{other}' would have the same name on Windows and macOS"
            raise bad_config(what, "models", "use names that differ in more than case")
