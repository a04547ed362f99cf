"""What optimize() answers for an application: plain data, computed once; the report only shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from tflm_memopt import generic
from tflm_memopt.application.app import App
from tflm_memopt.generic import Picture
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.results import Optimized, PointReport
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class Reserved:
    """Bytes [first, end) of the arena that others leave alone while a model does not run, and why."""

    model: str
    tensor: str
    first: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Pausing:
    """A model that pauses while shorter ones run."""

    model: str
    runs: tuple[str, ...]
    """Models that may run then."""
    pauses: tuple[int, ...]
    """After so many firings."""
    milliseconds: float
    """The longest time from one to the next, estimated, at the most."""


@dataclass(frozen=True, slots=True)
class AppReport:
    """APP.report.json. Bytes throughout, counted as `arena.abi` says."""

    app: str
    arena: Arena
    """What all models take together, their interpreters made with one MicroAllocator."""
    arena_size: int
    """To declare: enough for any build of TFLM with this width of pointers."""
    apart: int
    """The models as they are, each in an arena of its own."""
    shared: int
    """The models as they are, with one MicroAllocator and in turn, as TFLM has it."""
    alone: int
    """The rewritten models, each in an arena of its own."""
    stacked: int
    """Head if models that may run at once had whole heads side by side, and what is reserved above all others."""
    lower_bound_head: int
    proven: bool
    """No layout of these plans has a lower head."""
    concurrent: tuple[tuple[str, ...], ...]
    reserved: tuple[Reserved, ...]
    pausing: tuple[Pausing, ...]
    curve: tuple[tuple[float, int], ...]
    """Milliseconds between pauses at the most, and bytes of the arena then."""
    ram_limit: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class AppOptimized:
    """An application whose models share an arena: each model's own result, and what is told of them together."""

    app: App
    models: Mapping[str, Optimized]
    report: AppReport
    memory: MemoryMap = field(repr=False)
    """All models, one after the other, each over its steps."""

    def to_json(self) -> dict[str, Any]:
        """The report, and of each model its own arena and multiply-accumulates."""
        r = self.report
        plain = {
            name: getattr(r, name) for name in r.__dataclass_fields__ if name not in ("arena", "reserved", "pausing")
        }
        each = {
            name: {
                "arena": done.report.arena.to_json(),
                "macs": {"original": done.report.macs.original, "rewritten": done.report.macs.rewritten},
            }
            for name, done in self.models.items()
        }
        reserved = [
            {"model": x.model, "tensor": x.tensor, "first": x.first, "end": x.end, "why": x.why} for x in r.reserved
        ]
        pausing = [asdict(one) for one in r.pausing]
        return plain | {"arena": r.arena.to_json(), "reserved": reserved, "pausing": pausing, "models": each}

    def files(self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()) -> Mapping[str, bytes]:
        """Name -> content of all that optimize leaves: each model's files, the header of all, the report."""
        return generic.files(self, emit, labels)

    def save(self, folder: str | PathLike[str], emit: str | Collection[str] = "cpp") -> list[Path]:
        """Writes files() into a folder, all or none, and gives their paths."""
        return generic.save(self, Path(folder), emit, ())


@dataclass(frozen=True, slots=True)
class AppPoint:
    """A choice of a point for each model that no other choice beats in RAM and load."""

    points: Mapping[str, int]
    """By model: the number of its point."""
    arena: int
    """Bytes of all models together: whole heads side by side where models meet."""
    head: int
    tail: int
    instructions: int
    """What all models take, each as often in a second as its rate says, or once."""
    busy: float | None
    """Share of the core's time, at the rates that were asked for; None: none was."""


@dataclass(frozen=True, slots=True)
class AppExploration:
    """What explore() says of an application: each model's frontier, and that of all together, the least load first."""

    app: str
    convention: str
    core: str
    models: Mapping[str, Sequence[PointReport]]
    points: tuple[AppPoint, ...]
    proven: bool
    """No choice of these points is missing."""
    apart: int
    """The models as they are, each in an arena of its own."""
    seconds: float

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("models", "points")}
        models = {name: [point.to_json() for point in points] for name, points in self.models.items()}
        return plain | {"models": models, "points": [asdict(point) for point in self.points]}

    def plot(self) -> Picture:
        """RAM against load. A notebook shows it; `.save("app.svg")` writes it."""
        return generic.picture(self)
