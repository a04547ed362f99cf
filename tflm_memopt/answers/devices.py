"""Results of optimize_devices() and explore_devices(), for several devices that run a network together."""

from dataclasses import dataclass
from typing import Any

from tflm_memopt.answers.convention import convention, plain
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena

LINK_STATE = 64
"""Most bytes of arena in which an operator stores how to continue after it has waited for a message."""


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One of several devices that run a network together."""

    file: str
    """Path of the device's model. Each device has a folder."""
    arena: Arena
    flash: int
    """Bytes of the model file."""
    weights: int
    """Bytes of the filters and biases that the device stores."""
    sent: int
    """Bytes of the messages that the device sends in one inference."""
    received: int


@dataclass(frozen=True, slots=True)
class OneDevice:
    """The result for a single device that runs the whole network."""

    arena: Arena
    flash: int
    """Bytes of the model file."""
    milliseconds: float | None = None
    """Estimated upper bound on the time of one inference, or None if the speed of the links is unknown."""


@dataclass(frozen=True, slots=True)
class StageOnDevice:
    """Consecutive whole operators that one device runs."""

    device: int
    first: int
    """Index of the first operator that the device runs."""


@dataclass(frozen=True, slots=True)
class DevicesTime:
    """Estimated upper bound on the time of one inference on several devices."""

    rate: float
    """Speed of each link, in bytes per second."""
    latency: float
    """Latency of each link, in milliseconds."""
    computing: tuple[float, ...]
    """Milliseconds of computation per device, without waits."""
    milliseconds: float
    """Milliseconds until the first device has the output."""


@dataclass(frozen=True, slots=True)
class DevicesReport:
    """Report of optimize_devices()."""

    model: str
    devices: tuple[DeviceReport, ...]
    original_arena: Arena
    original_flash: int
    original_weights: int
    alone: OneDevice
    rows: tuple[int, ...]
    """Operators whose rows are split among the devices (FFMT), each of which has all weights of the operators."""
    overlap: tuple[int, ...]
    """Operators that are split by rows so that devices exchange no rows, but compute some rows several times (FTP)."""
    channels: tuple[int, ...]
    """Operators whose output channels are split (FDT, fan-out). A device has only the weights of its channels."""
    inputs: tuple[int, ...]
    """Operators whose input channels are split (FDT, fan-in). Each device computes partial sums."""
    whole: tuple[int, ...]
    """Operators that one device runs alone. The first device runs these operators if `stages` names no other device."""
    split_weights: tuple[int, ...]
    """For each device, bytes of its part of the weights that are split by output or input channels."""
    original_split_weights: int
    room: int
    """Minimum bytes of a link's buffer, if senders wait while the buffer is full."""
    room_for_all: int
    """Bytes that the buffer of a link without flow control needs for all messages of an inference."""
    identity: int
    """Number in every message, which all models of one conversion have in common."""
    seconds: float
    time: DevicesTime | None = None
    """Estimated time, or None if the speed of the links is unknown."""
    stages: tuple[StageOnDevice, ...] = ()
    """Each sequence of unsplit operators on one device, in order. Empty if one device runs all unsplit operators."""

    @property
    def convention(self) -> str:
        """The convention by which RAM figures are counted."""
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

    @property
    def flash_part(self) -> float:
        """Size of the largest model, divided by the size that each model would have after an even split."""
        return self.flash * len(self.devices) / self.alone.flash

    @property
    def drawbacks(self) -> tuple[str, ...]:
        """Sentences that state in which respects a single device is at least as good as several devices."""
        found, alone = [], self.alone
        more = self.ram - alone.arena.total
        if more > 0:
            weights = bool(self.channels or self.inputs) and not self.stages
            rows = "to read inputs of layers that share weights" if weights else "because devices exchange whole rows"
            why = "for the state of its links" if more <= LINK_STATE else rows
            found.append(
                f"the largest device needs {more:,} B more RAM than one device alone, {why}; "
                f"use several devices only if a device has less than {alone.flash:,} B of flash"
            )
        elif more == 0:
            found.append("the largest device needs as much RAM as one device alone")
        if self.flash >= alone.flash:
            found.append("the largest model is not smaller than that of one device alone")
        if self.time and alone.milliseconds is not None and self.time.milliseconds >= alone.milliseconds:
            found.append(f"an inference is not faster than on one device alone, {alone.milliseconds:,.1f} ms")
        return tuple(found)

    def __repr__(self) -> str:
        arenas = ", ".join(d.arena.figure(d.arena.total) for d in self.devices)
        return f"<DevicesReport of {self.model!a}: arenas of {arenas} B, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        return plain(self) | {"drawbacks": self.drawbacks}


@dataclass(frozen=True, slots=True)
class OptimizedDevices:
    """The models of several devices that run a network together, in the order of the devices, and their report."""

    models: tuple[Optimized, ...]
    report: DevicesReport


@dataclass(frozen=True, slots=True)
class DevicesPoint:
    """A split of a network. No other split needs both less memory on the largest device and less time."""

    devices: int
    """Number of devices that run operators, which is 1 if the first device runs the whole network."""
    rows: tuple[int, ...]
    """Operators that are split by rows. DevicesReport describes `rows`, `whole` and the fields between them."""
    overlap: tuple[int, ...]
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
    """Estimated upper bound on the time of one inference."""
    stages: tuple[StageOnDevice, ...] = ()
    """Each sequence of unsplit operators on one device, as in DevicesReport."""
    board: tuple[BoardFit, ...] = ()
    """Whether each device's model fits on the board of the exploration, with the bytes that are left."""

    @property
    def memory(self) -> int:
        """Bytes of arena and model together on the device that needs the most."""
        return self.ram + self.flash

    @property
    def left(self) -> tuple[int, int] | None:
        """Return the fewest free bytes of RAM and of flash on the board of a device, or None if no board is set."""
        if not self.board:
            return None
        return min(one.ram_left for one in self.board), min(one.flash_left for one in self.board)


@dataclass(frozen=True, slots=True)
class DevicesExploration:
    """Result of explore_devices(): splits with the memory of the largest device and the time, fastest split first."""

    model: str
    devices: int
    rate: float
    """Speed of each link, in bytes per second."""
    latency: float
    """Latency of each link, in milliseconds."""
    core: str
    mhz: float
    original_arena: Arena
    original_flash: int
    points: tuple[DevicesPoint, ...]
    seconds: float
    board: str | None = None
    """Id of the board of all devices, or None without a board."""

    @property
    def convention(self) -> str:
        """The convention by which RAM figures are counted."""
        return convention(self.original_arena)

    def __repr__(self) -> str:
        return f"<DevicesExploration of {self.model!a}: {len(self.points)} points, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        points = [plain(point) | {"memory": point.memory} for point in self.points]
        return plain(self) | {"convention": self.convention, "points": points}
