"""Model the cycles of one inference on a Cortex-M board from the code blocks that ran in QEMU, without a measurement.

    python benchmarks/cycles.py --core m4 --board nucleo_l4r5 --models ../shared/models [--only STEM ...] [--json]
    python benchmarks/cycles.py --board nucleo_l4r5 --models DIR --layers
    python benchmarks/cycles.py --core m4 --board nucleo_f446re --image TFLM.elf --blob MODEL.tflite@0x100000

Every .tflite file in the folder is converted for the core (`--int8-io`, F = 1.00) and run as benchmarks/speed.py does.
With --layers, the script prints a table of each model with a row for each operator. With --max-macs, the plans are
those with the least RAM within this budget; with --fewest, they are the plans with the fewest estimated instructions.
The model of the pipeline uses Arm's published timings (cycles_rules.py). The board determines the wait states of flash;
without --board there are none. Cortex-M33 and M7 run their own code by the rules of M4, and the results are ranges
without a known error, since Arm publishes no timings for them. --image models the cycles of any program for the core's
machine that uses the clock of tests/cores/core.h. The known error of the model is stated below the table.
cycles_published.json has the published figures and the model's figures for the same programs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import cycles_trace
import tables
from cycles_rules import M4, PIPELINES, Pipeline
from cycles_trace import Cycles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, outcomes_of
from cores.core import CORES, Core, missing_tools, runner

import tflm_memopt
from tflm_memopt.analysis.timing import NO_WAIT, FlashTiming
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.errors import MemoptError
from tflm_memopt.plan.plan import Group, Plan
from tflm_memopt.targets.boards import Board, board, boards

PUBLISHED = Path(__file__).parent / "cycles_published.json"
LIKE: Mapping[str, tuple[Pipeline, float, float]] = {"m33": (M4, 0.66, 1.0), "m7": (M4, 0.28, 1.0)}
"""For each core without published timings, the pipeline whose rules are used, and the minimum and maximum ratio of the
core's cycles to the pipeline's. Measured on boards, the runtimes of tigris-bench take 0.66 to 0.88 of M4's cycles on an
M33 (DS-CNN), and 0.28 to 0.65 on an M7. In MLPerf Tiny, ST's library takes 0.81 to 0.90 of M4's cycles on an M33, and
0.54 to 0.63 on an M7.
"""
RULES = {**{name: (pipeline, 1.0, 1.0) for name, pipeline in PIPELINES.items()}, **LIKE}
MACHINES = {"m0": "m0-large", "m0plus": "m0-large"}
"""Names of QEMU machines for cores that have another name in QEMU."""


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator that runs alone, with cycles by the rules of its core or, on M33 and M7, by the rules of M4."""

    kernel: str
    macs: int
    instructions: int
    cycles: int
    """Cycles of the operator, including the cycles of waits for flash."""
    fetch: int
    """Wait cycles for reading instructions."""
    data: int
    """Wait cycles for reading constants."""
    constants: int
    """Bytes of weights and other constants that the operator loads, each byte as often as it is loaded."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model. The cycles are those of one inference."""

    model: str
    core: str
    board: str
    instructions: int
    pipeline: int
    """Cycles if the flash had no wait states."""
    fetch: int
    """Wait cycles for reading instructions."""
    data: int
    """Wait cycles for reading constants."""
    cycles: tuple[int, int]
    """Lower and upper bound of the cycles. For cores with published timings, the two bounds are equal."""
    per_instruction: float
    milliseconds: tuple[float, float] | None
    """Time at the board's clock."""
    layers: tuple[Layer, ...] = ()
    ram: int = 0
    """Bytes of the rewritten model's arena, or 0 for an image."""


def measure(path: Path, core: str, on: Board | None, max_macs: float | None = None, *, fewest: bool = False) -> Row:
    """Convert a model, run it and model its cycles. Raises RuntimeError if a byte of an output is wrong. fewest:
    whether to use the plan with the fewest estimated instructions instead of the plan with the least RAM.
    """
    machine, flash = emulated(core), flash_of(on)
    options: Mapping[str, Any] = {"int8_io": True, "target": machine.target}
    most = None
    if fewest:
        most = tflm_memopt.explore(path.read_bytes(), cost="instructions", **options).points[0].instructions
    result = tflm_memopt.optimize(
        path.read_bytes(), name=path.name, max_macs=max_macs, max_instructions=most, **options
    )
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
    counted = row(path.stem, core, on, whole, tuple(_layers(result, plan, operators)))
    return replace(counted, ram=result.report.arena.total)


def _layers(result: Optimized, plan: Plan, counted: Sequence[Cycles]) -> Iterator[Layer]:
    reports = [stage for group in result.report.groups for stage in group.stages]
    stages = [stage for step in plan.steps if isinstance(step, Group) for stage in step.stages]
    macs = {op.index: op.macs for op in result.inspection.operators}
    for work, stage, report, one in zip(result.work, stages, reports, counted, strict=True):
        (waits,) = one.stalls
        mine = sum(macs[i] for i in report.ops)
        kernel = f"{work.kernel}, {stage.at_once} at once" if stage.at_once > 1 else work.kernel
        yield Layer(kernel, mine, one.instructions, one.total(), waits.fetch, waits.data, one.constants)


def measure_image(image: Path, model: Path, at: int, core: str, on: Board | None) -> Row:
    """Return the cycles of a program for the core's machine. The plugin's model is loaded after the program."""
    machine = replace(emulated(core), blob=at)
    _, runs = cycles_trace.trace(machine, image, RULES[core][0], [flash_of(on)], model)
    return row(model.stem, core, on, runs[-1].whole)


def row(model: str, core: str, on: Board | None, found: Cycles, layers: tuple[Layer, ...] = ()) -> Row:
    _, least, most = RULES[core]
    cycles = round(least * found.total()), round(most * found.total())
    at = on.mhz * 1000 if on else 0
    return Row(
        model, core, on.id if on else "", found.instructions, found.pipeline, found.stalls[0].fetch,
        found.stalls[0].data, cycles, round(found.total() / found.instructions, 3),
        (round(cycles[0] / at, 3), round(cycles[1] / at, 3)) if at else None, layers,
    )  # fmt: skip


def emulated(core: str) -> Core:
    """Return the QEMU machine that runs the core's code."""
    return CORES[MACHINES.get(core, core)]


def flash_of(on: Board | None) -> FlashTiming:
    """Raise RuntimeError for a board whose flash is not described."""
    if on is not None and on.flash_timing is None:
        raise RuntimeError(f"{on.id}: how its flash answers is not in the boards' data")
    return on.flash_timing if on and on.flash_timing else NO_WAIT


def known_error() -> str:
    """Return a paragraph about the known error of the model."""
    told = json.loads(PUBLISHED.read_text())
    each = [
        f"{r['model']} on {r['board']} {r['published']:,} published, {r['modelled']:,} modelled "
        f"({r['modelled'] / r['published'] - 1:+.1%})"
        for r in told["rows"]
    ]
    return f"Known error, TFLM with CMSIS-NN: {'; '.join(each)}. Of other cores and flashes nothing is known."


def error_table() -> str:
    titles = ("model", "core", "board", "published", "modelled", "error")
    return tables.markdown(titles, ([
        r["model"], r["core"], r["board"], f"{r['published']:,}", f"{r['modelled']:,}",
        f"{r['modelled'] / r['published'] - 1:+.1%}",
    ] for r in json.loads(PUBLISHED.read_text())["rows"]), left=3)  # fmt: skip


def table(rows: Sequence[Row]) -> str:
    titles = ("model", "instructions", "pipeline", "wait: code", "wait: constants", "cycles", "per instruction", "ms")
    return tables.markdown(titles, ([
        r.model, f"{r.instructions:,}", f"{r.pipeline:,}", f"{r.fetch:,}", f"{r.data:,}",
        _span(*(f"{n:,}" for n in r.cycles)), f"{r.per_instruction:.2f}",
        _span(*(f"{ms:.2f}" for ms in r.milliseconds)) if r.milliseconds else "",
    ] for r in rows))  # fmt: skip


def layer_table(layers: Sequence[Layer]) -> str:
    titles = (
        "", "kernel", "MACs", "instructions", "cycles", "wait: code", "wait: constants", "bytes of constants",
        "cycles per MAC",
    )  # fmt: skip
    return tables.markdown(titles, ([
        f"{i}", one.kernel, f"{one.macs:,}", f"{one.instructions:,}", f"{one.cycles:,}", f"{one.fetch:,}",
        f"{one.data:,}", f"{one.constants:,}", f"{one.cycles / one.macs:.2f}" if one.macs else "",
    ] for i, one in enumerate(layers)), left=2)  # fmt: skip


def engine_table(rows: Sequence[Row]) -> str:
    """Return a table that compares these rows with the published cycles of other engines.

    Raises RuntimeError if a model of the published table is missing.
    """
    told = json.loads(PUBLISHED.read_text())
    engines, errors = told["engines"], [r["published"] / r["modelled"] - 1 for r in told["rows"]]
    found = {r.model: r for r in rows}
    if missing := [model for model in engines["models"] if model not in found]:
        raise RuntimeError(f"the table of engines needs {', '.join(missing)}")
    mine = [found[model] for model in engines["models"]]
    ours = f"tflm-memopt, modelled ({min(errors):+.0%} to {max(errors):+.0%})"
    each = [(r["engine"], [f"{n:g}" for n in r["megacycles"]], r["ram"]) for r in engines["rows"]]
    flash = flash_of(named_board(mine[0].board)).key
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
    """Return the board, which may be named by an unambiguous prefix of its id."""
    if said is None:
        return None
    begun = [name for name in boards() if name.startswith(said)]
    return board(begun[0] if len(begun) == 1 else said)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", choices=tuple(RULES), default="m4")
    parser.add_argument("--board", metavar="ID", help="whose flash and clock count")
    parser.add_argument("--models", type=Path, metavar="DIR", help="where the .tflite files are")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--image", type=Path, metavar="ELF", help="a program for the core's machine, instead")
    parser.add_argument("--blob", metavar="FILE@ADDRESS", help="what is loaded behind the image")
    parser.add_argument("--errors", action="store_true", help="what is known of the model's error, and nothing else")
    parser.add_argument("--layers", action="store_true", help="a row for each operator")
    parser.add_argument("--max-macs", type=float, metavar="F", help="least RAM within this compute budget")
    parser.add_argument("--fewest", action="store_true", help="the plan with the fewest estimated instructions")
    parser.add_argument("--engines", action="store_true", help="the table beside other engines' published cycles")
    parser.add_argument("--json", action="store_true", help="one JSON object, with figures per operator")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this document")
    args = parser.parse_args(arguments)
    paths = sorted(args.models.glob("*.tflite")) if args.models else []
    paths = [path for path in paths if not args.only or path.stem in args.only]
    mark = "cycles-error" if args.errors else "cycles-engines" if args.engines else f"cycles-{args.core}"
    if not args.errors and (reason := missing_tools(emulated(args.core)) or _nothing(paths, args.image)):
        parser.error(reason)
    try:
        if args.update:
            tables.require(args.update, mark)
        rows = [] if args.errors else _rows(args, paths)
        written = error_table() if args.errors else engine_table(rows) if args.engines else table(rows)
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    if args.json:
        told = json.loads(PUBLISHED.read_text())
        print(json.dumps({"models": [asdict(one) for one in rows], "published": told}, indent=2))
    else:
        layers = [f"{one.model}\n\n{layer_table(one.layers)}" for one in rows if args.layers]
        print(*layers, written, *([] if args.errors else [known_error()]), sep="\n\n")
    if args.update:
        tables.update(args.update, mark, written)
    return 0


def _nothing(paths: Sequence[Path], image: Path | None) -> str:
    return "" if paths or image else "no model: --models or --image"


def _rows(args: argparse.Namespace, paths: Sequence[Path]) -> list[Row]:
    on = named_board(args.board)
    if args.image:
        model, _, at = args.blob.partition("@")
        return [measure_image(args.image, Path(model), int(at, 0), args.core, on)]
    return [measure(path, args.core, on, args.max_macs, fewest=args.fewest) for path in paths]


if __name__ == "__main__":
    sys.exit(main())
