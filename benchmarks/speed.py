"""Count the instructions of one inference on a core that QEMU emulates, and compare them with TFLM's own kernels.

    python benchmarks/speed.py --core m4 --models ../shared/models [--update FILE.md]

Every .tflite file in the folder is converted for the core (`--int8-io`, F = 1.00), its regions run in the arena of
their plan, and their outputs are compared with this machine's. Builtin operators between regions are not counted: the
output marks such models. Compare instruction counts with each other, not with time or cycles. TFLM's figures, for
CMSIS-NN and reference kernels, were counted in the same way (`-O2`, GCC 12.2) and include the interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tables

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, run
from cores.core import MEASURED, Core, missing_tools

import tflm_memopt
from tflm_memopt.errors import MemoptError

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
    "rv32": {
        "mlperf_tiny_kws_dscnn_int8": 44_308_669,
        "mlperf_tiny_vww_96_int8": 109_921_332,
        "mlperf_tiny_ic_resnet8_int8": 125_521_041,
        "mlperf_tiny_ad_autoencoder_int8": 2_480_441,
    },
}
"""Instructions of TFLM's reference kernels built with NDEBUG, which omits the checks."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model. `arena` and `stack` are in bytes; `arena` is the whole arena of the plan that ran, 32-bit pointers."""

    model: str
    instructions: int
    """Counted instructions."""
    overhead: float
    """Factor F of the original's multiply-accumulates. The factor is below 1 if dead channels were folded."""
    per_mac: float
    ratio: float | None
    """Our instructions as a fraction of CMSIS-NN's."""
    reference: int | None
    """Our instructions as a percentage of those of TFLM's reference kernels, which check indices."""
    release: int | None
    """Our instructions as a percentage of those of the same kernels in a release build, without these checks."""
    arena: int
    stack: int
    builtin: int
    """Operators that TFLM runs, which are not counted."""


def measure(path: Path, core: Core) -> Row | None:
    """Convert and run one model. Return None for a model that stays unchanged. Raises RuntimeError when a byte of an
    output is wrong.
    """
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    if result.plan is None:
        print(f"{path.name}: {result.report.why_unchanged}", file=sys.stderr)
        return None
    cases = model_cases(result.model)
    if too_large := [case for case in cases if len(blob([case])) > core.blob_bytes]:
        raise RuntimeError(f"{path.name}: the {core.name} has no room for a program of {len(too_large[0].program):,} B")
    outcomes = [run(core, [case])[0] for case in cases]
    if not all(o.right for o in outcomes):
        raise RuntimeError(f"{path.name} on {core.name}: {[(o.status, o.wrong) for o in outcomes]}")
    instructions = sum(o.instructions for o in outcomes)
    known, reference, release = (counts.get(core.short, {}).get(path.stem) for counts in (CMSIS_NN, REFERENCE, RELEASE))
    return Row(
        model=path.stem, instructions=instructions, overhead=round(result.report.overhead, 4),
        per_mac=round(instructions / max(1, result.plan.macs), 3),
        ratio=round(instructions / known, 3) if known else None, reference=reference, release=release,
        arena=result.report.arena.total, stack=max(o.stack for o in outcomes),
        builtin=len(result.report.kept_builtin),
    )  # fmt: skip


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
        rows = [row for path in paths if (row := measure(path, core))]
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    tables.publish(args.update, mark, table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
