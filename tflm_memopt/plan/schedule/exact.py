"""The order of least peak, by CP-SAT: the thesis' mixed integer program (Stahl, Eq. 4.1-4.9) as intervals."""

from __future__ import annotations

from collections.abc import Sequence

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.schedule.problem import OrderProblem, peak

SEED = 1


def exact(problem: OrderProblem, hint: Sequence[int], bound: int, seconds: float) -> tuple[tuple[int, ...], int, float]:
    """The best order found, the hint's at worst; a lower bound of the peak; and the time that it took.

    `bound`: good enough. `seconds`: CP-SAT's deterministic time, the same on every machine.
    """
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    count, model = len(problem.tasks), cp_model.CpModel()
    followers = [sum(tasks >> i & 1 for tasks in problem.before) for i in range(count)]
    at = [
        model.new_int_var(tasks.bit_count(), count - 1 - followers[i], f"at_{i}")
        for i, tasks in enumerate(problem.before)
    ]
    model.add_all_different(at)
    for i, tasks in enumerate(problem.before):
        for j in range(count):
            if tasks >> j & 1:
                model.add(at[j] < at[i])
    top = model.new_int_var(bound, max(bound, peak(problem, hint)), "top")
    alive, nbytes = [], []
    for t in (*problem.given, *problem.made):
        maker, readers = problem.made.get(t), problem.readers.get(t, ())
        start = model.new_constant(0) if maker is None else at[maker]
        end = model.new_int_var(1, count, f"end_{t}") if t not in problem.outputs else model.new_constant(count)
        if t not in problem.outputs:
            model.add_max_equality(end, [at[i] + 1 for i in readers or (maker,) if i is not None])
        alive.append(model.new_interval_var(start, model.new_int_var(1, count, f"life_{t}"), end, f"alive_{t}"))
        nbytes.append(problem.nbytes[t])
    model.add_cumulative(alive, nbytes, top - problem.across)
    model.minimize(top)
    for position, i in enumerate(hint):
        model.add_hint(at[i], position)
    solver = cp_sat.solver(seconds, SEED)
    status = solver.solve(model)
    proven = int(solver.best_objective_bound) if status != cp_model.UNKNOWN else bound
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return tuple(hint), proven, solver.response_proto.deterministic_time
    order = sorted(range(count), key=lambda i: int(solver.value(at[i])))
    return tuple(order), proven, solver.response_proto.deterministic_time
