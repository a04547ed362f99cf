"""Evaluates the command-line options `--cores` and `--share`."""

from collections.abc import Collection, Mapping, Sequence

from tflm_memopt.analysis.costs import Table, Work, estimate
from tflm_memopt.answers.report import BarriersReport, CoreReport
from tflm_memopt.errors import UsageError
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.choices import PER_REGION, Ops
from tflm_memopt.plan.cores import CORES, EVEN, fraction
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.inputs import ARENA

NEST, SET_UP, BARRIER = 220, 250, 20
"""Instructions that each of two cores executes in addition, counted on Cortex-M33. NEST counts the instructions for
advancing to an iteration. SET_UP counts the instructions for beginning the core's part of the iteration, and BARRIER
those for a barrier (benchmarks/two_cores.py).
"""
STACKS = 1872, 1776
"""Maximum number of stack bytes of each core inside Invoke() on Cortex-M33 (docs/two-cores.md)."""
LEAST_SHARE = 0.2
"""Two cores are faster than one core only if each core spends at least this fraction of its time on the model."""


def speeds(
    cores: int, share: str | Collection[float] | None, target: str, where: str, ops: Ops
) -> tuple[float, float] | None:
    """Return the fraction of each core's time for the model, or None if the model runs on one core. Raises UsageError
    for bad options.
    """
    if cores == 1:
        if share is not None:
            raise UsageError("--share needs two cores", hint="--cores 2")
        return None
    barred = {
        f"--input {where}": where != ARENA,
        f"--target {target}": family(target) not in (Family.GENERIC, Family.DSP, Family.ESP),
        f"--ops {ops}": ops != PER_REGION,
    }
    for flag in (name for name, wrong in barred.items() if wrong):
        raise UsageError(f"--cores 2 cannot be combined with {flag}", hint=f"omit {flag}, or use --cores 1")
    return _shares(share) if share is not None else EVEN


def _shares(share: str | Collection[float]) -> tuple[float, float]:
    try:
        found = tuple(float(part) for part in (share.split(",") if isinstance(share, str) else share))
    except ValueError:
        found = ()
    if len(found) != CORES or not all(LEAST_SHARE <= part <= 1 for part in found):
        raise UsageError(
            f"invalid shares of two cores: '{share}'", hint=f"give two numbers from {LEAST_SHARE} to 1: --share 0.8,1"
        )
    return found[0], found[1]


def told(
    plan: Plan, ops: Mapping[int, RowOp], done: Sequence[Work], table: Table
) -> tuple[tuple[CoreReport, ...], BarriersReport | None]:
    if not plan.shardings:
        return (), None
    shardings = [(one, group) for group in plan.shardings for one in group.ops]
    each, whole = [0.0] * CORES, 0.0
    for (sharding, _), work in zip(shardings, done, strict=True):
        one = estimate(table.kernels, work)
        mine = fraction(sharding, ops[sharding.op].writes)
        whole += one
        for core, part in enumerate((mine, 1 - mine)):
            each[core] += one * part
            again = NEST if part == 0 else SET_UP if part < 1 else 0
            each[core] += work.iterations * again * (1 if part == 0 else 1 - part)
    cores = tuple(CoreReport(round(n), round(n / whole, 4), stack) for n, stack in zip(each, STACKS, strict=True))
    return cores, BarriersReport(sum(len(group.barriers) for group in plan.shardings), BARRIER)
