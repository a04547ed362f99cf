"""Result of explore(): plans of a model, none of which needs both more RAM and more time than another."""

from dataclasses import dataclass, field
from typing import Any

from tflm_memopt.analysis.costs import Cost, Work
from tflm_memopt.answers.convention import convention, plain
from tflm_memopt.answers.report import MemoriesReport
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class PointReport:
    """A checked and lowered plan: no other plan of the frontier needs both fewer bytes and a lower cost."""

    overhead: float
    """Compute factor F: the executed multiply-accumulates, divided by those of the original model."""
    macs: int
    arena: Arena
    groups: int
    tiled: int
    """Number of groups of operators that compute tiles instead of whole rows."""
    instructions: int
    """Estimated instructions on the exploration's core (analysis/costs.py), without builtin operators."""
    rematerialisations: int
    """Number of tensors that are computed a second time instead of being kept."""
    proven: bool
    """True if the arena head is proven to be the smallest for the plan's groups."""
    plan: Plan
    board: BoardFit | None = None
    """How the model fits on the user's board, or None if the user named no board."""
    milliseconds: tuple[float, float] | None = None
    """Lower and upper bound of the time of one inference on the board, or None if the time is unknown."""
    work: tuple[Work, ...] = field(default=(), repr=False)
    memories: MemoriesReport | None = None
    """Number of bytes in fast and slow memory, or None for a plan without slow memory."""

    @property
    def left(self) -> tuple[int, int] | None:
        """Free bytes of the board's RAM and flash, or None if the user named no board."""
        return (self.board.ram_left, self.board.flash_left) if self.board else None

    def price(self, cost: Cost) -> float:
        """Return the plan's compute factor, its instructions, or the upper bound of its milliseconds, as `cost`
        selects.
        """
        if cost == "time" and self.milliseconds:
            return self.milliseconds[1]
        return self.overhead if cost == "macs" else self.instructions

    def __repr__(self) -> str:
        return f"<PointReport: F {self.overhead:.3f}, arena {self.arena.figure(self.arena.total)} B>"

    def to_json(self) -> dict[str, Any]:
        return plain(self, "plan", "work")


@dataclass(frozen=True, slots=True)
class Exploration:
    """Result of explore(): a model's frontier, least cost first, and the figures of the original model under TFLM."""

    model: str
    input: str
    op_per: str
    target: str
    cost: Cost
    """Cost by which plans are compared, besides bytes: multiply-accumulates, estimated instructions, or time."""
    core: str
    without: tuple[str, ...]
    original_macs: int
    original_arena: Arena
    points: tuple[PointReport, ...]
    """First all plans of the frontier, and then all plans that use slow memory."""
    seconds: float
    original_instructions: int | None = None
    """Estimated instructions of the original model with CMSIS-NN, or None if the estimate is unknown or some operators
    stay builtin.
    """
    original_milliseconds: tuple[float, float] | None = None
    """Lower and upper bound of the original model's time on the board, or None if the time is unknown."""
    board: str | None = None
    """Id of the board that the user named, or None. Each plan states the free bytes of the board."""

    @property
    def slow(self) -> bool:
        return any(point.memories for point in self.points)

    @property
    def convention(self) -> str:
        return convention(self.original_arena, self.input)

    def __repr__(self) -> str:
        before = self.original_arena.figure(self.original_arena.total)
        what = f"{len(self.points)} points, TFLM today {before} B, {self.convention}"
        return f"<Exploration of {self.model!a}: {what}>"

    def to_json(self) -> dict[str, Any]:
        points = [point.to_json() for point in self.points]
        return plain(self, "points") | {"convention": self.convention, "points": points}
