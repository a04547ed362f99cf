"""Checks several models that share an arena and may run in any order.

While model A is paused, and after it has ended, any other model B may run. B may overwrite every byte that B's plan
uses. Other models run between two inferences of a model, and while the model waits for rows of a streamed input. Two
models that run at the same time must have no byte in common.
"""

from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.checker import Others, check
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.graph import RowGraph


class Sharer(NamedTuple):
    name: str
    plan: Plan
    graph: RowGraph
    retained: Collection[TensorId] = ()
    """Outputs of the model that stay valid until the model runs again."""
    slow_at: int = 0
    """Offset of the model's part of the slow memory that all models share."""


def check_together(
    sharers: Sequence[Sharer], concurrent_pairs: Collection[tuple[int, int]], yields: Collection[tuple[int, int]] = ()
) -> None:
    """Raise PlanError if one model could overwrite a byte that another model still needs.

    The models of each pair in `concurrent_pairs` run at the same time. A pair (i, j) in the argument `yields` means
    that model j may run while model i pauses.
    """
    head = max((sharer.plan.head for sharer in sharers), default=0)
    written = [_written(sharer.plan, head) for sharer in sharers]
    for i, j in concurrent_pairs:
        if both := np.flatnonzero(written[i] & written[j]).tolist():
            raise PlanError(
                f"'{sharers[i].name}' and '{sharers[j].name}' run at the same time and both write byte {both[0]}"
            )
    _check_slow(sharers, {*concurrent_pairs, *yields})
    for i, sharer in enumerate(sharers):
        source, shorter = sharer.graph.source, [j for who, j in yields if who == i]
        none = np.zeros(head, np.bool_)
        foreign = reduce(np.logical_or, (mask for j, mask in enumerate(written) if j != i), none)
        paused = reduce(np.logical_or, (written[j] for j in shorter), none)
        if sharer.retained or shorter or (source and source.pushed):
            try:
                others = Others(foreign, sharer.retained, paused if shorter else None)
                check(sharer.plan, sharer.graph, others)
            except PlanError as error:
                raise PlanError(f"'{sharer.name}' together with others: {error.what}") from error


def _check_slow(sharers: Sequence[Sharer], concurrent_pairs: Collection[tuple[int, int]]) -> None:
    for i, one in enumerate(sharers):
        for j, other in enumerate(sharers):
            waits = one.graph.source is not None and one.graph.source.pushed > 0
            if i == j or not (waits or (i, j) in concurrent_pairs):
                continue
            first, end = max(one.slow_at, other.slow_at), min(x.slow_at + x.plan.slow_bytes for x in (one, other))
            if first < end:
                raise PlanError(f"'{one.name}' and '{other.name}' have byte {first} of slow memory in common")


def _written(plan: Plan, head: int) -> NDArray[np.bool_]:
    mask = np.zeros(head, np.bool_)
    for buffer, offset in plan.placed():
        mask[offset : offset + buffer.nbytes] = True
    return mask
