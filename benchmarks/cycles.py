"""Estimate the cycles of one inference on a Cortex-M board from the code that runs in QEMU, without a measurement.

    python benchmarks/cycles.py --core m4 --board nucleo_l4r5 --models DIR [--only NAME ...] [--layers]
    python benchmarks/cycles.py --core m4 --board nucleo_f446re --image TFLM.elf --blob MODEL.tflite@0x100000

The script converts every .tflite file in the folder for the core (`--int8-io`, F = 1.00) and runs it as
benchmarks/speed.py does. Cycles are computed from Arm's published timings of instructions (cycles_rules.py). Without
--board, the script assumes flash without wait states. For M33 and M7, whose timings Arm does not publish, the script
applies the rules of M4 and states a range of cycles whose error is unknown. The file cycles_published.json compares
published cycles with estimates.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import cycles_trace
import tables
from cores.cases import blob, model_cases, outcomes_of
from cores.core import CORES, Core, missing_tools, runner
from cycles_rules import M4, PIPELINES, Pipeline
from cycles_trace import Cycles

import tflm_memopt
from tflm_memopt.analysis.timing import NO_WAIT, FlashTiming
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.errors import MemoptError
from tflm_memopt.plan.plan import Group, Plan
from tflm_memopt.targets.boards import Board, board, boards

PUBLISHED = Path(__file__).parent / "cycles_published.json"
BOARD = "nucleo_l4r5"
LIKE: Mapping[str, tuple[Pipeline, float, float]] = {"m33": (M4, 0.66, 1.0), "m7": (M4, 0.28, 1.0)}
"""Maps a core without published timings to a similar core and two factors. The cycles of the similar core, multiplied
by the factors, give the lower and the upper bound of the cycles.

For the programs of tigris-bench, an M33 needs 0.66 to 0.88 times the cycles of an M4, and an M7 needs 0.28 to 0.65
times. For ST's library in MLPerf Tiny, an M33 needs 0.81 to 0.90 times the cycles of an M4, and an M7 needs 0.54 to
0.63 times.
"""
RULES = {**{name: (pipeline, 1.0, 1.0) for name, pipeline in PIPELINES.items()}, **LIKE}
MACHINES = {"m0": "m0-large", "m0plus": "m0-large"}


@dataclass(frozen=True, slots=True)
class Row:
    model: str
    instructions: int
    pipeline: int
    fetch: int
    data: int
    cycles: tuple[int, int]
    per_instruction: float
    milliseconds: tuple[float, float] | None
    layers: str = ""
    ram: int = 0


def measure(path: Path, core: str, on: Board | None, *, fewest: bool = False) -> Row:
    """Raises RuntimeError if an output byte is wrong. If the argument `fewest` is true, the planner looks for the plan
    with the fewest instructions.
    """
    machine, flash = emulated(core), flash_of(on)
    options: Mapping[str, Any] = {"int8_io": True, "target": machine.target}
    most = None
    if fewest:
        most = tflm_memopt.explore(path.read_bytes(), cost="instructions", **options).points[0].instructions
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, max_instructions=most, **options)
    if (plan := result.plan) is None:
        raise RuntimeError(f"{path.name}: {result.report.why_unchanged}")
    cases = model_cases(result.model, by_operator=True)
    whole, operators = Cycles(stalls=(cycles_trace.Stalls(),)), []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            data = Path(folder) / "cases.bin"
            data.write_bytes(blob([case]))
            if data.stat().st_size > machine.blob_bytes:
                raise RuntimeError(f"{path.name}: the {machine.name} has no room for it")
            said, runs = cycles_trace.trace(machine, runner(machine), RULES[core][0], [flash], data)
            if not all(outcome.right for outcome in outcomes_of(said)):
                raise RuntimeError(f"{path.name} on {core}: wrong bytes")
            whole += runs[-1].whole
            operators += [one for _, one in sorted(runs[-1].operators.items())]
    layers = layer_table(result, plan, operators)
    return replace(row(path.stem, core, on, whole), layers=layers, ram=result.report.arena.total)


def layer_table(result: Optimized, plan: Plan, counted: Sequence[Cycles]) -> str:
    titles = (
        "", "kernel", "MACs", "instructions", "cycles", "wait: code", "wait: constants", "bytes of constants",
        "cycles per MAC",
    )  # fmt: skip
    reports = [stage for group in result.report.groups for stage in group.stages]
    stages = [stage for step in plan.steps if isinstance(step, Group) for stage in step.stages]
    macs = {op.index: op.macs for op in result.inspection.operators}
    rows: list[list[str]] = []
    for work, stage, report, one in zip(result.work, stages, reports, counted, strict=True):
        (waits,) = one.stalls
        mine = sum(macs[i] for i in report.ops)
        kernel = f"{work.kernel}, {stage.at_once} at once" if stage.at_once > 1 else work.kernel
        numbers = mine, one.instructions, one.total(), waits.fetch, waits.data, one.constants
        per_mac = f"{one.total() / mine:.2f}" if mine else ""
        rows.append([str(len(rows)), kernel, *(f"{n:,}" for n in numbers), per_mac])
    return tables.markdown(titles, rows, left=2)


def measure_image(image: Path, model: Path, at: int, core: str, on: Board | None) -> Row:
    """QEMU loads the file `model` at the address `at`."""
    machine = replace(emulated(core), blob=at)
    _, runs = cycles_trace.trace(machine, image, RULES[core][0], [flash_of(on)], model)
    return row(model.stem, core, on, runs[-1].whole)


def row(model: str, core: str, on: Board | None, found: Cycles) -> Row:
    _, least, most = RULES[core]
    cycles = round(least * found.total()), round(most * found.total())
    at = on.mhz * 1000 if on else 0
    return Row(
        model, found.instructions, found.pipeline, found.stalls[0].fetch, found.stalls[0].data, cycles,
        round(found.total() / found.instructions, 3),
        (round(cycles[0] / at, 3), round(cycles[1] / at, 3)) if at else None,
    )  # fmt: skip


def emulated(core: str) -> Core:
    return CORES[MACHINES.get(core, core)]


def flash_of(on: Board | None) -> FlashTiming:
    if on is not None and on.flash_timing is None:
        raise RuntimeError(f"{on.id}: the timing of its flash is unknown")
    return on.flash_timing if on and on.flash_timing else NO_WAIT


def error_table() -> str:
    titles = ("model", "core", "board", "published", "modelled", "error")
    return tables.markdown(titles, ([
        r["model"], r["core"], r["board"], f"{r['published']:,}", f"{r['modelled']:,}",
        f"{r['modelled'] / r['published'] - 1:+.1%}",
    ] for r in json.loads(PUBLISHED.read_text())["rows"]), left=3)  # fmt: skip


def model_table(models: Path) -> str:
    return table([measure(models / f"{name}.tflite", "m4", named_board(BOARD)) for name in tables.SMALL])


def table(rows: Sequence[Row]) -> str:
    titles = ("model", "instructions", "pipeline", "wait: code", "wait: constants", "cycles", "per instruction", "ms")
    return tables.markdown(titles, ([
        r.model, f"{r.instructions:,}", f"{r.pipeline:,}", f"{r.fetch:,}", f"{r.data:,}",
        _span(*(f"{n:,}" for n in r.cycles)), f"{r.per_instruction:.2f}",
        _span(*(f"{ms:.2f}" for ms in r.milliseconds)) if r.milliseconds else "",
    ] for r in rows))  # fmt: skip


def engine_table(models: Path) -> str:
    told, on = json.loads(PUBLISHED.read_text()), named_board(BOARD)
    engines, errors = told["engines"], [r["published"] / r["modelled"] - 1 for r in told["rows"]]
    mine = [measure(models / f"{name}.tflite", "m4", on, fewest=True) for name in engines["models"]]
    ours = f"tflm-memopt, modelled ({min(errors):+.0%} to {max(errors):+.0%})"
    each = [(r["engine"], [f"{n:g}" for n in r["megacycles"]], r["ram"]) for r in engines["rows"]]
    flash = flash_of(on).key
    programs = [r for r in told["programs"] if r["core"] == "m4"]
    originals = {f"mlperf_tiny_{r['model']}_int8": r["pipeline"] + r["waits"][flash] for r in programs}
    before, arenas = [originals[r.model] for r in mine], engines["tflm_arenas"]
    for engine, cycles, ram in (
        ("TFLM + CMSIS-NN, modelled", before, arenas),
        (ours, [r.cycles[1] for r in mine], [r.ram for r in mine]),
    ):
        each.append((engine, [f"{n / 1e6:.3g}" for n in cycles], [f"{n:,}" for n in ram]))
    titles = ("engine", *(f"{name}, {what}" for what in ("M cycles", "bytes") for name in ("kws", "ic", "vww", "ad")))
    return tables.markdown(titles, ([engine, *cycles, *ram] for engine, cycles, ram in each))


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def named_board(said: str | None) -> Board | None:
    if said is None:
        return None
    begun = [name for name in boards() if name.startswith(said)]
    return board(begun[0] if len(begun) == 1 else said)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", choices=tuple(RULES), default="m4")
    parser.add_argument("--board", metavar="ID", help="board that determines the flash and the clock")
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of .tflite files")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure only these models of the folder")
    parser.add_argument("--image", type=Path, metavar="ELF", help="run this program, which uses tests/cores/core.h")
    parser.add_argument("--blob", metavar="FILE@ADDRESS", help="load a file after the program of --image")
    parser.add_argument("--layers", action="store_true", help="also print a table with a row for each operator")
    args = parser.parse_args(arguments)
    paths = sorted(args.models.glob("*.tflite")) if args.models else []
    paths = [path for path in paths if not args.only or path.stem in args.only]
    if not paths and not args.image:
        parser.error("there is no model: use --models or --image")
    if reason := missing_tools(emulated(args.core)):
        parser.error(reason)
    try:
        on = named_board(args.board)
        if args.image:
            model, _, at = args.blob.partition("@")
            rows = [measure_image(args.image, Path(model), int(at, 0), args.core, on)]
        else:
            rows = [measure(path, args.core, on) for path in paths]
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    layers = [f"{one.model}\n\n{one.layers}" for one in rows if args.layers]
    print(*layers, table(rows), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
