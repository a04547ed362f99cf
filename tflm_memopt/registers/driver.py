"""What a driver does with registers: its functions as events in the order in which they are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tflm_memopt.registers.description import Field, SourceLine, SubGroup

Span = tuple[int, int]
"""First byte of a piece of source, and the one behind its last."""
Context = tuple[int, ...]
"""The branches and loops around something, from the outside: equal for what is executed equally often, in order."""


class Happening(Enum):
    """What an event is."""

    ACCESS = "access"
    BARRIER = "barrier"
    """Something that the outside world may see or do: a call, a volatile variable, assembly."""
    EXIT = "exit"
    """return, break, continue."""
    SET = "set"
    """A variable gets a value."""


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One link of an expression: member, and its index in an array. `span` is the expression so far."""

    member: Field | SubGroup
    span: Span
    index: int | None = None
    """Where it is known."""
    index_span: Span | None = None


@dataclass(frozen=True, slots=True)
class FieldChain:
    """An expression that ends in a field: gpio->pads[i].dir."""

    root: Span
    """The pointer, or the group itself where it is no pointer."""
    root_group: str
    device: str
    """Empty where the pointer may lead to several places."""
    is_pointer: bool
    steps: tuple[ChainLink, ...]
    variables: frozenset[str]
    """That say which place it is; a call in it is a variable without a name: two are never the same place."""

    @property
    def field(self) -> Field:
        member = self.steps[-1].member
        if isinstance(member, SubGroup):
            raise TypeError(f"{member.name} is a group")
        return member


@dataclass(frozen=True, slots=True)
class Host:
    """A statement of a block: before it, others may be written. `blocks` are those around it, from the outside."""

    span: Span
    context: Context
    blocks: tuple[int, ...] = ()


class AccessOp(Enum):
    READ = "r"
    WRITE = "w"


@dataclass(frozen=True, slots=True)
class FieldAccess:
    """One access to a field. `order` is its place among the function's events."""

    op: AccessOp
    chain: FieldChain
    order: int
    context: Context
    host: Host
    line: SourceLine
    span: Span
    """What is replaced: the field's expression, or the assignment."""
    operator: str = ""
    """An assignment's: =, +=, ++. Empty for a read in an expression."""
    value: Span | None = None
    """The right side of an assignment."""
    is_statement: bool = False
    """The assignment is all of a statement of a block."""

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
    """The variable that is set."""


@dataclass(frozen=True, slots=True)
class MadeOf:
    """What a value is made of: accesses by their order, and variables."""

    accesses: frozenset[int]
    variables: frozenset[str]

    def __or__(self, other: MadeOf) -> MadeOf:
        return MadeOf(self.accesses | other.accesses, self.variables | other.variables)


NOTHING = MadeOf(frozenset(), frozenset())


@dataclass(slots=True)
class Function:
    """One function of the driver."""

    name: str
    line: SourceLine
    is_interrupt: bool = False
    has_jumps: bool = False
    """goto: nothing of it is combined."""
    events: list[Event] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    """Contexts that are executed several times."""
    conditions: dict[int, MadeOf] = field(default_factory=dict)
    """What decides whether a context is executed."""
    values: dict[str, MadeOf] = field(default_factory=dict)
    """What the values of a variable are made of."""
    calls: set[str] = field(default_factory=set)

    @property
    def accesses(self) -> list[FieldAccess]:
        return [event.access for event in self.events if event.access is not None]

    def controls(self, access: FieldAccess) -> frozenset[int]:
        """Reads whose values decide whether the access is evaluated, by their order."""
        contexts = set(access.context)
        for event in self.events[: access.order]:
            if event.what is Happening.EXIT:
                contexts |= set(event.context)
        needs = NOTHING
        for context in contexts:
            needs |= self.conditions.get(context, NOTHING)
        return frozenset(order for order in self._closed(needs).accesses if order < access.order)

    def _closed(self, needs: MadeOf) -> MadeOf:
        """With what the variables in it are made of."""
        while True:
            more = needs
            for name in needs.variables:
                more |= self.values.get(name, NOTHING)
            if more == needs:
                return needs
            needs = more


@dataclass(frozen=True, slots=True)
class Driver:
    """All functions of a driver, and how its text uses groups."""

    functions: tuple[Function, ...]
    dynamic: frozenset[str]
    """Groups that pointers of the driver may lead to."""
    indexed: frozenset[tuple[str, str]]
    """Arrays (group, member) with an index that is not known."""
    words: tuple[tuple[Span, str], ...]
    """The extension's own words in the text, each with what it is in plain C."""
    reach: frozenset[tuple[str, str]]
    """Fields that interrupt handlers use."""

    def by_name(self) -> Mapping[str, Function]:
        return {function.name: function for function in self.functions}
