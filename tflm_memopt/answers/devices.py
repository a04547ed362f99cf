"""Results of optimize_devices() and explore_devices(), for a network that runs on several devices."""

from dataclasses import dataclass
from typing import Any

from tflm_memopt.answers.convention import convention, plain
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena

LINK_STATE = 64
"""An operator that waits for a message keeps its progress in at most LINK_STATE bytes of the arena."""


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One of several devices that run a network together."""

    file: str
    """Path of the device's model in the device's own folder."""
    arena: Arena
    flash: int
    weights: int
    """Number of bytes of the filters and biases that the device stores."""
    sent: int
    """Number of bytes of all messages that the device sends in one inference."""
    received: int


@dataclass(frozen=True, slots=True)
class OneDevice:
    """The result for a single device that runs the whole network."""

    arena: Arena
    flash: int
    """Size of the .tflite file in bytes."""
    weights: int
    """Number of bytes of all filters and biases."""
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class StageOnDevice:
    """A sequence of operators that one device runs alone."""

    device: int
    first: int
    """Index of the first operator of the sequence."""


@dataclass(frozen=True, slots=True)
class DevicesTime:
    """Upper bound of the time of one inference on several devices."""

    rate: float
    """Speed of each link between two devices, in bytes per second."""
    latency: float
    """Latency of each link between two devices, in milliseconds."""
    computing: tuple[float, ...]
    """Milliseconds for which each device computes, without waiting for messages."""
    milliseconds: float
    """Milliseconds until the first device has the network's output."""


@dataclass(frozen=True, slots=True)
class DevicesReport:
    model: str
    devices: tuple[DeviceReport, ...]
    original_arena: Arena
    original_flash: int
    original_weights: int
    alone: OneDevice
    rows: tuple[int, ...]
    """Operators whose output rows are divided among the devices (FFMT). If the output rows are divided, each device
    stores all weights of the operator.
    """
    overlap: tuple[int, ...]
    """Operators that are split by rows without an exchange of rows (FTP)."""
    channels: tuple[int, ...]
    """Operators whose output channels are split, so that each device stores only the weights of its own channels (FDT,
    fan-out).
    """
    inputs: tuple[int, ...]
    """Operators whose input channels are split, so that each device computes partial sums (FDT, fan-in)."""
    whole: tuple[int, ...]
    """Unsplit operators, which by default run on the first device."""
    split_weights: tuple[int, ...]
    """For each device, the number of bytes of split weights that the device stores."""
    original_split_weights: int
    room: int
    """Minimum size in bytes of a buffer for received messages, if senders wait while the buffer is full."""
    room_for_all: int
    """Size in bytes of a buffer for all messages that a link carries in an inference, if senders cannot wait."""
    identity: int
    """Number in every message, by which models of the same conversion recognise each other."""
    seconds: float
    time: DevicesTime | None = None
    """Estimated time, or None if the speed of the links is unknown."""
    stages: tuple[StageOnDevice, ...] = ()
    """Sequences of unsplit operators, each on one device, or () if one device runs all unsplit operators."""

    @property
    def convention(self) -> str:
        return convention(self.original_arena)

    @property
    def ram(self) -> int:
        """Size of the largest arena in bytes."""
        return max(d.arena.total for d in self.devices)

    @property
    def flash(self) -> int:
        """Size of the largest model in bytes."""
        return max(d.flash for d in self.devices)

    @property
    def sent(self) -> int:
        """Number of bytes of all messages in one inference."""
        return sum(d.sent for d in self.devices)

    @property
    def flash_part(self) -> float:
        """Size of the largest model, divided by the size that each model would have after an even split."""
        return self.flash * len(self.devices) / self.alone.flash

    @property
    def drawbacks(self) -> tuple[str, ...]:
        """Sentences that say in which respects a single device is at least as good as several devices."""
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
    models: tuple[Optimized, ...]
    report: DevicesReport


@dataclass(frozen=True, slots=True)
class DevicesPoint:
    """A split of a network: no other split needs both less memory on the largest device and less time. Fields
    without a docstring are described in the class DevicesReport.
    """

    devices: int
    """Number of devices that run operators, or 1 if the first device runs the whole network."""
    rows: tuple[int, ...]
    overlap: tuple[int, ...]
    channels: tuple[int, ...]
    inputs: tuple[int, ...]
    whole: tuple[int, ...]
    ram: int
    flash: int
    sent: int
    milliseconds: float
    """Upper bound of the time of one inference."""
    stages: tuple[StageOnDevice, ...] = ()
    board: tuple[BoardFit, ...] = ()
    """Whether each device's model fits on the user's board, with the bytes that are left."""

    @property
    def memory(self) -> int:
        """Number of bytes of arena and model together on the device that needs the most bytes."""
        return self.ram + self.flash

    @property
    def left(self) -> tuple[int, int] | None:
        """Least free bytes of RAM and flash among the devices, or None if the user named no board."""
        if not self.board:
            return None
        return min(one.ram_left for one in self.board), min(one.flash_left for one in self.board)


@dataclass(frozen=True, slots=True)
class DevicesExploration:
    """Result of explore_devices(): ways to split a network, with the largest device's memory and the time."""

    model: str
    devices: int
    rate: float
    """Speed of each link between two devices, in bytes per second."""
    latency: float
    """Latency of each link between two devices, in milliseconds."""
    core: str
    mhz: float
    original_arena: Arena
    original_flash: int
    points: tuple[DevicesPoint, ...]
    seconds: float
    board: str | None = None
    """Id of the board of each device, or None if the user named no board."""

    @property
    def convention(self) -> str:
        return convention(self.original_arena)

    def __repr__(self) -> str:
        return f"<DevicesExploration of {self.model!a}: {len(self.points)} points, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        points = [plain(point) | {"memory": point.memory} for point in self.points]
        return plain(self) | {"convention": self.convention, "points": points}
