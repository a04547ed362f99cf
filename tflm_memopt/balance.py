"""Whether a rewrite is worth its flash."""

from __future__ import annotations

from tflm_memopt.analysis.flash import Firmware, kernels
from tflm_memopt.results import Balance

NO_BALANCE = "it would save less RAM than it adds to flash"
LITTLE = 0.1
"""Share of the arena: for less than that, nothing rests on an estimate of what leaves the flash."""


def balance(arenas: tuple[int, int], before: Firmware, after: Firmware, core: str) -> Balance:
    """Of a model and its rewrite. arenas: bytes of both. core: whose library is counted.

    The policy: a rewrite is worthwhile when it saves at least as many bytes of RAM as model and library add to flash.
    TFLM's kernels that the rewrite no longer needs are set against that only where it saves LITTLE of the arena or
    more: their sizes are estimates, and they leave a firmware only where its resolver names no more operators than its
    models have, as the generated one does, and no other model wants them.
    """
    saved = arenas[0] - arenas[1]
    model, library = after.model - before.model, after.on(core).library
    gone = max(0, kernels(before.operators) - kernels(after.operators))
    added = model + library
    return Balance(
        core=core,
        ram_saved=saved,
        flash_added=added,
        model=model,
        library=library,
        tflm=gone,
        worthwhile=saved >= added or (saved >= LITTLE * arenas[0] and saved >= added - gone),
    )
