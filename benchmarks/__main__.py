"""Make the generated tables of docs/ and README.md, each between `<!-- NAME:begin -->` and `<!-- NAME:end -->`.

    python -m benchmarks ram --models DIR                   print a table about the models in a folder
    python -m benchmarks --check --models DIR --nets DIR    list outdated tables; exit with 1 if there are any
    python -m benchmarks --write --models DIR --nets DIR    write the outdated tables into their pages

Without names, the command makes all tables whose folder is given. Making all tables takes about an hour of processor
time.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))
import builtin
import costs
import cycles
import driver_registers
import on_board
import ram
import seconds
import size
import speed
import tigris
import two_cores
import zoo
from cores.core import MEASURED
from papers import items
from papers.fused_tiling import tiling_tables
from papers.msf_cnn import frontier
from papers.vmcu import vmcu
from tables import between, updated

from tflm_memopt.errors import MemoptError

ROOT = Path(__file__).parents[1]
FOLDERS: Mapping[str, str] = {
    "models": "folder of .tflite files, with the models of the README's table",
    "nets": "folder of the layer lists of msf-CNN's networks",
    "public": "folder of the models of docs/zoo.md, with a subfolder for each project",
}


@dataclass(frozen=True, slots=True)
class Table:
    """If the field `page` is empty, the script prints the table and changes no page."""

    page: str
    name: str
    make: Callable[..., str]
    folders: Sequence[str] = ()
    """Options that name the folders from which a table of the documentation is made, such as --models."""
    timed: bool = False
    """Whether the table has times that are measured on this machine. The option --check ignores such a table."""


BENCHMARKS, CYCLES, FRONTIER, REGISTERS = (
    f"docs/{page}.md" for page in ("benchmarks", "cycles", "frontier", "registers")
)
MODELS = ("models",)
IN_PAGES = ("m4", "m55", "rv32")
TABLES = (
    Table("README.md", "board", on_board.table, MODELS),
    Table(BENCHMARKS, "ram", ram.table, MODELS),
    Table(BENCHMARKS, "tigris", tigris.table),
    Table(BENCHMARKS, "vmcu-bottlenecks", vmcu.bottleneck_table),
    *(
        Table(BENCHMARKS if core in IN_PAGES else "", f"speed-{core}", partial(speed.table, core), MODELS)
        for core in MEASURED
    ),
    Table(BENCHMARKS, "size", size.table, MODELS),
    Table(BENCHMARKS, "seconds", seconds.table, MODELS, timed=True),
    Table("docs/two-cores.md", "cores", two_cores.table, MODELS),
    Table("docs/zoo.md", "others", zoo.table, ("public",)),
    Table(FRONTIER, "msf-cnn", frontier.table, ("nets",)),
    Table(FRONTIER, "costs", costs.error_table),
    Table(CYCLES, "cycles-m4", cycles.model_table, MODELS),
    Table(CYCLES, "cycles-error", cycles.error_table),
    Table(CYCLES, "cycles-engines", cycles.engine_table, MODELS),
    Table(REGISTERS, "register-accesses", driver_registers.access_table),
    Table(REGISTERS, "register-costs", driver_registers.cost_table),
    Table("docs/builtin.md", "builtin-offsets", builtin.offsets, MODELS),
    Table("docs/builtin.md", "builtin-states", builtin.states, MODELS),
    Table("docs/builtin.md", "builtin-parts", builtin.parts, MODELS),
    Table("docs/tiling.md", "tiling-totals", tiling_tables.table, MODELS),
    Table("docs/papers.md", "papers", items.table, MODELS),
)


def printed(table: Table, folders: Sequence[Path]) -> str:
    """Each table is made in a new process, so that caches of other tables do not shorten the measured times."""
    options = [f"--{name}={folder}" for name, folder in zip(table.folders, folders, strict=True)]
    command = [sys.executable, __file__, table.name, *options]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip("\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="name of a table (default: all)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page has an outdated table")
    parser.add_argument("--write", action="store_true", help="write outdated tables into their pages")
    for name, content in FOLDERS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=content)
    args = parser.parse_args()
    if unknown := set(args.names) - {table.name for table in TABLES}:
        parser.error(f"unknown table '{min(unknown)}'; known: {', '.join(table.name for table in TABLES)}")
    chosen = [table for table in TABLES if table.name in args.names or (table.page and not args.names)]
    try:
        return max((made(table, args) for table in chosen), default=0)
    except (AssertionError, MemoptError, OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        parser.error(str(error))


def made(table: Table, args: argparse.Namespace) -> int:
    if missing := [name for name in table.folders if getattr(args, name) is None]:
        print(f"{table.name}: left out, needs --{missing[0]} DIR", file=sys.stderr)
        return 0
    folders = [getattr(args, name) for name in table.folders]
    if not (args.check or args.write):
        print(table.make(*folders), end="\n\n")
        return 0
    if not table.page or (table.timed and not args.write):
        return 0
    page = ROOT / table.page
    text, new = page.read_text(encoding="utf-8"), printed(table, folders)
    if new == between(text, table.name):
        return 0
    print(f"{table.page}:{table.name} is outdated", flush=True)
    if args.write:
        page.write_text(updated(text, table.name, new), encoding="utf-8")
    return int(args.check)


if __name__ == "__main__":
    sys.exit(main())
