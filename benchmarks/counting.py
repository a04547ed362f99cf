"""Run rewritten models on emulated cores."""

from collections.abc import Sequence

from cores.cases import Case, Outcome, blob, run
from cores.core import Core, missing_tools


def ran(name: str, core: Core, cases: Sequence[Case]) -> list[Outcome]:
    """Raises RuntimeError if an output byte is wrong, a program is too large for the core, or a tool is missing."""
    if reason := missing_tools(core):
        raise RuntimeError(reason)
    if not fits(core, cases):
        raise RuntimeError(f"{name}: a program is too large for the {core.name}")
    outcomes = [run(core, [case])[0] for case in cases]
    if not all(outcome.right for outcome in outcomes):
        raise RuntimeError(f"{name} on {core.name}: {[(outcome.status, outcome.wrong) for outcome in outcomes]}")
    return outcomes


def fits(core: Core, cases: Sequence[Case]) -> bool:
    return all(len(blob([case])) <= core.blob_bytes for case in cases)
