"""What is said of a model that does not fit: what it needs, and the nearest ways in which it would, each of them tried.

Tried are, at no recompute first, the interface as int8, a streamed input, and both; then, with recompute, the one of
these that takes the least RAM. That is a handful of conversions, whatever the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.convert.conversion import Conversion, Converted, Limits
from tflm_memopt.convert.frontier import cheapest
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.rowgraph.inputs import IN_ARENA, STREAM, InputMode
from tflm_memopt.targets.boards import BoardFit, boards, fit
from tflm_memopt.tflm.arena import Arena

MOST_BOARDS = 4
"""Boards that a hint names, smallest first."""
SMALLER = "a smaller model"


@dataclass(frozen=True, slots=True)
class _Way:
    """Flags that are not there yet, what they lead to, and the plan without recompute."""

    flags: str
    conversion: Conversion
    once: Converted


def misfit(conversion: Conversion, limits: Limits, best: Converted) -> DoesNotFit:
    """What `best`, of all plans that were tried the one that takes least, needs too much of."""
    there = on_board(limits, best)
    if limits.admit(best.arena) and there is not None:
        return _too_little_flash(there, ", or ".join([*_for_flash(conversion, limits, best), SMALLER]))
    what = f"needs {best.arena.total:,} B, limit is {limits.ram:,} B"
    if there is not None and there.flash_left < 0:
        what += f"; and {-there.flash_left:,} B of flash are missing"
    return DoesNotFit(
        what, code="does_not_fit", where=conversion.binding(best), hint=", or ".join(_for_ram(conversion, limits, best))
    )


def original_misfit(limits: Limits, arena: Arena, needs: Firmware, why: str) -> DoesNotFit:
    """The same of a model that stays as it is. why: it does."""
    there = fit(limits.board, arena, needs) if limits.board else None
    hint = ", or ".join([*_boards(arena, needs), SMALLER])
    if limits.admit(arena) and there is not None:
        return _too_little_flash(there, hint)
    what = f"needs {arena.total:,} B, limit is {limits.ram:,} B"
    return DoesNotFit(what, code="original_too_large", where=why, hint=hint if limits.board else SMALLER)


def on_board(limits: Limits, converted: Converted) -> BoardFit | None:
    """On the board that was asked for."""
    return fit(limits.board, converted.arena, converted.firmware) if limits.board else None


def _too_little_flash(there: BoardFit, hint: str) -> DoesNotFit:
    flash = there.flash
    parts = f"model {flash.model:,} B, library {flash.library:,} B, TFLM {flash.tflm:,} B, the last two estimated"
    has = flash.total + there.flash_left
    return DoesNotFit(
        f"needs {flash.total:,} B of flash, {there.board} has {has:,} B beside its core",
        code="flash_too_small",
        where=parts,
        hint=hint,
    )


def _for_ram(conversion: Conversion, limits: Limits, best: Converted) -> Iterator[str]:
    """Settings that fit the RAM limit; then, for a board, boards; else a limit that can be kept."""
    found = False
    for way in _more_compute(conversion, limits, best):
        found |= "fits" in way
        yield way
    others = list(_others(conversion, limits))
    fitting = [other for other in others if limits.admit(other.once.arena)]
    for other in fitting:
        yield _said(other.flags, other.once, limits)
    if not found and not fitting and others:
        most_likely = min(others, key=lambda other: other.once.arena.total)
        there, _ = most_likely.conversion.least(limits)
        if there is not None:
            overhead = most_likely.conversion.overhead(there.planned.plan.macs)
            yield _said(most_likely.flags, there, limits, f", F = {overhead:.2f}")
            fitting = [most_likely]
    if limits.board is not None:
        yield from _elsewhere(limits, best, others)
    elif not found and not fitting:
        yield f"--ram-limit {_lowest(conversion, limits, best).arena.total}"
    else:
        yield f"--ram-limit {best.arena.total}"


def _said(flags: str, there: Converted, limits: Limits, more: str = "") -> str:
    """A way that fits; where the board's flash is too small for it, only its RAM."""
    on = on_board(limits, there)
    if on is None or on.flash_left >= 0:
        return f"{flags} (fits in {there.arena.total:,} B{more})"
    return f"{flags} (fits the RAM in {there.arena.total:,} B{more}; {-on.flash_left:,} B of flash are missing)"


def _more_compute(conversion: Conversion, limits: Limits, best: Converted) -> Iterator[str]:
    """More recompute than was allowed."""
    if limits.overhead is None or not (conversion.widest and conversion.widest.recompute):
        return
    most, wide = conversion.macs(limits.overhead), conversion.within(conversion.widest)
    beyond = [macs for macs in wide.plans.budgets if macs > most]
    found = cheapest(beyond, lambda macs: limits.admit(wide.at(macs).arena))
    if found is not None:
        there = wide.at(found)
        yield _said(f"--max-macs {up(wide.overhead(there.planned.plan.macs))}", there, limits)
        return
    lowest = wide.at(beyond[-1]) if beyond else best
    if lowest.arena.total < best.arena.total and limits.board is None:
        yield f"--max-macs {up(wide.overhead(lowest.planned.plan.macs))} --ram-limit {lowest.arena.total}"


def _others(conversion: Conversion, limits: Limits) -> Iterator[_Way]:
    """An int8 interface, a streamed input, and both, as far as they are possible and not there yet."""
    here = conversion.options.input
    for place in (here, InputMode(STREAM, 1)) if here == IN_ARENA else (here,):
        for narrow in (False,) if conversion.border.replaced else (True, False):
            flags = [*(["--int8-io"] if narrow else []), *(["--input stream"] if place != here else [])]
            other = conversion.elsewhere(place, int8_io=narrow) if flags else None
            if other is not None and other.rows is not None and (other.border.replaced or not narrow):
                yield _Way(" ".join(flags), other, other.first(limits))


def _lowest(conversion: Conversion, limits: Limits, best: Converted) -> Converted:
    """The least RAM at any compute that is allowed."""
    if limits.overhead is not None or not (conversion.options.tiles and conversion.options.tiles.recompute):
        return best
    return min(best, conversion.at(conversion.plans.budgets[-1]), key=lambda c: c.arena.total)


def _elsewhere(limits: Limits, best: Converted, others: list[_Way]) -> Iterator[str]:
    """Boards on which it fits as it is or, failing that, in another way."""
    for flags, there in [("", best), *((f"{other.flags} ", other.once) for other in others)]:
        if limits.total is not None and there.arena.total > limits.total:
            continue
        for board in _boards(there.arena, there.firmware):
            yield flags + board
            return


def _boards(arena: Arena, needs: Firmware) -> Iterator[str]:
    """A flag with the smallest boards on which this fits, if there are any."""
    names = [name for name, on in boards().items() if fit(on, arena, needs).fits]
    if names:
        yield f"--board {', '.join(names[:MOST_BOARDS])}"


def _for_flash(conversion: Conversion, limits: Limits, best: Converted) -> Iterator[str]:
    """Plain kernels take less flash than packed ones; else another board."""
    if conversion.options.target != GENERIC:
        plain = conversion.packed_for(GENERIC)
        there, _ = plain.least(limits)
        on = on_board(limits, there) if there else None
        if there and on and on.fits:
            yield f"--target {GENERIC} (fits in {there.arena.total:,} B and {on.flash.total:,} B of flash)"
    yield from _elsewhere(limits, best, [])


def up(overhead: float) -> str:
    """F as a user may type it: never below the figure.

    >>> up(1.00001), up(1.25)
    ('1.001', '1.25')
    """
    return f"{math.ceil(overhead * 1000 - 1e-9) / 1000:g}"
