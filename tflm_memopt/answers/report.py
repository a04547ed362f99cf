"""The report of a conversion, as in the file NAME.report.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Footprint
from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.convention import convention, plain
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptBuiltin:
    """An operator that runs in TFLM's own kernel, and the reason why."""

    index: int
    operator: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class RollingBufferReport:
    """Buffer for the last `depth` rows of a tensor. If `depth` is 0, the buffer holds a few columns of rows in a tiled
    group (column windows), instead of whole rows.
    """

    tensor: str
    rows: int
    depth: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """An operator inside a group of interleaved operators, and how the group computes the operator's output."""

    ops: tuple[int, ...]
    """Indices of the original model's operators that the operator of the plan replaces."""
    operator: str
    tensor: str
    kept: int
    """Maximum number of bytes of the operator's output that are in the arena at the same time."""
    whole: int
    stripe: int
    """Number of rows that the group computes together."""
    tile: int
    """Number of columns that the group computes together, or 0 for whole rows."""
    channel_groups: int
    """Number of channel groups, which are computed one after the other."""
    again: bool
    """Whether a row that two neighbouring stripes need is computed twice."""
    cached: bool
    """Whether a row that two neighbouring stripes need is kept for the second stripe."""
    sums: bool
    """Whether the operator adds to int32 sums, one input row or one channel group at a time."""
    packed: bool
    """Whether a kernel for packed weights runs the operator, instead of a generic kernel."""
    rematerialised: bool = False
    """Whether the operator computes a tensor a second time instead of keeping the tensor."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group of interleaved operators, which are named by their indices in the original model."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rolling_buffers: tuple[RollingBufferReport, ...]
    stripes: int
    """Number of stripes of a tiled group, or 0 for a group that computes whole rows."""
    accumulators: int
    """Number of bytes of the group's int32 sums."""
    scratch: int
    bytes: int
    """Number of bytes from the lowest to the highest arena address that is in use during the group."""
    stages: tuple[StageReport, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceReport:
    """An input or output whose type `--int8-io` changed."""

    side: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class BeforeAfter(Generic[T]):
    original: T
    rewritten: T


@dataclass(frozen=True, slots=True)
class Balance:
    """RAM that a conversion saves and flash that it adds, in bytes, on one core (convert/policy.py)."""

    core: str
    """Core for which the library's size was measured."""
    ram_saved: int
    flash_added: int
    """Number of bytes that model, library and kernels add to flash, or a negative number if flash is saved."""
    model: int
    """Growth of the .tflite file, in bytes."""
    library: int
    """Estimated size in bytes of the used parts of the C library, including the library's adapter for TFLM."""
    tflm: int
    """Estimated bytes of TFLM kernels that the conversion adds, or a negative number if the conversion saves kernels.
    """
    worthwhile: bool


@dataclass(frozen=True, slots=True)
class PackedEstimate:
    """Estimated instructions of a generic program, and of the same program with packed kernels of the core."""

    core: str
    original: int | None
    """Instructions of the original model under TFLM with CMSIS-NN, or None if they are unknown."""
    generic: int
    packed: int
    """Instructions of the program with the core's packed kernels."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """A streamed input, which gets `pushed` rows at a time, or an external input, for which `pushed` is 0."""

    rows: int
    row_bytes: int
    pushed: int


@dataclass(frozen=True, slots=True)
class WindowReport:
    """A sliding input: each inference adds `new` rows, and after `inferences` inferences the input is full."""

    rows: int
    new: int
    inferences: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Fractions of test examples that are classified correctly."""

    examples: int
    keras: float
    int8: float
    rewritten: float


@dataclass(frozen=True, slots=True)
class CoreReport:
    """Work of one of two cores in an inference, without the time for which the core waits."""

    instructions: int
    share: float
    """Instructions of the core, as a fraction of the instructions of a single core that runs the whole model."""
    stack: int
    """Maximum number of stack bytes on a Cortex-M33, outside the arena and without the user's functions."""


@dataclass(frozen=True, slots=True)
class BarriersReport:
    """Number of times that two cores wait for each other in an inference, and the cost of one barrier."""

    count: int
    instructions: int
    """Number of instructions of one barrier without waiting, counted on a Cortex-M33."""


@dataclass(frozen=True, slots=True)
class MemoriesReport:
    """Sizes of fast and slow memory in bytes, and the bytes that an inference moves."""

    fast: int
    slow: int
    """Number of bytes that the model needs in slow memory, which is not part of the arena."""
    slow_read: int
    slow_written: int
    weights_read: int
    """Number of bytes of weights, biases and scales that are read from the model's memory."""
    weights_copied: int = 0
    """Number of weight bytes that are copied to the arena and read from the copy."""


@dataclass(frozen=True, slots=True)
class FasterPlan:
    """A plan that takes more RAM but less time than the chosen plan."""

    flag: str
    """Command-line flag with which `optimize` finds the faster plan."""
    arena: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Contents of NAME.report.json. Sizes are in bytes, and both arenas are for the ABI `arena.abi`."""

    model: str
    diagnosis: Diagnosis
    changed: bool = False
    why_unchanged: str
    input: str
    """Place of the input: "arena", "stream:ROWS" or "external"."""
    source: SourceReport | None = None
    window: WindowReport | None = None
    op_per: str
    target: str
    """Target for which the model's weights are packed."""
    max_macs: float | None
    ram_limit: int | None
    max_instructions: int | None
    without: tuple[str, ...]
    """Planning techniques that the user switched off."""
    overhead: float = 1.0
    """Compute factor F: the plan's multiply-accumulates, divided by those of the original model."""
    macs: BeforeAfter[int]
    instructions: Mapping[str, int] = field(default_factory=dict)
    """Maps a core to the estimated instructions of an inference, without builtin operators."""
    dead_channels: int = 0
    """Number of output channels that were removed because they cannot influence any output."""
    arena: Arena
    original_arena: Arena
    lower_bound_head: int
    proven: bool = False
    """True if the arena head is proven to be the smallest for the plan's groups."""
    groups: tuple[GroupReport, ...] = ()
    flash: BeforeAfter[int]
    """Number of bytes of the .tflite files."""
    kept_builtin: tuple[KeptBuiltin, ...]
    interface: tuple[InterfaceReport, ...] = ()
    interface_kept: tuple[str, ...]
    """Inputs and outputs that `--int8-io` could not change, with the reasons."""
    boards: tuple[str, ...]
    """Ids of the known boards on which the rewritten model fits together with the core software."""
    original_boards: tuple[str, ...]
    seconds: float = 0.0
    cut_short: tuple[str, ...] = ()
    """Names of searches that stopped at the effort limit."""
    balance: Balance | None = None
    """RAM that a conversion saves and flash that it adds, or None if the model cannot be rewritten."""
    board: BoardFit | None = None
    """Whether the model fits on the user's board, with the bytes that are left."""
    in_arena: int | None = None
    """Size in bytes of the arena with `--input arena`, or None if the arena would not be smaller."""
    accuracy: Accuracy | None = None
    time: Time | None = None
    faster: FasterPlan | None = None
    """Faster plan for the user's board, if the rewritten model is slower on the board than the original model."""
    flash_limit: int | None = None
    packed: PackedEstimate | None = None
    """Estimated gain from packed kernels, if the user gave neither `--target` nor `--board`."""
    time_limit: float | None = None
    """Limit of the time of an inference, in milliseconds."""
    arena_size: int | None = None
    """Size in bytes of an arena that is enough for every build of TFLM in NAME_ops.h, or None if unknown."""
    interpreter: bool = True
    """True if `arena` and `footprint` are for TFLM, and False if they are for a C module."""
    footprint: BeforeAfter[Footprint] | None = None
    """Flash that inference needs on one core."""
    original_refused: str = ""
    """Reason why TFLM refuses the original model, or "" if no reason is known."""
    planned_for: str = ""
    """Kernel library for which `--ops builtin` made the model: a value of `--kernels`, or "any"."""
    in_parts: tuple[Tiling, ...] = ()
    """Chains of builtin operators that were cut into parts, with the operators' indices in the original model."""
    to_register: tuple[str, ...] = ()
    """Types of builtin operators that the rewritten model needs, but the original model does not."""
    cores: tuple[CoreReport, ...] = ()
    """Work of each of two cores, or () for one core."""
    barriers: BarriersReport | None = None
    memories: MemoriesReport | None = None
    """Sizes of the memories and the bytes that an inference moves, or None for an unchanged model."""

    @property
    def convention(self) -> str:
        return convention(self.arena, self.input)

    @property
    def conventions(self) -> str:
        return self.convention if self.interpreter else f"{self.convention} -> C module"

    def __repr__(self) -> str:
        return f"<Report of {outcome(self)}>"

    def to_json(self) -> dict[str, Any]:
        return plain(self)


def outcome(report: Report) -> str:
    """Return a one-line summary of a model's conversion."""
    before, after = (arena.figure(arena.total) for arena in (report.original_arena, report.arena))
    state = f"arena {before} B -> {after} B" if report.changed else f"unchanged, arena {after} B"
    return f"{report.model!a}: {state}, {report.convention}"
