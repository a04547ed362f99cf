"""Runs drivers on an RV32 in QEMU with a simulated bus, or with RAM in place of the bus to count instructions."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cores.core import CORES, HERE, build, emulate
from registers.drivers import FIXED, Variant, fields, table_of, written
from registers.plain import PLAIN
from registers.simulated import Row

RV32 = CORES["rv32"]
COMPILER = [RV32.prefix + "gcc", *RV32.flags, "-std=c11", "-Os", "-ffreestanding"]
RAM = 0x80300000
READY = {"SR_TXE": 1, "SR_RXNE": 1, "dma_ISR_TCIF": 1, "RIS_FRAME": 1}
BASES = {"gpio": 0x1A101000, "spi": 0x40013000, "camera": 0x50050000, "dma": 0x40026000}


@dataclass(frozen=True)
class Cost:
    code: int
    instructions: int
    result: int


def cost(name: str, variant: Variant | None, folder: Path) -> Cost:
    folder.mkdir(parents=True, exist_ok=True)
    if variant is None:
        table, driver = fields(name, FIXED[name].description.read_text()), PLAIN / f"{name}.c"
    else:
        driver, made = written(variant, folder / "written")
        table = table_of(name, variant, made)
    code = _code_bytes(driver, folder / "driver.o")
    (folder / "registers.h").write_text(_registers(table))
    moved = [
        f"-D{word}={RAM | base & 0xFFFFF:#x}u"
        for device, base in BASES.items()
        for word in (f"{device}_BASE", f"{device.upper()}_BASE")
    ]
    folders = [f"-I{path}" for path in (HERE, folder, PLAIN, driver.parent)]
    files = [driver, PLAIN / f"{name}_main.c", Path(__file__).with_name("counted.c")]
    flags = ["-Os", f"-DPROGRAM={name}_main", *moved, *folders]
    build(RV32, [*files, *(HERE / file for file in RV32.start)], folder / "image.elf", flags)
    said = emulate(RV32, folder / "image.elf").split()
    return Cost(code, int(said[0]), int(said[1]))


def _code_bytes(driver: Path, made: Path) -> int:
    subprocess.run([*COMPILER, f"-I{PLAIN}", "-c", driver, "-o", made], check=True)
    said = subprocess.run([f"{RV32.prefix}size", "-A", made], check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[1]) for line in said.splitlines() if line.startswith(".text"))


def _registers(table: Sequence[Row]) -> str:
    lines = []
    for row in table:
        value = READY.get(row.name, row.initial)
        address = RAM | row.address & 0xFFFFF
        lines.append(f"  {{{address:#x}u, {row.bit}, {(1 << row.bits) - 1:#x}u, {value:#x}u}},")
    entries = "\n".join(lines)
    return (
        "#include <stdint.h>\nstatic const struct {\n  uint32_t address, bit, mask, value;\n} registers[] = {\n"
        f"{entries}\n}};\n"
    )
