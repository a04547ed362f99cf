"""Counts the bytes that the iterations of an operator read and write. A byte that an iteration accesses several times
counts once.
"""

import numpy as np

from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.nest import Ints


def bytes_read(member: Member, k: int, iterations: Ints) -> int:
    rows = member.op.reads[k]
    top, bottom = member.rows(k, iterations)
    if not member.stripes:
        return int(np.maximum(bottom - top, 0).sum()) * rows.row_bytes
    left, right = member.columns(k, iterations)
    return int((np.maximum(bottom - top, 0) * np.maximum(right - left, 0)).sum()) * rows.c


def bytes_written(member: Member, iterations: Ints) -> int:
    writes, each, nest = member.op.writes, member.iterations, member.nest
    if member.iterative:
        return writes.nbytes
    if nest.sums:  # If channel groups add to sums, only the last channel group writes outputs.
        iterations = iterations[each.channel_group[iterations] == nest.channel_groups - 1]
    pixels = each.x1[iterations] - each.x0[iterations]
    if not nest.splits:
        return int(pixels.sum()) * writes.c
    most = -(-writes.c // nest.channel_groups)
    channels = np.minimum(most, writes.c - each.channel_group[iterations] * most)
    return int((pixels * channels).sum())
