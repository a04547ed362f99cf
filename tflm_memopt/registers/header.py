"""Reads groups of fields, effects and devices from a header in the language extension (6.3.1, 6.3.2)."""

import re
from pathlib import Path

from tflm_memopt.registers.description import (
    AccessType,
    Description,
    Device,
    Field,
    FieldName,
    RegisterGroup,
    SourceLine,
    SubGroup,
    check,
)
from tflm_memopt.registers.parse import Cursor, CursorKind, ParsedFile, notes

ACCESSES = {kind.value: kind for kind in AccessType}


def read(path: Path, text: str) -> Description:
    """Return the groups and devices of a header. Raises RegisterError with file and line."""
    unit = ParsedFile(path, text, "")
    groups: dict[str, RegisterGroup] = {}
    devices: list[Device] = []
    for cursor in unit.root.get_children():
        if unit.is_here(cursor) and cursor.kind == CursorKind.STRUCT_DECL and cursor.is_definition():
            groups[cursor.spelling] = _group(unit, cursor)
        elif cursor.kind == CursorKind.VAR_DECL and (base := dict(notes(cursor)).get("device")) is not None:
            group = cursor.type.get_pointee().get_declaration().spelling
            devices.append(Device(cursor.spelling, group, _address(base, unit.line(cursor))))
    if not devices:
        raise SourceLine(path.name, 1).error(
            "the header has no device, so the addresses of registers are unknown",
            "add make_device(GROUP, NAME, ADDRESS);",
        )
    found = Description(groups, tuple(devices), is_fixed=False)
    check(found)
    return found


def _group(unit: ParsedFile, cursor: Cursor) -> RegisterGroup:
    name = cursor.spelling
    members = (_member(unit, name, child) for child in cursor.get_children() if child.kind == CursorKind.FIELD_DECL)
    return RegisterGroup(name, tuple(members))


def _member(unit: ParsedFile, group: str, cursor: Cursor) -> Field | SubGroup:
    kind, count = cursor.type, None
    line = unit.line(cursor)
    if kind.kind.name == "CONSTANTARRAY":
        kind, count = kind.element_type, kind.element_count
    said = notes(cursor)
    bits = dict(said).get("bits")
    if bits is None:
        declared = kind.get_declaration()
        if declared.kind == CursorKind.STRUCT_DECL:
            return SubGroup(cursor.spelling, declared.spelling, count)
        raise line.error(
            f"member {cursor.spelling} of {group} is not a bit field: {kind.spelling}",
            "declare the member as bit, uint2, ... uint64, or bfGroup NAME",
        )
    return Field(
        group, cursor.spelling, int(bits), line, count,
        access=access_named(dict(said).get("access", AccessType.READ_WRITE.value), ACCESSES, line),
        read_invalidates=_targets(group, said, "rse"),
        write_invalidates=_targets(group, said, "wse"),
    )  # fmt: skip


def access_named(name: str, names: dict[str, AccessType], line: SourceLine) -> AccessType:
    if name not in names:
        raise line.error(f"unknown access type '{name}'", f"use {', '.join(names)}")
    return names[name]


def _targets(group: str, said: list[tuple[str, str]], word: str) -> tuple[FieldName, ...]:
    """Return the fields that an annotation lists: FIELD, GROUP::FIELD, or GROUP:: for all fields of GROUP."""
    found = []
    for name in (argument.replace(" ", "") for w, argument in said if w == word):
        owner, _, field = name.rpartition("::")
        found.append((owner or group, field))
    return tuple(found)


def _address(text: str, line: SourceLine) -> int:
    number = re.fullmatch(r"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*", text)
    if number is None:
        raise line.error(f"the device's address is not a number: {text}", "give a number such as 0x40013000")
    return int(number[1], 0)
