"""Compute the cycles of each kernel with benchmarks/cycles.py and write tflm_memopt/analysis/cycles.json.

Programs of public models, random networks and examples/networks run under QEMU, which simulates the flashes of all
known boards at once. A fit by non-negative least squares divides a kernel's cycles into cycles per instruction and
additional cycles per iteration.

Usage: python benchmarks/cycles_per_instruction.py --models FOLDER [--cores m4 m3 m0] [--networks 30]
"""

import argparse
import functools
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import costs
import cycles
import cycles_trace
import numpy as np
import tables
from cycles_rules import M0, M0_PLUS, M3, M4, Pipeline
from cycles_trace import Cycles
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, outcomes_of
from cores.core import MEASURED, Core, missing_tools, runner

import tflm_memopt
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import NO_WAIT, FlashTiming
from tflm_memopt.errors import MemoptError
from tflm_memopt.targets.boards import boards

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tflm_memopt/analysis/cycles.json"
NETWORKS = ROOT / "examples/networks"
PIPELINES: Mapping[str, Sequence[Pipeline]] = {"m4": (M4,), "m3": (M3,), "m0": (M0_PLUS, M0)}
"""Pipelines of each core, beginning with the pipeline that takes the fewest cycles."""
AT_ONCE = 12
"""Maximum number of programs in one run of QEMU. The plugin `cycles_plugin.c` records at most 63 inferences in a run.
"""
Rates = list[float]
"""Cycles of an operator, of an instruction or of an iteration. The list `Rates` begins with a lower and an upper bound
of the cycles without wait states. Each further number of `Rates` is the number of wait cycles for a type of flash.
"""
Matrix = NDArray[np.float64]
LARGER_ERROR = 1.5
"""A fit without cycles per iteration is used if its error is at most LARGER_ERROR times the error of the full fit."""
LEAST_SAMPLES = 4
"""If fewer than LEAST_SAMPLES operators use a kernel, the kernel's fit has no coefficient for iterations."""


def flashes(core: Core) -> list[FlashTiming]:
    found = {b.flash_timing for b in boards().values() if b.flash_timing and b.measured_core == core.known_as}
    return sorted(found, key=str)


@functools.cache
def plans(target: str, models: Path, networks: int) -> Sequence[costs.Sample]:
    found = []
    for path in sorted(models.glob("*.tflite")):
        result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=target)
        if result.plan:
            found.append(costs.Sample(path.stem, model_cases(result.model, by_operator=True), result.work))
    return [*found, *_frontiers(target), *costs.random_plans(target, range(networks), costs.converter_digest())]


def _frontiers(target: str) -> Iterator[costs.Sample]:
    for path in sorted(NETWORKS.glob("*.tflite")):
        model = path.read_bytes()
        for point in tflm_memopt.explore(model, int8_io=True, target=target, cost="instructions").points:
            result = tflm_memopt.optimize(model, int8_io=True, target=target, plan=point.plan.to_json())
            yield costs.Sample(path.stem, model_cases(result.model, by_operator=True), result.work)


@dataclass(frozen=True, slots=True)
class Counted:
    work: Work
    instructions: float
    cycles: Rates


def counted(core: Core, samples: Sequence[costs.Sample], waits: Sequence[FlashTiming]) -> Iterator[Counted]:
    batches = list(_batches(core, samples))
    runner(core), cycles_trace.plugin()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda batch: [_runs(core, batch, each, waits) for each in PIPELINES[core.short]], batches)
        for batch, runs in zip(batches, found, strict=True):
            work = [done for sample in batch for done in sample.work]
            for done, least, most in zip(work, runs[0], runs[-1], strict=True):
                yield Counted(done, most[0], [least[1], *most[1:]])


def rates(found: Sequence[Counted]) -> tuple[dict[str, Rates], dict[str, Rates]]:
    """Return the cycles per instruction and the additional cycles per iteration of each kernel.

    The entry "" of the cycles per instruction is the average of all kernels.
    """
    of_kernel: dict[str, list[Counted]] = defaultdict(list)
    for one in found:
        if one.instructions:
            of_kernel[one.work.kernel].append(one)
    instruction, iteration = {"": _average(found)}, {}
    for kernel, mine in sorted(of_kernel.items()):
        if len(mine) < LEAST_SAMPLES:
            instruction[kernel] = _average(mine)
        else:
            instruction[kernel], iteration[kernel] = _fitted(mine)
    return instruction, iteration


def _average(found: Sequence[Counted]) -> Rates:
    total = sum(one.instructions for one in found)
    return [round(sum(each) / total, 3) for each in zip(*(one.cycles for one in found), strict=True)]


def _fitted(found: Sequence[Counted]) -> tuple[Rates, Rates]:
    amounts = np.array([(one.instructions, one.work.iterations) for one in found], float)
    each = [_two_rates(amounts, y) for y in np.array([one.cycles for one in found], float).T]
    return [round(a, 3) for a, _ in each], [round(b, 1) for _, b in each]


def _two_rates(amounts: Matrix, cycles: Matrix) -> tuple[float, float]:
    """Return the cycles per instruction and per iteration. The cycles per iteration are 0 if the fit is about as good
    without them. The fit cannot separate the two numbers if all iterations execute about equally many instructions.
    """
    from scipy.optimize import nnls  # noqa: PLC0415

    care = amounts[:, :1] ** -costs.CARE
    (rate, more), error = nnls(amounts * care, cycles * care[:, 0])
    (only,), larger = nnls(amounts[:, :1] * care, cycles * care[:, 0])
    return (float(only), 0.0) if larger <= LARGER_ERROR * error else (float(rate), float(more))


def _runs(core: Core, batch: Sequence[costs.Sample], pipeline: Pipeline, waits: Sequence[FlashTiming]) -> list[Rates]:
    cases = [case for sample in batch for case in sample.cases]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.bin"
        path.write_bytes(blob(cases))
        said, runs = cycles_trace.trace(core, runner(core), pipeline, waits or [NO_WAIT], path)
    if not all(outcome.right or costs.waits(outcome) for outcome in outcomes_of(said)):
        raise RuntimeError(f"{batch[0].name} and others on {core.name}: wrong bytes")
    inferences = runs[-len(cases) :]
    return [_figures(one) for run in inferences for _, one in sorted(run.operators.items())]


def _figures(one: Cycles) -> Rates:
    return [one.instructions, one.pipeline, *(stall.fetch + stall.data for stall in one.stalls)]


def _batches(core: Core, samples: Iterable[costs.Sample]) -> Iterator[list[costs.Sample]]:
    batch: list[costs.Sample] = []
    for sample in samples:
        if len(blob(sample.cases)) > core.blob_bytes:
            continue
        cases = [case for one in (*batch, sample) for case in one.cases]
        if len(cases) > AT_ONCE or len(blob(cases)) > core.blob_bytes:
            yield batch
            batch = []
        batch.append(sample)
    if batch:
        yield batch


DENSE = "ad_autoencoder"


def cmsis_nn(core: str, waits: Sequence[FlashTiming]) -> dict[str, Rates]:
    """Dense layers have a separate entry, because dense layers read each weight only once and gain nothing from a
    cache.
    """
    rows = [row for row in json.loads(cycles.PUBLISHED.read_text())["programs"] if row["core"] == core]
    dense = [row for row in rows if row["model"] == DENSE]
    return {"": _rates([row for row in rows if row not in dense], waits), "FULLY_CONNECTED": _rates(dense, waits)}


def _rates(rows: Sequence[Mapping[str, Any]], waits: Sequence[FlashTiming]) -> Rates:
    total = sum(row["instructions"] for row in rows)
    least, most = sum(row["pipeline"] for row in rows), sum(row.get("slowest", row["pipeline"]) for row in rows)
    each = [sum(row["waits"][flash.key] for row in rows) for flash in waits]
    return [round(n / total, 3) for n in (least, most, *each)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", nargs="+", choices=tuple(PIPELINES), default=tuple(PIPELINES))
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where .tflite files are")
    parser.add_argument("--networks", type=int, default=30, metavar="N", help="random ones besides, for each target")
    args = parser.parse_args(arguments)
    if reason := next(filter(None, (missing_tools(MEASURED[name]) for name in args.cores)), ""):
        parser.error(reason)
    old = json.loads(TABLE.read_text()) if TABLE.exists() else {"cores": {}}
    told = json.loads(cycles.PUBLISHED.read_text())
    off = [row["published"] / row["modelled"] for row in told["rows"]]
    off += [told["others"]["least"], told["others"]["most"]]
    found = dict(old["cores"])
    try:
        for name in args.cores:
            core = MEASURED[name]
            waits = flashes(core)
            samples = plans(core.target, args.models, args.networks)
            instruction, iteration = rates(list(counted(core, samples, waits)))
            found[core.known_as] = {
                "flashes": [flash.key for flash in waits],
                "cmsis_nn": tables.by_kind(cmsis_nn(name, waits)),
                "kernels": tables.by_kind(instruction),
                "iterations": tables.by_kind(iteration),
            }
            print(f"{core.known_as}: {found[core.known_as]['kernels']['']['']}", file=sys.stderr)
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    span = {"least": round(min(1, *off), 3), "most": round(max(1, *off), 3)}
    TABLE.write_text(tables.json_lines({"error": span, "cores": found}, 4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
