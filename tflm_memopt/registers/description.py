"""Describes peripherals: groups of bit fields, and the side effects of accesses to the bit fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tflm_memopt.errors import RegisterError

WORD = 32
"""The buses of microcontrollers transfer whole words."""


class AccessType(Enum):
    READ_WRITE = "read_write"
    READ_ONLY = "read_only"
    WRITE_ONLY = "write_only"
    """A write of ones to the field starts an action, and a write of zeros has no effect."""
    READ_CLEARS = "read_clears"
    ONE_CLEARS = "one_clears"
    """Writing ones clears bits, and writing zeros keeps bits."""
    ZERO_CLEARS = "zero_clears"
    """Writing zeros clears bits, and writing ones keeps bits."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def error(self, what: str, hint: str) -> RegisterError:
        return RegisterError(what, where=str(self), hint=hint)


@dataclass(frozen=True, slots=True)
class BitPlace:
    """Byte offset of a field's register, and index of the field's lowest bit. The place of an array is the place of its
    first element.
    """

    byte: int
    bit: int = 0
    byte_step: int = 0
    """Distance in bytes between the registers of consecutive array elements."""
    bit_step: int = 0
    """Distance in bits between consecutive array elements in one register."""

    def of_element(self, index: int) -> BitPlace:
        return BitPlace(self.byte + index * self.byte_step, self.bit + index * self.bit_step)

    def within(self, parent: BitPlace) -> BitPlace:
        return BitPlace(self.byte + parent.byte, self.bit, self.byte_step, self.bit_step)


FieldName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """A bit field, or an array of `count` bit fields. The value of `place` is valid only after a layout has been
    chosen.
    """

    group: str
    name: str
    bits: int
    line: SourceLine
    count: int | None = None
    access: AccessType = AccessType.READ_WRITE
    read_invalidates: tuple[FieldName, ...] = ()
    """Fields that change when the driver reads the described field. If a read of a field changes the field itself, the
    reads of the field are not combined.
    """
    write_invalidates: tuple[FieldName, ...] = ()
    """Fields that change when the driver writes the described field, so that the write is not combined with other
    accesses.
    """
    place: BitPlace = BitPlace(0)
    register_bits: int = WORD
    reset: int | None = None
    """Reset value of the field's register, or None if unknown. Bits outside of fields keep their reset value."""
    original: str = ""

    @property
    def key(self) -> FieldName:
        return self.group, self.original or self.name

    @property
    def mask(self) -> int:
        return ((1 << self.bits) - 1) << self.place.bit

    @property
    def all_bits(self) -> int:
        if not self.place.bit_step:
            return self.mask
        return sum(self.mask << (index * self.place.bit_step) for index in range(self.count or 1))

    @property
    def is_volatile(self) -> bool:
        return self.key in self.read_invalidates

    @property
    def read_acts(self) -> bool:
        return self.access is AccessType.READ_CLEARS or any(name != self.key for name in self.read_invalidates)

    @property
    def write_acts(self) -> bool:
        """True if a write changes more than the field, or if later reads do not return the written value."""
        return bool(self.write_invalidates) or self.access in _COMMANDS

    @property
    def is_writable(self) -> bool:
        return self.access not in (AccessType.READ_ONLY, AccessType.READ_CLEARS)

    @property
    def is_readable(self) -> bool:
        return self.access is not AccessType.WRITE_ONLY


@dataclass(frozen=True, slots=True)
class SubGroup:
    name: str
    group: str
    count: int | None = None
    place: BitPlace = BitPlace(0)


@dataclass(frozen=True, slots=True)
class RegisterGroup:
    """Fields and groups that form one C struct. The field `nbytes` is 0 until every field has a place in a register."""

    name: str
    members: tuple[Field | SubGroup, ...]
    nbytes: int = 0

    @property
    def fields(self) -> Iterator[Field]:
        return (member for member in self.members if isinstance(member, Field))

    @property
    def parts(self) -> Iterator[SubGroup]:
        return (member for member in self.members if isinstance(member, SubGroup))

    def member(self, name: str) -> Field | SubGroup:
        return next(member for member in self.members if member.name == name)


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    group: str
    base: int


@dataclass(frozen=True, slots=True)
class Description:
    groups: Mapping[str, RegisterGroup]
    devices: tuple[Device, ...]
    is_fixed: bool
    """True if the description states the place of each field, as for existing chips."""


_COMMANDS = AccessType.ONE_CLEARS, AccessType.ZERO_CLEARS, AccessType.WRITE_ONLY
_MAY_OVERLAP = {AccessType.READ_ONLY, AccessType.WRITE_ONLY}
"""Read-only and write-only fields may share bits, because a chip may have separate registers for reads and writes."""


def check(description: Description) -> None:
    """Raise RegisterError for fields that overlap or exceed their register, and for effects on unknown fields."""
    for group in description.groups.values():
        for field in group.fields:
            if field.bits > field.register_bits:
                what = f"field {field.name} of {group.name} has {field.bits} bits, its register {field.register_bits}"
                raise field.line.error(what, "divide the field into two fields, one for each register")
        if description.is_fixed:
            _check_overlaps(group)
        _check_targets(description, group)


def _check_overlaps(group: RegisterGroup) -> None:
    taken: dict[int, Field] = {}
    for field in group.fields:
        for place in (field.place.of_element(index) for index in range(field.count or 1)):
            if place.bit + field.bits > field.register_bits:
                raise field.line.error(
                    f"field {field.name} of {group.name} ends at bit {place.bit + field.bits - 1} of a register of "
                    f"{field.register_bits} bits",
                    "use a smaller bitOffset or bitWidth",
                )
            for bit in range(8 * place.byte + place.bit, 8 * place.byte + place.bit + field.bits):
                other = taken.setdefault(bit, field)
                if other is not field and {other.access, field.access} != _MAY_OVERLAP:
                    what = f"fields {other.name} and {field.name} of {group.name} overlap"
                    raise field.line.error(what, f"{other.name} is at {other.line}")


def _check_targets(description: Description, group: RegisterGroup) -> None:
    for field in group.fields:
        for owner, name in (*field.read_invalidates, *field.write_invalidates):
            known = description.groups.get(owner)
            if known is None or (name and all(name != member.name for member in known.members)):
                raise field.line.error(
                    f"{field.name} of {group.name} affects {'::'.join(filter(None, (owner, name)))}, which is unknown",
                    "name a field of the same group, or GROUP::FIELD",
                )
