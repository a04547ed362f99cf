"""Formats the results for several devices that run one network together."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tflm_memopt.answers.devices import DevicesExploration, DevicesPoint, DevicesReport, DevicesTime
from tflm_memopt.devices.verify import DevicesVerification
from tflm_memopt.emit.printing import printable
from tflm_memopt.report import figures, times
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import Series
from tflm_memopt.report.parts import INDENT, AnswerTable, page, section
from tflm_memopt.report.text import LEFT, left_over, lines, wrong


def optimized(report: DevicesReport, folder: Path, files: Iterable[str]) -> RenderableType:
    timed = report.time
    computes = ">computes, ms" if timed else None
    table = AnswerTable("device", ">arena", ">flash", ">weights", ">sent", ">received", computes)
    before = report.original_arena.figure(report.original_arena.total)
    table.add_row("one, TFLM today", before, f"{report.original_flash:,}", f"{report.original_weights:,}")
    alone = report.alone
    own = (alone.arena.figure(alone.arena.total), f"{alone.flash:,}", f"{alone.weights:,}")
    table.add_row("one, rewritten", *own, "", "", f"{alone.milliseconds:,.1f}" if alone.milliseconds else "")
    for number, d in enumerate(report.devices):
        sizes = (f"{n:,}" for n in (d.flash, d.weights, d.sent, d.received))
        computes = f"{timed.computing[number]:,.1f}" if timed else ""
        table.add_row(str(number), d.arena.figure(d.arena.total), *sizes, computes)
    by_sharding = {name: ops for name, ops in _by_sharding(report) if ops}
    if report.stages:
        by_sharding.pop("first device")
    split = [f"device {stage.device}: operators from {stage.first}" for stage in report.stages]
    split += [f"{name}: operators {', '.join(map(str, ops))}" for name, ops in by_sharding.items()]
    split.append(f"a link needs a buffer of {report.room:,} B if senders wait for room in it")
    split.append(f"without flow control, a link needs a buffer of {report.room_for_all:,} B for all messages")
    if timed:
        split.append(f"an inference takes {timed.milliseconds:,.1f} ms at most, estimated, {_link(timed)}")
    return page(
        Group(
            Text(f"{printable(report.model)}: {len(report.devices)} devices", "bold"), Text(report.convention, "dim")
        ),
        table,
        section("Shared by", lines(split)),
        section("Where sharing does not pay", lines(report.drawbacks)) if report.drawbacks else None,
        section(f"Written to {printable(str(folder))}", lines(files)),
    )


def verified(result: DevicesVerification) -> RenderableType:
    answer = Text(result.answer, "bold green" if result.bit_exact else "bold red")
    said = [f"{result.runs} inferences (seed {result.seed}) on {len(result.devices)} processes, linked over loopback"]
    for number, device in enumerate(result.devices):
        said.append(f"device {number} sent {device.sent:,} B and received {device.received:,} B of messages in all")
    said += wrong(result.failure, result.difference, result.constants)
    return page(Group(answer, Padding(lines(said), (0, 0, 0, INDENT))))


def exploration(result: DevicesExploration, files: Sequence[str]) -> RenderableType:
    title = Text(printable(result.model), "bold").append(f"   {result.convention}", "dim")
    shared = (">rows", ">overlap", ">channels", ">sums", ">first device")
    sizes = (">arena", ">flash", ">both", ">sent")
    table = AnswerTable("point", ">ms", *sizes, ">devices", *shared, *(LEFT if result.board else ()))
    for number, p in enumerate(result.points):
        counts = (str(len(ops)) for _, ops in _by_sharding(p))
        table.add_row(
            str(number), f"{p.milliseconds:,.1f}", *(f"{n:,}" for n in (p.ram, p.flash, p.memory, p.sent)),
            str(p.devices), *counts, *left_over(p.left),
        )  # fmt: skip
    before = result.original_arena.figure(result.original_arena.total)
    board = [f"  RAM left, flash left: of {result.board}, on the device that leaves the least"] if result.board else []
    facts = (
        "  arena and flash: of the largest device",
        "  rows, overlap (rows without exchange), channels, sums, first device: operators split this way",
        *board,
        f"  TFLM today, one device: arena {before} B, flash {result.original_flash:,} B",
        f"  {times.UPPER}, {result.core} at {result.mhz:g} MHz, {_link(result)}",
    )
    return page(
        Group(title, Text(), table, Text("\n".join(facts), "dim")), section("Written", lines(files)) if files else None
    )


def frontier(result: DevicesExploration) -> Drawing:
    line = Series("tflm-memopt", [(p.memory, p.milliseconds) for p in result.points])
    ram = f"arena and model of the largest device ({result.convention})"
    return figures.plot([line], title=result.model, ram=ram, compute=f"ms, {_link(result)}, estimated")


def _by_sharding(of: DevicesReport | DevicesPoint) -> tuple[tuple[str, Sequence[int]], ...]:
    rows = ("rows", of.rows), ("rows without exchange", of.overlap)
    return *rows, ("channels", of.channels), ("partial sums", of.inputs), ("first device", of.whole)


def _link(of: DevicesExploration | DevicesTime) -> str:
    return f"over links of {of.rate:,.0f} B/s with {of.latency:g} ms of latency"
