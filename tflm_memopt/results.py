"""What optimize(), explore() and inspect() answer: plain data, computed once; the report only shows it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tflm_memopt import generic
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Firmware, Footprint
from tflm_memopt.analysis.timing import Time
from tflm_memopt.errors import MemoptError
from tflm_memopt.generic import Picture
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.targets.boards import Board, BoardFit
from tflm_memopt.tflm.arena import Arena

PLANNED_FOR: Mapping[str, str] = {
    "": "",
    "any": "any kernels: where an output grows into an input, reference kernels, CMSIS-NN and ESP-NN allow it",
    "reference": "TFLM's reference kernels: with others the outputs may be wrong",
    "cmsis-nn": "CMSIS-NN: nothing overlaps where its own kernels run",
    "esp-nn": "ESP-NN: nothing overlaps where its own kernels run",
}
"""What a model of builtin operators relies on, for people."""
_KERNELS = {"reference": "reference kernels", "cmsis-nn": "with CMSIS-NN", "esp-nn": "with ESP-NN"}


def convention(arena: Arena, input: str = "arena") -> str:  # noqa: A002 (the option's name)
    """What every RAM figure is quoted with: ABI, where the input lives, whose kernels."""
    kind, _, rows = input.partition(":")
    come = f"{rows} row{'s' * (rows != '1')}"
    where = {
        "arena": "input in the arena",
        "stream": f"input streamed {come}",
        "sliding": f"input sliding by {come}",
        "external": "input external (not counted)",
    }[kind]
    return f"{arena.abi}, {where}, TFLM {_KERNELS[arena.kernels]}" + unknown(arena)


def unknown(arena: Arena) -> str:
    """What is not in the figures."""
    return "" if arena.exact else f", without what {', '.join(arena.unknown)} allocates, which is not known"


def _with_arenas(record: Any) -> dict[str, Any]:
    """A record as plain data, its arenas as Arena.to_json() has them."""
    arenas = {f.name: value for f in fields(record) if isinstance(value := getattr(record, f.name), Arena)}
    return asdict(record) | {name: arena.to_json() for name, arena in arenas.items()}


def _word(name: str) -> str:
    """A name in a repr, which is one line whatever the name is."""
    return ascii(name)


def _rewritten(report: Report) -> str:
    """What became of a model, in a line."""
    before, after = (arena.figure(arena.total) for arena in (report.original_arena, report.arena))
    state = f"arena {before} B -> {after} B" if report.changed else f"unchanged, arena {after} B"
    return f"{_word(report.model)}: {state}, {report.convention}"


@dataclass(frozen=True, slots=True)
class KeptBuiltin:
    """An operator that TFLM's own kernel runs, and why."""

    index: int
    operator: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class RingReport:
    """A tensor of which `depth` of `rows` rows are kept; of a tiled block (`depth` 0): `bytes` of its pixels."""

    tensor: str
    rows: int
    depth: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """An operator inside a block, and how it makes its output there."""

    ops: tuple[int, ...]
    """Indices in the original model."""
    operator: str
    tensor: str
    """Its output."""
    kept: int
    """Bytes of it that the arena has room for."""
    whole: int
    """Bytes of all of it."""
    strip: int
    """Rows that it makes in one strip."""
    tile: int
    """Columns at a time; 0: whole rows."""
    groups: int
    """Channel groups, one at a time."""
    again: bool
    """Rows that two strips share are computed twice."""
    cached: bool
    """Rows that two strips share are kept."""
    sums: bool
    """It adds up int32 sums, an input row or a channel group at a time."""
    packed: bool
    """A kernel of the target runs it; else a generic one does."""
    second_pass: bool = False
    """It computes its tensor a second time, instead of its waiting for a reduction of itself."""


@dataclass(frozen=True, slots=True)
class BlockReport:
    """A fusion block: operators (indices in the original model), what it keeps inside, bytes of its worst moment."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rings: tuple[RingReport, ...]
    strips: int
    """In which a tiled block runs; 0: row by row."""
    accumulators: int
    """Bytes of int32 sums."""
    scratch: int
    """Bytes that kernels take while they run."""
    bytes: int
    """Arena from the lowest to the highest byte that is alive during the block."""
    stages: tuple[StageReport, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceReport:
    """An input or output that `--int8-io` changed."""

    side: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Macs:
    original: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class Flash:
    """Bytes of the .tflite files."""

    original: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class Footprints:
    """Flash of a model as it is and rewritten, on one core."""

    original: Footprint
    rewritten: Footprint


@dataclass(frozen=True, slots=True)
class Balance:
    """What a rewrite saves in RAM and adds to flash, in bytes, on one core (convert/policy.py)."""

    core: str
    """The core whose library was measured."""
    ram_saved: int
    flash_added: int
    """model + library; negative where the file shrinks by more than the library takes."""
    model: int
    """By how much the .tflite file grows."""
    library: int
    """What the rewritten model needs of the C library and its adapter for TFLM: an estimate."""
    tflm: int
    """TFLM's kernels that the model no longer needs, an estimate. They stay where another model wants them: not in
    `flash_added`."""
    worthwhile: bool


@dataclass(frozen=True, slots=True)
class FrameReport:
    """An input that is not in the arena: `rows` of `row_bytes`, of which `pushed` come at once (0: external)."""

    rows: int
    row_bytes: int
    pushed: int


@dataclass(frozen=True, slots=True)
class WindowReport:
    """An input that is a window of `rows`, of which each inference brings `new`; `inferences` fill it."""

    rows: int
    new: int
    inferences: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of test examples that are classified right."""

    examples: int
    keras: float
    int8: float
    """Under TFLM."""
    rewritten: float
    """Under TFLM."""


@dataclass(frozen=True, slots=True)
class CoreReport:
    """What one of two cores does in an inference, waiting not counted."""

    instructions: int
    """Estimated."""
    share: float
    """The part of what one core does that is alone."""
    stack: int
    """Bytes beside the arena: the most that were counted on a Cortex-M33, without what wake and wait take."""


@dataclass(frozen=True, slots=True)
class BarriersReport:
    """How often two cores wait for each other in an inference, and what it takes of each, waiting not counted."""

    count: int
    instructions: int
    """A meeting's, counted on a Cortex-M33."""


@dataclass(frozen=True, slots=True)
class Report:
    """NAME.report.json. Bytes throughout; `arena` and `original_arena`, whose input is in it, by `arena.abi`."""

    model: str
    diagnosis: Diagnosis
    """What the original is."""
    changed: bool
    why_unchanged: str
    input: str
    """"arena", "stream:ROWS" or "external"."""
    frame: FrameReport | None
    window: WindowReport | None
    op_per: str
    target: str
    """The target whose kernels it is packed for."""
    max_macs: float | None
    ram_limit: int | None
    max_instructions: int | None
    without: tuple[str, ...]
    """Ingredients left out."""
    overhead: float
    """F: multiply-accumulates executed / of the original."""
    macs: Macs
    instructions: Mapping[str, int]
    """Estimate of one inference on each core whose target it is (analysis/costs.py), without builtin operators and
    interpreter; none where it is unchanged."""
    dead_channels: int
    """Output channels of operators with weights that were folded away, since they cannot influence any output."""
    arena: Arena
    original_arena: Arena
    lower_bound_head: int
    proven: bool
    """No layout of these blocks has a lower head."""
    blocks: tuple[BlockReport, ...]
    flash: Flash
    kept_builtin: tuple[KeptBuiltin, ...]
    interface: tuple[InterfaceReport, ...]
    interface_kept: tuple[str, ...]
    """Inputs and outputs that `--int8-io` had to leave as they are, and why."""
    boards: tuple[str, ...]
    """Ids of the known boards on which the rewritten model fits beside the core."""
    original_boards: tuple[str, ...]
    seconds: float
    cut_short: tuple[str, ...] = ()
    """Parts of the search (plan/effort.py) that the effort ended early: with more of it, a better plan may be found."""
    balance: Balance | None = None
    """What the rewrite saves and costs, kept or not; None where there is none."""
    board: BoardFit | None = None
    """What is left of the board that was asked for."""
    in_arena: int | None = None
    """Bytes of the whole arena with `--input arena`, where that is less than with the streamed input."""
    accuracy: Accuracy | None = None
    """On the user's test data, if there was any."""
    time: Time | None = None
    """How long an inference takes before and after, estimated."""
    time_limit: float | None = None
    """Milliseconds."""
    arena_size: int | None = None
    """Bytes to declare for the arena: enough for every build of TFLM (NAME_ops.h says for which); None: not known."""
    footprint: Footprints | None = None
    """Flash that inference takes, before and after."""
    planned_for: str = ""
    """Whose kernels tensors may share bytes under, where only builtin operators run: "any", or as `--kernels` has it.
    """
    in_parts: tuple[Tiling, ...] = ()
    """Builtin operators that run in parts, by their numbers in the original."""
    to_register: tuple[str, ...] = ()
    """Kinds of builtin operators that firmware has to register for the rewritten model, and not for the original."""
    cores: tuple[CoreReport, ...] = ()
    """Each of two cores; () where one runs the model."""
    barriers: BarriersReport | None = None

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.arena, self.input)

    def __repr__(self) -> str:
        return f"<Report of {_rewritten(self)}>"

    def to_json(self) -> dict[str, Any]:
        return _with_arenas(self)


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a folder: its report or, as it failed, the error."""

    model: str
    report: Report | None = None
    error: MemoptError | None = None

    def to_json(self) -> dict[str, Any]:
        e = self.error
        error = {"what": e.what, "code": e.code, "where": e.where, "hint": e.hint} if e else None
        return {"model": self.model, "report": self.report and self.report.to_json(), "error": error}


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of a folder's models."""

    folder: str
    models: tuple[Entry, ...]

    @property
    def rewritten(self) -> int:
        return sum(m.report is not None and m.report.changed for m in self.models)

    @property
    def failed(self) -> int:
        return sum(m.error is not None for m in self.models)

    @property
    def unchanged(self) -> int:
        return len(self.models) - self.rewritten - self.failed

    def to_json(self) -> dict[str, Any]:
        counts = {"rewritten": self.rewritten, "unchanged": self.unchanged, "failed": self.failed}
        return {"folder": self.folder, **counts, "models": [m.to_json() for m in self.models]}


@dataclass(frozen=True, slots=True)
class Sample:
    """One inference of a rewritten model: the bytes of each input and output, equal to the original's."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


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
        return (
            f"<Exploration of {_word(self.model)}: {len(self.points)} points, TFLM today {before} B, {self.convention}>"
        )

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


@dataclass(frozen=True, slots=True)
class TensorReport:
    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    constant: bool


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """One operator of the model as it is."""

    index: int
    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    macs: int
    channels: int
    """Output channels, if it has weights."""
    dead_channels: int
    """Those that cannot influence any output, whatever the input: folded away."""
    live_bytes: int
    """Activations that are alive while it runs."""
    supported: bool
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What inspect() says about a model."""

    model: str
    diagnosis: Diagnosis
    flash: int
    operators: tuple[OperatorReport, ...]
    tensors: tuple[TensorReport, ...]
    arena: Arena
    peak_operator: int | None
    """Index of the operator during which most activation bytes are alive."""
    macs: int
    dead_macs: int
    """Those that folding saves."""
    channels: int
    dead_channels: int
    waiting: int
    """Tensors that wait for a reduction of themselves, in full; a second pass may make them again."""
    memory: MemoryMap = field(repr=False)
    """As TFLM's own planner lays it out."""
    firmware: Firmware = field(repr=False)
    """What it needs in flash."""
    fits: tuple[BoardFit, ...] = field(repr=False)
    """On every board."""
    refused: str = ""
    """Why TFLM itself refuses the model; empty: the types speak against nothing."""

    @property
    def convention(self) -> str:
        """How the arena is counted."""
        return convention(self.arena)

    def __repr__(self) -> str:
        total, count = self.arena.figure(self.arena.total), len(self.operators)
        what = f"{self.diagnosis.what}, {count} operators, arena {total} B, {self.convention}"
        return f"<Inspection of {_word(self.model)}: {what}>"

    def to_json(self) -> dict[str, Any]:
        """All but the memory map, the firmware and the boards."""
        return {key: value for key, value in _with_arenas(self).items() if key not in ("memory", "firmware", "fits")}


@dataclass(frozen=True, slots=True)
class Optimized:
    """A rewritten model, the plan behind it (None when it is unchanged), the report, and what its pictures show."""

    model: bytes
    plan: Plan | None
    report: Report
    original: bytes
    """The model before."""
    source: Path | None
    """The file that it was read from, if it was given as a path."""
    inspection: Inspection
    """The original."""
    memory: MemoryMap
    fits: tuple[BoardFit, ...]
    """The rewritten model on every board."""
    work: tuple[Work, ...] = field(default=(), repr=False)
    """What each operator of the plan does."""
    frontier: Exploration | None = None
    """When it was asked for."""

    def __repr__(self) -> str:
        return f"<Optimized {_rewritten(self.report)}>"

    def files(self, emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()) -> Mapping[str, bytes]:
        """Name -> content of all that optimize leaves: model, plan, report, and what to compile in.

        emit: "cpp", for TensorFlow Lite Micro; "c", a module without an interpreter; "c-specialized", the same as code
        for this model alone; "arduino", "platformio", "esp-idf", a project; "tflite", nothing. A list, or names with
        commas between them. labels: of the values of a project's first output.
        """
        return generic.files(self, emit, labels)

    def save(
        self, folder: str | os.PathLike[str], emit: str | Collection[str] = "cpp", labels: Sequence[str] = ()
    ) -> list[Path]:
        """Writes files() into a folder, all or none, and gives their paths. The original is never overwritten."""
        return generic.save(self, Path(folder), emit, labels)

    def plot(self) -> Picture:
        """The memory before and after. A notebook shows it; `.save("map.svg")` writes it."""
        return generic.picture(self)

    def _repr_html_(self) -> str:
        return generic.summary(self)


@dataclass(frozen=True, slots=True)
class BoardReport:
    """A board, and a model on it as it is and rewritten."""

    board: Board
    original: BoardFit
    rewritten: BoardFit
    time: Time | None = None
    """How long an inference takes there, estimated; None: not known on its core."""


@dataclass(frozen=True, slots=True)
class Fits:
    """What fit() says: on which boards a model fits."""

    model: str
    convention: str
    original_arena: Arena
    arena: Arena
    flash: Flash
    boards: tuple[BoardReport, ...]

    def __repr__(self) -> str:
        fitting = sum(row.rewritten.fits for row in self.boards)
        return f"<Fits of {_word(self.model)}: rewritten on {fitting} of {len(self.boards)} boards>"

    def to_json(self) -> dict[str, Any]:
        return _with_arenas(self)


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
    """Those of which each makes some channels, with their weights alone (FDT)."""
    whole: tuple[int, ...]
    """Those that one device runs alone: the first, or as `cut` says."""
    split_weights: tuple[int, ...]
    """Bytes that each device has of the weights that are split by channels."""
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
        return f"<DevicesReport of {_word(self.model)}: arenas of {arenas} B, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        return _with_arenas(self) | {"devices": [_with_arenas(device) for device in self.devices]}


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
        return f"<DevicesExploration of {_word(self.model)}: {len(self.points)} points, {self.convention}>"

    def to_json(self) -> dict[str, Any]:
        points = [asdict(point) | {"memory": point.memory} for point in self.points]
        return _with_arenas(self) | {"convention": self.convention, "points": points}
