"""The plan: the schedule of groups and the place of every buffer, as plain data, as in NAME.plan.json."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tflm_memopt.format.codes import Sharding
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import GENERIC, LAYOUT, Packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import loops as loop_nests
from tflm_memopt.plan.loops import Loops
from tflm_memopt.plan.nest import BY_ROWS, LoopNest
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.rowgraph.graph import Rematerialisation

SCHEMA_VERSION = 2


class Role(str, enum.Enum):
    TENSOR = "tensor"
    """A whole tensor, at a group's border or of a builtin operator."""
    ROLLING_BUFFER = "rolling_buffer"
    """The last `depth` rows of a tensor inside one group."""
    ACCUMULATOR = "accumulator"
    """int32 sums of an operator that processes one input row at a time."""
    COUNTERS = "counters"
    """uint16 counters of the iterations of a group's operators."""
    SCRATCH = "scratch"
    """Scratch of an iteration: a kernel's tile, or external pixels that are converted to int8."""
    WEIGHTS = "weights"
    """Weights of an operator, copied from flash when its group begins."""


@dataclass(frozen=True, slots=True)
class ColumnWindow:
    """A rolling buffer of `depth` pixels that holds `rows` rows of each stripe (plan/iteration/column_windows.py)."""

    rows: int
    depth: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A byte range of the arena that is live in the steps [first, last), or a buffer of a group without an address."""

    role: Role
    key: int
    """The meaning depends on the role: the tensor of a TENSOR or ROLLING_BUFFER, the tensor that an ACCUMULATOR sums up
    to, the step of COUNTERS and SCRATCH, or the operator's output for WEIGHTS.
    """
    nbytes: int
    first: int = 0
    last: int = 0
    align: int = 1
    depth: int = 0
    """Number of rows of a ROLLING BUFFER in a row-wise group."""
    column_windows: tuple[ColumnWindow, ...] = ()
    """Column windows of a ROLLING BUFFER in a tiled group, in the order of their bytes."""

    def overlaps(self, other: Buffer) -> bool:
        """Return whether both buffers are live in some step."""
        return self.first < other.last and other.first < self.last


INDEX_BYTES = 2
"""Size in bytes of the uint16 index of a state's oldest row, which is 0 after a reset."""


WINDOW: TensorId = -1
"""Value of PlacedState.tensor for the counter of inferences until a sliding window is full; this state has no rows."""


@dataclass(frozen=True, slots=True)
class PlacedState:
    """A rolling buffer that outlives the inference; row t of all kept rows is in its slot t mod depth."""

    tensor: int
    offset: int
    """Offset in the region's state, which is not part of the arena's head."""
    depth: int
    row_bytes: int
    advance: int
    """Number of rows that each inference keeps."""
    fill: int
    """Value of all bytes before the first inference and after a reset."""

    @property
    def nbytes(self) -> int:
        return self.depth * self.row_bytes


@dataclass(frozen=True, slots=True)
class SlowTensor:
    """A whole tensor in slow memory that is live in the steps [first, last)."""

    tensor: TensorId
    offset: int
    """Offset in slow memory."""
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator inside a group."""

    op: int
    """Key of the row operator."""
    operands: tuple[int, ...]
    """The operator's inputs, in the order in which their rows are demanded."""
    iterative: bool = False
    nest: LoopNest = BY_ROWS
    """Loop nest over the output or, if the operator is iterative, over the input."""
    at_once: int = 1
    """Maximum number of consecutive iterations, of one pixel or one row each, that a packed kernel computes at once."""

    def stripes(self, of_group: int) -> int:
        """Return the operator's number of stripes in a group of `of_group` stripes, or 0 if it runs row by row on
        demand.
        """
        return 0 if self.nest.by_rows and not self.iterative else of_group

    def runs_packed(self, op: RowOp) -> bool:
        """Return whether a packed kernel runs the stage."""
        return op.packing is not Packing.NONE and not self.iterative and self.nest.channel_groups == 1


@dataclass(frozen=True, slots=True)
class Group:
    """A group: consecutive operators whose iterations are interleaved."""

    region: int
    """Number of the group's region. Consecutive groups of one region share a custom operator."""
    stages: tuple[Stage, ...]
    sinks: tuple[int, ...]
    """Keys of operators whose rows are all requested, in the order of demand."""
    iterations: int
    macs: int
    stripes: int = 0
    """Number of stripes, or 0 if the group runs row by row."""
    is_reversed: bool = False
    """Whether the group counts the rows of all its tensors in reverse (plan/search/reverse.py)."""
    in_turn: bool = False
    """Whether equal shares of the sinks are requested in turn, not one sink after another."""
    loops: Loops = ()
    """The group's order of iterations, as loops. These loops are empty until the plan is finished."""


@dataclass(frozen=True, slots=True)
class Share:
    """The split of an operator's iterations between two cores."""

    op: int
    how: Sharding
    cut: int = 0
    """Number of columns or channels that the first core computes."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """The split of a group between two cores."""

    step: int
    shares: tuple[Share, ...]
    """Splits in the order of the group's stages."""
    barriers: tuple[int, ...]
    """Iterations of the group before which the cores wait for each other. They also wait before and after each custom
    operator.
    """
    alone: tuple[int, ...] = ()
    """Iterations that the first core makes alone, regardless of the split of their operator."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """An operator that TFLM's own kernel runs."""

    op: int
    macs: int = 0
    """Number of the operator's multiply-accumulates, which is counted only if all operators are builtin."""


Step = Group | Builtin


def calls(steps: Iterable[Step]) -> list[tuple[int, ...]]:
    """Return the numbers of the steps that become one custom operator: consecutive groups of one region."""
    found: list[tuple[int, ...]] = []
    last = None
    for number, step in enumerate(steps):
        region = step.region if isinstance(step, Group) else None
        if region is not None and region == last:
            found[-1] += (number,)
        elif region is not None:
            found.append((number,))
        last = region
    return found


@dataclass(frozen=True)
class Plan:
    """A plan. `offsets[i]` is the start of `buffers[i]` in the arena's head, which has `head` bytes."""

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]
    head: int
    lower_bound: int
    """Maximum of the live bytes, below which no layout of these groups can be."""
    proven: bool
    """Whether no layout of the plan's buffers is lower than `head`."""
    target: str = GENERIC
    """The target for whose kernels the operators are packed."""
    passes: tuple[Rematerialisation, ...] = ()
    """Rematerialisations. Operators whose weights are copied. Each copy is numbered in this order, from the first
    unused tensor number on.
    """
    tilings: tuple[Tiling, ...] = ()
    """Builtin operators that run in parts, which are numbered in this order."""
    states: tuple[PlacedState, ...] = ()
    """The plan's states, in the order in which their indices begin the state's bytes."""
    pauses: tuple[int, ...] = ()
    """Numbers of completed iterations at which the plan pauses for other models, in ascending order."""
    sharing: tuple[Sharing, ...] = ()
    """Split of each group between two cores, or () for one core."""
    wide: bool = False
    """Whether packed convolutions have scratch for as many pixels as they compute at once."""
    slow: tuple[SlowTensor, ...] = ()
    """Tensors in slow memory, which take no bytes of the arena."""

    @property
    def slow_bytes(self) -> int:
        return max((tensor.offset + tensor.nbytes for tensor in self.slow), default=0)

    @property
    def macs(self) -> int:
        return sum(step.macs for step in self.steps)

    def __repr__(self) -> str:
        groups = sum(isinstance(step, Group) for step in self.steps)
        return f"<Plan: {len(self.steps)} steps, {groups} of them groups, head {self.head:,} B>"

    def find(self, role: Role, key: int) -> tuple[Buffer, int] | None:
        """Return the buffer with this role and key, and its offset, or None."""
        return self._by_key.get((role, key))

    @cached_property
    def _by_key(self) -> Mapping[tuple[Role, int], tuple[Buffer, int]]:
        found: dict[tuple[Role, int], tuple[Buffer, int]] = {}
        for buffer, offset in self.placed():
            found.setdefault((buffer.role, buffer.key), (buffer, offset))
        return found

    @cached_property
    def alive(self) -> tuple[tuple[int, ...], ...]:
        """For each step, the indices of the buffers that are live in it, in ascending order."""
        found: list[list[int]] = [[] for _ in self.steps]
        for i, buffer in enumerate(self.buffers):
            for number in range(max(0, buffer.first), min(buffer.last, len(self.steps))):
                found[number].append(i)
        return tuple(map(tuple, found))

    def calls(self) -> list[tuple[int, ...]]:
        """Return the groups of steps that become one custom operator."""
        return calls(self.steps)

    def operators(self, steps: Iterable[int]) -> list[int]:
        """Return the keys of the row operators in these steps, in order."""
        groups = (self.steps[number] for number in steps)
        return [stage.op for group in groups if isinstance(group, Group) for stage in group.stages]

    def placed(self) -> Iterator[tuple[Buffer, int]]:
        return zip(self.buffers, self.offsets, strict=True)

    def to_json(self) -> dict[str, Any]:
        optional = {
            "wide": self.wide,
            "pauses": list(self.pauses),
            "sharing": [asdict(sharing) for sharing in self.sharing],
            "states": [{"role": "state"} | asdict(state) for state in self.states],
            "slow": [asdict(tensor) for tensor in self.slow],
        }
        return {
            "schema": SCHEMA_VERSION,
            "head": self.head,
            "lower_bound": self.lower_bound,
            "proven": self.proven,
            "target": self.target,
            "layout": LAYOUT,
            "rematerialisations": [asdict(second) for second in self.passes],
            "tilings": [asdict(tiling) for tiling in self.tilings],
            "steps": [_step_to_json(step) for step in self.steps],
            **{name: value for name, value in optional.items() if value},
            "buffers": [asdict(b) | {"role": b.role.value, "offset": o} for b, o in self.placed()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        offsets, passes = [b["offset"] for b in data["buffers"]], data.get("rematerialisations", ())
        plan: Plan = _decoded(Plan, {**data, "offsets": offsets, "passes": passes})
        return plan


def _step_to_json(step: Step) -> dict[str, Any]:
    fields = asdict(replace(step, loops=()) if isinstance(step, Group) else step)
    loops = {"loops": loop_nests.to_json(step.loops)} if isinstance(step, Group) else {}
    return {"type": type(step).__name__.lower()} | fields | loops


_hints = cache(get_type_hints)


def _decoded(kind: Any, value: Any) -> Any:
    """Return a value of this type from JSON, whose unknown fields are ignored."""
    if kind == Loops:
        return loop_nests.from_json(value)
    if isinstance(kind, UnionType):
        kind = next(step for step in get_args(kind) if step.__name__.lower() == value["type"])
    if get_origin(kind) is tuple:
        return tuple(_decoded(get_args(kind)[0], one) for one in value)
    if names := getattr(kind, "__dataclass_fields__", None):
        return kind(**{name: _decoded(_hints(kind)[name], value[name]) for name in names if name in value})
    return kind(value) if issubclass(kind, enum.Enum) else value
