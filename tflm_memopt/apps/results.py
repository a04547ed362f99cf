"""Results of optimize() and explore() for an application, as plain data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from tflm_memopt import generic
from tflm_memopt.answers.convention import plain
from tflm_memopt.answers.exploration import PointReport
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.apps.app import App
from tflm_memopt.files import paths_below, write_files
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class Reserved:
    """Bytes from `first` to `end` - 1 that a model keeps while it does not run, and the reason."""

    model: str
    tensor: str
    first: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Pausing:
    model: str
    runs: tuple[str, ...]
    pauses: tuple[int, ...]
    """For each pause, how many iterations the model has executed before it."""
    milliseconds: float
    """Estimated upper bound of the milliseconds between two pauses."""


@dataclass(frozen=True, slots=True)
class CoreLoad:
    """The models that run on a core, and how much of the core's time they use."""

    models: tuple[str, ...]
    busy: float


@dataclass(frozen=True, slots=True)
class AppReport:
    """Contents of APP.report.json, with sizes in bytes for the ABI `arena.abi`."""

    app: str
    arena: Arena
    """Arena that the models share, for interpreters with one MicroAllocator or for C modules."""
    arena_size: int | None
    """Size in bytes of an arena that is enough for every TFLM build with the ABI `arena.abi`, or None for C modules."""
    apart: int
    """Number of bytes of all arenas if each original model has its own arena."""
    shared: int
    """Size in bytes of the arena if the original models run one after the other and share one MicroAllocator."""
    alone: int
    """Number of bytes of all arenas if each rewritten model has its own arena."""
    stacked: int
    """Size in bytes of the arena head in a simple layout, in which concurrent models share no bytes."""
    lower_bound_head: int
    proven: bool
    """True if the arena head is proven to be the smallest for the chosen plans."""
    concurrent: tuple[tuple[str, ...], ...]
    reserved: tuple[Reserved, ...]
    pausing: tuple[Pausing, ...]
    curve: tuple[tuple[float, int], ...]
    """Pairs: the maximum time between pauses in milliseconds, and the smallest arena in bytes."""
    ram_limit: int | None
    seconds: float
    interpreter: bool = True
    slow: int = 0
    slow_offsets: Mapping[str, int] = field(default_factory=dict)
    """Maps a model to the offset in bytes of the model's part of the slow memory."""
    times: Mapping[str, str] = field(default_factory=dict)
    """How the times of each model were estimated or measured. Only models that have a rate, a time limit or pauses in
    app.toml are listed.
    """
    cores: tuple[CoreLoad, ...] = ()
    """The models and the load of each core, or () if no model has a rate."""


@dataclass(frozen=True, slots=True)
class AppOptimized:
    """The result for an application: a result for each model, and a common report."""

    app: App
    models: Mapping[str, Optimized]
    report: AppReport
    memory: MemoryMap = field(repr=False)
    """Shows the memory of the models one after another."""

    def to_json(self) -> dict[str, Any]:
        """Return the report for JSON, with the arena and the multiply-accumulates of each model."""
        reports = {name: done.report for name, done in self.models.items()}
        each = {name: {"arena": one.arena.to_json(), "macs": plain(one.macs)} for name, one in reports.items()}
        return plain(self.report) | {"models": each}

    def files(self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()) -> Mapping[str, bytes]:
        """Return the content of each file that `optimize` writes, by file name."""
        return generic.files(self, emit, labels)

    def save(self, folder: str | PathLike[str], emit: str | Collection[str] = "cpp") -> list[Path]:
        """Write all files into a folder and return their paths, or write no file if one file cannot be written."""
        models = (entry.model for entry in self.app.models.values())
        sources = [Path(model) for model in models if isinstance(model, (str, PathLike))]
        return write_files(paths_below(Path(folder), generic.files(self, emit)), sources)


@dataclass(frozen=True, slots=True)
class AppPoint:
    """A combination of one plan for each model: no other combination is better in both RAM and load."""

    points: Mapping[str, int]
    """Index of each model's plan in `AppExploration.models`."""
    arena: int
    head: int
    tail: int
    instructions: int
    """Instructions of all models in one second or, if no model has a rate, in one inference of each model."""
    busy: tuple[float, ...] | None
    """Fraction of each core's time that its models use at their rates, or None if no model has a rate."""


@dataclass(frozen=True, slots=True)
class AppExploration:
    """Result of explore() for an application: each model's frontier, and the joint frontier from least to most load."""

    app: str
    convention: str
    core: str
    models: Mapping[str, Sequence[PointReport]]
    points: tuple[AppPoint, ...]
    proven: bool
    """Whether the joint frontier is certainly complete."""
    apart: int
    """Number of bytes of all arenas if each original model has its own arena."""
    seconds: float
    times: Mapping[str, str] = field(default_factory=dict)
    """How the times of each model were estimated or measured. Only models that have a rate, a time limit or pauses in
    app.toml are listed.
    """

    def to_json(self) -> dict[str, Any]:
        models = {name: [point.to_json() for point in points] for name, points in self.models.items()}
        return plain(self, "models") | {"models": models}
