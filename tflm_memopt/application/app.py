"""An application: its models, each with its options, and which of them may run at the same time. Plain data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import NAME_HINT, GivenModel, name_fault, same_on_disk

Options = Mapping[str, Any]
"""Names and values of OptimizeOptions (options.py)."""
MOST_MODELS = 32
"""TMO_MAX_MODELS."""


@dataclass(frozen=True, slots=True)
class AppModel:
    """A model of an application."""

    model: GivenModel
    options: Options = field(default_factory=dict)
    """As optimize() takes them; what is not said here, the application says."""
    retain: bool | Collection[int | str] = False
    """Outputs that stay until the model runs again, by number or name; true: all of them."""
    fps: float | None = None
    """Inferences each second: all models together have the core's time."""
    ms: float | None = None
    """Milliseconds that one inference may take."""
    pipeline: Sequence[int | str] = ()
    """Operators at which further partitions start, by number or by the name of their output: NAME_1, NAME_2 and so on
    run at the same time, on frames one behind the other. Empty: the model runs as a whole."""

    @property
    def most(self) -> float | None:
        """Milliseconds that an inference may take; None: any."""
        return min((n for n in (self.ms, 1000 / self.fps if self.fps else None) if n is not None), default=None)


@dataclass(frozen=True, slots=True)
class App:
    """Models that share an arena. Two of them exclude each other unless `concurrent` says that they may overlap."""

    models: Mapping[str, AppModel]
    """By the name of their files and identifiers."""
    concurrent: Sequence[Collection[str]] = ()
    """Models that may run at the same time, all of a group."""
    yields: float | None = None
    """The longer of two models that may run at the same time pauses for the shorter, at least every so many
    milliseconds; None: they lie side by side."""
    ram: int | None = None
    """Bytes for the arena of all, at the most."""
    name: str = "app"
    options: Options = field(default_factory=dict)
    """For all models."""
    source: Path | None = None
    """The file that says all this."""

    def __post_init__(self) -> None:
        """Raises UsageError for names that no file can have, unknown names, and for too many models."""
        if not self.models:
            raise UsageError(
                "the application has no models", code="app_no_models", hint='[models.NAME] with file = "NAME.tflite"'
            )
        if len(self.models) > MOST_MODELS:
            raise UsageError(
                f"{len(self.models)} models are more than an application has",
                code="app_many",
                where="models",
                hint=f"{MOST_MODELS} at most",
            )
        _demand_file_names(self.models)
        for name in (name for group in self.concurrent for name in group):
            if name not in self.models:
                raise UsageError(
                    f"'{name}' is no model of the application",
                    code="app_unknown_model",
                    where="concurrent",
                    hint=one_of(name, self.models),
                )

    @property
    def beside(self) -> frozenset[tuple[str, str]]:
        """Pairs that may run at the same time, in the order of the models."""
        order = list(self.models)
        pairs = (pair for group in self.concurrent for pair in combinations(sorted(set(group), key=order.index), 2))
        return frozenset(pairs)

    def groups(self) -> list[tuple[str, ...]]:
        """Models that may all run at once: the largest such sets."""
        import networkx as nx  # noqa: PLC0415 (only where there is an application)

        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.models)
        graph.add_edges_from(self.beside)
        order = list(self.models)
        return sorted(tuple(sorted(clique, key=order.index)) for clique in nx.find_cliques(graph))


def _demand_file_names(names: Iterable[str]) -> None:
    """Raises UsageError for names that no file can have, and for two that are one on some systems."""
    known: dict[str, str] = {}
    for name in names:
        if fault := name_fault(name):
            what = f"a model cannot be called {name!r}: {fault}"
            raise UsageError(what, code="app_model_name", where="models", hint=NAME_HINT)
        if (other := known.setdefault(same_on_disk(name), name)) != name:
            what = f"the files of '{name}' and '{other}' would be the same on Windows and macOS"
            raise UsageError(what, code="app_names_collide", where="models", hint="names that differ in more than case")
