"""Chooses the register and the bits of each field (6.4.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.registers.description import WORD, AccessType, BitPlace, Field, RegisterGroup, SubGroup
from tflm_memopt.registers.flatten import Groups

Combination = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Register:
    """The attribute `byte` is the register's offset in the group."""

    byte: int
    bits: int
    fields: tuple[Field, ...]
    reset: int | None
    """Value that a write puts into unused bits, or None if a write keeps the unused bits."""
    is_new: bool = False
    """True if no chip has the register yet, so that its unused bits read as 0."""

    @property
    def count(self) -> int:
        return max((field.count or 1 for field in self.fields if field.place.byte_step), default=1)

    @property
    def byte_step(self) -> int:
        return max((field.place.byte_step for field in self.fields), default=0)

    @property
    def full(self) -> int:
        return (1 << self.bits) - 1

    @property
    def used(self) -> int:
        return sum(field.all_bits for field in self.fields)

    @property
    def reads(self) -> int:
        """Return a mask of the bits that may read as 1."""
        return self.used if self.is_new else self.full

    @property
    def reserved(self) -> int:
        return (self.reset or 0) & ~self.used

    @property
    def read_acts(self) -> bool:
        return any(field.read_acts for field in self.fields)

    @property
    def neutral(self) -> tuple[int, int]:
        """Return two masks: the bits where writing 0 has no effect, and the bits where writing 1 has no effect."""
        zeros = sum(field.all_bits for field in self.fields if field.access in _ZEROS)
        ones = sum(field.all_bits for field in self.fields if field.access is AccessType.ZERO_CLEARS)
        return zeros, ones

    def kept(self, written: int) -> int:
        """Return a mask of the bits that must stay unchanged when a driver writes the bits `written`. The mask is 0 if
        the driver can write without reading.
        """
        zeros, ones = self.neutral
        used = self.full if self.reset is None else self.used
        fixed = sum(field.all_bits for field in self.fields if not field.is_writable)
        changed = written | zeros | ones
        return self.full & ~changed if used & ~(changed | fixed) else 0


_ZEROS = AccessType.ONE_CLEARS, AccessType.WRITE_ONLY


@dataclass(frozen=True, slots=True)
class Placed:
    name: str
    registers: tuple[Register, ...]
    parts: tuple[SubGroup, ...]
    nbytes: int

    def find(self, name: str) -> tuple[Register, Field]:
        return next((r, field) for r in self.registers for field in r.fields if field.name == name)


Layout = Mapping[str, Placed]


def fixed(groups: Groups) -> Layout:
    found: dict[str, Placed] = {}
    for group in groups.values():
        by_place: dict[tuple[int, int, int], list[Field]] = {}
        for field in group.fields:
            place = field.place if field.count is not None else replace(field.place, byte_step=0, bit_step=0)
            key = place.byte, field.register_bits, place.byte_step
            by_place.setdefault(key, []).append(replace(field, place=place))
        registers = tuple(
            Register(byte, bits, tuple(fields), fields[0].reset)
            for (byte, bits, _), fields in sorted(by_place.items(), key=lambda item: item[0])
        )
        found[group.name] = Placed(group.name, registers, tuple(group.parts), group.nbytes)
    return found


def place(groups: Groups, regions: Iterable[Combination]) -> Layout:
    """Assign fields to registers by a heuristic, which begins with the most frequent and largest combinations.

    The argument `regions` has the fields of each set of combined accesses. A field whose accesses have effects gets a
    register of its own.
    """
    order = combinations(regions)
    elements = {part.group for group in groups.values() for part in group.parts if part.count is not None}
    found: dict[str, Placed] = {}
    for group in groups.values():
        placed = _placed(group, order, found)
        if group.name in elements:  # the size becomes a power of two, so that indexing is a shift
            placed = replace(placed, nbytes=1 << (placed.nbytes - 1).bit_length())
        found[group.name] = placed
    return found


def combinations(regions: Iterable[Combination]) -> list[Combination]:
    """Return the combinations of fields that are accessed together, with the most frequent first (list C of 6.4.4)."""
    uses = Counter(region for region in regions if len(region) > 1)
    return sorted(uses, key=lambda fields: (-uses[fields], -len(fields), sorted(fields)))


def _placed(group: RegisterGroup, order: Sequence[Combination], children: Mapping[str, Placed]) -> Placed:
    registers: list[Register] = []
    nbytes, parts, done = 0, [], set[str]()
    for part in group.parts:
        step = children[part.group].nbytes
        parts.append(replace(part, place=BitPlace(nbytes, byte_step=step)))
        nbytes += step * (part.count or 1)
    for field in group.fields:
        if field.name not in done:
            bit, placed = 0, []
            step = WORD // 8 if field.count is not None else 0
            for member in _together(group, field, order, done):
                placed.append(replace(member, place=BitPlace(nbytes, bit, step)))
                bit += member.bits
            done |= {member.name for member in placed}
            registers.append(Register(nbytes, WORD, tuple(placed), reset=0, is_new=True))
            nbytes += WORD // 8 * (field.count or 1)
    return Placed(group.name, tuple(registers), tuple(parts), nbytes)


def _together(group: RegisterGroup, field: Field, order: Sequence[Combination], done: set[str]) -> list[Field]:
    names = next((c for c in order if (group.name, field.name) in c), frozenset())
    found, bits = [], 0
    for other in group.fields:
        is_one = other is field or (
            (group.name, other.name) in names and other.count == field.count and _shares(other) and _shares(field)
        )
        if is_one and other.name not in done and bits + other.bits <= WORD:
            found.append(other)
            bits += other.bits
    return found


def _shares(field: Field) -> bool:
    return not (field.read_acts or field.write_acts)
