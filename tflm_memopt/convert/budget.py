"""Choose a plan within a compute budget, counted in multiply-accumulates, or within a RAM limit."""

from __future__ import annotations

from tflm_memopt.convert.conversion import Conversion, Converted, Limits
from tflm_memopt.convert.diagnostics import diagnostics, up
from tflm_memopt.errors import UsageError


def choose(conversion: Conversion, limits: Limits) -> Converted:
    """Return the least RAM within a compute budget (msf-CNN's P1) or, with a RAM limit, the least compute in it (P2).

    Raises UsageError for a budget below the least reachable, and DoesNotFit when no plan keeps the limits.
    """
    plans = conversion.plans
    budget = conversion.macs(1.0 if limits.overhead is None else limits.overhead)
    scarce = budget < plans.macs and budget < plans.least_macs
    if scarce and limits.overhead is not None:
        raise UsageError(
            f"no plan reaches F = {limits.overhead:g}",
            code="bad_option",
            hint=f"--max-macs {up(conversion.overhead(plans.least_macs))}",
        )
    if limits.ram is None:
        return conversion.at(plans.least_macs if scarce else budget)
    found, best = conversion.least(limits)
    if found is None:
        raise diagnostics(conversion, limits, best)
    return found
