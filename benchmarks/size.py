"""Measure the flash and RAM of the C library on each core, as a whole and with the kernels of one model.

    python benchmarks/size.py --models ../shared/models [--level -Os] [--cores m4 rv32] [--update FILE.md]

The whole library is the sum over all object files. The size for a model is that of a program that validates and runs
the model with its NAME_library.c, after the linker has removed unused sections; it includes code from libc and libgcc,
but not the model itself. The column `unproved` is the size of .text with TMO_SKIP_PROOF. The column `stack` is the
maximum stack of a run under QEMU (built at -O2), without the runner's own frame. The library has no variables: if .data
or .bss is not 0, this script fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tables

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, run
from cores.core import LIBRARY, MEASURED, Core, missing_tools, sources

import tflm_memopt
from tflm_memopt.emit.embedded import source
from tflm_memopt.emit.kernels import Needs, needs
from tflm_memopt.errors import MemoptError

WHOLE = ("m0", "m3", "m4", "m33", "m55", "rv32")
PROGRAM = """\
#include "tmo/library.h"
extern const tmo_library net_library;
extern const uint8_t program[];
extern void *const io[];
extern uint8_t workspace[];
int main(void) {
  const tmo_status status = net_library.check(program, 4096, (const uint32_t *)(const void *)program, 1, 1, 4096);
  return status == TMO_OK ? net_library.run(program, io, workspace) : status;
}
"""
SYMBOLS = ("program", "io", "workspace")


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a program in bytes. `unproved` and `stack` are 0 if they were not measured."""

    model: str
    core: str
    text: int
    rodata: int
    unproved: int = 0
    stack: int = 0


def whole(core: Core, level: str) -> Size:
    """Return the object files of the library without those for two cores, which contain the executor again."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = (source for source in sources() if source.stem != "tmo_cores")
        objects = [compiled(core, level, (), source, Path(folder)) for source in wanted]
        return _size("", core, objects)


def of_model(path: Path, core: Core, level: str) -> Size | None:
    """Return the size of a program for this model, and its stack, or None if the core is too small to run it."""
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    cases = model_cases(result.model)
    if any(len(blob([case])) > core.blob_bytes for case in cases):
        return None
    needed = needs(case.program for case in cases)
    proved, unproved = (linked(path.stem, core, level, needed, flags) for flags in ((), ("-DTMO_SKIP_PROOF",)))
    outcomes = [run(core, [case])[0] for case in cases]
    if not all(o.right for o in outcomes):
        raise RuntimeError(f"{path.name} on {core.name}: {[(o.status, o.wrong) for o in outcomes]}")
    return replace(proved, unproved=unproved.text, stack=max(o.stack for o in outcomes))


def linked(model: str, core: Core, level: str, needed: Needs, flags: Iterable[str] = ()) -> Size:
    """Return the size of a program that checks and runs programs with these parts."""
    with tempfile.TemporaryDirectory() as folder:
        return _size(model, core, [image(core, level, needed, Path(folder), flags)])


def image(core: Core, level: str, needed: Needs, folder: Path, flags: Iterable[str] = ()) -> Path:
    """Link the program that checks and runs programs with these parts."""
    main, library, linked = folder / "main.c", folder / "net_library.c", folder / "image.elf"
    main.write_text(PROGRAM, encoding="utf-8")
    library.write_text(source("net", needed, {"run"}, own={}), encoding="utf-8")
    cores = [file for file in sources() if file.suffix == ".S"]
    files = [str(compiled(core, level, flags, file, folder)) for file in (main, library, *cores)]
    places = [f"-Wl,--defsym={symbol}=0x20000000" for symbol in SYMBOLS]
    specs = ["--specs=nano.specs"] if core.is_arm else []
    linker = ["-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,main", *specs, *places]
    _do([core.prefix + "gcc", *core.flags, level, *files, *linker, "-lm", "-o", str(linked)])
    return linked


def compiled(core: Core, level: str, flags: Iterable[str], source: Path, folder: Path) -> Path:
    to = folder / f"{source.name}.o"
    sections = ["-ffunction-sections", "-fdata-sections", f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]
    _do([core.prefix + "gcc", *core.flags, "-std=c11", level, *sections, *flags, "-c", str(source), "-o", str(to)])
    return to


def _size(model: str, core: Core, files: Iterable[Path]) -> Size:
    sums = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    for line in _do([core.prefix + "size", "-A", *map(str, files)]).splitlines():
        words = line.split()
        kind = words[0].lstrip(".").split(".")[0] if len(words) == 3 and words[0].startswith(".") else ""
        kind = {"srodata": "rodata", "sdata": "data", "sbss": "bss"}.get(kind, kind)
        if kind in sums:
            sums[kind] += int(words[1])
    if sums["data"] + sums["bss"] > 0:
        raise RuntimeError(f"the library has variables on {core.name}: {sums}")
    return Size(model, core.short, sums["text"], sums["rodata"])


def _do(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def table(rows: Sequence[Size]) -> str:
    """Return a table with a line for each core, or for each model and core."""
    return tables.markdown(("library", "core", ".text", "unproved", ".rodata", "stack"), ([
        row.model or "all", row.core, f"{row.text:,}", f"{row.unproved:,}" if row.unproved else "",
        f"{row.rodata:,}", f"{row.stack:,}" if row.stack else "",
    ] for row in rows), left=2)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = tables.page_parser(__doc__)
    parser.add_argument(
        "--models", type=Path, metavar="DIR", help="where .tflite files are, for sizes of one model each"
    )
    parser.add_argument(
        "--level", default="-Os", choices=("-Os", "-O2"), help="as Arduino, PlatformIO and ESP-IDF: -Os"
    )
    parser.add_argument("--cores", nargs="+", choices=WHOLE, default=WHOLE)
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    args = parser.parse_args(arguments)
    paths = sorted(args.models.glob("*.tflite")) if args.models else []
    cores = [MEASURED[name] for name in args.cores]
    if reason := next(filter(None, map(missing_tools, cores)), ""):
        parser.error(reason)
    try:
        rows = [whole(core, args.level) for core in cores]
        for path in (p for p in paths if not args.only or p.stem in args.only):
            rows += [size for core in cores if (size := of_model(path, core, args.level))]
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    tables.publish(args.update, "size", table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
