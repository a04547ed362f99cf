"""Places of fields, which are either given for a chip or chosen for the fewest accesses (6.4.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.registers.description import WORD, AccessType, BitPlace, SubGroup
from tflm_memopt.registers.flatten import Flat, FlatField, FlatGroup

Combination = frozenset[tuple[str, str]]
"""Fields that are accessed together, each given as group and name."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A field in a register, or an array of fields, whose first element is at this place."""

    field: FlatField
    place: BitPlace

    @property
    def mask(self) -> int:
        """The bits of the field in its register or, for an array, of the first element."""
        return ((1 << self.field.field.bits) - 1) << self.place.bit

    @property
    def all_bits(self) -> int:
        """The bits of all elements of the field in this register."""
        if not self.place.bit_step:
            return self.mask
        return sum(self.mask << (index * self.place.bit_step) for index in range(self.field.count or 1))


@dataclass(frozen=True, slots=True)
class Register:
    """A word of the bus, or an array of words. `byte` is the offset of the register in the group."""

    byte: int
    bits: int
    slots: tuple[Slot, ...]
    reset: int | None
    """Value of the register after a reset, which writes put into the bits outside of fields. Without a known value,
    writes put back the bits that were read.
    """

    @property
    def count(self) -> int:
        return max((slot.field.count or 1 for slot in self.slots if slot.place.byte_step), default=1)

    @property
    def byte_step(self) -> int:
        return max((slot.place.byte_step for slot in self.slots), default=0)

    @property
    def full(self) -> int:
        return (1 << self.bits) - 1

    @property
    def used(self) -> int:
        """Bits of the register that belong to fields."""
        return sum(slot.all_bits for slot in self.slots)

    @property
    def reads(self) -> int:
        """Mask of the bits that can be 1 when the register is read."""
        return self.full if self.reset is None else self.used | self.reset

    @property
    def reserved(self) -> int:
        """Value that a write puts into bits outside of fields."""
        return (self.reset or 0) & ~self.used

    @property
    def read_acts(self) -> bool:
        """Whether reading the register for any field has an effect."""
        return any(slot.field.field.read_acts for slot in self.slots)

    @property
    def neutral(self) -> tuple[int, int]:
        """Return two masks: the bits that have no effect if a write sets them to 0, and the bits that have no effect if
        it sets them to 1.
        """
        zeros = sum(slot.all_bits for slot in self.slots if slot.field.field.access in _ZEROS)
        ones = sum(slot.all_bits for slot in self.slots if slot.field.field.access is AccessType.ZERO_CLEARS)
        return zeros, ones

    def kept(self, written: int) -> int:
        """Return the mask of the bits that a write of the bits `written` must write back as they were read. If the mask
        is 0, the write needs no read.
        """
        zeros, ones = self.neutral
        used = self.full if self.reset is None else self.used
        fixed = sum(slot.all_bits for slot in self.slots if not slot.field.field.is_writable)
        changed = written | zeros | ones
        return self.full & ~changed if used & ~(changed | fixed) else 0


_ZEROS = AccessType.ONE_CLEARS, AccessType.WRITE_ONLY


@dataclass(frozen=True, slots=True)
class Placed:
    """A group with its registers and its nested groups."""

    name: str
    registers: tuple[Register, ...]
    parts: tuple[tuple[SubGroup, int, int], ...]
    """Nested groups, each with its first byte and the distance between its elements in bytes."""
    nbytes: int

    def slot(self, name: str) -> tuple[Register, Slot]:
        """Return a field's register and slot."""
        return next((r, s) for r in self.registers for s in r.slots if s.field.name == name)


Layout = Mapping[str, Placed]


def fixed(flat: Flat) -> Layout:
    """Return the layout that a description gives."""
    found: dict[str, Placed] = {}
    for group in flat.groups.values():
        by_place: dict[tuple[int, int, int], list[Slot]] = {}
        for field in group.fields:
            place = field.place or BitPlace(0)
            if field.count is None:
                place = replace(place, byte_step=0, bit_step=0)
            key = place.byte, field.field.register_bits, place.byte_step
            by_place.setdefault(key, []).append(Slot(field, place))
        registers = tuple(
            Register(byte, bits, tuple(slots), slots[0].field.field.reset)
            for (byte, bits, _), slots in sorted(by_place.items())
        )
        parts = tuple((part, p.byte, p.byte_step) for part in group.parts if (p := part.place))
        found[group.name] = Placed(group.name, registers, parts, group.nbytes)
    return found


def place(flat: Flat, regions: Iterable[Combination]) -> Layout:
    """Place fields by a heuristic, which takes combinations in the order of their frequency and then of their number of
    fields.

    regions: the fields of each access region of the driver. Fields whose accesses have effects get registers of their
    own.
    """
    order = combinations(regions)
    elements = {part.group for group in flat.groups.values() for part in group.parts if part.count is not None}
    found: dict[str, Placed] = {}
    for group in flat.groups.values():  # groups that other groups contain come first
        placed = _placed(group, order, found)
        if group.name in elements:  # the size becomes a power of two, so that indexing is a shift
            placed = replace(placed, nbytes=1 << (placed.nbytes - 1).bit_length())
        found[group.name] = placed
    return found


def combinations(regions: Iterable[Combination]) -> list[Combination]:
    """Return the combinations of fields that are accessed together (list C of 6.4.4), with the most frequent first."""
    uses = Counter(region for region in regions if len(region) > 1)
    return sorted(uses, key=lambda fields: (-uses[fields], -len(fields), sorted(fields)))


def _placed(group: FlatGroup, order: Sequence[Combination], children: Mapping[str, Placed]) -> Placed:
    registers: list[Register] = []
    nbytes, parts, done = 0, [], set[str]()
    for part in group.parts:
        step = children[part.group].nbytes
        parts.append((part, nbytes, step))
        nbytes += step * (part.count or 1)
    for field in group.fields:
        if field.name not in done:
            together = _together(group, field, order, done)
            bit, slots = 0, []
            step = WORD // 8 if field.count is not None else 0
            for member in together:
                slots.append(Slot(member, BitPlace(nbytes, bit, step)))
                bit += member.field.bits
            done |= {member.name for member in together}
            registers.append(Register(nbytes, WORD, tuple(slots), reset=0))
            nbytes += WORD // 8 * (field.count or 1)
    return Placed(group.name, tuple(registers), tuple(parts), nbytes)


def _together(group: FlatGroup, field: FlatField, order: Sequence[Combination], done: set[str]) -> list[FlatField]:
    """Return the fields that share a register with a field: the rest of its first combination, as far as they fit."""
    names = next((c for c in order if (group.name, field.name) in c), frozenset())
    found, bits = [], 0
    for other in group.fields:
        is_one = other is field or (
            (group.name, other.name) in names and other.count == field.count and _shares(other) and _shares(field)
        )
        if is_one and other.name not in done and bits + other.field.bits <= WORD:
            found.append(other)
            bits += other.field.bits
    return found


def _shares(field: FlatField) -> bool:
    return not (field.field.read_acts or field.field.write_acts)
