"""The plan: what runs when, and where every buffer lives. Plain data, the same in memory and in NAME.plan.json."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from tflm_memopt import generic
from tflm_memopt.generic import Picture
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import GENERIC, LAYOUT, Packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import loops as loop_nests
from tflm_memopt.plan.loops import Loops
from tflm_memopt.plan.walk import BY_ROWS, Walk
from tflm_memopt.rewrite.tiling import Tiling
from tflm_memopt.rowgraph.graph import SecondPass

SCHEMA_VERSION = 2


class Role(str, enum.Enum):
    """What a buffer holds."""

    TENSOR = "tensor"
    """A whole tensor: at a block's border, or read or written by a builtin operator."""
    RING = "ring"
    """The last `depth` rows of a tensor inside one block."""
    ACCUMULATOR = "accumulator"
    """int32 sums of an operator that runs one input row at a time."""
    COUNTERS = "counters"
    """uint16 per operator of a block: firings done."""
    SCRATCH = "scratch"
    """What a firing needs for itself: a kernel's tile, pixels of the external input that become int8."""


@dataclass(frozen=True, slots=True)
class Lane:
    """`rows` consecutive rows of each strip, in a ring of `depth` pixels (plan/firing/lanes.py)."""

    rows: int
    depth: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A byte range of the arena, alive during the steps [first, last)."""

    role: Role
    key: int
    """TENSOR, RING: the tensor. ACCUMULATOR: the tensor that it sums up to. COUNTERS, SCRATCH: the step."""
    nbytes: int
    first: int
    last: int
    align: int = 1
    depth: int = 0
    """RING of a row block: rows."""
    lanes: tuple[Lane, ...] = ()
    """RING of a tiled block: one after the other."""

    def overlaps(self, other: Buffer) -> bool:
        """Whether both are alive in some step."""
        return self.first < other.last and other.first < self.last


INDEX_BYTES = 2
"""What a state takes beside its rows: the index of its oldest one, uint16; 0 after a reset."""


WINDOW: TensorId = -1
"""PlacedState.tensor of what counts the inferences until a window that slides is full: a ring without bytes."""


@dataclass(frozen=True, slots=True)
class PlacedState:
    """A ring of rows that outlives the inference: the row that was kept as number t lies in slot t mod depth."""

    tensor: int
    """As operators read it, or WINDOW."""
    offset: int
    """Bytes from the start of its region's state, which is no part of the arena's head."""
    depth: int
    row_bytes: int
    advance: int
    """Rows that are kept in each inference."""
    fill: int
    """The byte that all rows are made of before the first inference, and after a reset."""

    @property
    def nbytes(self) -> int:
        return self.depth * self.row_bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator inside a block."""

    op: int
    """Key of the row operator."""
    operands: tuple[int, ...]
    """Inputs in the order in which their rows are demanded."""
    iterative: bool = False
    walk: Walk = BY_ROWS
    """How it goes through its output, or through its input when it is iterative."""

    def runs_packed(self, op: RowOp) -> bool:
        """Whether the kernel of its operator's packing runs it."""
        return op.packing is not Packing.NONE and not self.iterative and self.walk.groups == 1


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive operators whose iterations are interleaved."""

    region: int
    """Its number; consecutive blocks of one region share a custom operator."""
    stages: tuple[Stage, ...]
    sinks: tuple[int, ...]
    """Operators (keys) all of whose rows are wanted, in the order of demand."""
    firings: int
    macs: int
    strips: int = 0
    """0: row by row."""
    turned: bool = False
    """It counts the rows of all its tensors from the last to the first (plan/search/turn.py)."""
    loops: Loops = ()
    """The order of its iterations; a finished plan has it."""


class How(enum.IntEnum):
    """What two cores make of each firing of an operator: TMO_SHARE_* of program.h."""

    FIRST = 0
    """All is the first core's."""
    SECOND = 1
    COLUMNS = 2
    """Columns below the cut are the first core's, the others the second's."""
    CHANNELS = 3
    """The same of output channels."""


@dataclass(frozen=True, slots=True)
class Share:
    """How two cores share the firings of an operator."""

    op: int
    how: How
    cut: int = 0
    """Columns, or channels, of the first core."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How two cores share a block."""

    step: int
    shares: tuple[Share, ...]
    """In the order of the block's stages."""
    meetings: tuple[int, ...]
    """Before these firings of the block the cores wait for each other. They do so before and behind a custom operator,
    too.
    """
    alone: tuple[int, ...] = ()
    """Firings that the first core makes, whatever the share of their operator."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """An operator that TFLM's own kernel runs."""

    op: int
    macs: int = 0
    """Counted where only such operators run."""


Step = Block | Builtin


def calls(steps: Iterable[Step]) -> list[tuple[int, ...]]:
    """Numbers of those that become one custom operator: blocks of one region that follow each other."""
    found: list[tuple[int, ...]] = []
    last = None
    for number, step in enumerate(steps):
        region = step.region if isinstance(step, Block) else None
        if region is not None and region == last:
            found[-1] += (number,)
        elif region is not None:
            found.append((number,))
        last = region
    return found


@dataclass(frozen=True)
class Plan:
    """`offsets[i]`: where `buffers[i]` starts, bytes from the start of the arena's head, which is `head` bytes high."""

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]
    head: int
    lower_bound: int
    """No layout of these blocks can be lower: the most bytes that are alive at once."""
    proven: bool
    """No layout of these buffers is lower than `head`."""
    target: str = GENERIC
    """The target whose kernels its operators are packed for."""
    passes: tuple[SecondPass, ...] = ()
    """Operators that run twice: copies are numbered in this order, from the first number that no operator has."""
    tilings: tuple[Tiling, ...] = ()
    """Builtin operators that run in parts: those are numbered in this order."""
    states: tuple[PlacedState, ...] = ()
    """What outlives an inference, in the order of the indices in front of it."""
    pauses: tuple[int, ...] = ()
    """After how many firings of all its blocks it stops, so that other models can run; rising."""
    sharing: tuple[Sharing, ...] = ()
    """How two cores share each block; (): one core runs them."""

    @property
    def macs(self) -> int:
        return sum(step.macs for step in self.steps)

    def __repr__(self) -> str:
        blocks = sum(isinstance(step, Block) for step in self.steps)
        return f"<Plan: {len(self.steps)} steps, {blocks} of them blocks, head {self.head:,} B>"

    def find(self, role: Role, key: int) -> tuple[Buffer, int] | None:
        """The buffer with this role and key, and its offset."""
        return self._by_key.get((role, key))

    @cached_property
    def _by_key(self) -> Mapping[tuple[Role, int], tuple[Buffer, int]]:
        found: dict[tuple[Role, int], tuple[Buffer, int]] = {}
        for buffer, offset in self.placed():
            found.setdefault((buffer.role, buffer.key), (buffer, offset))
        return found

    @cached_property
    def alive(self) -> tuple[tuple[int, ...], ...]:
        """Per step: indices of the buffers that exist during it, rising."""
        found: list[list[int]] = [[] for _ in self.steps]
        for i, buffer in enumerate(self.buffers):
            for number in range(max(0, buffer.first), min(buffer.last, len(self.steps))):
                found[number].append(i)
        return tuple(map(tuple, found))

    def calls(self) -> list[tuple[int, ...]]:
        """Steps that become one custom operator."""
        return calls(self.steps)

    def operators(self, steps: Iterable[int]) -> list[int]:
        """Keys of the row operators in these steps, in order."""
        blocks = (self.steps[number] for number in steps)
        return [stage.op for block in blocks if isinstance(block, Block) for stage in block.stages]

    def placed(self) -> Iterator[tuple[Buffer, int]]:
        """Every buffer with its offset."""
        return zip(self.buffers, self.offsets, strict=True)

    def plot(self) -> Picture:
        """Its buffers over its steps. A notebook shows it; `.save("plan.svg")` writes it."""
        return generic.picture(self)

    def _repr_svg_(self) -> str:
        return self.plot()._repr_svg_()

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA_VERSION,
            "head": self.head,
            "lower_bound": self.lower_bound,
            "proven": self.proven,
            "target": self.target,
            "layout": LAYOUT,
            "second_passes": [asdict(second) for second in self.passes],
            "tilings": [asdict(tiling) for tiling in self.tilings],
            "steps": [_step_to_json(step) for step in self.steps],
            **({"pauses": list(self.pauses)} if self.pauses else {}),
            **({"sharing": [asdict(sharing) for sharing in self.sharing]} if self.sharing else {}),
            **({"states": [{"role": "state"} | asdict(state) for state in self.states]} if self.states else {}),
            "buffers": [asdict(b) | {"role": b.role.value, "offset": o} for b, o in self.placed()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        def step(d: Mapping[str, Any]) -> Step:
            if d["type"] == "builtin":
                return Builtin(d["op"], d.get("macs", 0))
            stages = tuple(Stage(s["op"], tuple(s["operands"]), s["iterative"], Walk(**s["walk"])) for s in d["stages"])
            loops = loop_nests.from_json(d["loops"])
            return Block(
                d["region"], stages, tuple(d["sinks"]), d["firings"], d["macs"], d["strips"], d["turned"], loops
            )

        def buffer(d: Mapping[str, Any]) -> Buffer:
            lanes = tuple(Lane(**lane) for lane in d["lanes"])
            fields = ("key", "nbytes", "first", "last", "align", "depth")
            return Buffer(Role(d["role"]), **{f: d[f] for f in fields}, lanes=lanes)

        def sharing(d: Mapping[str, Any]) -> Sharing:
            shares = tuple(Share(s["op"], How(s["how"]), s["cut"]) for s in d["shares"])
            return Sharing(d["step"], shares, tuple(d["meetings"]), tuple(d["alone"]))

        return Plan(
            steps=tuple(step(d) for d in data["steps"]),
            buffers=tuple(buffer(d) for d in data["buffers"]),
            offsets=tuple(d["offset"] for d in data["buffers"]),
            head=data["head"],
            lower_bound=data["lower_bound"],
            proven=data["proven"],
            target=data.get("target", GENERIC),
            sharing=tuple(map(sharing, data.get("sharing", ()))),
            states=tuple(PlacedState(**{k: v for k, v in d.items() if k != "role"}) for d in data.get("states", ())),
            pauses=tuple(data.get("pauses", ())),
            passes=tuple(SecondPass(p["reader"], tuple(p["ops"])) for p in data.get("second_passes", ())),
            tilings=tuple(Tiling(tuple(t["ops"]), t["parts"], t["channels"]) for t in data.get("tilings", ())),
        )


def _step_to_json(step: Step) -> dict[str, Any]:
    if isinstance(step, Block):
        fields = asdict(replace(step, loops=())) | {"loops": loop_nests.to_json(step.loops)}
    else:
        fields = asdict(step)
    return {"type": type(step).__name__.lower()} | fields
