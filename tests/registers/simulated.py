"""Runs drivers on the simulated bus (bus.c), whose fields come from SVD files."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from compiling import objects
from registers.plain import PLAIN, WARNINGS

HERE = Path(__file__).parent
ACCESS = {"read-write": "BUS_READ_WRITE", "read-only": "BUS_READ_ONLY", "write-only": "BUS_WRITE_ONLY"}
HOOKS = (
    "-DREG_READ32(a)=mmio_read32(a)",
    "-DREG_WRITE32(a,v)=mmio_write32(a,v)",
    "-DMMIO_SIMULATED",
    "-include",
    str(HERE / "bus.h"),
)
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Row:
    name: str
    address: int
    bit: int
    bits: int
    access: str = "BUS_READ_WRITE"
    flags: tuple[str, ...] = ()
    initial: int = 0


@dataclass
class Ran:
    counts: dict[str, int] = field(default_factory=dict)
    result: int = 0
    events: list[tuple[str, str, int]] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    fields: dict[str, int] = field(default_factory=dict)

    @property
    def accesses(self) -> int:
        return self.counts["loads"] + self.counts["stores"]


def parsed(text: str) -> Ran:
    ran = Ran()
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "count":
            ran.counts[rest[0]] = int(rest[1])
        elif word == "result":
            ran.result = int(rest[1])
        elif word == "event":
            ran.events.append((rest[0], rest[1], int(rest[2])))
        elif word == "state":
            ran.states.append(int(rest[1]))
        elif word == "field":
            ran.fields[rest[0]] = int(rest[1])
    return ran


def rows(svd: str, *, with_registers: bool = True) -> list[Row]:
    """If `with_registers` is true, fields are named REGISTER_FIELD instead of FIELD."""
    root = ET.fromstring(svd)
    found: list[Row] = []
    for peripheral in root.iter("peripheral"):
        name = peripheral.findtext("name", "")
        base = int(peripheral.findtext("baseAddress", "0"), 0)
        first = name == root.findtext("peripherals/peripheral/name")
        prefix = "" if first else f"{name}_"
        registers = peripheral.find("registers")
        assert registers is not None
        found += _inside(registers, prefix, base, "read-write", with_registers)
    return found


def _elements(node: ET.Element) -> Iterator[tuple[str, int]]:
    name = node.findtext("name", "")
    if node.find("dim") is None:
        yield name, 0
        return
    for index in range(int(node.findtext("dim", "1"), 0)):
        yield (
            name.replace("[%s]", f"_{index}").replace("%s", f"_{index}"),
            index * int(node.findtext("dimIncrement", "0"), 0),
        )


def _inside(node: ET.Element, prefix: str, base: int, access: str, with_registers: bool) -> Iterator[Row]:
    for child in node:
        if child.tag not in ("register", "cluster"):
            continue
        offset = base + int(child.findtext("addressOffset", "0"), 0)
        allowed = child.findtext("access", access)
        for name, step in _elements(child):
            if child.tag == "cluster":
                yield from _inside(child, f"{prefix}{name}_", offset + step, allowed, with_registers)
            else:
                yield from _fields(child, prefix, name, offset + step, allowed, with_registers)


def _fields(
    register: ET.Element, prefix: str, name: str, address: int, access: str, with_registers: bool
) -> Iterator[Row]:
    reads, fields = register.findtext("readAction"), register.find("fields")
    element = name.removeprefix(register.findtext("name", "").replace("[%s]", ""))
    if fields is None:
        yield Row(prefix + name, address, 0, 32, _kind(access, reads, None))
        return
    for one in fields:
        for inner, step in _elements(one):
            kind = _kind(
                one.findtext("access", access), one.findtext("readAction", reads), one.findtext("modifiedWriteValues")
            )
            bit, bits = int(one.findtext("bitOffset", "0")), int(one.findtext("bitWidth", "1"))
            yield Row(
                f"{prefix}{name}_{inner}" if with_registers else prefix + inner + element,
                address,
                bit + step,
                bits,
                kind,
            )


def _kind(access: str, reads: str | None, writes: str | None) -> str:
    if reads == "clear":
        return "BUS_READ_CLEARS"
    return {"oneToClear": "BUS_ONE_CLEARS", "zeroToClear": "BUS_ZERO_CLEARS"}.get(writes or "", ACCESS[access])


def table(fields: Sequence[Row]) -> str:
    entries = "\n".join(
        f"  {{{row.address:#x}u, {row.bit}, {row.bits}, {row.access}, {' | '.join(row.flags) or '0'}}},"
        for row in fields
    )
    names = "\n".join(f'  "{row.name}",' for row in fields)
    initial = "\n".join(f"  {row.initial:#x}u," for row in fields)
    return (
        f'#include "bus.h"\n\nstatic const bus_field fields[] = {{\n{entries}\n}};\n'
        "const bus_field *bus_fields = fields;\n"
        f"const char *const bus_names[] = {{\n{names}\n}};\nconst uint32_t bus_initial[] = {{\n{initial}\n}};\n"
        f"const unsigned bus_count = {len(fields)};\n"
    )


def ids(fields: Sequence[Row]) -> str:
    return "".join(f"#define ID_{row.name} {index}u\n" for index, row in enumerate(fields))


def program(
    folder: Path, name: str, files: Iterable[Path], fields: Sequence[Row], include: Iterable[Path]
) -> list[Path | str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.c").write_text(table(fields))
    (folder / "ids.h").write_text(ids(fields))
    folders = [f"-I{path}" for path in (*include, folder, HERE, PLAIN)]
    return [
        *HOOKS,
        f"-DDEVICE_{name.upper()}",
        *folders,
        folder / "table.c",
        HERE / "bus.c",
        HERE / "devices.c",
        *files,
    ]


def run(folder: Path, name: str, files: Iterable[Path], fields: Sequence[Row], include: Iterable[Path] = ()) -> Ran:
    built = folder / "program"
    arguments = program(folder, name, [*files, HERE / "host.c"], fields, include)
    sources = [word for word in arguments if isinstance(word, Path)]
    command = ["cc", "-std=c11", "-g", *WARNINGS, *SANITIZED]
    flags = [word for word in arguments if not isinstance(word, Path)]
    subprocess.run([*command, *objects([*command, *flags], sources, folder), "-o", built], check=True)
    return parsed(subprocess.run([built], check=True, capture_output=True, text=True).stdout)


def with_flags(fields: Iterable[Row], flags: Mapping[str, tuple[str, ...]], initial: Mapping[str, int]) -> list[Row]:
    return [
        Row(r.name, r.address, r.bit, r.bits, r.access, r.flags + flags.get(r.name, ()), initial.get(r.name, 0))
        for r in fields
    ]
