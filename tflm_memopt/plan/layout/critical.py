"""Finds the buffers that determine the height of a layout."""

from collections.abc import Sequence

from tflm_memopt.plan.plan import Buffer

Placed = Sequence[tuple[Buffer, int]]


def critical(placed: Placed) -> list[Buffer]:
    """Return the buffers that determine the height of a layout, largest first (Stahl, fused tiling, section 4.3.3,
    Figure 4.10).

    The buffers form stacks from the top of the layout to its bottom. In a stack, each buffer lies directly on another
    buffer that is live at the same time.
    """
    top = max((offset + buffer.nbytes for buffer, offset in placed), default=0)
    below = {i: [j for j in range(len(placed)) if _rests(placed[i], placed[j])] for i in range(len(placed))}
    grounded: set[int] = set()
    for i in sorted(below, key=lambda i: placed[i][1]):
        if placed[i][1] == 0 or grounded.intersection(below[i]):
            grounded.add(i)
    waiting = [i for i in grounded if placed[i][1] + placed[i][0].nbytes == top]
    found: set[int] = set()
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += grounded.intersection(below[i])
    return [placed[i][0] for i in sorted(found, key=lambda i: (-placed[i][0].nbytes, i))]


def _rests(upper: tuple[Buffer, int], lower: tuple[Buffer, int]) -> bool:
    (above, start), (below, bottom) = upper, lower
    end = bottom + below.nbytes
    return above.overlaps(below) and bottom < start <= end + -end % above.align
