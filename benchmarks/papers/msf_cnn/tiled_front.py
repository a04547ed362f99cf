"""Compute the frontier of a chain of operators whose groups are all tiled, as msf-CNN counts it (section 6)."""

from __future__ import annotations

from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.search.cuts import CutLabel, chain_front
from tflm_memopt.plan.search.groups import UNLIMITED, Chain
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import Settings


def tiled_front(chain: Chain, settings: Settings) -> list[CutLabel]:
    """Return the Pareto front of (bytes, multiply-accumulates).

    Groups that compute nothing twice are searched first, because these groups bound the bytes of all other groups.
    """
    cheap = chain_front(chain, tiled_candidates(chain, settings.once, UNLIMITED))
    if not settings.recompute or not cheap:
        return cheap
    labels = [*cheap, *chain_front(chain, tiled_candidates(chain, settings, cheap[0].nbytes))]
    return undominated(labels, lambda label: (label.nbytes, label.macs))
