"""The generated tables of the pages: the command that writes each table, and how `tables.py --check` detects that it is
stale.

A table that takes up to a minute is generated again and compared. For a slower table, the mark before it contains a
digest of the measured objects: the bytes of the rewritten models and the object code that ran them. The digest does not
cover sources, so the table becomes stale only if one of these objects changes.
"""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import size
from cores.core import MEASURED, Core, runner, sources
from papers.fused_tiling import schedules, tiling_tables

import tflm_memopt

ROOT = Path(__file__).parents[1]
Digested = Callable[[Sequence[Path]], Iterator[bytes]]
"""Function that yields the bytes on which a table was measured, given its models."""
SMALL = (
    "mcunet_vww_80_float_io", "mlperf_tiny_ad_autoencoder_int8", "mlperf_tiny_ic_resnet8_int8",
    "mlperf_tiny_kws_dscnn_int8", "mlperf_tiny_vww_96_int8",
)  # fmt: skip
LARGE = (*SMALL, "mcunetv2_large_224_float_io")


@dataclass(frozen=True, slots=True)
class Table:
    """A table between its marks in a page."""

    page: str
    name: str
    command: str
    """A script of this folder, and its arguments before --update. {models}, {nets} and {public} are folders."""
    only: tuple[str, ...] = ()
    """Stems of the models in the folder that the table uses; () stands for all."""
    of: Digested | None = None
    """Function that yields the bytes for the digest, or None if the table is quick enough to be made again."""

    @property
    def folders(self) -> set[str]:
        """Return the folders that the command needs."""
        return {name for name in FOLDERS if f"{{{name}}}" in self.command}


FOLDERS: Mapping[str, str] = {
    "models": "the .tflite files of README's table",
    "nets": "the layer lists of msf-CNN's networks",
    "public": "the models of docs/zoo.md, in a folder for each project",
}


def digest(table: Table, folders: Mapping[str, Path]) -> str:
    """Return the current digest of the data of a table, or "" for a table that is quick enough to be made again."""
    if table.of is None:
        return ""
    found = sorted(folders["models"].glob("*.tflite")) if "models" in table.folders else []
    paths = [p for p in found if not table.only or p.stem in table.only]
    whole = hashlib.sha256()
    for part in table.of(paths):
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:16]


@functools.cache
def rewritten(path: Path, target: str) -> bytes:
    """Return a model that is converted as for the tables of speed."""
    return tflm_memopt.optimize(path.read_bytes(), int8_io=True, target=target).model


@functools.cache
def code(core: Core) -> bytes:
    """Return the program for a core under QEMU, without symbols and paths."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "image.bin"
        subprocess.run([f"{core.prefix}objcopy", "-O", "binary", str(runner(core)), str(binary)], check=True)
        return binary.read_bytes()


def counted(core: Core) -> Digested:
    """Yield the objects that determine the counted instructions, namely the rewritten models and the core's code."""

    def of(paths: Sequence[Path]) -> Iterator[bytes]:
        yield from (rewritten(path, core.target) for path in paths)
        yield code(core)

    return of


def sizes(paths: Sequence[Path]) -> Iterator[bytes]:
    """Yield the library's object files, and the models that determine which parts of them are linked."""
    for core in (MEASURED[name] for name in size.WHOLE):
        yield from counted(core)(paths)  # the measured stack depends on these objects
        with tempfile.TemporaryDirectory() as folder:
            for source in sources():
                yield size.compiled(core, "-Os", (), source, Path(folder)).read_bytes()


def estimates(_: Sequence[Path]) -> Iterator[bytes]:
    """Yield the costs of kernels, with the errors of the estimates."""
    yield (ROOT / "tflm_memopt/analysis/costs.json").read_bytes()


def times(paths: Sequence[Path]) -> Iterator[bytes]:
    """Yield the results of the conversion, without the seconds, which depend on the machine."""
    yield from (rewritten(path, "generic") for path in paths)


def orders(_: Sequence[Path]) -> Iterator[bytes]:
    """Yield the orders, peaks and bounds, without the seconds, which depend on the machine."""
    yield from (repr(found).encode() for found in schedules.orders())


def tilings(_: Sequence[Path]) -> Iterator[bytes]:
    """Yield the small networks in the tables of fused tiling."""
    yield from map(tiled, ("TXT", "MW", "CIF", "RAD"))


@functools.cache
def tiled(name: str) -> bytes:
    return repr(tiling_tables.arenas(name, tiling_tables.NETWORKS[name]())).encode()


BENCHMARKS, FRONTIER, CYCLES = "docs/benchmarks.md", "docs/frontier.md", "docs/cycles.md"
TABLES = (
    Table("README.md", "board", "on_board.py --models {models}"),
    Table(BENCHMARKS, "ram", "ram.py {models}"),
    Table(BENCHMARKS, "tigris", "tigris.py"),
    Table("docs/two-cores.md", "cores", "two_cores.py --models {models}"),
    Table("docs/zoo.md", "others", "zoo.py {public}"),
    Table(FRONTIER, "msf-cnn", "papers/msf_cnn/frontier.py --nets {nets}"),
    Table(FRONTIER, "costs", "costs.py --keep", (), estimates),
    Table(BENCHMARKS, "executed", "papers/msf_cnn/executed.py --nets {nets}"),
    Table(BENCHMARKS, "vmcu-bottlenecks", "papers/vmcu/vmcu.py"),
    Table(BENCHMARKS, "vmcu-headroom", "papers/vmcu/vmcu.py"),
    Table(BENCHMARKS, "fused-tiling", "papers/fused_tiling/examples.py"),
    *(
        Table(BENCHMARKS, f"speed-{c}", f"speed.py --core {c} --models {{models}}", models, counted(MEASURED[c]))
        for c, models in {"m4": LARGE, "m55": LARGE, "rv32": SMALL}.items()
    ),
    Table(CYCLES, "cycles-m4", "cycles.py --board nucleo_l4r5 --models {models}", SMALL, counted(MEASURED["m4"])),
    Table(CYCLES, "cycles-error", "cycles.py --errors"),
    Table("docs/registers.md", "register-accesses", "driver_registers.py --only register-accesses"),
    Table("docs/registers.md", "register-costs", "driver_registers.py --only register-costs"),
    Table(BENCHMARKS, "size", "size.py --models {models} --cores m4 m55 rv32", SMALL, sizes),
    Table(BENCHMARKS, "seconds", "seconds.py {models}", of=times),
    *(
        Table("docs/builtin.md", f"builtin-{name}", f"builtin.py --models {{models}} --only {name}")
        for name in ("offsets", "states", "parts")
    ),
    Table("docs/tiling.md", "tiling-totals", "papers/fused_tiling/tiling_tables.py --models {models}", of=tilings),
    Table("docs/order-and-layout.md", "schedules", "papers/fused_tiling/schedules.py", of=orders),
)  # fmt: skip
