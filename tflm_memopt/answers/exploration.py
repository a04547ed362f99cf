"""What explore() answers: the frontier of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tflm_memopt import generic
from tflm_memopt.analysis.costs import Work
from tflm_memopt.answers.convention import convention, in_one_line
from tflm_memopt.generic import Picture
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class PointReport:
    """A plan that no other one beats in bytes and in what the exploration counts as cost. Planned, checked, lowered."""

    overhead: float
    """F."""
    macs: int
    arena: Arena
    blocks: int
    tiled: int
    """Tiled blocks among them; the others run row by row."""
    instructions: int
    """Estimate on the exploration's core (analysis/costs.py)."""
    second_passes: int
    """Tensors that are computed a second time instead of waiting for a reduction of themselves."""
    proven: bool
    """No layout of these blocks has a lower head."""
    plan: Plan
    board: BoardFit | None = None
    """What it leaves of the exploration's board."""
    milliseconds: tuple[float, float] | None = None
    """One inference there takes so long, at least and at most, by estimate; None: not known."""
    work: tuple[Work, ...] = field(default=(), repr=False)
    """What each of its operators does."""

    @property
    def left(self) -> tuple[int, int] | None:
        """Bytes of RAM and flash that it leaves of the board; None without one."""
        return (self.board.ram_left, self.board.flash_left) if self.board else None

    def __repr__(self) -> str:
        return f"<PointReport: F {self.overhead:.3f}, arena {self.arena.figure(self.arena.total)} B>"

    def to_json(self) -> dict[str, Any]:
        """All but the plan and the work."""
        plain = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("plan", "work", "arena", "board")
        }
        return plain | {"arena": self.arena.to_json(), "board": self.board and asdict(self.board)}


@dataclass(frozen=True, slots=True)
class Exploration:
    """What explore() says: the frontier of a model, least compute first, and TFLM today as the reference.

    Compute is multiply-accumulates or, with `cost` "instructions", their estimate.
    """

    model: str
    input: str
    op_per: str
    target: str
    cost: str
    """What a point costs besides bytes: "macs" or "instructions"."""
    core: str
    """The core on which instructions are estimated."""
    without: tuple[str, ...]
    original_macs: int
    original_arena: Arena
    points: tuple[PointReport, ...]
    """None when no operator can run row by row."""
    seconds: float
    board: str | None = None
    """The board of whose RAM and flash each point says what is left."""

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.original_arena, self.input)

    def __repr__(self) -> str:
        before = self.original_arena.figure(self.original_arena.total)
        what = f"{len(self.points)} points, TFLM today {before} B, {self.convention}"
        return f"<Exploration of {in_one_line(self.model)}: {what}>"

    def plot(self) -> Picture:
        """The frontier. A notebook shows it; `.save("frontier.svg")` writes it."""
        return generic.picture(self)

    def _repr_svg_(self) -> str:
        return self.plot()._repr_svg_()

    def to_json(self) -> dict[str, Any]:
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("points", "original_arena")}
        return kept | {
            "convention": self.convention,
            "original_arena": self.original_arena.to_json(),
            "points": [point.to_json() for point in self.points],
        }
