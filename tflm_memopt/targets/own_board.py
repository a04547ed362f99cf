"""Boards that a user describes in a TOML file, for `--board my.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tflm_memopt import units
from tflm_memopt.analysis.timing import FlashTiming
from tflm_memopt.errors import UsageError, about, one_of
from tflm_memopt.files import read_file, toml
from tflm_memopt.ops.packing import GENERIC, TARGETS
from tflm_memopt.targets.boards import Board, boards

SUFFIX = ".toml"
NEEDED = ("core", "clock", "ram", "flash")
SIZES = ("ram", "flash", "largest_block", "core_ram", "core_flash", "external_ram")
KEYS = ("name", "target", "flash_timing", *dict.fromkeys((*NEEDED, *SIZES)))
HINT = "docs/targets.md shows an example"


def own_board(path: Path) -> Board:
    """Return the board that a file describes. Raises UsageError for a file that is unreadable or invalid."""
    with about(path):
        document = toml(read_file(path), HINT)
        for key in document.keys() - set(KEYS):
            raise UsageError(f"unknown key '{key}'", code="bad_config", hint=one_of(key, KEYS))
        for key in NEEDED:
            if key not in document:
                raise UsageError(f"'{key}' is missing", code="bad_config", hint=HINT)
        return _board(path.stem, document)


def _board(name: str, document: Mapping[str, Any]) -> Board:
    core, target = str(document["core"]), str(document.get("target", GENERIC))
    like = [board for board in boards().values() if board.core.lower() == core.lower()]
    if not like:
        raise UsageError(f"unknown core '{core}'", hint=one_of(core, {board.core for board in boards().values()}))
    if target not in TARGETS:
        raise UsageError(f"unknown target '{target}'", hint=one_of(target, TARGETS))
    sizes = {key: units.size(document[key]) for key in SIZES if key in document}
    return Board(
        id=name, name=str(document.get("name", name)), chip=name, core=like[0].core,
        mhz=round(units.megahertz(document["clock"])), abi="ilp32", target=target, note="", sources={},
        ram=sizes["ram"], flash=sizes["flash"], largest_block=sizes.get("largest_block", sizes["ram"]),
        core_ram=sizes.get("core_ram", 0), core_flash=sizes.get("core_flash", 0), radio_ram=0, radio_flash=0,
        external_ram=sizes.get("external_ram", 0), arduino=False, flash_timing=_timing(document.get("flash_timing")),
    )  # fmt: skip


def _timing(given: Any) -> FlashTiming | None:
    try:
        return None if given is None else FlashTiming(**given)
    except TypeError as error:
        raise UsageError(f"invalid flash_timing: {error}", code="bad_config", hint=HINT) from error
