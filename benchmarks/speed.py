"""Count the instructions of one inference on an emulated core, and the instructions of TFLM's kernels.

The script converts each .tflite file of a folder with `--int8-io`, for the target of the core. The plans compute no
value twice. The script does not count operators that the rewritten model leaves to TFLM. Equal instruction counts do
not mean equal cycles. The instructions of TFLM include those of its interpreter (`-O2`, GCC 12.2).
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from cores.cases import model_cases
from cores.core import MEASURED, Core
from counting import ran
from tables import markdown, models

import tflm_memopt

_COUNTED = json.loads((Path(__file__).parent / "cmsis_nn_counted.json").read_text(encoding="utf-8"))["cores"]
CMSIS_NN: Mapping[str, Mapping[str, int]] = {
    short: {row["model"]: row["instructions"] for row in _COUNTED.get(MEASURED[short].known_as, ())}
    for short in MEASURED
}
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
"""For TFLM's reference kernels, the number of instructions in a default build and in a build with NDEBUG. TFLM's
default build checks indices of tensors at run time (TFLITE_DCHECK).
"""
TITLES = ("model", "instructions", "per MAC", "F", "x CMSIS-NN", "x reference", "x release", "arena", "stack")


def table(core: str, folder: Path) -> str:
    return markdown(TITLES, filter(None, (measure(path, MEASURED[core]) for path in models(folder))))


def measure(path: Path, core: Core) -> list[str]:
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    if result.plan is None:
        print(f"{path.name}: {result.report.why_unchanged}", file=sys.stderr)
        return []
    outcomes = ran(path.name, core, model_cases(result.model))
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
