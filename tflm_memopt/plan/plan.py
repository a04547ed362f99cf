"""Defines the plan as plain data, as in NAME.plan.json: groups of operators, buffers, and addresses."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, replace
from functools import cache, cached_property
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tflm_memopt.errors import PlanError
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
    """A whole tensor that a group or a kernel of TFLM reads or writes."""
    ROLLING_BUFFER = "rolling_buffer"
    """The last `depth` rows of a tensor that only one group uses."""
    ACCUMULATOR = "accumulator"
    """int32 sums of an operator that adds up its input, one row at a time."""
    COUNTERS = "counters"
    """Loop counters of a group's operators."""
    SCRATCH = "scratch"
    """Temporary memory of a kernel, or pixels of an external input that are converted to int8."""
    WEIGHTS = "weights"
    """A copy of weights from flash, made when the group begins."""


@dataclass(frozen=True, slots=True)
class ColumnWindow:
    """A buffer with a few columns of a tensor: `depth` pixels for each of `rows` rows of a stripe."""

    rows: int
    depth: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A byte range of the arena that is live from plan step `first` to the step before `last`."""

    role: Role
    key: int
    """Weights have the index of their operator's output, counters and scratch have the index of their plan step, and
    all other buffers have the index of their tensor.
    """
    nbytes: int
    first: int = 0
    last: int = 0
    align: int = 1
    depth: int = 0
    column_windows: tuple[ColumnWindow, ...] = ()

    def overlaps(self, other: Buffer) -> bool:
        return self.first < other.last and other.first < self.last


INDEX_BYTES = 2
"""Size in bytes of the index of a state's oldest row."""


WINDOW: TensorId = -1
"""Value of PlacedState.tensor for the counter of inferences of a sliding input."""


@dataclass(frozen=True, slots=True)
class PlacedState:
    """A rolling buffer that outlives the inference. If `t` counts the rows since the first inference, row `t` is at
    position `t % depth`.
    """

    tensor: int
    offset: int
    """Number of bytes from the start of the region's states to the rolling buffer. States are outside of the arena's
    head.
    """
    depth: int
    row_bytes: int
    advance: int
    fill: int
    """Value of each byte before the first inference and after a reset."""

    @property
    def nbytes(self) -> int:
        return self.depth * self.row_bytes


@dataclass(frozen=True, slots=True)
class SlowTensor:
    """A tensor in slow memory that is live from plan step `first` to the step before `last`."""

    tensor: TensorId
    offset: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Stage:
    """An operator of a group, with the order of its iterations."""

    op: int
    operands: tuple[int, ...]
    """Indices of the operator's inputs, in the order in which their rows are requested."""
    iterative: bool = False
    nest: LoopNest = BY_ROWS
    """Order of the iterations over the output or, for an operator that adds up its input rows, over the input."""
    at_once: int = 1
    """Maximum number of pixels or rows that a kernel with packed weights computes in one call."""
    pixels: int = 0
    """Number of pixels for which a packed convolution has scratch, or 0 if the operator's `param` determines the
    number. A convolution of single pixels usually reads its input in place.
    """

    def stripes(self, of_group: int) -> int:
        """Return the operator's number of stripes, or 0 if the operator runs row by row."""
        return 0 if self.nest.by_rows and not self.iterative else of_group

    def runs_packed(self, op: RowOp) -> bool:
        return op.packing is not Packing.NONE and not self.iterative and self.nest.channel_groups == 1

    def packing(self, op: RowOp) -> Packing:
        """Return the packing with which the stage runs an operator."""
        if not self.runs_packed(op):
            return Packing.NONE
        return Packing.DSP_DENSE if self.reads_in_place(op) else op.packing

    def reads_in_place(self, op: RowOp) -> bool:
        """Return whether a convolution of single pixels reads its input without a copy in scratch."""
        single = self.nest.tile == self.at_once == 1 and not self.pixels
        return single and op.can_read_in_place and self.runs_packed(op)


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive operators that take turns, each computing a few rows at a time."""

    region: int
    """Index of the region. Consecutive groups of one region become one custom operator."""
    stages: tuple[Stage, ...]
    sinks: tuple[int, ...]
    """Operators whose outputs are needed after the group. The group completes the outputs in the listed order."""
    iterations: int
    macs: int
    stripes: int = 0
    """Number of stripes of a group that computes tiles, or 0 if the group runs row by row."""
    is_reversed: bool = False
    """Whether the group computes its rows from last to first (plan/search/reverse.py)."""
    in_turn: bool = False
    """Whether the group computes its outputs in turn, a part of each, instead of one output after the other."""
    loops: Loops = ()
    """The order of all iterations as nested loops, or () in an unfinished plan."""


@dataclass(frozen=True, slots=True)
class OpSharding:
    op: int
    kind: Sharding
    cut: int = 0


@dataclass(frozen=True, slots=True)
class GroupSharding:
    step: int
    ops: tuple[OpSharding, ...]
    barriers: tuple[int, ...]
    """Iterations before which the cores wait for each other. At the start and end of each custom operator, the cores
    also wait for each other.
    """
    serial: tuple[int, ...] = ()
    """Iterations that core 0 computes alone, even if the cores share the operator."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """An operator that TFLM's own kernel runs."""

    op: int
    macs: int = 0
    """Number of multiply-accumulates, stored only in plans without custom operators."""


Step = Group | Builtin


def calls(steps: Iterable[Step]) -> list[tuple[int, ...]]:
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
    """The order in which operators and their rows run, and the addresses of all buffers.

    Buffer i begins at byte `offsets[i]` of the arena.
    """

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]
    head: int
    lower_bound: int
    """Lower bound of the head: the maximum number of bytes that are live at the same time."""
    proven: bool
    target: str = GENERIC
    rematerialisations: tuple[Rematerialisation, ...] = ()
    """Operators that run twice, where the second run has an operator index of its own."""
    tilings: tuple[Tiling, ...] = ()
    """Chains of TFLM's builtin operators that run in parts."""
    states: tuple[PlacedState, ...] = ()
    pauses: tuple[int, ...] = ()
    """Moments at which other models may run, as numbers of iterations in ascending order."""
    shardings: tuple[GroupSharding, ...] = ()
    """Division of each group between two cores, or an empty tuple for one core."""
    wide: bool = False
    """Whether packed convolutions have scratch for as many pixels as one kernel call can compute."""
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
        return self._by_key.get((role, key))

    @cached_property
    def _by_key(self) -> Mapping[tuple[Role, int], tuple[Buffer, int]]:
        found: dict[tuple[Role, int], tuple[Buffer, int]] = {}
        for buffer, offset in self.placed():
            found.setdefault((buffer.role, buffer.key), (buffer, offset))
        return found

    @cached_property
    def alive(self) -> tuple[tuple[int, ...], ...]:
        """For each plan step, the indices of the buffers that are live during the step, in ascending order."""
        found: list[list[int]] = [[] for _ in self.steps]
        for i, buffer in enumerate(self.buffers):
            for number in range(max(0, buffer.first), min(buffer.last, len(self.steps))):
                found[number].append(i)
        return tuple(map(tuple, found))

    def calls(self) -> list[tuple[int, ...]]:
        return calls(self.steps)

    def operators(self, steps: Iterable[int]) -> list[int]:
        groups = (self.steps[number] for number in steps)
        return [stage.op for group in groups if isinstance(group, Group) for stage in group.stages]

    def placed(self) -> Iterator[tuple[Buffer, int]]:
        return zip(self.buffers, self.offsets, strict=True)

    def to_json(self) -> dict[str, Any]:
        optional = {
            "wide": self.wide,
            "pauses": list(self.pauses),
            "shardings": [asdict(sharding) for sharding in self.shardings],
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
            "rematerialisations": [asdict(one) for one in self.rematerialisations],
            "tilings": [asdict(tiling) for tiling in self.tilings],
            "steps": [_step_to_json(step) for step in self.steps],
            **{name: value for name, value in optional.items() if value},
            "buffers": [asdict(b) | {"role": b.role.value, "offset": o} for b, o in self.placed()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        offsets, again = [b["offset"] for b in data.get("buffers", ())], data.get("rematerialisations", ())
        plan: Plan = _decoded(Plan, {**data, "offsets": offsets, "rematerialisations": again})
        return plan


def _step_to_json(step: Step) -> dict[str, Any]:
    fields = asdict(replace(step, loops=()) if isinstance(step, Group) else step)
    loops = {"loops": loop_nests.to_json(step.loops)} if isinstance(step, Group) else {}
    return {"type": type(step).__name__.lower()} | fields | loops


_hints = cache(get_type_hints)


def _decoded(kind: Any, value: Any) -> Any:
    """JSON fields that the type `kind` lacks are ignored. Raises PlanError if a field that the type `kind` needs is
    missing.
    """
    if kind == Loops:
        return loop_nests.from_json(value)
    if isinstance(kind, UnionType):
        kind = next(step for step in get_args(kind) if step.__name__.lower() == value["type"])
    if get_origin(kind) is tuple:
        return tuple(_decoded(get_args(kind)[0], one) for one in value)
    if names := getattr(kind, "__dataclass_fields__", None):
        needed = {n for n, field in names.items() if field.default is MISSING and field.default_factory is MISSING}
        if missing := sorted(needed - set(value)):
            raise PlanError(f"a {kind.__name__} lacks the keys: {', '.join(missing)}")
        return kind(**{name: _decoded(_hints(kind)[name], value[name]) for name in names if name in value})
    return kind(value) if issubclass(kind, enum.Enum) else value
