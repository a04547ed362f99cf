"""Count the instructions of one inference on a core that QEMU emulates, and compare them with TFLM's own kernels.

    python benchmarks/speed.py --core m4 --models ../shared/models [--update FILE.md]

Every .tflite file in the folder is converted for the core (`--int8-io`, F = 1.00), its regions run in the arena of
their plan, and their outputs are compared with this machine's. Builtin operators between regions are not counted, and
the output marks such models. Compare instruction counts with each other, not with time or cycles. TFLM's figures, for
CMSIS-NN and reference kernels, were counted in the same way (`-O2`, GCC 12.2) and include the interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
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
REFERENCE: Mapping[tuple[str, str], tuple[int, int]] = {
    ("m4", "mlperf_tiny_kws_dscnn_int8"): (198_639_627, 43_110_795),
    ("m4", "mlperf_tiny_vww_96_int8"): (552_356_539, 100_470_158),
    ("m4", "mlperf_tiny_ic_resnet8_int8"): (824_063_122, 107_489_437),
    ("m4", "mlperf_tiny_ad_autoencoder_int8"): (1_953_236, 1_953_969),
    ("rv32", "mlperf_tiny_kws_dscnn_int8"): (143_371_918, 44_308_669),
    ("rv32", "mlperf_tiny_vww_96_int8"): (401_012_745, 109_921_332),
    ("rv32", "mlperf_tiny_ic_resnet8_int8"): (595_844_184, 125_521_041),
    ("rv32", "mlperf_tiny_ad_autoencoder_int8"): (2_480_681, 2_480_441),
}
"""Instructions of TFLM's reference kernels, in the default build, which checks each index (TFLITE_DCHECK), and in a
build with NDEBUG, which omits the checks.
"""
TITLES = ("model", "instructions", "per MAC", "F", "x CMSIS-NN", "x reference", "x release", "arena", "stack")


def measure(path: Path, core: Core) -> list[str]:
    """Return the cells of a model in the table, or [] if the model stays unchanged. Raises RuntimeError for a wrong
    byte of an output.

    All ratios are relative to TFLM's instructions. The arena in the table is that of the plan that ran.
    """
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    if result.plan is None:
        print(f"{path.name}: {result.report.why_unchanged}", file=sys.stderr)
        return []
    cases = model_cases(result.model)
    if too_large := [case for case in cases if len(blob([case])) > core.blob_bytes]:
        raise RuntimeError(f"{path.name}: the {core.name} has no room for a program of {len(too_large[0].program):,} B")
    outcomes = [run(core, [case])[0] for case in cases]
    if not all(o.right for o in outcomes):
        raise RuntimeError(f"{path.name} on {core.name}: {[(o.status, o.wrong) for o in outcomes]}")
    instructions = sum(o.instructions for o in outcomes)
    builtin = len(result.report.kept_builtin)
    reference = REFERENCE.get((core.short, path.stem), (None, None))
    known = CMSIS_NN[core.short].get(path.stem)
    return [
        path.stem + (f" ({builtin} builtin operators not counted)" if builtin else ""), f"{instructions:,}",
        f"{instructions / max(1, result.plan.macs):.2f}", f"{result.report.overhead:.2f}",
        f"{instructions / known:.3f}" if known else "",
        *(f"{instructions / others:.4f}" if others else "" for others in reference),
        f"{result.report.arena.total:,}", f"{max(o.stack for o in outcomes):,}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", choices=tuple(MEASURED), default="m4")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where the .tflite files are")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the core's table in this document")
    args = parser.parse_args()
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
    tables.publish(args.update, mark, tables.markdown(TITLES, rows))


if __name__ == "__main__":
    main()
