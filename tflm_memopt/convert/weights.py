"""Chooses layers whose weights are copied from flash to the arena when the layer's group begins.

Without a copy, each iteration of a layer reads its weights from flash. The copied weights are stored in bytes of the
arena that are free while the group runs. Only int8 convolutions and dense layers can read their weights from the arena.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tflm_memopt.analysis.timing import COPY_CYCLES, FlashWaits
from tflm_memopt.lower.traffic import constants_of
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.plan import Buffer, Plan, Role

ALIGN = 16


def copying(planned: Planned, head: int, waits: FlashWaits | None = None) -> Plan | None:
    """Return a plan for one core that copies weights to free bytes in the arena's first `head` bytes, or None if there
    is nothing to copy.

    The argument `waits` describes how long the core waits for the flash. If `waits` is None, the plan copies the
    weights of every operator that reads its weights at least twice.
    """
    copies = [copy for group in planned.groups.values() for copy in _copies(group, head, waits)]
    if not copies:
        return None
    top = max(at + buffer.nbytes for buffer, at in copies)
    return replace(
        planned.plan,
        shardings=(),
        buffers=(*planned.plan.buffers, *(buffer for buffer, _ in copies)),
        offsets=(*planned.plan.offsets, *(at for _, at in copies)),
        head=max(planned.plan.head, top),
    )


def _pays(times: int, in_flash: int, waits: FlashWaits | None) -> bool:
    """Return whether a copy of weights in RAM saves time. The argument `times` states how many times an inference reads
    the weights.

    The argument `in_flash` is the size in bytes of the group's constants in flash. Weights that stay in the cache are
    not copied. If the constants are larger than an LRU cache, the cache keeps none of the constants until the next
    read.
    """
    if waits is None:
        return times > 1
    return in_flash > waits.cached and (times - 1) * waits.cycles_per_byte > COPY_CYCLES


def _copies(group: PlannedGroup, head: int, waits: FlashWaits | None) -> Iterator[tuple[Buffer, int]]:
    plan, number = group.plan, group.number
    taken = [(plan.offsets[i], plan.offsets[i] + plan.buffers[i].nbytes) for i in plan.alive[number]]
    found, in_flash = list[tuple[int, Buffer]](), 0
    for member in group.trace.members:
        op, nest = member.op, member.nest
        weights, *others = constants_of(op, packed=member.stage.runs_packed(op))
        nbytes = weights.nbytes if weights is not None else 0
        in_flash += nbytes + sum(array.nbytes for array in others if array is not None)
        times = len(group.trace.iterations_of(member.key)[1]) // max(1, nest.channel_groups)
        if op.takes_copied_weights and nbytes:
            found.append((times, Buffer(Role.WEIGHTS, op.output, nbytes, number, number + 1, ALIGN)))
    for times, buffer in sorted(found, key=lambda one: (-one[0], -one[1].nbytes)):
        at = _free(taken, buffer.nbytes, head) if _pays(times, in_flash, waits) else None
        if at is not None:
            taken.append((at, at + buffer.nbytes))
            in_flash -= buffer.nbytes
            yield buffer, at


def _free(taken: Sequence[tuple[int, int]], nbytes: int, head: int) -> int | None:
    """Return the offset of `nbytes` bytes in the smallest gap between the ranges `taken`, or None if no gap is large
    enough.

    >>> _free([(0, 10), (40, 64), (96, 100)], 20, 200), _free([(0, 10)], 20, 30)
    (16, None)
    """
    gaps, end = [], 0
    for start, stop in [*sorted(taken), (head, head)]:
        first = end + -end % ALIGN
        if start - first >= nbytes:
            gaps.append((start - first, first))
        end = max(end, stop)
    return min(gaps, default=(0, None))[1]
