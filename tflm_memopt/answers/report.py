"""What is told of a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Footprint
from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.blocks import BlockReport, KeptBuiltin
from tflm_memopt.answers.convention import convention, in_one_line, with_arenas
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


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
    original_refused: str = ""
    """Why TFLM refuses the model as it is; empty: nothing is known that it refuses."""
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
        return f"<Report of {outcome(self)}>"

    def to_json(self) -> dict[str, Any]:
        return with_arenas(self)


def outcome(report: Report) -> str:
    """What became of a model, in a line."""
    before, after = (arena.figure(arena.total) for arena in (report.original_arena, report.arena))
    state = f"arena {before} B -> {after} B" if report.changed else f"unchanged, arena {after} B"
    return f"{in_one_line(report.model)}: {state}, {report.convention}"
