"""Run programs under QEMU and compute their cycles from the executed blocks of code, which cycles_plugin.c counts.

QEMU must support plugins, as Debian's QEMU does.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.core import IMAGE_BYTES, Core, emulate
from cycles_rules import Instruction, Pipeline, decode

from tflm_memopt.analysis.timing import FlashTiming

SOURCE = Path(__file__).parent / "cycles_plugin.c"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fvisibility=hidden", "-shared", "-fPIC")
WHOLE = -1


@dataclass(frozen=True, slots=True)
class Stalls:
    fetch: int = 0
    """Number of cycles that the core waits for instructions."""
    data: int = 0
    """Number of cycles that the core waits for constants."""


@dataclass(frozen=True, slots=True)
class Cycles:
    instructions: int = 0
    pipeline: int = 0
    """Number of cycles without waits for memory."""
    stalls: tuple[Stalls, ...] = ()
    constants: int = 0
    """Total number of bytes in all loads of constants."""

    def total(self, flash: int = 0) -> int:
        return self.pipeline + self.stalls[flash].fetch + self.stalls[flash].data

    def __add__(self, other: Cycles) -> Cycles:
        stalls = (Stalls(a.fetch + b.fetch, a.data + b.data) for a, b in zip(self.stalls, other.stalls, strict=True))
        sums = (self.instructions + other.instructions, self.pipeline + other.pipeline)
        return Cycles(*sums, tuple(stalls), self.constants + other.constants)


@dataclass(frozen=True, slots=True)
class Run:
    whole: Cycles
    operators: Mapping[int, Cycles]


def trace(
    core: Core, image: Path, pipeline: Pipeline, flashes: Sequence[FlashTiming], blob: Path | None = None
) -> tuple[str, list[Run]]:
    """Run a program, and return the printed text and the cycles of each inference."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "trace"
        options = ("-plugin", ",".join([str(plugin()), *_arguments(core, image, flashes), f"out={told}"]))
        said = emulate(core, image, blob, options)
        return said, list(runs(told.read_text().splitlines(), pipeline))


def _arguments(core: Core, image: Path, flashes: Sequence[FlashTiming]) -> Iterator[str]:
    places = symbols(core, image)
    start, stop, marks = (places[name] for name in ("core_clock_start", "core_clock_stop", "op_ticks"))
    end = max(core.rom + IMAGE_BYTES, core.blob + core.blob_bytes)
    numbers = {
        "start": start[0], "start_bytes": start[1], "stop": stop[0], "marks": marks[0], "marks_bytes": marks[1],
        "rom": core.rom, "rom_bytes": end - core.rom,
    }  # fmt: skip
    yield from (f"{name}={value}" for name, value in numbers.items())
    for f in flashes:
        fields = (f.wait_states, f.line_bytes, f.instruction_lines, f.data_lines, int(f.prefetch), f.unified_ways)
        yield f"flash={':'.join(map(str, fields))}"


def symbols(core: Core, image: Path) -> dict[str, tuple[int, int]]:
    listed = subprocess.run([core.prefix + "nm", "-S", image], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return {row[3]: (int(row[0], 16) & ~1, int(row[1], 16)) for row in rows if len(row) == 4}


@functools.cache
def plugin() -> Path:
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"tmo_cycles_{digest}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "plugin.so"
            subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(built)], check=True)
            library.write_bytes(built.read_bytes())
    return library


def runs(lines: Iterable[str], pipeline: Pipeline) -> Iterator[Run]:
    blocks: dict[int, Sequence[Instruction]] = {0: ()}
    inside: dict[int, int] = {}
    pipelined: Counter[tuple[int, int]] = Counter()
    counted: dict[int, dict[int, Cycles]] = defaultdict(dict)

    @functools.cache
    def cycles(before: int, block: int) -> int:
        if block not in inside:
            inside[block] = pipeline.inside(blocks[block])
        return inside[block] + pipeline.entering(blocks[block], blocks[before])

    for kind, *words in map(str.split, lines):
        if kind == "block":
            blocks[int(words[0])] = decode(int(words[1], 16), bytes.fromhex(words[2]))
            continue
        run, which, *numbers = map(int, words)
        if kind == "edge":
            before, block, times = numbers
            pipelined[run, which] += times * cycles(before, block)
        else:
            instructions, unaligned, constants, *waits = numbers
            stalls = tuple(Stalls(*pair) for pair in zip(waits[::2], waits[1::2], strict=True))
            counted[run][which] = Cycles(instructions, pipelined[run, which] + unaligned, stalls, constants)
    for _, mine in sorted(counted.items()):
        whole = mine.pop(WHOLE, None)
        yield Run(whole or functools.reduce(operator.add, mine.values()), mine)
