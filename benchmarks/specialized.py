"""Compare code for one model (`--emit c-specialized`) with its module for the library (`--emit c`), on Cortex-M4.

    python benchmarks/specialized.py --models ../shared/models [--only STEM ...] [--json] [--update docs/deploy.md]

Both are of one plan, converted for the core, and linked with what the model needs. Instructions and cycles of one
inference (cycles.py: a model of the pipeline; flash waits nowhere), after their self-tests; flash of a program that
calls init and invoke, weights included. The machine is QEMU's; compiled with -O2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import cycles_trace
import tables
from cycles_rules import M4

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.core import CORES, HERE, build, missing_tools
from cores.core import sources as library_sources

import tflm_memopt
from tflm_memopt.analysis.timing import NO_WAIT
from tflm_memopt.emit import bundle
from tflm_memopt.emit.names import identifier
from tflm_memopt.runtime.verify import sample

CORE = CORES["m4"]
ROM = 4 << 20
KINDS = ("c", "c-specialized")
MODELS = ("mlperf_tiny_kws_dscnn_int8", "mlperf_tiny_ic_resnet8_int8", "mlperf_tiny_vww_96_int8")
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Ran:
    """One inference of a module."""

    instructions: int
    cycles: int
    flash: int
    """Sizes in bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model. Sizes are in bytes."""

    model: str
    plain: Ran
    specialized: Ran


def modules(model: bytes, name: str) -> tuple[Files, ...]:
    """Return the files of both kinds of module for one plan."""
    result = tflm_memopt.optimize(model, target=CORE.target, without=["tiles"], if_worthwhile=False)
    given = bundle.Extras(partial(sample, model, result.model))
    return tuple(bundle.files(result, name, (kind,), given) for kind in KINDS)


def measure(files: Files, name: str) -> Ran:
    """Count the instructions. Raises RuntimeError where a byte differs from TFLM's."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        said, runs = cycles_trace.trace(CORE, image(files, name, folder), M4, [NO_WAIT])
        if said != "right\n":
            raise RuntimeError(f"{name}: {said}")
        return Ran(runs[-1].whole.instructions, runs[-1].whole.total(), _flash(image(files, name, folder, selftest=0)))


def image(files: Files, name: str, folder: Path, selftest: int = 1) -> Path:
    """Return a program that runs the self-test and then one inference."""
    sources = (f"{name}.c", f"{name}_library.c")
    for file in (*sources, f"{name}.h"):
        (folder / file).write_bytes(files[file])
    (folder / "module.h").write_text(f'#include "{name}.h"\n')
    flags = [f"-I{folder}", f"-I{HERE}", f"-DMODULE={identifier(name)}", f"-DSELFTEST={selftest}"]
    own = [HERE / "module_count.c", *(HERE / start for start in CORE.start), *(folder / file for file in sources)]
    made = folder / f"{selftest}.elf"
    build(CORE, [*own, *library_sources()], made, flags, rom_bytes=ROM)
    return made


def _flash(image: Path) -> int:
    """Return the size of the whole image without initial data of RAM. Constants are next to the code."""
    listed = subprocess.run([f"{CORE.prefix}size", "-A", str(image)], capture_output=True, text=True, check=True).stdout
    sections = (line.split() for line in listed.splitlines())
    return sum(int(words[1]) for words in sections if words[:1] in ([".text"], [".ARM.exidx"], [".data"]))


def row(path: Path) -> Row:
    plain, specialized = (measure(files, path.stem) for files in modules(path.read_bytes(), path.stem))
    return Row(path.stem, plain, specialized)


def table(rows: Sequence[Row]) -> str:
    titles = (
        "model",
        "instructions",
        "**specialized**",
        "x",
        "cycles",
        "specialized",
        "x",
        "flash",
        "specialized",
        "x",
    )
    cells = []
    for r in rows:
        pairs = [(getattr(r.plain, what), getattr(r.specialized, what)) for what in ("instructions", "cycles", "flash")]
        numbers = [text for a, b in pairs for text in (f"{a:,}", f"{b:,}", f"{b / a:.3f}")]
        numbers[1] = f"**{numbers[1]}**"
        cells.append([r.model, *numbers])
    return tables.markdown(titles, cells)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=Path, required=True, metavar="DIR", help="where MLPerf Tiny's .tflite files are"
    )
    parser.add_argument("--only", nargs="+", default=MODELS, metavar="STEM", help="these models of the folder only")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="rewrite the table in this page")
    args = parser.parse_args(arguments)
    if reason := missing_tools(CORE):
        parser.error(reason)
    if args.update:
        tables.require(args.update, "specialized")
    rows = [row(args.models / f"{stem}.tflite") for stem in args.only]
    print(json.dumps([asdict(r) for r in rows], indent=2) if args.json else table(rows))
    if args.update:
        tables.update(args.update, "specialized", table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
