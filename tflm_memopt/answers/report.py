"""The report of a conversion, which NAME.report.json contains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Footprint
from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.convention import convention, plain
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


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
    """A rolling buffer, which holds `depth` of a tensor's `rows` rows or, if `depth` is 0, pixels of a tiled group."""

    tensor: str
    rows: int
    depth: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """An operator inside a group, and how the group computes its output."""

    ops: tuple[int, ...]
    """Indices of the original model's operators that are combined in this operator."""
    operator: str
    tensor: str
    """Name of the output tensor."""
    kept: int
    """Bytes of the operator's output that are kept in the arena at once."""
    whole: int
    """Bytes of the operator's whole output."""
    stripe: int
    """Number of rows per stripe."""
    tile: int
    """Number of columns per tile, or 0 for whole rows."""
    channel_groups: int
    """Number of channel groups, which run one after the other."""
    again: bool
    """Whether rows that two neighbouring stripes need are computed twice."""
    cached: bool
    """Whether rows that two neighbouring stripes need are kept for the second stripe."""
    sums: bool
    """Whether the operator keeps int32 sums, to which it adds one input row, or one group of channels, at a time."""
    packed: bool
    """Whether a packed kernel of the target runs the operator instead of a generic kernel."""
    rematerialised: bool = False
    """Whether the operator computes a tensor again for readers after a reduction, instead of keeping the tensor."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group of fused operators, with their indices in the original model."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rolling_buffers: tuple[RollingBufferReport, ...]
    stripes: int
    """Number of stripes of a tiled group, or 0 for a group that runs row by row."""
    accumulators: int
    """Bytes of int32 sums."""
    scratch: int
    """Bytes of kernel scratch."""
    bytes: int
    """Bytes from the lowest to the highest arena address that is live during the group."""
    stages: tuple[StageReport, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceReport:
    """An input or output whose type `--int8-io` changed."""

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
    """Sizes of the .tflite files, in bytes."""

    original: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class Footprints:
    """Flash that the original and the rewritten model need on one core."""

    original: Footprint
    rewritten: Footprint


@dataclass(frozen=True, slots=True)
class Balance:
    """RAM saved and flash added by a rewrite, in bytes, on one core (convert/policy.py)."""

    core: str
    """Core for which the library's size was measured."""
    ram_saved: int
    flash_added: int
    """Bytes that model, library and new kernels add to flash. The number is negative if flash is saved."""
    model: int
    """Growth of the .tflite file."""
    library: int
    """Estimated size of the parts of the C library and its TFLM adapter that the rewritten model uses."""
    tflm: int
    """Estimated bytes of kernels that only the original needs, minus kernels that only the rewritten model needs."""
    worthwhile: bool


@dataclass(frozen=True, slots=True)
class PackedEstimate:
    """Estimated instructions of a generic program on a core that has packed kernels."""

    core: str
    original: int | None
    """Instructions of the original under TFLM with CMSIS-NN, or None if they are unknown."""
    generic: int
    packed: int
    """Instructions of the same plan with packed kernels. The flags `--target` or `--board` may give a faster plan."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """An input outside the arena: `rows` rows of `row_bytes` bytes. `pushed` is the number of rows that arrive at once,
    or 0 for an external input.
    """

    rows: int
    row_bytes: int
    pushed: int


@dataclass(frozen=True, slots=True)
class WindowReport:
    """A sliding window of `rows` rows, which `inferences` inferences fill. Each inference adds `new` rows."""

    rows: int
    new: int
    inferences: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Fractions of test examples that are classified correctly."""

    examples: int
    keras: float
    int8: float
    """Fraction of correct answers of the int8 model under TFLM."""
    rewritten: float
    """Fraction of correct answers of the rewritten model under TFLM."""


@dataclass(frozen=True, slots=True)
class CoreReport:
    """Work of one of two cores in an inference, without the time for which the core waits."""

    instructions: int
    """Estimated instructions."""
    share: float
    """Instructions of this core, divided by the instructions of one core that runs the whole model."""
    stack: int
    """Most bytes of stack on a Cortex-M33, outside the arena and without the user's waking and waiting functions."""


@dataclass(frozen=True, slots=True)
class BarriersReport:
    """Number of barriers between two cores in an inference, and the cost of a barrier without waiting."""

    count: int
    instructions: int
    """Instructions of one barrier, counted on a Cortex-M33."""


@dataclass(frozen=True, slots=True)
class MemoriesReport:
    """Sizes of the fast and the slow memory, and the bytes that our operators move in one inference."""

    fast: int
    """Bytes of the whole arena."""
    slow: int
    """Bytes of slow memory outside the arena."""
    slow_read: int
    slow_written: int
    weights_read: int
    """Bytes of weights, biases and scales that are read from the model's memory."""
    weights_copied: int = 0
    """Bytes of weights that are copied to the arena and then read from the arena."""


@dataclass(frozen=True, slots=True)
class FasterPlan:
    """A plan that takes more RAM but less time than the chosen plan."""

    flag: str
    """Flag of `optimize` that gives the user this plan or a better plan."""
    arena: int
    """Bytes of the whole arena."""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of NAME.report.json. Sizes are in bytes, and both arenas are for the ABI `arena.abi`."""

    model: str
    diagnosis: Diagnosis
    """Description of the original model."""
    changed: bool
    why_unchanged: str
    input: str
    """Place of the input: "arena", "stream:ROWS" or "external"."""
    source: SourceReport | None
    window: WindowReport | None
    op_per: str
    target: str
    """Target whose packed kernels the model uses."""
    max_macs: float | None
    ram_limit: int | None
    max_instructions: int | None
    without: tuple[str, ...]
    """Planning techniques that were switched off."""
    overhead: float
    """F: the plan's multiply-accumulates, divided by the multiply-accumulates of the original model."""
    macs: Macs
    instructions: Mapping[str, int]
    """Estimated instructions of an inference without builtin operators, by core; empty for an unchanged model."""
    dead_channels: int
    """Number of output channels that were removed because they cannot influence any output."""
    arena: Arena
    original_arena: Arena
    lower_bound_head: int
    proven: bool
    """True if it is proved that the groups of the plan cannot have a lower head."""
    groups: tuple[GroupReport, ...]
    flash: Flash
    kept_builtin: tuple[KeptBuiltin, ...]
    interface: tuple[InterfaceReport, ...]
    interface_kept: tuple[str, ...]
    """Inputs and outputs that `--int8-io` could not change, with the reasons."""
    boards: tuple[str, ...]
    """Ids of the known boards on which the rewritten model fits together with the core software."""
    original_boards: tuple[str, ...]
    seconds: float
    cut_short: tuple[str, ...] = ()
    """Parts of the search that stopped at the effort limit. With more effort, the search may find a better plan."""
    balance: Balance | None = None
    """RAM that a rewrite saves and flash that it adds, also if it was rejected, or None if no rewrite is possible."""
    board: BoardFit | None = None
    """Whether the model fits on the requested board, with the bytes that are left."""
    in_arena: int | None = None
    """Bytes of the whole arena with `--input arena`, if this arena is smaller than the arena with a streamed input."""
    accuracy: Accuracy | None = None
    """Accuracy on the user's test data, if the user gave such data."""
    time: Time | None = None
    """Estimated time of an inference before and after the rewrite."""
    faster: FasterPlan | None = None
    """A faster plan for `--board`, if the rewritten model is slower than the original there."""
    flash_limit: int | None = None
    """Limit of the flash for the model, the C library and TFLM, in bytes."""
    packed: PackedEstimate | None = None
    """Estimated gain from packed kernels, if the user gave neither `--target` nor `--board`."""
    time_limit: float | None = None
    """Limit of the time of an inference, in milliseconds."""
    arena_size: int | None = None
    """Bytes to declare for the arena for every build of TFLM that NAME_ops.h names, or None if they are unknown."""
    interpreter: bool = True
    """Whether `arena` and `footprint` are for TFLM instead of a C module."""
    footprint: Footprints | None = None
    """Flash that inference needs before and after the rewrite."""
    original_refused: str = ""
    """Reason why TFLM refuses the original model, or "" if no reason is known."""
    planned_for: str = ""
    """Kernel library for which `--ops builtin` made the model: the library that `--kernels` names, or "any"."""
    in_parts: tuple[Tiling, ...] = ()
    """Builtin operators that run in parts, by their indices in the original model."""
    to_register: tuple[str, ...] = ()
    """Kinds of builtin operators that firmware must register for the rewritten model but not for the original."""
    cores: tuple[CoreReport, ...] = ()
    """The report of each of two cores, or () for one core."""
    barriers: BarriersReport | None = None
    memories: MemoriesReport | None = None
    """Sizes of the memories and the bytes that an inference moves, or None for an unchanged model."""

    @property
    def convention(self) -> str:
        """The convention by which RAM figures are counted."""
        return convention(self.arena, self.input)

    @property
    def conventions(self) -> str:
        """The conventions of both arenas, as one line."""
        return self.convention if self.interpreter else f"{self.convention} -> C module"

    def __repr__(self) -> str:
        return f"<Report of {outcome(self)}>"

    def to_json(self) -> dict[str, Any]:
        return plain(self)


def outcome(report: Report) -> str:
    """Return one line that sums up a model's conversion."""
    before, after = (arena.figure(arena.total) for arena in (report.original_arena, report.arena))
    state = f"arena {before} B -> {after} B" if report.changed else f"unchanged, arena {after} B"
    return f"{report.model!a}: {state}, {report.convention}"
