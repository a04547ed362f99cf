"""Describes how a driver uses registers: each function is a list of accesses and other events in execution order."""

from dataclasses import dataclass, field
from enum import Enum

from tflm_memopt.registers.description import Field, SubGroup

Span = tuple[int, int]
"""Start of a piece of source in bytes, and the position after its last byte."""
Context = tuple[int, ...]
"""Indices of the branches and loops around a statement, outermost first."""


class Happening(Enum):
    ACCESS = "access"
    BARRIER = "barrier"
    """A call, assembly, or a volatile access, which code outside the driver may observe or control."""
    EXIT = "exit"
    SET = "set"


@dataclass(frozen=True, slots=True)
class ChainLink:
    member: Field | SubGroup
    span: Span
    index: int | None = None
    index_span: Span | None = None


@dataclass(frozen=True, slots=True)
class FieldChain:
    """An expression that ends in a field of a register, such as gpio->pads[i].dir."""

    root: Span
    root_group: str
    is_pointer: bool
    steps: tuple[ChainLink, ...]
    variables: frozenset[str]
    """Variables that determine which field an access reads or writes. A function call is listed as a variable with an
    empty name.
    """

    @property
    def field(self) -> Field:
        member = self.steps[-1].member
        if isinstance(member, SubGroup):
            raise TypeError(f"{member.name} is a group")
        return member


@dataclass(frozen=True, slots=True)
class Host:
    span: Span
    context: Context
    blocks: tuple[int, ...] = ()


class AccessOp(Enum):
    READ = "r"
    WRITE = "w"


@dataclass(frozen=True, slots=True)
class FieldAccess:
    op: AccessOp
    chain: FieldChain
    order: int
    context: Context
    host: Host
    span: Span
    """The source text that the accessor call replaces: a field's expression, or a whole assignment."""
    operator: str = ""
    """Operator of an assignment, such as =, += or ++, or "" for a read in an expression."""
    value: Span | None = None
    is_whole_statement: bool = False

    @property
    def field(self) -> Field:
        return self.chain.field

    def __str__(self) -> str:
        return f"{self.op.value} {self.field.name}"


@dataclass(frozen=True, slots=True)
class Event:
    what: Happening
    context: Context
    host: Host
    access: FieldAccess | None = None
    name: str = ""


MadeOf = frozenset[int | str]
NOTHING = MadeOf()


@dataclass(slots=True)
class Function:
    name: str
    is_interrupt: bool = False
    has_goto: bool = False
    events: list[Event] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    conditions: dict[int, MadeOf] = field(default_factory=dict)
    """Maps the index of a branch or loop to the accesses and variables in its condition."""
    values: dict[int | str, MadeOf] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)

    @property
    def accesses(self) -> list[FieldAccess]:
        return [event.access for event in self.events if event.access is not None]

    def reads_deciding(self, access: FieldAccess) -> frozenset[int]:
        contexts = set(access.context)
        for event in self.events[: access.order]:
            if event.what is Happening.EXIT:
                contexts |= set(event.context)
        needs = NOTHING.union(*(self.conditions.get(context, NOTHING) for context in contexts))
        while more := NOTHING.union(*(self.values.get(part, NOTHING) for part in needs)) - needs:
            needs |= more
        return frozenset(order for order in needs if isinstance(order, int) and order < access.order)


@dataclass(frozen=True, slots=True)
class Driver:
    functions: tuple[Function, ...]
    dynamic: frozenset[str]
    indexed: frozenset[tuple[str, str]]
    """Arrays that the driver accesses with an unknown index, as pairs of a group's name and a member's name."""
    words: tuple[tuple[Span, str], ...]
    used_by_interrupts: frozenset[tuple[str, str]]
