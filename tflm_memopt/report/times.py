"""Time and instructions of one inference in words, for the terminal and the page."""

from __future__ import annotations

from tflm_memopt.analysis.timing import Inference, Time
from tflm_memopt.results import Report

UPPER = "ms: of one inference, at most, estimated"


def span(milliseconds: tuple[float, float]) -> str:
    """From least to most.

    >>> span((27.9, 37.2)), span((0.56, 0.744)), span((1480.2, 1973.6))
    ('28 to 37 ms', '0.56 to 0.74 ms', '1,480 to 1,974 ms')
    """
    return f"{_digits(milliseconds[0])} to {_digits(milliseconds[1])} ms"


def _digits(number: float) -> str:
    """Two, or whole milliseconds."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def milliseconds(inference: Inference | None) -> str:
    """Or "not known"."""
    return span(inference.milliseconds) if inference and inference.milliseconds else "not known"


def change(time: Time, *, changed: bool) -> str:
    """Milliseconds before and after; of a model that stays as it is, its own."""
    before, after = milliseconds(time.original), milliseconds(time.rewritten)
    return f"{before} -> {after}{_less(time)}" if changed else before


def _less(time: Time) -> str:
    if not (time.original and time.rewritten and time.original.instructions):
        return ""
    before, after = time.original.instructions, time.rewritten.instructions
    return f" ({100 * (after - before) / before:+.0f} %)"


def both(time: Time | None) -> str:
    """Milliseconds in a table, at most, before and after; nothing where neither is known."""
    spans = [one.milliseconds for one in (time.original, time.rewritten) if one] if time else []
    return " -> ".join(_digits(span[1]) for span in spans if span)


def most(milliseconds: tuple[float, float] | None) -> list[str]:
    """A cell of a table, if there is any.

    >>> most((426.6, 568.8)), most(None)
    (['569'], [])
    """
    return [_digits(milliseconds[1])] if milliseconds else []


def rests_on(time: Time) -> str:
    """What the milliseconds of a table rest on."""
    models = "original with CMSIS-NN -> rewritten" if time.original else "rewritten"
    return f"ms: at most, estimated: {models}, cycles modelled on {time.core}"


def place(time: Time) -> str:
    """Where, in short."""
    where = f"{time.board or time.core} at {time.mhz:g} MHz" if time.mhz else time.core
    return f"{where}, estimated" + ("; original with CMSIS-NN" if time.original else "")


def basis(time: Time) -> str:
    """What milliseconds rest on, or why there are none."""
    where = ", ".join([*([time.board] if time.board else []), time.core, *([f"{time.mhz:g} MHz"] if time.mhz else [])])
    if time.cycles is None:
        return f"{where}: how many cycles an instruction takes there is not known"
    if not (time.original or time.rewritten):
        return f"{where}: how many instructions some of its operators take is not known"
    low, high = time.cycles
    original = "; original with CMSIS-NN" if time.original else ""
    return f"{where}, {low:.1f} to {high:.1f} cycles an instruction, modelled; instructions estimated{original}"


def rows(report: Report) -> list[tuple[str, str, str]]:
    """Name, figure and remark: instructions and, with a clock, time."""
    time = report.time
    if time is None:
        return []
    counted = _instructions(report, time)
    if not time.mhz:
        return [(name, count, f"{remark}; --board says milliseconds") for name, count, remark in counted]
    return [
        ("time", "not known" if time.cycles is None else change(time, changed=report.changed), basis(time)),
        *counted,
    ]


def _instructions(report: Report, time: Time) -> list[tuple[str, str, str]]:
    """Before and after on the core of `time`; of a generic program, on the slowest and the fastest core."""
    before, after = time.original, time.rewritten
    if not report.changed:
        return (
            [("instructions", millions(before.instructions), f"estimated, {time.core}, with CMSIS-NN")]
            if before
            else []
        )
    if before and after:
        count = f"{millions(before.instructions)} -> {millions(after.instructions)}{_less(time)}"
        return [("instructions", count, f"estimated, {time.core}; original with CMSIS-NN")]
    estimates = {time.core: after.instructions} if time.mhz and after else {} if time.mhz else report.instructions
    if not estimates:
        return []
    ordered = sorted(estimates, key=lambda core: -estimates[core])
    ends = dict.fromkeys((ordered[0], ordered[-1]))
    return [("instructions", " / ".join(millions(estimates[core]) for core in ends), f"estimated, {' / '.join(ends)}")]


def millions(count: int) -> str:
    """Three digits or so.

    >>> millions(113_595_877), millions(6_801_564), millions(12_345)
    ('113.6 M', '6.80 M', '12 k')
    """
    if count < 10**6:
        return f"{count / 1e3:.0f} k"
    return f"{count / 1e6:.{1 if count >= 10**7 else 2}f} M"
