"""Fit the costs of TFLM's kernels to counted instructions and write tflm_memopt/analysis/builtin_costs.json.

A fit by non-negative least squares finds how many instructions a kernel takes for each multiplication, each stored
value and so on (analysis/builtin_work.py). The errors of the estimates are measured with the networks of
tests/unseen.py, which are not used for the fit.

Usage: python benchmarks/builtin_costs.py
"""

import functools
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import operator_models
import tables
from costs import per_unit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import unseen

from tflm_memopt.analysis import builtin_cost
from tflm_memopt.analysis.builtin_work import KernelWork, kernel_work
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read

HERE = Path(__file__).parent
COUNTED = HERE / "builtin_counted.json"
NETWORKS = HERE.parent / "tests/cores/unseen.json"
TABLE = HERE.parent / "tflm_memopt/analysis/builtin_costs.json"

Samples = Mapping[str, Sequence[tuple[KernelWork, int]]]
Families = Mapping[str, Sequence[Sequence[int]]]
"""A family has a list for each model. The list has the number of instructions of Invoke(), and then the number of
instructions of each operator.
"""


def samples(families: Families, *, dsp: bool) -> Samples:
    found: dict[str, list[tuple[KernelWork, int]]] = defaultdict(list)
    for family, models in families.items():
        for number, (_, *operators) in enumerate(models):
            graph = _graph(family, number)
            for op, count in zip(graph.ops, operators, strict=True):
                work = kernel_work(graph, op, dsp=dsp)
                found[work.kernel].append((work, count))
    return found


@functools.cache
def _graph(family: str, number: int) -> Graph:
    return read(operator_models.model(family, number)).graph


def fitted(each: Sequence[tuple[KernelWork, int]]) -> dict[str, float]:
    names = list(dict.fromkeys(name for work, _ in each for name in work.amounts))
    amounts = [[work.amounts.get(name, 0) for name in names] for work, _ in each]
    return per_unit(names, amounts, [count for _, count in each])


def around(families: Families) -> tuple[float, float]:
    """Return the number of instructions of Invoke() without operators, and the additional number of instructions for
    each operator.
    """
    rows = [row for models in families.values() for row in models]
    amounts = np.array([[1, len(operators)] for _, *operators in rows], float)
    rest = np.array([whole - sum(operators) for whole, *operators in rows], float)
    invoke, operator = np.linalg.lstsq(amounts, rest, rcond=None)[0]
    return float(invoke), float(operator)


def errors(core: str) -> dict[str, float]:
    rows = json.loads(NETWORKS.read_text(encoding="utf-8"))["networks"]
    found = {}
    for name, row in rows.items():
        estimate = builtin_cost.instructions(read(unseen.network(name)).graph, core)
        found[name] = (estimate or 0) / row["original"][core] - 1
    return found


def main() -> int:
    counted = json.loads(COUNTED.read_text(encoding="utf-8"))
    cores = {core: fit(core, families) for core, families in counted["cores"].items()}
    _write({"source": counted["source"], "cores": cores})
    for core, found in cores.items():
        off = errors(core)
        for name, error in off.items():
            print(f"{core} {name:20} {error:+.1%}")
        found |= {"high": rounded_up(max(0.0, *off.values())), "low": rounded_up(-min(0.0, *off.values()))}
        median = np.median(np.abs(list(off.values())))
        print(f"{core}: median {median:.1%}, {min(off.values()):+.1%} to {max(off.values()):+.1%}")
    _write({"source": counted["source"], "cores": cores})
    return 0


def fit(core: str, families: Families) -> dict[str, Any]:
    each = samples(families, dsp=core not in builtin_cost.WITHOUT_DSP)
    kernels = {kernel: fitted(of) for kernel, of in sorted(each.items())}
    invoke, operator = around(families)
    return {
        "invoke": round(invoke),
        "operator": round(operator, 1),
        "kernels": tables.by_kind(kernels),
        "high": 0.0,
        "low": 0.0,
    }


def rounded_up(share: float) -> float:
    """Round an error up, so that the stated error is at least the actual error."""
    return math.ceil(1000 * share) / 1000


def _write(whole: Mapping[str, Any]) -> None:
    TABLE.write_text(tables.json_lines(whole, 4) + "\n", encoding="utf-8")
    builtin_cost.builtins.cache_clear()


if __name__ == "__main__":
    sys.exit(main())
