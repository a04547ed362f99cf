"""Bit field group simplification (6.4.3): merges groups without pointers or unknown indices into their parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tflm_memopt.registers.description import BitPlace, Description, Field, SubGroup
from tflm_memopt.registers.driver import Driver, FieldAccess, Span


@dataclass(frozen=True, slots=True)
class FlatField:
    """A field of a remaining group, with a `count` only if it is an array that is indexed with an unknown index."""

    name: str
    field: Field
    count: int | None = None
    place: BitPlace | None = None


@dataclass(frozen=True, slots=True)
class FlatGroup:
    """A group that remains after simplification, which becomes a C struct."""

    name: str
    fields: tuple[FlatField, ...]
    parts: tuple[SubGroup, ...]
    nbytes: int


@dataclass(frozen=True, slots=True)
class Spot:
    """The target of an access after simplification. `anchor` leads to the group, and `name` is the field in it."""

    group: str
    anchor: Span
    is_pointer: bool
    name: str
    index: Span | None


@dataclass(frozen=True, slots=True)
class Flat:
    """All groups that remain, of which nested groups come first."""

    groups: Mapping[str, FlatGroup]

    def spot(self, access: FieldAccess) -> Spot:
        """Return the target of an access of the driver."""
        chain = access.chain
        group, anchor, is_pointer = chain.root_group, chain.root, chain.is_pointer
        names: list[str] = []
        for step in chain.steps[:-1]:
            if isinstance(step.member, SubGroup) and step.member.group in self.groups:
                group, anchor, is_pointer, names = step.member.group, step.span, False, []
            else:
                names += [step.member.name, *([str(step.index)] if step.index is not None else [])]
        last = chain.steps[-1]
        names.append(last.member.name)
        by_name = {field.name: field for field in self.groups[group].fields}
        name = "_".join(names)
        if name in by_name:
            return Spot(group, anchor, is_pointer, name, last.index_span)
        return Spot(group, anchor, is_pointer, f"{name}_{last.index}", None)


def flatten(description: Description, driver: Driver) -> Flat:
    """Return the remaining groups of a description, if no other driver uses the description."""
    kept = _kept(description, driver)
    found: dict[str, FlatGroup] = {}
    for name in description.groups:
        if name in kept:
            group = description.groups[name]
            fields = tuple(_fields(description, driver, kept, name, "", BitPlace(0)))
            parts = tuple(part for part in group.parts if part.group in kept)
            found[name] = FlatGroup(name, fields, parts, group.nbytes)
    return Flat(found)


def _kept(description: Description, driver: Driver) -> frozenset[str]:
    """Return the groups that devices, pointers or unknown array indices lead to, and all groups that contain one of
    them.
    """
    kept = {device.group for device in description.devices} | set(driver.dynamic)
    for name, group in description.groups.items():
        kept |= {part.group for part in group.parts if (name, part.name) in driver.indexed}
    while True:
        more = {name for name, group in description.groups.items() if any(part.group in kept for part in group.parts)}
        if more <= kept:
            return frozenset(kept)
        kept |= more


def _fields(
    description: Description, driver: Driver, kept: frozenset[str], name: str, prefix: str, at: BitPlace
) -> Iterator[FlatField]:
    for member in description.groups[name].members:
        if isinstance(member, Field):
            if member.count is None or member.key in driver.indexed:
                yield FlatField(prefix + member.name, member, member.count, _within(member.place, at))
                continue
            for index in range(member.count):
                place = member.place and _within(member.place.of_element(index), at)
                yield FlatField(f"{prefix}{member.name}_{index}", member, None, place)
        elif member.group not in kept:
            for index in range(member.count or 1):
                inner = prefix + member.name + ("_" if member.count is None else f"_{index}_")
                place = member.place.of_element(index) if member.place else BitPlace(0)
                yield from _fields(description, driver, kept, member.group, inner, place.within(at))


def _within(place: BitPlace | None, parent: BitPlace) -> BitPlace | None:
    return place and place.within(parent)
