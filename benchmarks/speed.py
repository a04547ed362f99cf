"""Count the instructions of one inference on a core that QEMU emulates, and compare them with TFLM's own kernels.

    python benchmarks/speed.py --core m4 --models ../shared/models [--without windows] [--json] [--update FILE.md]

Every .tflite file in the folder is converted for the core (`--int8-io`, F = 1.00), its regions run in the arena of
their plan, and their outputs are compared with this machine's. Builtin operators between regions are not counted: the
output marks such models. Compare instruction counts with each other, not with time or cycles. TFLM's figures, for
CMSIS-NN and reference kernels, were counted in the same way (`-O2`, GCC 12.2) and include the interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tables

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, run
from cores.core import MEASURED, Core, missing_tools

import tflm_memopt
from tflm_memopt.errors import MemoptError
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.plan import Group
from tflm_memopt.results import Optimized

_COUNTED = json.loads((Path(__file__).parent / "cmsis_nn_counted.json").read_text(encoding="utf-8"))["cores"]
CMSIS_NN: Mapping[str, Mapping[str, int]] = {
    short: {row["model"]: row["instructions"] for row in _COUNTED.get(MEASURED[short].known_as, ())}
    for short in MEASURED
}
"""Instructions of TFLM with CMSIS-NN."""
REFERENCE: Mapping[str, Mapping[str, int]] = {
    "m4": {
        "mlperf_tiny_kws_dscnn_int8": 198_639_627,
        "mlperf_tiny_vww_96_int8": 552_356_539,
        "mlperf_tiny_ic_resnet8_int8": 824_063_122,
        "mlperf_tiny_ad_autoencoder_int8": 1_953_236,
    },
    "m3": {
        "mlperf_tiny_kws_dscnn_int8": 200_198_500,
        "mlperf_tiny_vww_96_int8": 553_931_755,
        "mlperf_tiny_ic_resnet8_int8": 827_352_982,
        "mlperf_tiny_ad_autoencoder_int8": 1_954_502,
    },
    "m0": {
        "mlperf_tiny_kws_dscnn_int8": 288_885_575,
        "mlperf_tiny_vww_96_int8": 804_568_338,
        "mlperf_tiny_ic_resnet8_int8": 1_196_424_272,
        "mlperf_tiny_ad_autoencoder_int8": 3_378_152,
    },
    "rv32": {
        "mlperf_tiny_kws_dscnn_int8": 143_371_918,
        "mlperf_tiny_vww_96_int8": 401_012_745,
        "mlperf_tiny_ic_resnet8_int8": 595_844_184,
        "mlperf_tiny_ad_autoencoder_int8": 2_480_681,
    },
}
"""Instructions of TFLM's reference kernels in the default build, which checks each index (TFLITE_DCHECK)."""
RELEASE: Mapping[str, Mapping[str, int]] = {
    "m4": {
        "mlperf_tiny_kws_dscnn_int8": 43_110_795,
        "mlperf_tiny_vww_96_int8": 100_470_158,
        "mlperf_tiny_ic_resnet8_int8": 107_489_437,
        "mlperf_tiny_ad_autoencoder_int8": 1_953_969,
    },
    "m3": {
        "mlperf_tiny_kws_dscnn_int8": 42_088_859,
        "mlperf_tiny_vww_96_int8": 99_013_540,
        "mlperf_tiny_ic_resnet8_int8": 105_770_288,
        "mlperf_tiny_ad_autoencoder_int8": 1_954_172,
    },
    "m0": {
        "mlperf_tiny_kws_dscnn_int8": 70_665_176,
        "mlperf_tiny_vww_96_int8": 160_030_170,
        "mlperf_tiny_ic_resnet8_int8": 167_772_261,
        "mlperf_tiny_ad_autoencoder_int8": 3_377_662,
    },
    "rv32": {
        "mlperf_tiny_kws_dscnn_int8": 44_308_669,
        "mlperf_tiny_vww_96_int8": 109_921_332,
        "mlperf_tiny_ic_resnet8_int8": 125_521_041,
        "mlperf_tiny_ad_autoencoder_int8": 2_480_441,
    },
}
"""Instructions of these kernels built with NDEBUG, without the checks."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a program, including the scheduling of its iterations."""

    operator: str
    ops: tuple[int, ...]
    """Indices in the original model."""
    packed: bool
    instructions: int
    macs: int


@dataclass(frozen=True, slots=True)
class GroupSpeed:
    ops: tuple[int, ...]
    stripes: int
    iterations: int
    instructions: int
    macs: int


@dataclass(frozen=True, slots=True)
class Row:
    """One model. `arena` and `stack` are in bytes; `arena` is the whole arena of the plan that ran, 32-bit pointers."""

    model: str
    core: str
    target: str
    instructions: int
    estimate: int | None
    """Estimate of the report (docs/frontier.md) for the core, or None."""
    macs: int
    """Counted instructions."""
    overhead: float
    """Factor F of the original's multiply-accumulates. It is below 1 if dead channels were folded."""
    per_mac: float
    cmsis_nn: int | None
    ratio: float | None
    """Share of CMSIS-NN's instructions."""
    reference: int | None
    """Share of the instructions of TFLM's reference kernels with their checks."""
    release: int | None
    """Share of the instructions of TFLM's reference kernels without checks."""
    arena: int
    stack: int
    builtin: int
    """Operators that TFLM runs, which are not counted."""
    groups: tuple[GroupSpeed, ...]
    operators: tuple[Operator, ...]


def measure(path: Path, core: Core, target: str, *, by_operator: bool, **settings: Any) -> Row | None:
    """Convert and run one model; None without a rewrite. Raises RuntimeError when a byte of an output is wrong."""
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=target, **settings)
    if result.plan is None:
        print(f"{path.name}: {result.report.why_unchanged}", file=sys.stderr)
        return None
    cases = model_cases(result.model, by_operator=by_operator)
    if too_large := [case for case in cases if len(blob([case])) > core.blob_bytes]:
        raise RuntimeError(f"{path.name}: the {core.name} has no room for a program of {len(too_large[0].program):,} B")
    outcomes = [run(core, [case])[0] for case in cases]
    if not all(o.right for o in outcomes):
        raise RuntimeError(f"{path.name} on {core.name}: {[(o.status, o.wrong) for o in outcomes]}")
    instructions = sum(o.instructions for o in outcomes)
    macs = result.plan.macs
    known, reference, release = (counts.get(core.short, {}).get(path.stem) for counts in (CMSIS_NN, REFERENCE, RELEASE))
    operators = tuple(_operators(result, [n for o in outcomes for n in o.operators]))
    return Row(
        model=path.stem, core=core.short, target=target, instructions=instructions,
        estimate=result.report.instructions.get(core.known_as), macs=macs, overhead=round(result.report.overhead, 4),
        per_mac=round(instructions / max(1, macs), 3), cmsis_nn=known,
        ratio=round(instructions / known, 3) if known else None, reference=reference, release=release,
        arena=result.report.arena.total, stack=max(o.stack for o in outcomes),
        builtin=len(result.report.kept_builtin), groups=tuple(_groups(result, operators)), operators=operators,
    )  # fmt: skip


def _operators(result: Optimized, instructions: Sequence[int]) -> Iterator[Operator]:
    stages = [stage for group in result.report.groups for stage in group.stages]
    macs = {op.index: op.macs for op in result.inspection.operators}
    for stage, count in zip(stages, instructions or [0] * len(stages), strict=True):
        yield Operator(stage.operator, stage.ops, stage.packed, count, sum(macs[i] for i in stage.ops))


def _groups(result: Optimized, operators: Sequence[Operator]) -> Iterator[GroupSpeed]:
    left = iter(operators)
    steps = [step for step in result.plan.steps if isinstance(step, Group)] if result.plan else []
    for step, group in zip(steps, result.report.groups, strict=True):
        counts = [next(left).instructions for _ in group.stages]
        yield GroupSpeed(group.ops, step.stripes, step.iterations, sum(counts), step.macs)


def _times(row: Row, others: int | None) -> str:
    return f"{row.instructions / others:.4f}" if others else ""


def table(rows: Sequence[Row]) -> str:
    titles = ("model", "instructions", "per MAC", "F", "x CMSIS-NN", "x reference", "x release", "arena", "stack")
    return tables.markdown(titles, ([
        row.model + (f" ({row.builtin} builtin operators not counted)" if row.builtin else ""),
        f"{row.instructions:,}", f"{row.per_mac:.2f}", f"{row.overhead:.2f}",
        f"{row.ratio:.3f}" if row.ratio else "", _times(row, row.reference), _times(row, row.release),
        f"{row.arena:,}", f"{row.stack:,}",
    ] for row in rows))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", choices=tuple(MEASURED), default="m4")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where the .tflite files are")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--target", choices=tuple(TARGETS), help="instead of the core's own")
    parser.add_argument(
        "--max-macs", type=float, metavar="F", help="the least RAM within F (default: what optimize gives at F = 1)"
    )
    parser.add_argument("--without", nargs="+", default=(), metavar="NAME", help="ingredients of plans to leave out")
    parser.add_argument("--json", action="store_true", help="one JSON object, with figures per group and operator")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the core's table in this document")
    args = parser.parse_args(arguments)
    core = MEASURED[args.core]
    paths = [p for p in sorted(args.models.glob("*.tflite")) if not args.only or p.stem in args.only]
    mark = f"speed-{args.core}"
    if reason := missing_tools(core) or ("" if paths else f"no .tflite files in {args.models}"):
        parser.error(reason)
    try:
        if args.update:
            tables.require(args.update, mark)
        target = args.target or core.target
        without = tuple(args.without)
        rows = []
        for path in paths:
            row = measure(path, core, target, by_operator=args.json, max_macs=args.max_macs, without=without)
            if row:
                rows.append(row)
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    print(
        json.dumps({"core": args.core, "models": [asdict(row) for row in rows]}, indent=2) if args.json else table(rows)
    )
    if args.update:
        tables.update(args.update, mark, table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
