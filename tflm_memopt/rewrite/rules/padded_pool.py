"""Splits a pool with long windows and a padded input.

Each window that reaches into the padding becomes a global pool over the window's samples inside the input.
The windows inside the input become one pool without padding, which long_window.py converts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.ops.context import POOLS
from tflm_memopt.rewrite.rules.long_window import LongWindow, long_window
from tflm_memopt.rewrite.rules.rule import NewOps, replace_ops, without_padding

MOST_CLIPPED = 16
"""Maximum number of windows with padding, each of which adds operators to the program."""


class _Part(NamedTuple):
    first: int
    samples: int
    kernel: int
    windows: int


def rewrite(graph: Graph, op: Op) -> Graph | None:
    long = long_window(graph, op) if op.type in POOLS else None
    if long is None or long.kernel <= MAX_KERNEL_H or long.along.output <= 1:
        return None
    if not (long.along.before > 0 or long.along.after > 0):
        return None
    parts = list(_parts(long))
    clipped = sum(part.windows == 1 for part in parts)
    if clipped > MOST_CLIPPED or (len(parts) > clipped and long.outputs() is None):
        return None
    new, target = NewOps(graph, op), graph.tensors[op.outputs[0]]
    x = new.shaped(op.inputs[0], 1, long.samples, 1, long.channels)
    pooled = [_pool(new, x, part, long) for part in parts]
    if len(pooled) > 1:
        y = new.put(target, (1, long.along.output, 1, long.channels))
        new.add("CONCATENATION", pooled, y, axis=1, fusedActivationFunction="NONE")
        pooled = [y]
    new.add("RESHAPE", pooled, op.outputs[0])
    return replace_ops(new.extended, new.in_place())


def _parts(long: LongWindow) -> Iterator[_Part]:
    starts = [i * long.stride - long.along.before for i in range(long.along.output)]
    whole = [start for start in starts if start >= 0 and start + long.kernel <= long.samples]
    for start in starts:
        end = min(start + long.kernel, long.samples)
        if start not in whole:
            yield _Part(max(0, start), end - max(0, start), end - max(0, start), 1)
        elif start == whole[0]:
            yield _Part(start, whole[-1] + long.kernel - start, long.kernel, len(whole))


def _pool(new: NewOps, x: TensorId, part: _Part, long: LongWindow) -> TensorId:
    piece = new.cut(x, [0, part.first, 0, 0], (1, part.samples, 1, long.channels))
    sizes = {"filterHeight": part.kernel, "filterWidth": 1, "strideH": long.stride, "strideW": 1}
    options = without_padding(new.op, **sizes)
    made = new.put(new.tensors[new.op.outputs[0]], (1, part.windows, 1, long.channels))
    return new.add(new.op.type, [piece], made, **options)
