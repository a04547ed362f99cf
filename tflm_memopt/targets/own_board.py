"""Finds boards by name, and reads boards from TOML files of the user (`--board my.toml`)."""

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, get_type_hints

from tflm_memopt import units
from tflm_memopt.analysis.timing import FlashTiming, SlowCycles, timings
from tflm_memopt.errors import UsageError, about, one_of
from tflm_memopt.files import read_file, toml
from tflm_memopt.ops.packing import GENERIC, TARGETS, Family, family
from tflm_memopt.targets.boards import Board, boards
from tflm_memopt.targets.boards import board as known_board

SUFFIX = ".toml"
NEEDED = ("core", "clock", "ram", "flash")
SIZES = ("ram", "flash", "largest_block", "core_ram", "core_flash", "external_ram")
KEYS = ("name", "chip", "target", "flash_timing", "external_ram_cycles", *dict.fromkeys((*NEEDED, *SIZES)))
HINT = "docs/targets.md shows an example"


def board(name: str) -> Board:
    """Return a known board, or the board in a TOML file. Raises UsageError for an unknown board or an invalid file."""
    return own_board(Path(name)) if name.endswith(SUFFIX) else known_board(name)


def own_board(path: Path) -> Board:
    """Return the board in a TOML file. Raises UsageError for a file that is unreadable or invalid."""
    with about(path):
        document = toml(read_file(path), HINT)
        for key in document.keys() - set(KEYS):
            raise UsageError(f"unknown key '{key}'", code="bad_config", hint=one_of(key, KEYS))
        for key in NEEDED:
            if key not in document:
                raise UsageError(f"'{key}' is missing", code="bad_config", hint=HINT)
        return _board(path.stem, document)


def _board(name: str, document: Mapping[str, Any]) -> Board:
    core = str(document["core"])
    like = [board for board in boards().values() if board.core.lower() == core.lower()]
    if not like:
        raise UsageError(f"unknown core '{core}'", hint=one_of(core, {board.core for board in boards().values()}))
    chip = str(document.get("chip", name))
    if "chip" in document and not any(board.chip == chip for board in like):
        hint = one_of(chip, {board.chip for board in like})
        raise UsageError(f"no known board with core '{core}' has chip '{chip}'", code="bad_config", hint=hint)
    like = [board for board in like if board.chip == chip] or like
    usual = like[0].target if like[0].core.startswith("Cortex") or "chip" in document else GENERIC
    target = str(document.get("target", usual))
    if target not in TARGETS:
        raise UsageError(f"unknown target '{target}'", hint=one_of(target, TARGETS))
    if family(target) not in {Family.GENERIC, *(family(board.target) for board in like)}:
        hint = f"set target = '{like[0].target}', or omit target"
        raise UsageError(f"programs for target '{target}' cannot run on core '{core}'", code="bad_config", hint=hint)
    if name in boards():
        raise UsageError(f"'{name}' is the name of a known board", code="bad_config", hint="choose another file name")
    sizes = {key: units.size(document[key]) for key in SIZES if key in document}
    clock = units.megahertz(document["clock"])
    return Board(
        id=name, name=str(document.get("name", name)), chip=chip, core=like[0].core,
        mhz=clock, abi="ilp32", target=target, note="", sources={},
        ram=sizes["ram"], flash=sizes["flash"], largest_block=sizes.get("largest_block", sizes["ram"]),
        core_ram=sizes.get("core_ram", 0), core_flash=sizes.get("core_flash", 0), radio_ram=0, radio_flash=0,
        external_ram=sizes.get("external_ram", 0), arduino=False,
        external_ram_cycles=_slow_cycles(document.get("external_ram_cycles")),
        flash_timing=_timing(like[0].measured_core, document.get("flash_timing")),
    )  # fmt: skip


def _slow_cycles(given: Any) -> SlowCycles | None:
    if given is None:
        return None
    if not (
        isinstance(given, dict)
        and given.keys() == {"read", "write"}
        and all(units.is_number(n, Real) and n >= 0 for n in given.values())
    ):
        hint = "[external_ram_cycles] with read and write: additional cycles for a byte, compared with internal RAM"
        raise UsageError(f"invalid external_ram_cycles {given!r}", code="bad_config", hint=hint)
    return SlowCycles.of((given["read"],) * 2, (given["write"],) * 2)


def _timing(core: str | None, given: Any) -> FlashTiming | None:
    if given is None:
        return None
    types = get_type_hints(FlashTiming)
    invalid = not isinstance(given, dict) or "wait_states" not in given
    if invalid or any(type(value) is not types.get(key) or value < 0 for key, value in given.items()):
        hint = f"[flash_timing] with wait_states and, if needed, {', '.join([*types][1:])}"
        raise UsageError(f"invalid flash_timing {given!r}", code="bad_config", hint=hint)
    timing, known = FlashTiming(**given), timings(core) if core else ()
    if known and timing.key not in known:
        hint = f"omit flash_timing, or describe one of these flashes: {'; '.join(known)}"
        raise UsageError(f"times are not modelled for a flash of {timing.key}", code="bad_config", hint=hint)
    return timing
