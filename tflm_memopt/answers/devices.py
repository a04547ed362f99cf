"""What optimize_devices() and explore() answer for several devices that run a network together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tflm_memopt.answers.convention import convention, in_one_line, with_arenas
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One of several devices that run a network together."""

    file: str
    """Its model, in a folder of its own."""
    arena: Arena
    flash: int
    """Bytes of the model."""
    weights: int
    """Bytes of constants that it has of the network: filters and biases."""
    sent: int
    """Bytes of messages in one inference."""
    received: int


@dataclass(frozen=True, slots=True)
class DevicesTime:
    """One inference of several devices, estimated: milliseconds at the most."""

    rate: float
    """Bytes a second over each line."""
    latency: float
    """Milliseconds."""
    computing: tuple[float, ...]
    """By device; waiting not counted."""
    milliseconds: float
    """Until the first device has the output."""


@dataclass(frozen=True, slots=True)
class DevicesReport:
    """What optimize_devices() says."""

    model: str
    devices: tuple[DeviceReport, ...]
    original_arena: Arena
    original_flash: int
    original_weights: int
    rows: tuple[int, ...]
    """Operators of which each device makes some rows, with all weights (FFMT)."""
    channels: tuple[int, ...]
    """Those of which each makes some channels, with their weights alone (FDT, fan-out)."""
    inputs: tuple[int, ...]
    """Those of which each makes partial sums, of some channels of the input (FDT, fan-in)."""
    whole: tuple[int, ...]
    """Those that one device runs alone: the first, or as `cut` says."""
    split_weights: tuple[int, ...]
    """Bytes that each device has of the weights that are split by channels, of the output or of the input."""
    original_split_weights: int
    room: int
    """Bytes that a line from one device to another has to hold, at least."""
    identity: int
    """In every message: the models that belong together."""
    seconds: float
    time: DevicesTime | None = None
    """None: nobody said how fast the lines are."""
    cut: tuple[int, ...] = ()
    """The first operators of the devices behind the first, where each runs all of its operators alone."""

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.original_arena)

    @property
    def ram(self) -> int:
        """Bytes of the largest arena."""
        return max(d.arena.total for d in self.devices)

    @property
    def flash(self) -> int:
        """Bytes of the largest model."""
        return max(d.flash for d in self.devices)

    @property
    def sent(self) -> int:
        """Bytes of all messages in one inference."""
        return sum(d.sent for d in self.devices)

    def __repr__(self) -> str:
        arenas = ", ".join(d.arena.figure(d.arena.total) for d in self.devices)
        return f"<DevicesReport of {in_one_line(self.model)}: arenas of {arenas} B, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        return with_arenas(self) | {"devices": [with_arenas(device) for device in self.devices]}


@dataclass(frozen=True, slots=True)
class OptimizedDevices:
    """The models of several devices that run a network together, by their numbers, and the report of all."""

    models: tuple[Optimized, ...]
    report: DevicesReport


@dataclass(frozen=True, slots=True)
class DevicesPoint:
    """A way to share a network that no other one beats in the memory of its largest device and in time."""

    devices: int
    """That take part; 1: the first one runs the network alone."""
    rows: tuple[int, ...]
    """Operators, as DevicesReport has them."""
    channels: tuple[int, ...]
    inputs: tuple[int, ...]
    whole: tuple[int, ...]
    ram: int
    """Bytes of the largest arena."""
    flash: int
    """Bytes of the largest model."""
    sent: int
    """Bytes of all messages in one inference."""
    milliseconds: float
    """For one inference, at most, estimated."""
    board: tuple[BoardFit, ...] = ()
    """What each of them leaves of the exploration's board, by their numbers."""

    @property
    def memory(self) -> int:
        """What the largest device has to have: arena and model."""
        return self.ram + self.flash

    @property
    def left(self) -> tuple[int, int] | None:
        """Bytes of the board's RAM and flash on the device that leaves the least of each; None without a board."""
        if not self.board:
            return None
        return min(one.ram_left for one in self.board), min(one.flash_left for one in self.board)


@dataclass(frozen=True, slots=True)
class DevicesExploration:
    """What explore_devices() says: the memory of the largest device against time, the fastest first."""

    model: str
    devices: int
    rate: float
    """Bytes a second over each line."""
    latency: float
    """Milliseconds."""
    core: str
    mhz: float
    original_arena: Arena
    original_flash: int
    points: tuple[DevicesPoint, ...]
    seconds: float
    board: str | None = None
    """The board that each device is: of whose RAM and flash each point says what is left."""

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.original_arena)

    def __repr__(self) -> str:
        return f"<DevicesExploration of {in_one_line(self.model)}: {len(self.points)} points, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        points = [asdict(point) | {"memory": point.memory} for point in self.points]
        return with_arenas(self) | {"convention": self.convention, "points": points}
