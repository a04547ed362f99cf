"""Reads CMSIS-SVD descriptions of existing chips, and writes generated layouts in the same format.

An SVD file describes how an access to a register affects the same register (readAction, modifiedWriteValues). The
file's vendorExtensions state which fields change if the driver writes another field:

<vendorExtensions> <sideEffects peripheral="spi"> <wse field="cr1.spe" target="sr.bsy"/> </sideEffects>
</vendorExtensions>

Without a sideEffects element, every write to a peripheral may have effects, and every field may change by itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from cmsis_svd.parser import SVDParser
from lxml import etree

from tflm_memopt.registers.description import (
    WORD,
    AccessType,
    BitPlace,
    Description,
    Device,
    Field,
    FieldName,
    RegisterGroup,
    SourceLine,
    SubGroup,
    check,
)
from tflm_memopt.registers.header import access_named
from tflm_memopt.registers.layout import Layout, Placed, Register

ACCESSES = {
    "read-write": AccessType.READ_WRITE,
    "read-only": AccessType.READ_ONLY,
    "write-only": AccessType.WRITE_ONLY,
    "writeOnce": AccessType.WRITE_ONLY,
    "read-writeOnce": AccessType.READ_WRITE,
}
CLEARS = {"oneToClear": AccessType.ONE_CLEARS, "zeroToClear": AccessType.ZERO_CLEARS}


def read(path: Path, text: str) -> Description:
    """Return the peripherals of an SVD file. Raises RegisterError with file and line."""
    try:
        tree = etree.ElementTree(etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False)))
    except etree.XMLSyntaxError as error:
        line = SourceLine(path.name, error.lineno or 1)
        raise line.error(f"the description is not valid XML: {error.msg}", "use a CMSIS-SVD file") from error
    lines = _Lines(path.name, tree)
    lines.check()
    reader = _Reader(lines)
    try:
        for peripheral in SVDParser(tree).get_device().peripherals or ():
            reader.peripheral(peripheral)
    except Exception as error:  # The parser raises exceptions of many types for a damaged file.
        what = f"the description is not valid CMSIS-SVD: {error}"
        raise lines.of().error(what, "check the file against CMSIS-SVD.xsd") from error
    if not reader.devices:
        raise lines.of().error("the description has no peripheral with registers", "use a CMSIS-SVD file")
    found = Description(reader.groups, tuple(reader.devices), is_fixed=True)
    found = replace(found, groups={name: _effects(found, group, lines) for name, group in found.groups.items()})
    check(found)
    return found


class _Lines:
    """An SVD file as an XML tree, with the line numbers and vendorExtensions, which the SVD parser leaves out."""

    def __init__(self, file: str, tree: Any) -> None:
        self.file, self.tree = file, tree
        self.by_name: dict[tuple[str, ...], int] = {}
        for node in tree.iter("peripheral", "cluster", "register", "field"):
            names = [
                n.findtext("name", "").strip() for n in (node, *node.iterancestors()) if n.find("name") is not None
            ]
            for depth in range(1, len(names) + 1):
                self.by_name.setdefault(tuple(names[:depth]), node.sourceline)

    def check(self) -> None:
        for node in self.tree.iter("access"):
            if node.getparent().tag in ("peripheral", "cluster", "register", "field", "device"):
                access_named((node.text or "").strip(), ACCESSES, SourceLine(self.file, node.sourceline))

    def of(self, *names: str) -> SourceLine:
        """Return the line of the XML element whose parents and name are `names`."""
        for depth in range(len(names), 0, -1):
            if found := self.by_name.get(names[:depth]):
                return SourceLine(self.file, found)
        return SourceLine(self.file, 1)

    def effects(self, peripheral: str) -> list[Any] | None:
        stated = [node for node in self.tree.iter("sideEffects") if _word(node.get("peripheral", "")) == peripheral]
        return [effect for node in stated for effect in node.iter("rse", "wse")] if stated else None


class _Reader:
    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.groups: dict[str, RegisterGroup] = {}
        self.devices: list[Device] = []

    def peripheral(self, node: Any) -> None:
        if not node.registers:
            return
        name = _word(node.name)
        group = _word(node.header_struct_name or f"{name}_Type")
        self._group(group, node.registers, (node.name,))
        self.devices.append(Device(name, group, node.base_address))

    def _group(self, name: str, nodes: Iterable[Any], around: tuple[str, ...]) -> None:
        members, end = [], 0
        for found in nodes:
            node = getattr(found, "meta_register", None) or getattr(found, "meta_cluster", None) or found
            member = self._member(name, node, around)
            members.append(member)
            one = self.groups[member.group].nbytes if isinstance(member, SubGroup) else member.register_bits // 8
            end = max(end, member.place.byte + one + member.place.byte_step * ((member.count or 1) - 1))
        self.groups[name] = RegisterGroup(name, tuple(members), end)

    def _member(self, group: str, node: Any, around: tuple[str, ...]) -> Field | SubGroup:
        name, count = _word(node.name), node.dim
        place = BitPlace(node.address_offset, byte_step=(node.dim_increment or 0) if count else 0)
        inner = f"{group}_{name}"
        if hasattr(node, "registers"):
            self._group(inner, [*node.registers, *(node.clusters or ())], (node.name, *around))
            return SubGroup(name, inner, count, place)
        bits = node.size or WORD
        if not node.fields:
            return self._field((group, name), bits, bits, place, count, node, None, self.lines.of(node.name, *around))
        fields = []
        for found in node.fields:
            one = getattr(found, "meta_field", None) or found
            at = BitPlace(0, one.bit_offset or 0, bit_step=(one.dim_increment or 0) if one.dim else 0)
            width = one.bit_width or 1
            where = self.lines.of(one.name, node.name, *around)
            fields.append(self._field((inner, _word(one.name)), width, bits, at, one.dim, one, node, where))
        self.groups[inner] = RegisterGroup(inner, tuple(fields), bits // 8)
        return SubGroup(name, inner, count, place)

    def _field(
        self, key: FieldName, bits: int, register_bits: int, place: BitPlace, count: int | None, node: Any,
        register: Any, line: SourceLine,
    ) -> Field:  # fmt: skip
        access = ACCESSES[node.access.value] if node.access else AccessType.READ_WRITE
        acts, writes = _said(node, register, "read_action"), _said(node, register, "modified_write_values")
        invalidated: tuple[FieldName, ...] = ()
        if acts == "clear":
            access = AccessType.READ_CLEARS if access is AccessType.READ_ONLY else access
        if writes and writes != "modify":
            access = CLEARS.get(writes, access)
            invalidated = () if writes in CLEARS else ((key[0], ""),)
        reads: tuple[FieldName, ...] = ()
        if acts and access is not AccessType.READ_CLEARS:
            reads = ((key[0], ""),)
        elif access is AccessType.READ_ONLY:
            reads = (key,)
        owner = node if register is None else register
        is_known = owner.reset_mask in (None, (1 << register_bits) - 1)
        return Field(
            *key, bits, line, count, access, reads, invalidated, place, register_bits,
            owner.reset_value if is_known else None,
        )  # fmt: skip


def _said(node: Any, register: Any, name: str) -> str:
    """Return a property of a field, or of its register if the field lacks the property."""
    value = getattr(node, name) or (getattr(register, name) if register is not None else None)
    return str(value.value) if value else ""


def _effects(description: Description, group: RegisterGroup, lines: _Lines) -> RegisterGroup:
    """Add to a group the side effects that a file states. If the file has no statement about a group, all possible side
    effects are assumed.
    """
    owner = next(
        (d for d in description.devices if group.name == d.group or group.name.startswith(f"{d.group}_")), None
    )
    if owner is None:
        return group
    stated = lines.effects(owner.name)
    members = tuple(
        _with_effects(description, owner, member, stated, lines) if isinstance(member, Field) else member
        for member in group.members
    )
    return replace(group, members=members)


def _with_effects(
    description: Description, owner: Device, one: Field, stated: list[Any] | None, lines: _Lines
) -> Field:
    if stated is None:
        return replace(one, read_invalidates=(*one.read_invalidates, one.key), write_invalidates=(one.key,))
    reads, writes = [*one.read_invalidates], [*one.write_invalidates]
    for node in stated:
        line = SourceLine(lines.file, node.sourceline)
        if _found(description, owner, node.get("field", ""), line) == one.key:
            target = _found(description, owner, node.get("target", node.get("field", "")), line)
            (reads if node.tag == "rse" else writes).append(target)
    return replace(one, read_invalidates=tuple(dict.fromkeys(reads)), write_invalidates=tuple(dict.fromkeys(writes)))


def _found(description: Description, owner: Device, path: str, line: SourceLine) -> FieldName:
    """Return the field with the path REGISTER.FIELD, or one field for a register without fields."""
    group = owner.group
    for name in path.split("."):
        member = next((m for m in description.groups[group].members if m.name == _word(name)), None)
        if isinstance(member, SubGroup):
            group = member.group
        elif member is not None:
            return member.key
        else:
            what = f"a side effect names '{path}', which {owner.name} does not have"
            raise line.error(what, "name REGISTER.FIELD, or a register without fields")
    return group, ""


def _word(name: str) -> str:
    """In an SVD file, the name of an array contains [%s] or %s."""
    return re.sub(r"\W", "_", re.sub(r"_?\[?%s\]?", "", name.strip()))


def declarations(description: Description) -> str:
    """Return C declarations of all groups for the parser of drivers."""
    lines = []
    for group in description.groups.values():
        lines.append(f"struct {group.name} {{")
        for member in group.members:
            kind = f"struct {member.group}" if isinstance(member, SubGroup) else "unsigned"
            if isinstance(member, Field) and member.bits > WORD:
                kind = "unsigned long long"
            array = "" if member.count is None else f"[{member.count}]"
            lines.append(f"  {kind} {member.name}{array};")
        lines.append("};")
    lines += [
        f"static struct {device.group} *const {device.name} = (struct {device.group} *){device.base:#x};"
        for device in description.devices
    ]
    return "\n".join((*lines, ""))


def write(name: str, devices: Sequence[Device], layout: Layout) -> str:
    """Return a register layout as CMSIS-SVD text, which the function svd.read() can parse. The text also states the
    side effects of accesses. An array of groups becomes an SVD cluster.
    """
    root = ET.Element("device", schemaVersion="1.3")
    _texts(root, name=_word(name), version="1", description="Registers as tflm-memopt has placed them")
    _texts(root, addressUnitBits="8", width="32", size="32", access="read-write")
    peripherals = ET.SubElement(root, "peripherals")
    for device in devices:
        node = ET.SubElement(peripherals, "peripheral")
        placed = layout[device.group]
        _texts(node, name=device.name, description=f"Device {device.name}", headerStructName=device.group)
        _texts(node, baseAddress=f"{device.base:#x}")
        block = ET.SubElement(node, "addressBlock")
        _texts(block, offset="0", size=f"{placed.nbytes:#x}", usage="registers")
        _registers(ET.SubElement(node, "registers"), placed, layout)
    extensions = ET.SubElement(root, "vendorExtensions")
    for device in devices:
        _write_effects(ET.SubElement(extensions, "sideEffects", peripheral=device.name), device, layout)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _texts(node: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(node, name).text = text


def _registers(node: ET.Element, placed: Placed, layout: Layout) -> None:
    for register in placed.registers:
        _register(ET.SubElement(node, "register"), register)
    for part in placed.parts:
        cluster = ET.SubElement(node, "cluster")
        if part.count is not None:
            _texts(cluster, dim=str(part.count), dimIncrement=f"{part.place.byte_step:#x}")
        array = "" if part.count is None else "[%s]"
        _texts(cluster, name=f"{part.name}{array}", description=part.group, headerStructName=part.group)
        _texts(cluster, addressOffset=f"{part.place.byte:#x}")
        _registers(cluster, layout[part.group], layout)


def _register_name(register: Register) -> str:
    name = "_".join(field.name for field in register.fields)
    return name if len(name) <= 60 else f"{register.fields[0].name}_and_{len(register.fields) - 1}"


def _paths(placed: Placed, layout: Layout, prefix: str = "") -> Iterator[tuple[Field, str]]:
    for register in placed.registers:
        for field in register.fields:
            yield field, f"{prefix}{_register_name(register)}.{field.name}"
    for part in placed.parts:
        yield from _paths(layout[part.group], layout, f"{prefix}{part.name}.")


def _write_effects(node: ET.Element, device: Device, layout: Layout) -> None:
    paths = list(_paths(layout[device.group], layout))
    for one, path in paths:
        for word, targets in (("rse", one.read_invalidates), ("wse", one.write_invalidates)):
            found = [p for f, p in paths for owner, name in targets if f.group == owner and name in ("", f.original)]
            for target in dict.fromkeys(found or [path] * bool(targets)):
                ET.SubElement(node, word, field=path, target=target)


def _register(node: ET.Element, register: Register) -> None:
    is_array = register.byte_step > 0
    if is_array:
        _texts(node, dim=str(register.count), dimIncrement=f"{register.byte_step:#x}")
    name = _register_name(register)
    _texts(node, name=name + "[%s]" * is_array, description=name, addressOffset=f"{register.byte:#x}")
    _texts(node, size=str(register.bits))
    if register.reset is not None:
        _texts(node, resetValue=f"{register.reset:#x}")
    fields = ET.SubElement(node, "fields")
    for field in register.fields:
        _field(ET.SubElement(fields, "field"), field)


def _field(node: ET.Element, field: Field) -> None:
    array = ""
    if field.place.bit_step:
        _texts(node, dim=str(field.count), dimIncrement=str(field.place.bit_step))
        array = "%s"
    _texts(node, name=field.name + array, description=f"{field.original} of {field.group}")
    allowed = "read-only" if not field.is_writable else "read-write" if field.is_readable else "write-only"
    _texts(node, bitOffset=str(field.place.bit), bitWidth=str(field.bits), access=allowed)
    for word, access in CLEARS.items():
        if field.access is access:
            _texts(node, modifiedWriteValues=word)
    if field.access is AccessType.READ_CLEARS:
        _texts(node, readAction="clear")
