"""What vector instructions weigh: one for each eight of its bytes, from Spike's log of a run."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cores.cases import Case, blob
from cores.core import Core, in_spike, runner, spike_command

UNIT = 8
"""Bytes of a vector that count as one instruction."""
START, STOP = "core_clock_start", "core_clock_stop"
_STATE = re.compile(r" e(\d+) m\w+ l(\d+) ")
_MEMORY = re.compile(r"v[ls]s?e(\d+)\.v")


@dataclass(slots=True)
class Weighed:
    """Of one run between two calls for the time."""

    instructions: int = 0
    vector: int = 0
    """Of them; settings of the vector unit are none."""
    weight: float = 0
    """Others count 1, as do vector instructions of up to UNIT bytes."""


def weighed(core: Core, cases: Sequence[Case], vlen: int) -> Weighed:
    """All cases together, on vectors of so many bits."""
    found = Weighed()
    simulated = in_spike(core, vlen)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.bin"
        for case in cases:
            path.write_bytes(blob([case]))
            ran = _log(spike_command(simulated, path), runner(simulated))[-1]  # the first one measures the clock
            found.instructions += ran.instructions
            found.vector += ran.vector
            found.weight += ran.weight
    return found


def _log(command: Sequence[str], image: Path) -> list[Weighed]:
    """Each span of a run between START and STOP."""
    read, write = os.pipe()
    said = [*command, "-l", "--log-commits", f"--log=/dev/fd/{write}", str(image)]
    with subprocess.Popen(said, pass_fds=[write], stdout=subprocess.DEVNULL) as process:
        os.close(write)
        with os.fdopen(read, encoding="ascii", errors="replace") as lines:
            spans = spans_of(lines, *(_address(image, symbol) for symbol in (START, STOP)))
    if process.returncode:
        raise RuntimeError(f"{' '.join(said)}: exit code {process.returncode}")
    return spans


def _address(image: Path, symbol: str) -> str:
    """As the log has it."""
    listed = subprocess.run(["riscv64-unknown-elf-nm", str(image)], capture_output=True, text=True, check=True)
    (found,) = re.findall(rf"(\w{{8}}) T {symbol}\n", listed.stdout)
    return f"0x{found}"


def spans_of(lines: Iterable[str], start: str, stop: str) -> list[Weighed]:
    """From the instruction at one address to that at the other, each time.

    The log has two lines for each: "core   0: 0xPC (0xCODE) name ..." and "core   0: 3 0xPC (0xCODE) what it wrote".
    """
    spans: list[Weighed] = []
    inside, name, width, lanes = False, "", 0, 0
    for line in lines:
        if line.startswith("core   0: 0x"):
            at = line[10:20]
            if at == start:
                spans.append(Weighed())
            inside = at == start or (inside and at != stop)
            if not inside:
                continue
            name = line[34:].split(None, 1)[0]
            spans[-1].instructions += 1
            if not name.startswith("v") or name.startswith("vset"):
                spans[-1].weight += 1
                name = ""
        elif inside and name:
            if state := _STATE.search(line):
                width, lanes = int(state[1]), int(state[2])
            spans[-1].vector += 1
            spans[-1].weight += max(1.0, lanes * bits_of(name, width) / 8 / UNIT)
            name = ""
    return spans


def bits_of(name: str, width: int) -> int:
    """Of an element that a vector instruction reads or writes, the wider one. width: what the unit is set to."""
    if memory := _MEMORY.fullmatch(name):
        return int(memory[1])
    return 2 * width if name.startswith(("vw", "vn")) else width
