"""Count the instructions of an inference on one and on two emulated Cortex-M33.

The script counts each core's instructions while only this core runs, without barriers. After the count, both cores run
the model together, and the output bytes are compared with the output bytes of one core.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cores.cases import Case, RunAs, model_cases
from cores.core import MEASURED, PAIR, Core
from counting import ran
from tables import markdown, models

import tflm_memopt
from tflm_memopt.lower.serialise import pack, unpack

TITLES = "model", "one core", "core 0", "core 1", "barriers", "each", "stack", "arena", "of one core's"
NAMED = ("mcunet_vww", "kws_dscnn", "ic_resnet8", "vww_96")


def counted(core: Core, cases: Sequence[Case], run_as: RunAs) -> tuple[int, int]:
    outcomes = ran(run_as.name, core, [replace(case, run_as=run_as) for case in cases])
    return sum(o.instructions for o in outcomes), max(o.stack for o in outcomes)


def without_barriers(case: Case) -> Case:
    program = unpack(case.program)
    if program.cores is None:
        return case
    return replace(case, program=pack(replace(program, cores=replace(program.cores, barriers=()))))


def shares(core: Core, cases: Sequence[Case], barriers: int) -> tuple[list[tuple[int, int]], int]:
    apart = [without_barriers(case) for case in cases]
    each, barrier = [], 0
    for run_as in (RunAs.FIRST, RunAs.SECOND):
        instructions, stack = counted(core, cases, run_as)
        share, _ = counted(core, apart, run_as)
        each.append((share, stack))
        barrier = max(barrier, round((instructions - share) / barriers))
    return each, barrier


def table(folder: Path) -> str:
    paths = (path for path in models(folder) if any(name in path.stem for name in NAMED))
    return markdown(TITLES, (measure(path, MEASURED["m33"]) for path in paths))


def measure(path: Path, core: Core) -> list[str]:
    one = tflm_memopt.optimize(path.read_bytes(), name=path.stem, target=core.target)
    two = tflm_memopt.optimize(path.read_bytes(), name=path.stem, target=core.target, cores=2)
    if two.plan is None:
        raise RuntimeError(f"{path.stem} stays unchanged")
    cases = model_cases(two.model)
    alone, _ = counted(core, model_cases(one.model), RunAs.ALL)
    for where, run_as in ((core, RunAs.ALL), (PAIR, RunAs.BOTH)):
        counted(where, cases, run_as)
    barriers = sum(len(s.barriers) for s in two.plan.shardings)
    each, barrier = shares(core, cases, barriers)
    before, after = one.report.arena.total, two.report.arena.total
    return [
        path.stem, f"{alone:,}", *(f"{share / alone:.3f}" for share, _ in each), f"{barriers:,}", f"{barrier:,}",
        f"{each[1][1]:,}", f"{before:,} → {after:,}", f"{after / before:.3f}",
    ]  # fmt: skip
