"""Answers as Markdown for comments on pull requests and summaries of CI."""

from __future__ import annotations

from collections.abc import Sequence

from tflm_memopt.emit.printing import printable
from tflm_memopt.report import times
from tflm_memopt.results import BoardReport, Fits
from tflm_memopt.targets.boards import BoardFit

HEAD = """\
| board | fits | RAM left | flash left | ms | original |
|---|---|---:|---:|---:|---|"""


def fits(result: Fits, shown: Sequence[BoardReport]) -> str:
    """Return the answer of `fit`, with a row for each of the boards `shown`."""
    asked = len(result.boards)
    before, after = result.original_arena, result.arena
    arena = f"arena {after.figure(after.total)} B instead of {before.figure(before.total)} B"
    flash = f"`.tflite` {result.flash.rewritten:,} B instead of {result.flash.original:,} B"
    notes = [result.convention, *times.rest_on(row.time for row in shown if row.time)]
    if result.other_target:
        notes.append(f"of all boards, {result.other_target}")
    if len(shown) < asked:
        notes.append(f"these boards are the closest to its needs, --all shows all {asked}")
    return f"""\
**{_cell(result.model)}** fits on {result.fitting} of {asked} board{"s" * (asked != 1)}: {arena}, {flash}

{HEAD}
{chr(10).join(map(_row, shown))}

{"; ".join(map(_cell, notes))}
"""


def _row(row: BoardReport) -> str:
    on = row.rewritten
    cells = (
        f"{row.board.name} (`{row.board.id}`)",
        _on(on),
        f"at most {_left(on.ram_left)}" if on.undecided else _left(on.ram_left),
        _left(on.flash_left),
        times.both(row.time),
        _on(row.original) if row.original.fits else f"{_on(row.original)}, {row.original.missed}",
    )
    return f"| {' | '.join(cells)} |"


def _on(fit: BoardFit) -> str:
    if fit.only_external:
        return "**no**, only in external RAM"
    if not fit.fits:
        return "not known" if fit.undecided else "**no**"
    return "yes" if fit.fits_with_radio else "yes, without radio"


def _left(nbytes: int) -> str:
    """Return the bytes that are left over or missing.

    >>> _left(1200), _left(-1200)
    ('1,200 B', '**1,200 B missing**')
    """
    return f"{nbytes:,} B" if nbytes >= 0 else f"**{-nbytes:,} B missing**"


def _cell(text: str) -> str:
    """Escape characters that have a meaning in Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_|<>[]#" else c for c in printable(text))
