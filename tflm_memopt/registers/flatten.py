"""Merges nested groups of fields into the groups around them (6.4.3). A nested group is not merged if code reaches the
group by a pointer or an unknown index.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tflm_memopt.registers.description import BitPlace, Description, Field, RegisterGroup, SubGroup
from tflm_memopt.registers.driver import Driver, FieldAccess, Span

Groups = Mapping[str, RegisterGroup]
"""Maps names to groups, after nested groups have been merged, with each group after the groups that it contains."""


@dataclass(frozen=True, slots=True)
class Spot:
    group: str
    anchor: Span
    is_pointer: bool
    name: str
    index: Span | None


def spot_of(groups: Groups, access: FieldAccess) -> Spot:
    chain = access.chain
    group, anchor, is_pointer = chain.root_group, chain.root, chain.is_pointer
    names: list[str] = []
    for step in chain.steps[:-1]:
        if isinstance(step.member, SubGroup) and step.member.group in groups:
            group, anchor, is_pointer, names = step.member.group, step.span, False, []
        else:
            names += [step.member.name, *([str(step.index)] if step.index is not None else [])]
    last = chain.steps[-1]
    name = "_".join((*names, last.member.name))
    if any(field.name == name for field in groups[group].fields):
        return Spot(group, anchor, is_pointer, name, last.index_span)
    return Spot(group, anchor, is_pointer, f"{name}_{last.index}", None)


def flatten(description: Description, driver: Driver) -> Groups:
    """Return the groups that are not merged into other groups. If the driver accesses an array of groups with an
    unknown index, the array is not merged into another group.
    """
    kept = _kept(description, driver)
    found: dict[str, RegisterGroup] = {}
    for name, group in description.groups.items():
        if name in kept:
            fields = _fields(description, driver, kept, name, "", BitPlace(0))
            parts = (part for part in group.parts if part.group in kept)
            found[name] = RegisterGroup(name, (*fields, *parts), group.nbytes)
    return found


def _kept(description: Description, driver: Driver) -> frozenset[str]:
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
) -> Iterator[Field]:
    for member in description.groups[name].members:
        if isinstance(member, SubGroup) and member.group in kept:
            continue
        is_whole = member.count is None or (isinstance(member, Field) and member.key in driver.indexed)
        for index in (None,) if is_whole else range(member.count or 1):
            place = (member.place if index is None else member.place.of_element(index)).within(at)
            inner = prefix + member.name + ("" if index is None else f"_{index}")
            if isinstance(member, SubGroup):
                yield from _fields(description, driver, kept, member.group, f"{inner}_", place)
            else:
                count = member.count if index is None else None
                yield replace(member, name=inner, original=member.name, count=count, place=place)
