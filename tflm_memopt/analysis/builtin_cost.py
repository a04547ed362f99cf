"""Estimates the instructions of TFLM's own kernels and of CMSIS-NN's kernels.

The file builtin_costs.json has each kernel's instructions per unit of work (builtin_work.py), fitted to counted
instructions of single operators (benchmarks/builtin_costs.py).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis.builtin_work import kernel_work
from tflm_memopt.analysis.costs import LIKE, by_kernel, measured
from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import VIEW, Graph, Op

Counts = Mapping[str, float]
"""Maps a type of operator, or "" for TFLM's interpreter, to a number of instructions."""
ONCE = ("CALL_ONCE",)
FREE = (VIEW, *ONCE)
"""Operators that count as free, because they are not in the model's file or run only in the first inference."""
OTHERS = 0.02
"""Operators without counted instructions may contribute at most the fraction OTHERS of an estimate."""
SAME_LOOPS = {"SPLIT_V": "SPLIT", "UNPACK": "SPLIT"}
"""Maps an operator to an operator of equal cost."""
WITHOUT_DSP = ("cortex-m0", "cortex-m3")


@dataclass(frozen=True, slots=True)
class Builtins:
    invoke: float
    """Number of instructions of Invoke() for a model without operators."""
    operator: float
    """Number of instructions that the interpreter takes before and after each operator."""
    kernels: Mapping[str, Mapping[str, float]]
    """Maps a kernel and a kind of work to the instructions per unit of work."""
    high: float
    low: float
    """Largest overestimate (`high`) and underestimate (`low`) of a model, as fractions of the counted instructions."""
    dsp: bool = True

    def instructions(self, graph: Graph, op: Op) -> float | None:
        work = kernel_work(graph, op, dsp=self.dsp)
        name, _, rest = work.kernel.partition(" ")
        costs = self.kernels.get(work.kernel) or self.kernels.get(f"{SAME_LOOPS.get(name, name)} {rest}")
        return None if costs is None else sum(n * costs.get(name, 0.0) for name, n in work.amounts.items())

    @property
    def slowest(self) -> float:
        return max(max(each.get("read", 0.0), each.get("written", 0.0)) for each in self.kernels.values())


def instructions(graph: Graph, core: str) -> int | None:
    counts = of_model(graph, core)
    return None if counts is None else round(sum(counts.values()))


def of_model(graph: Graph, core: str) -> Counts | None:
    found = builtins(core)
    if found is None or any(called(op) for op in graph.ops if op.type not in ONCE):
        return None
    inside = of_operators(graph, graph.ops, core)
    return None if inside is None else {"": found.invoke, **inside}


def of_operators(graph: Graph, ops: Collection[Op], core: str, ours: int = 0) -> Counts | None:
    """Return the instructions of each type of operator, or None if too many instructions are unknown.

    The argument `ours` is the number of instructions of custom operators.
    """
    found = builtins(core)
    if found is None:
        return None
    counts: dict[str, float] = defaultdict(float)
    other = 0.0
    for op in ops:
        if op.type in FREE:
            continue
        each = found.instructions(graph, op)
        if each is None:
            each = found.slowest * _values(graph, op)
            other += each
        counts[op.type] += found.operator + each
    return counts if other <= OTHERS * (sum(counts.values()) + ours) else None


def _values(graph: Graph, op: Op) -> int:
    return max(
        sum(graph.tensors[i].elements for i in side if i >= 0 and not graph.tensors[i].constant)
        for side in (op.inputs, op.outputs)
    )


@cache
def builtins(core: str) -> Builtins | None:
    found = measured("builtin_costs.json")["cores"].get(LIKE.get(core, core))
    if not found:
        return None
    return Builtins(**found | {"kernels": by_kernel(found["kernels"])}, dsp=core not in WITHOUT_DSP)
