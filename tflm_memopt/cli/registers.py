"""The command `registers`, which combines the register accesses of a driver."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

import tflm_memopt
from tflm_memopt.cli import console
from tflm_memopt.cli.progress import busy
from tflm_memopt.files import printable

if TYPE_CHECKING:
    from tflm_memopt.registers.generate import Generated


def registers(args: argparse.Namespace) -> int:
    folder = args.output or Path(f"{args.driver.stem}_registers")
    with busy(args, f"combining accesses of {args.driver.name}"):
        made = tflm_memopt.combine_registers(args.driver, args.description, place=args.place, folders=args.folders)
    made.save(folder, (args.driver, args.description))
    return console.answer(args, made.to_json, _page(made, folder))


def _page(made: Generated, folder: Path) -> RenderableType:
    page = Table.grid(padding=(0, 3))
    plain, combined = made.plain, made.combined
    before, after = (version.loads + version.stores for version in (plain, combined))
    page.add_row("accesses", f"{before} -> {after}", "loads and stores in the driver's text")
    page.add_row("memory map", f"{made.memory_map} B", "of all devices")
    for function, regions in made.regions.items():
        for region in regions:
            page.add_row(function, f"{len(region)} -> 1", ", ".join(region))
    page.add_row("written to", str(printable(folder)), ", ".join(made.files))
    return page
