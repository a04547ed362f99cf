"""Measure the flash and RAM of the C library on each core, with all kernels and with the kernels of one model.

For a model, the script links a program with NAME_library.c, and counts the code from libc and libgcc, but not the
model. The column `unproved` is the size of .text with TMO_SKIP_PROOF. The column `stack` is the maximum number of stack
bytes of an inference under QEMU at -O2. The script fails if .data or .bss is not empty, because the library must not
have variables.
"""

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cores.cases import model_cases
from cores.core import LIBRARY, MEASURED, Core, sources
from counting import fits, ran
from tables import SMALL, markdown

import tflm_memopt
from tflm_memopt.emit.embedded import source
from tflm_memopt.emit.kernels import Needs, needs

LEVEL = "-Os"
"""Optimization level that Arduino, PlatformIO and ESP-IDF use."""
PROGRAM = (
    '#include "tmo/library.h"\n'
    "extern const tmo_library net_library;\n"
    "extern const uint8_t program[];\n"
    "extern void *const io[];\n"
    "extern uint8_t workspace[];\n"
    "int main(void) {\n"
    "  const uint32_t *bytes = (const void *)program;\n"
    "  const tmo_status status = net_library.check(program, 4096, bytes, 1, 1, 4096);\n"
    "  return status == TMO_OK ? net_library.run(program, io, workspace) : status;\n"
    "}\n"
)
SYMBOLS = ("program", "io", "workspace")


@dataclass(frozen=True, slots=True)
class Size:
    model: str
    core: str
    text: int
    rodata: int
    unproved: int = 0
    stack: int = 0


def whole(core: Core) -> Size:
    """Leave out the file tmo_cores.c, because it has a second copy of the executor."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = (source for source in sources() if source.stem != "tmo_cores")
        objects = [compiled(core, LEVEL, (), source, Path(folder)) for source in wanted]
        return _size("", core, objects)


def of_model(path: Path, core: Core) -> Size | None:
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    cases = model_cases(result.model)
    if not fits(core, cases):
        return None
    needed = needs(case.program for case in cases)
    proved, unproved = (linked(path.stem, core, needed, flags) for flags in ((), ("-DTMO_SKIP_PROOF",)))
    return replace(proved, unproved=unproved.text, stack=max(o.stack for o in ran(path.name, core, cases)))


def linked(model: str, core: Core, needed: Needs, flags: Iterable[str] = ()) -> Size:
    with tempfile.TemporaryDirectory() as folder:
        return _size(model, core, [image(core, needed, Path(folder), flags)])


def image(core: Core, needed: Needs, folder: Path, flags: Iterable[str] = ()) -> Path:
    main, library, linked = folder / "main.c", folder / "net_library.c", folder / "image.elf"
    main.write_text(PROGRAM, encoding="utf-8")
    library.write_text(source("net", needed, {"run"}, own={}), encoding="utf-8")
    cores = [file for file in sources() if file.suffix == ".S"]
    files = [str(compiled(core, LEVEL, flags, file, folder)) for file in (main, library, *cores)]
    places = [f"-Wl,--defsym={symbol}=0x20000000" for symbol in SYMBOLS]
    specs = ["--specs=nano.specs"] if core.is_arm else []
    linker = ["-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,main", *specs, *places]
    _do([core.prefix + "gcc", *core.flags, LEVEL, *files, *linker, "-lm", "-o", str(linked)])
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


def table(models: Path) -> str:
    cores = [MEASURED[name] for name in ("m4", "m55", "rv32")]
    sizes = (of_model(models / f"{name}.tflite", core) for name in SMALL for core in cores)
    rows = [*map(whole, cores), *filter(None, sizes)]
    return markdown(("library", "core", ".text", "unproved", ".rodata", "stack"), ([
        row.model or "all", row.core, f"{row.text:,}", f"{row.unproved:,}" if row.unproved else "",
        f"{row.rodata:,}", f"{row.stack:,}" if row.stack else "",
    ] for row in rows), left=2)  # fmt: skip
