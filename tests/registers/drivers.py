"""Runs the drivers of examples/registers on the simulated bus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conftest import ROOT
from registers.plain import PLAIN
from registers.simulated import Ran, Row, rows, run, with_flags

from tflm_memopt.registers.generate import Generated, generate

EXAMPLES = ROOT / "examples/registers"
WRITES, PULSE, READS, MODEL = ("BUS_WRITE_ACTS",), ("BUS_PULSE",), ("BUS_READ_ACTS",), ("BUS_MODELLED",)
CAMERA_FLAGS = {
    "CR_ENABLE": WRITES, "CR_CAPTURE": WRITES, "dma_CR_EN": WRITES, "dma_ISR_TCIF": MODEL, "dma_CR_CT": MODEL,
    "RIS_FRAME": MODEL, "RIS_OVR": MODEL, "dma_ISR_TEIF": MODEL, "DR": READS,
}  # fmt: skip
SPI_FLAGS = {
    "CR1_SPE": WRITES, "DR": PULSE + READS + MODEL, "SR_RXNE": MODEL, "SR_TXE": MODEL, "SR_BSY": MODEL
}  # fmt: skip
PIN_BITS = 0x5A5A5A5A
STATUS = 0x0BADF00D


@dataclass(frozen=True)
class Variant:
    driver: Path
    description: Path
    place: bool = False

    def generated(self) -> Generated:
        texts = self.driver.read_text(), self.description.read_text()
        return generate(self.driver, texts[0], self.description, texts[1], place=self.place, folders=[PLAIN])


FIXED = {
    name: Variant(EXAMPLES / f"fixed/{name}.c", EXAMPLES / f"fixed/{name}.svd") for name in ("gpio", "spi", "camera")
}
LAYOUT = {
    "gpio": Variant(EXAMPLES / "layout/gpio.c", EXAMPLES / "layout/gpio_fields.h"),
    "spi": Variant(EXAMPLES / "fixed/spi.c", EXAMPLES / "fixed/spi.svd", place=True),
    "camera": Variant(EXAMPLES / "fixed/camera.c", EXAMPLES / "fixed/camera.svd", place=True),
}
FLAGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {"gpio": {}, "spi": SPI_FLAGS, "camera": CAMERA_FLAGS}


def _gpio_initial(names: Iterable[str]) -> dict[str, int]:
    found = {"INTSTATUS": STATUS, "intStatus": STATUS}
    for pin in range(32):
        for name in (f"PADIN_IN_{pin}", f"pads_{pin}_in"):
            found[name] = PIN_BITS >> pin & 1
    return {name: found[name] for name in names if name in found}


def fields(name: str, svd: str, *, with_registers: bool = True) -> list[Row]:
    found = rows(svd, with_registers=with_registers)
    initial = _gpio_initial(row.name for row in found) if name == "gpio" else {}
    return with_flags(found, FLAGS[name], initial)


def plain(name: str, folder: Path) -> Ran:
    table = fields(name, FIXED[name].description.read_text())
    return run(folder, name, [PLAIN / f"{name}.c", PLAIN / f"{name}_main.c"], table)


def written(variant: Variant, folder: Path) -> tuple[Path, Generated]:
    made = variant.generated()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.files.items():
        (folder / name).write_text(text)
    return folder / made.driver, made


def table_of(name: str, variant: Variant, made: Generated) -> list[Row]:
    if variant in FIXED.values():
        return fields(name, variant.description.read_text())
    return fields(name, made.files[f"{variant.driver.stem}_registers.svd"], with_registers=False)


def generated(name: str, variant: Variant, folder: Path) -> Ran:
    driver, made = written(variant, folder / "written")
    return run(folder, name, [driver, PLAIN / f"{name}_main.c"], table_of(name, variant, made), [folder / "written"])


@dataclass(frozen=True)
class Seen:
    result: int
    events: tuple[tuple[str, str, int], ...]
    fields: Mapping[str, int] = field(default_factory=dict)


def seen(ran: Ran) -> Seen:
    assert ran.counts["strays"] == 0, "an access that leads to no register"
    return Seen(
        ran.result,
        tuple((what, {"intStatus": "INTSTATUS"}.get(name, name), value) for what, name, value in ran.events),
        _aliased(ran.fields),
    )


def _aliased(values: Mapping[str, int]) -> dict[str, int]:
    """Map field names of one description to field names of another description, such as pads_3_dir to PADDIR_DIR_3."""
    if "intStatus" not in values:
        return dict(values)
    found = {"INTSTATUS": values["intStatus"]}
    for pin in range(32):
        pad = {name.removeprefix(f"pads_{pin}_"): v for name, v in values.items() if name.startswith(f"pads_{pin}_")}
        found |= {
            f"PADDIR_DIR_{pin}": pad["dir"], f"PADIN_IN_{pin}": pad["in"], f"PADOUT_OUT_{pin}": pad["out"],
            f"INTEN_EN_{pin}": pad["intEn"], f"INTTYPE0_TYPE_{pin}": pad["intType"] & 1,
            f"INTTYPE1_TYPE_{pin}": pad["intType"] >> 1, f"PADCFG_{pin // 4}_CFG_{pin % 4}": pad["cfg"],
        }  # fmt: skip
    return found
