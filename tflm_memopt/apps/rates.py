"""Estimates how long the models of an application run, to check their rates and pauses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.analysis.costs import Table, Work, estimate
from tflm_memopt.analysis.timing import Clock, Span
from tflm_memopt.apps.app import App, AppModel
from tflm_memopt.apps.members import AppMember
from tflm_memopt.convert import speed
from tflm_memopt.convert.instructions import not_counted
from tflm_memopt.errors import UsageError

ASSUMED: Span = (0.5, 3.0)
"""Assumed range of cycles per instruction for cores whose cycles are not modelled.

At best, a core runs two instructions per cycle, as a Cortex-M7 does. At worst, each instruction of a core waits two
cycles.
"""
MEASURED, MODELLED = "measured", "modelled"
RANGE = f"assumed, {ASSUMED[0]:g} to {ASSUMED[1]:g} cycles per instruction"


@dataclass(frozen=True, slots=True)
class Timer:
    basis: str
    """Origin of the times: a measurement, modelled cycles, or an assumed range of cycles."""
    table: Table
    clock: Clock | None = None
    """Clock for modelled cycles, or None if times are proportional to instructions."""
    per_instruction: float = 0.0
    """Milliseconds per instruction, which are used only if cycles are not modelled."""

    def milliseconds(self, work: Iterable[Work], moved: tuple[int, int] = (0, 0)) -> float | None:
        """Return an upper bound of the milliseconds of `work`, or None if the time is unknown. The argument `moved`
        states how many bytes of slow memory are read, and how many are written.
        """
        if self.clock is None:
            inside = self.per_instruction * sum(estimate(self.table.kernels, one) for one in work)
            return None if any(moved) else inside
        span = self.clock.milliseconds(self.clock.cycles(work, moved))
        return span[1] if span else None


def timer(member: AppMember, entry: AppModel, plan: Sequence[Work]) -> Timer:
    """Return the timer of a model, which converts work into milliseconds. The argument `plan` has the work of the plan
    whose time the user may have measured. Raises UsageError if no time of the model is known.
    """
    table, clock = member.asked.table, member.asked.clock
    instructions = table.instructions(plan)
    if entry.ms_measured is not None and instructions:
        return Timer(MEASURED, table, per_instruction=entry.ms_measured / instructions)
    timed = speed.of_points(member.conversion, clock, table)
    if clock is not None and timed is not None and plan:
        if clock.prices(table.core) and clock.cycles(plan) is not None:
            return Timer(MODELLED, table, timed)
        if table.known(plan) is not None:
            return Timer(RANGE, table, per_instruction=ASSUMED[1] / clock.mhz / 1000)
    raise _unknown(member, entry)


def _unknown(member: AppMember, entry: AppModel) -> UsageError:
    """Return the error for a model whose time is unknown, with the reason and what the user can do."""
    conversion, table = member.conversion, member.asked.table
    measured = "set ms_measured to the milliseconds of an inference that you measured"
    why, way = "", "omit fps, ms and yield"
    if member.asked.clock is None and entry.ms_measured is None:
        why, way = "no clock is known", "set board, or clock and core, in app.toml"
    elif kernels := not_counted(conversion, table):
        why = f"the instructions of some kernels are unknown on {table.core}: {', '.join(sorted(kernels))}"
    elif conversion.rows is None or speed.builtin_ops(conversion):
        why, way = "TFLM runs operators whose time is unknown", f"{way}: inspect lists the operators that stay builtin"
    return UsageError(
        f"the run time of '{member.name}' is unknown{why and f', because {why}'}",
        code="time_unknown",
        where=f"models.{member.name}",
        hint=way if entry.ms_measured is not None else f"{way}, or {measured}",
    )


def bases(app: App, plans: Mapping[str, Sequence[Work]], members: Sequence[AppMember]) -> dict[str, str]:
    """For each model with a rate, a time limit or pauses, return how the model's time was determined."""
    found = {}
    paused = {name for group in app.concurrent for name in group} if app.yields is not None else set()
    for member in members:
        entry = app.models[member.name]
        if entry.most is not None or member.name in paused:
            alone = entry.ms_measured is not None and not plans[member.name]
            found[member.name] = MEASURED if alone else timer(member, entry, plans[member.name]).basis
    return found
