"""Describes the next steps after a conversion, with code to paste."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from tflm_memopt.answers.report import Report
from tflm_memopt.emit.names import file_stem, identifier
from tflm_memopt.emit.resolver import ARENA_ALIGNMENT
from tflm_memopt.plan.drafts import TFLM_ALIGN
from tflm_memopt.report import times


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    code: str = ""
    note: str = ""


def head(report: Report) -> str:
    """Return a phrase that says whether a smaller arena head is possible."""
    bound, head = report.lower_bound_head, report.arena.head
    if not report.proven:
        return f"at least {bound:,} B; a lower layout of these groups may exist"
    rounded = -(-bound // TFLM_ALIGN) * TFLM_ALIGN
    if head == rounded and bound < head:
        return f"at least {bound:,} B; no layout of these groups is lower: addresses are multiples of {TFLM_ALIGN}"
    return f"at least {head:,} B; no layout of these groups is lower"


def steps(report: Report, original: Path, folder: Path) -> list[Step]:
    if not report.changed:
        return [Step("Use the original model.", note=report.diagnosis.advice)]
    stem = file_stem(original.stem)
    files = (str(original), str(folder / f"{stem}.tflite"))
    compare = Step(
        "Compare the outputs under TFLM. So far, only the plan was checked, byte by byte.",
        f"tflm-memopt verify {shlex.join(files)}",
    )
    build = Step(
        "Build with TFLM and the C library, custom_ops/.",
        note=f"{stem}_ops.h has the resolver. --emit arduino, platformio or esp-idf writes a whole project.",
    )
    return [compare, *_declare(report, stem), build, *(Step(advice) for advice in _advice(report))]


def _declare(report: Report, stem: str) -> list[Step]:
    if report.arena_size is None:
        return []
    name = f"{identifier(stem)}_arena_size"
    code = f"constexpr size_t {name} = {report.arena_size};\nalignas({ARENA_ALIGNMENT}) static uint8_t arena[{name}];"
    return [Step("Declare the arena.", code, f"{stem}_ops.h has this constant: enough for every build of TFLM.")]


def _advice(report: Report) -> list[str]:
    found = []
    if packed := times.packed(report):
        found.append(f"The program runs on any core. Estimated instructions: {packed} with CMSIS-NN.")
    if report.in_arena is not None:
        found.append(f"--input arena takes less: {report.in_arena:,} B.")
    if report.cut_short:
        found.append("--effort high searches longer and may find a better plan.")
    if not (report.board or report.time_limit or report.ram_limit):
        found.append("--board shows what is left of your board, and the time of an inference there.")
    if report.board and report.time and report.time.cycles and not report.time_limit:
        found.append("For more speed: explore --board shows its cost in RAM, --time-limit selects a plan.")
    return found
