"""Explains why a model does not fit."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.frontier import cheapest
from tflm_memopt.convert.limits import Limits
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.model.graph import Graph
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Buffer, Group, Role
from tflm_memopt.rowgraph.inputs import IN_ARENA, STREAM, InputMode
from tflm_memopt.targets.boards import Board, boards, fit
from tflm_memopt.tflm.arena import Arena

MOST_BOARDS = 4
"""Maximum number of boards in a hint, which names the smallest boards first."""
SMALLER = "a smaller model"
ROLES = {
    Role.TENSOR: "output of",
    Role.ROLLING_BUFFER: "rolling buffer of",
    Role.ACCUMULATOR: "sums of",
    Role.SCRATCH: "scratch of the kernels",
    Role.WEIGHTS: "copied weights of",
}
MOST_NAMED = 4

Choose = Callable[[Conversion], Converted | None]
"""Function that returns the plan of a conversion with changed flags, or None if no plan keeps the limits."""


class TooLarge(Exception):
    """Raised if no plan keeps the limits of RAM and flash. The argument `best` is the plan with the least RAM."""

    def __init__(self, conversion: Conversion, limits: Limits, best: Converted) -> None:
        self.conversion, self.limits, self.best = conversion, limits, best
        super().__init__()


def too_large(no: TooLarge, choose: Choose) -> DoesNotFit:
    conversion, limits, best = no.conversion, no.limits, no.best
    if limits.admit(best.arena):
        ways = _for_flash(conversion, limits, best, choose)
        return too_little_flash(limits, best.firmware, ", or ".join([*ways, SMALLER]))
    if limits.spills and (least := conversion.least_spilled(limits)):
        return DoesNotFit(
            f"needs more fast memory than {limits.ram:,} B: {least.arena.total:,} B are enough",
            where=binding(least),
            hint=f"--memory fast={least.arena.total},slow={least.planned.plan.slow_bytes}",
        )
    what = f"needs {best.arena.total:,} B {_recompute(conversion, best)}, limit is {limits.ram:,} B"
    if missing := limits.flash_missing(best.firmware):
        what += f"; and {missing:,} B of flash are missing"
    hint = ", or ".join(_for_ram(conversion, limits, best, choose)) or SMALLER
    return DoesNotFit(what, where=binding(best), hint=hint)


def no_other_plan(limits: Limits, arena: Arena, needs: Firmware, why: str, instead: str = SMALLER) -> DoesNotFit:
    elsewhere = limits.board is not None and replace(limits, board=None).fit(arena, needs)
    hint = ", or ".join([*(for_boards(arena, needs) if elsewhere else ()), instead])
    if limits.admit(arena):
        return too_little_flash(limits, needs, hint)
    what = f"needs {arena.total:,} B, limit is {limits.ram:,} B"
    return DoesNotFit(what, where=why, hint=hint)


def too_little_flash(limits: Limits, needs: Firmware, hint: str) -> DoesNotFit:
    room = limits.flash_room
    if room is None:
        raise TypeError("the flash is not limited")
    flash = needs.on(room.core)
    has = "limit is" if limits.board is None or room == limits.flash else f"{limits.board.id} has"
    besides_core = "" if has == "limit is" else " beside its core"
    parts = f"model {flash.model:,} B, library {flash.library:,} B, TFLM {flash.tflm:,} B, the last two estimated"
    what = f"needs {flash.total:,} B of flash, {has} {room.nbytes:,} B{besides_core}"
    return DoesNotFit(what, code="flash_too_small", where=parts, hint=hint)


def _for_ram(conversion: Conversion, limits: Limits, best: Converted, choose: Choose) -> Iterator[str]:
    found = False
    for way in _more_compute(conversion, limits, best):
        found |= "fits" in way
        yield way
    others = dict(_others(conversion, limits))
    fitting = [flags for flags, (_, first) in others.items() if limits.admit(first.arena)]
    if not found and not fitting and others:
        fitting = [min(others, key=lambda flags: others[flags][1].arena.total)]
    for flags in fitting:
        other, _ = others[flags]
        if there := choose(other):
            found, overhead = True, other.overhead(there.planned.plan.macs)
            yield _said(flags, there, limits, f", F = {overhead:.2f}" if overhead > 1 else "")
    yield from _elsewhere(limits, {"": best, **{f"{flags} ": first for flags, (_, first) in others.items()}})
    lowest = best if found else _lowest(conversion, limits, best)
    if limits.admit_beyond(lowest.arena):
        yield f"{_room(limits, lowest)} ({_recompute(conversion, lowest)})"


def _room(limits: Limits, there: Converted) -> str:
    if limits.slow and limits.slow.asked:
        return f"--memory fast={there.arena.total},slow={limits.slow.nbytes}"
    return f"--ram-limit {there.arena.total}"


def _recompute(conversion: Conversion, there: Converted) -> str:
    return f"{'with' if there.planned.plan.macs > conversion.plans.macs else 'without'} recompute"


def _said(flags: str, there: Converted, limits: Limits, more: str = "") -> str:
    missing = limits.flash_missing(there.firmware)
    if not missing:
        return f"{flags} (fits in {there.arena.total:,} B{more})"
    return f"{flags} (fits the RAM in {there.arena.total:,} B{more}; {missing:,} B of flash are missing)"


def _more_compute(conversion: Conversion, limits: Limits, best: Converted) -> Iterator[str]:
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
        yield f"--max-macs {up(wide.overhead(lowest.planned.plan.macs))} {_room(limits, lowest)}"


def _others(conversion: Conversion, limits: Limits) -> Iterator[tuple[str, tuple[Conversion, Converted]]]:
    """For each set of flags that the user may add, yield the flags, the conversion with the flags, and its first
    plan.
    """
    here = conversion.options.input
    may_stream = here == IN_ARENA and not conversion.options.speeds  # Two cores do not support a streamed input.
    for place in (here, InputMode(STREAM, 1)) if may_stream else (here,):
        for narrow in (False,) if conversion.border.replaced else (True, False):
            flags = [*(["--int8-io"] if narrow else []), *(["--input stream"] if place != here else [])]
            other = conversion.elsewhere(place, int8_io=narrow) if flags else None
            if other is None or other.rows is None or (narrow and not other.border.replaced):
                continue
            with contextlib.suppress(UsageError):
                yield " ".join(flags), (other, other.first(limits))


def _lowest(conversion: Conversion, limits: Limits, best: Converted) -> Converted:
    if limits.overhead is not None or not (conversion.options.tiles and conversion.options.tiles.recompute):
        return best
    return min(best, conversion.at(conversion.plans.budgets[-1]), key=lambda c: c.arena.total)


def _elsewhere(limits: Limits, plans: Mapping[str, Converted]) -> Iterator[str]:
    """Yield the command-line options of the first plan that fits only on another board, if there is such a plan."""
    for flags, there in plans.items() if limits.board else ():
        arena, needs = there.arena, there.firmware
        only_elsewhere = not limits.fit(arena, needs) and replace(limits, board=None).fit(arena, needs)
        if only_elsewhere and (names := [*for_boards(arena, needs)]):
            yield flags + names[0]
            return


def for_boards(arena: Arena, needs: Firmware, keeps: Callable[[Board], bool] = lambda _: True) -> Iterator[str]:
    names = [name for name, on in boards().items() if keeps(on) and fit(on, arena, needs).fits]
    if names:
        yield f"--board {', '.join(names[:MOST_BOARDS])}"


def _for_flash(conversion: Conversion, limits: Limits, best: Converted, choose: Choose) -> Iterator[str]:
    room = limits.flash_room
    if conversion.options.target != GENERIC:
        there = choose(conversion.packed_for(GENERIC))
        if there and room and limits.fit(there.arena, there.firmware):
            flash = there.firmware.on(room.core).total
            yield f"--target {GENERIC} (fits in {there.arena.total:,} B and {flash:,} B of flash)"
    yield from _elsewhere(limits, {"": best})
    if limits.flash is not None and replace(limits, flash=None).fit(best.arena, best.firmware):
        yield f"--flash-limit {best.firmware.on(limits.flash.core).total}"


def up(overhead: float) -> str:
    """Round the compute factor F up to three decimals for a command line.

    >>> up(1.00001), up(1.25)
    ('1.001', '1.25')
    """
    return f"{math.ceil(overhead * 1000 - 1e-9) / 1000:g}"


def binding(converted: Converted) -> str:
    """Name the buffers that determine the size of the arena and are live at the moment with the most live bytes."""
    plan, graph = converted.planned.plan, converted.planned.graph.model
    placed = list(plan.placed())
    top = max(placed, key=lambda p: p[1] + p[0].nbytes)[0]
    stacked = critical(placed) or [b for b, _ in placed]
    live = {n: [b for b in stacked if b.first <= n < b.last and b.role in ROLES] for n in range(top.first, top.last)}
    number, named = max(live.items(), key=lambda step: sum(b.nbytes for b in step[1]))
    named = sorted(named, key=lambda b: -b.nbytes)
    parts = [f"{_content(graph, b)} {b.nbytes:,} B" for b in named[:MOST_NAMED]]
    more = [f"{len(named) - MOST_NAMED} smaller ones"] if len(named) > MOST_NAMED else []
    step = _name(converted.planned, number)
    interpreter = f"; the interpreter: {converted.arena.tail:,} B" if converted.interpreter else ""
    return f"{step}: {', '.join([*parts, *more])}{interpreter}"


def critical(placed: Sequence[tuple[Buffer, int]]) -> list[Buffer]:
    """Return the buffers that determine the height of a layout, largest first (Stahl, fused tiling, section 4.3.3,
    Figure 4.10).

    The buffers form stacks from the top of the layout to its bottom. In a stack, each buffer lies directly on another
    buffer that is live at the same time.
    """
    top = max((offset + buffer.nbytes for buffer, offset in placed), default=0)
    below = {i: [j for j in range(len(placed)) if _rests(placed[i], placed[j])] for i in range(len(placed))}
    grounded: set[int] = set()
    for i in sorted(below, key=lambda i: placed[i][1]):
        if placed[i][1] == 0 or grounded.intersection(below[i]):
            grounded.add(i)
    waiting = [i for i in grounded if placed[i][1] + placed[i][0].nbytes == top]
    found: set[int] = set()
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += grounded.intersection(below[i])
    return [placed[i][0] for i in sorted(found, key=lambda i: (-placed[i][0].nbytes, i))]


def _rests(upper: tuple[Buffer, int], lower: tuple[Buffer, int]) -> bool:
    (above, start), (below, bottom) = upper, lower
    end = bottom + below.nbytes
    return above.overlaps(below) and bottom < start <= end + -end % above.align


def _content(graph: Graph, buffer: Buffer) -> str:
    what = ROLES[buffer.role]
    if buffer.role is Role.SCRATCH:
        return what
    maker = graph.producer(buffer.key)
    if maker is None:
        return f"the model's input '{graph.tensors[buffer.key].label}'"
    return f"{what} op {maker.number} {maker.kind}"


def _name(planned: Planned, number: int) -> str:
    plan, ops = planned.plan, planned.graph.ops
    step = plan.steps[number]
    if not isinstance(step, Group):
        op = next(op for op in planned.graph.model.ops if op.index == step.op)
        return f"builtin operator {op.index} {op.kind}"
    indices = [i for stage in step.stages for i in ops[stage.op].sources]
    group = sum(isinstance(s, Group) for s in plan.steps[:number])
    return f"group {group} (ops {min(indices)}..{max(indices)})"
