"""Describes the time and the instructions of one inference for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tflm_memopt.analysis.timing import Inference, Span, Time, timings

if TYPE_CHECKING:  # Importing the class Report would slow down every command.
    from tflm_memopt.answers.report import Report

ESP_NN, ESP_CORE = "ESP-NN", "rv32"
VISIBLE = 0.005
"""Smallest relative increase of time with which a model counts as slower."""
UPPER = "ms: of one inference, at most, estimated"


def span(milliseconds: tuple[float, float]) -> str:
    """Return a range of milliseconds as text.

    >>> span((27.9, 37.2)), span((0.56, 0.744)), span((1480.2, 1973.6))
    ('28 to 37 ms', '0.56 to 0.74 ms', '1,480 to 1,974 ms')
    """
    return f"{_digits(milliseconds[0])} to {_digits(milliseconds[1])} ms"


def _digits(number: float) -> str:
    """Format milliseconds with two significant digits or, from 10 ms on, as a whole number."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def milliseconds(inference: Inference | None) -> str:
    return span(inference.milliseconds) if inference and inference.milliseconds else "not known"


def change(time: Time, *, changed: bool) -> str:
    before, after = milliseconds(time.original), milliseconds(time.rewritten)
    less = percent(time.change) if time.rewritten and time.rewritten.milliseconds else ""
    return f"{before} -> {after}{f' ({less})' if less else ''}" if changed else before


def percent(change: Span | None) -> str:
    """Return a relative change in percent, or "" if the change is unknown.

    >>> percent((0.12, 0.244)), percent((-0.39, -0.33)), percent((-0.021, -0.019)), percent(None)
    ('+12 to +24 %', '-39 to -33 %', '-2 %', '')
    """
    ends = dict.fromkeys(f"{100 * end:+.0f}" for end in change or ())
    return f"{' to '.join(ends)} %" if ends else ""


def verdict(report: Report) -> str:
    """Return a phrase that says whether the model was rewritten, how much slower the rewritten model is, and which flag
    makes the model faster.
    """
    if not report.changed:
        return f"unchanged, {report.why_unchanged}"
    slower, faster = _slower(report.time), report.faster
    if not slower:
        return "rewritten"
    alone = " on one core" if report.cores else ""
    return f"rewritten, {slower}{alone}" + (f"; {faster.flag} takes at most {faster.arena:,} B" if faster else "")


def _slower(time: Time | None) -> str:
    """Return a phrase that says how much slower the rewritten model is, or "" if the model is not slower.

    >>> before, after = Inference(100, (1.0, 2.0)), Inference(90, (1.12, 2.48))
    >>> _slower(Time("cortex-m4", "", 64.0, None, before, after))
    'slower: +12 to +24 % time'
    >>> _slower(Time("cortex-m4", "", None, None, Inference(100, None), Inference(169, None)))
    'slower: +69 % instructions on cortex-m4'
    """
    if time is None or time.change is None or time.change[1] < VISIBLE:
        return ""
    what = "time" if time.original and time.original.milliseconds else f"instructions on {time.core}"
    return f"{'slower' if time.change[0] >= 0 else 'may be slower'}: {percent(time.change)} {what}"


def both(time: Time | None) -> str:
    spans = [one.milliseconds for one in (time.original, time.rewritten) if one] if time else []
    return " -> ".join(_digits(span[1]) for span in spans if span)


def most(milliseconds: tuple[float, float] | None) -> str:
    """Return the text of a table cell with the longest expected time in ms, or "" if the time is unknown.

    >>> most((426.6, 568.8)), most(None)
    ('569', '')
    """
    return _digits(milliseconds[1]) if milliseconds else ""


def rest_on(times: Iterable[Time]) -> list[str]:
    """Return lines that explain the milliseconds in a table, one line for each kernel library."""
    cores: dict[str, dict[str, None]] = {}
    for time in times:
        models = f"original with {time.library} -> rewritten" if time.original else "rewritten"
        cores.setdefault(models, {})[time.core] = None
    return [f"ms: at most, estimated: {models}, cycles modelled on {', '.join(on)}" for models, on in cores.items()]


def basis(time: Time) -> str:
    where = ", ".join([*([time.board] if time.board else []), time.core, *([f"{time.mhz:g} MHz"] if time.mhz else [])])
    if time.cycles is None:
        return f"{where}: the cycles per instruction are unknown there"
    if not (time.original or time.rewritten):
        return f"{where}: the instructions of some of its operators are unknown"
    low, high = time.cycles
    if time.library == ESP_NN:
        share = "" if time.share is None else f"; {100 * time.share:.0f} % of the multiply-accumulates in ESP-NN"
        how = f"estimated from published cycles of ESP-NN; {low:.1f} to {high:.1f} cycles an instruction of C"
        return f"{where}, {how}{share}"
    original = f"; original with {time.library}" if time.original else ""
    return f"{where}, {low:.1f} to {high:.1f} cycles an instruction, modelled; instructions estimated{original}"


def rows(report: Report) -> list[tuple[str, str, str]]:
    time = report.time
    if time is None:
        return []
    counted = _instructions(report, time)
    if not time.mhz:
        more = "; --board gives milliseconds" if timings(time.core) or time.core == ESP_CORE else ""
        return [(name, count, remark + more) for name, count, remark in counted]
    return [
        ("time", "not known" if time.cycles is None else change(time, changed=report.changed), basis(time)),
        *counted,
    ]


def _instructions(report: Report, time: Time) -> list[tuple[str, str, str]]:
    before, after = (one.instructions if one else None for one in (time.original, time.rewritten))
    if not report.changed:
        if before is None:
            return []
        return [("instructions", millions(before), f"estimated, {time.core}, with {time.library}")]
    if before is not None and after is not None:
        less = percent((after / before - 1,) * 2) if before else ""
        count = f"{millions(before)} -> {millions(after)}{f' ({less})' if less else ''}"
        return [("instructions", count, f"estimated, {time.core}; original with {time.library}")]
    estimates = {time.core: after} if time.mhz and after is not None else {} if time.mhz else report.instructions
    if not estimates:
        return []
    ordered = sorted(estimates, key=lambda core: -estimates[core])
    ends = dict.fromkeys((ordered[0], ordered[-1]))
    counts = " / ".join(millions(estimates[core]) for core in ends)
    return [("instructions", counts, f"of the rewritten model, estimated, {' / '.join(ends)}")]


def packed(report: Report) -> str:
    if (there := report.packed) is None or (report.time and report.time.mhz):
        return ""
    today = f", original {millions(there.original)}" if there.original else ""
    better = f"at most {millions(there.packed)}" if there.packed < there.generic else "another plan"
    return f"{there.core} {millions(there.generic)}, with --target {better}{today}"


def millions(count: int) -> str:
    """Format a count with about three digits.

    >>> millions(113_595_877), millions(6_801_564), millions(12_345)
    ('113.6 M', '6.80 M', '12 k')
    """
    if count < 10**6:
        return f"{count / 1e3:.0f} k"
    return f"{count / 1e6:.{1 if count >= 10**7 else 2}f} M"
