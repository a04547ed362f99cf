"""Drivers with generated accessors beside the plain ones: accesses, code, instructions, memory map, effort.

python benchmarks/driver_registers.py          the tables of docs/registers.md

Accesses are counted on the simulated bus of tests/registers.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from registers.drivers import FIXED, LAYOUT, Variant, generated, plain  # noqa: E402
from registers.plain import DRIVERS, PLAIN  # noqa: E402

from tflm_memopt.registers.halstead import effort  # noqa: E402

MODES = {"fixed": FIXED, "placed": LAYOUT}


def accesses() -> Iterator[str]:
    """Bus accesses, Halstead's effort and bytes of the memory map."""
    yield "| driver | accesses, plain | fixed | | placed | | memory map, B | placed | effort, plain | described |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name in DRIVERS:
        with tempfile.TemporaryDirectory() as folder:
            before = plain(name, Path(folder) / "plain").accesses
            after = {mode: generated(name, each[name], Path(folder) / mode).accesses for mode, each in MODES.items()}
        maps = {mode: each[name].generated().memory_map for mode, each in MODES.items()}
        texts = [PLAIN / f"{name}.c", PLAIN / f"{name}_hal.h"]
        efforts = effort("".join(path.read_text() for path in texts)), _described(LAYOUT[name])
        ratios = {mode: f"x{count / before:.2f}" for mode, count in after.items()}
        yield (
            f"| {name} | {before} | {after['fixed']} | {ratios['fixed']} | {after['placed']} | {ratios['placed']} | "
            f"{maps['fixed']} | {maps['placed']} | {efforts[0]:,.0f} | {efforts[1]:,.0f} |"
        )


def _described(variant: Variant) -> float:
    """Effort of the driver, with the header that describes its fields; SVD is no code."""
    texts = [variant.driver.read_text()]
    if variant.description.suffix == ".h":
        texts.append(variant.description.read_text())
    return effort("".join(texts))


def main() -> None:
    print("\n".join(accesses()))


if __name__ == "__main__":
    main()
