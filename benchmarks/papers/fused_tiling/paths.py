"""Path discovery: where a chain of operators can be tiled so that a critical buffer never exists whole.

It returns the candidates of the fused tiling thesis (Stahl, section 4.3.3) as data: the tiled operators, the number of
parts along each axis, the role of each operator in the tiled path, and the elements that each part computes. It neither
rewrites a graph nor compares paths. A lowering to builtin operators uses it as follows:

    for path in discover(ops, at, outside, fan_in=False):    # `at`: whose output binds (plan/layout/critical.py)
        path.ops, path.blocks              # (2, 3), (FDTO, PART, CONCAT): operators and their roles
        for part in parts(ops, path):
            part.reads                     # range of the first input, for a SLICE if SPLIT precedes
            part.makes[k]                  # range of the output of ops[path.ops[k]]; its channels select weights
            part.padding[k]                # rows and columns around the input: a PAD, or SAME if possible

In int8 a fan-in is not bit-exact, because its partial sums would be rounded one by one: `fan_in=False`.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Channels
from tflm_memopt.ops.rowop import RowOp, Rows

MOST_PARTS = 25
"""Largest number of parts of a path. The thesis has this limit because more parts rarely save more."""
MOST_SQUARE = 5
"""Most parts of each side if rows and columns are cut: 5 x 5."""


class PathBlock(str, enum.Enum):
    """Role of an operator in a tiled path (Figure 4.11)."""

    SPLIT = "SPLIT"
    """Takes the parts of a whole tensor."""
    FDTO = "FDTO"
    """Fan-out: it computes some channels from the whole input."""
    PART = "PART"
    """It computes elements one by one, so a part from a part."""
    FFMT = "FFMT"
    """It computes a tile of a feature map from a larger one, so parts may overlap."""
    FDTI = "FDTI"
    """Fan-in: it sums over some channels of the input; the parts' sums are then added."""
    CONCAT = "CONCAT"
    """It joins the parts."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Number of parts of a buffer along each axis: its channels, or its rows and columns."""

    rows: int = 1
    columns: int = 1
    channels: int = 1

    @property
    def parts(self) -> int:
        return self.rows * self.columns * self.channels

    def fits(self, tensor: Rows) -> bool:
        """Return whether no part of the tensor is empty."""
        return self.rows <= tensor.h and self.columns <= tensor.w and self.channels <= tensor.c


@dataclass(frozen=True, slots=True)
class TiledPath:
    """Operators that run once for each part, one after the other."""

    cut: Cut
    ops: tuple[int, ...]
    """Indices of the operators."""
    blocks: tuple[PathBlock, ...]
    """Roles of the operators, with SPLIT before and CONCAT after them if the path needs these."""

    @property
    def roles(self) -> tuple[PathBlock, ...]:
        """Roles of the operators without SPLIT and CONCAT."""
        return tuple(block for block in self.blocks if block not in (PathBlock.SPLIT, PathBlock.CONCAT))

    def __str__(self) -> str:
        """Return the notation of the thesis, which omits CONCAT.

        >>> str(TiledPath(Cut(channels=3), (2, 3), (PathBlock.FDTO, PathBlock.PART, PathBlock.CONCAT)))
        '[FDTO, PART]'
        """
        return f"[{', '.join(block.value for block in self.blocks if block is not PathBlock.CONCAT)}]"


Span = tuple[int, int]
"""[first, end)."""


@dataclass(frozen=True, slots=True)
class Box:
    """Part of a tensor."""

    rows: Span
    columns: Span
    channels: Span

    @property
    def shape(self) -> Rows:
        return Rows(*(end - first for first, end in (self.rows, self.columns, self.channels)))


@dataclass(frozen=True, slots=True)
class PathPart:
    """The work of one part of a path."""

    reads: Box
    """Part of the first operator's input."""
    makes: tuple[Box, ...]
    """Part of each operator's output. The sum of a fan-in covers its whole output."""
    padding: tuple[tuple[Span, Span], ...]
    """Padding rows above and below the input of each operator, and columns left and right of it."""


# ---- candidates at a buffer ----


def cuts(tensor: Rows) -> Iterator[Cut]:
    """The ways to cut a buffer: its channels, its rows, its columns, or both of these.

    >>> from itertools import groupby
    >>> [len(list(of)) for _, of in groupby(cuts(Rows(16, 4, 64)), lambda c: (c.rows > 1, c.columns > 1))]
    [24, 15, 3, 3]
    """
    yield from (Cut(channels=n) for n in _counts(tensor.c))
    yield from (Cut(rows=n) for n in _counts(tensor.h))
    yield from (Cut(columns=n) for n in _counts(tensor.w))
    yield from (Cut(n, n) for n in _counts(min(tensor.h, tensor.w, MOST_SQUARE)))


def _counts(most: int) -> range:
    return range(2, min(most, MOST_PARTS) + 1)


# ---- paths through it ----


def straight(ops: Sequence[RowOp], at: int, outside: Collection[TensorId] = ()) -> tuple[int, ...]:
    """Return the consecutive operators around ops[at], each of which is the only reader of the one before.

    ops: in execution order. outside: tensors that other operators read, or outputs of the model.
    """
    readers: dict[TensorId, list[int]] = defaultdict(list)
    for i, op in enumerate(ops):
        for t in op.inputs:
            readers[t].append(i)
    makers = {op.output: i for i, op in enumerate(ops)}

    def next_to(i: int) -> int | None:
        """Return the only reader of the output of ops[i], if it reads nothing else and does not change its shape."""
        tensor = ops[i].output
        if tensor in outside or len(readers[tensor]) != 1:
            return None
        reader = readers[tensor][0]
        return reader if ops[reader].inputs == (tensor,) and ops[reader].reads[0] == ops[i].writes else None

    chain = [at]
    while (following := next_to(chain[-1])) is not None:
        chain.append(following)
    while (maker := makers.get(ops[chain[0]].inputs[0])) is not None and next_to(maker) == chain[0]:
        chain.insert(0, maker)
    return tuple(chain)


def upward(ops: Sequence[RowOp], cut: Cut) -> tuple[tuple[PathBlock, ...], ...]:
    """Return the possible starts of paths that end with the last of a chain's operators: their roles, including SPLIT.

    The shortest comes first. For each start that recomputes an overlap, there is one that begins after the overlap.
    """
    found: list[tuple[PathBlock, ...]] = []
    blocks: tuple[PathBlock, ...] = ()
    for op in reversed(ops):
        if cut.channels > 1 and op.is_convolution and cut.fits(op.writes):
            return ((PathBlock.FDTO, *blocks),)
        block = _inner(op, cut)
        if block is None or len(op.inputs) > 1:
            break
        if blocks and overlaps(op, cut):
            found.append((PathBlock.SPLIT, *blocks))
        blocks = (block, *blocks)
    return (*found, (PathBlock.SPLIT, *blocks)) if blocks else ()


def downward(ops: Sequence[RowOp], cut: Cut, *, fan_in: bool = True) -> tuple[tuple[PathBlock, ...], ...]:
    """Return the possible ends of paths that start with the first of a chain's operators. A fan-in ends its path."""
    found: list[tuple[PathBlock, ...]] = []
    blocks: tuple[PathBlock, ...] = ()
    for op in ops:
        summed = cut.channels > 1 and op.is_convolution
        block = _inner(op, cut)
        if blocks and (summed or overlaps(op, cut)):
            found.append((*blocks, PathBlock.CONCAT))
        if summed and fan_in and cut.fits(op.reads[0]):
            return (*found, (*blocks, PathBlock.FDTI))
        if summed:
            return tuple(found)
        if block is None:
            break
        blocks = (*blocks, block)
    return (*found, (*blocks, PathBlock.CONCAT)) if blocks else ()


def overlaps(op: RowOp, cut: Cut) -> bool:
    """Return whether tiles read common rows or columns, because a kernel is larger than its stride along the cut."""
    w = op.window
    return (cut.rows > 1 and w.extent_h > w.stride_h) or (cut.columns > 1 and w.extent_w > w.stride_w)


def _inner(op: RowOp, cut: Cut) -> PathBlock | None:
    """Return the role of an operator between the ends of a path, or None."""
    if not op.tileable or not cut.fits(op.writes):
        return None
    if cut.channels > 1:
        return PathBlock.PART if (op.is_channelwise or op.is_depthwise) and cut.fits(op.reads[0]) else None
    if op.traits.elementwise:
        return PathBlock.PART
    convolves = op.traits.channels in (Channels.SUMMED, Channels.FILTERED)
    return PathBlock.FFMT if convolves or op.traits.pools else None


def discover(
    ops: Sequence[RowOp], at: int, outside: Collection[TensorId] = (), *, fan_in: bool = True
) -> tuple[TiledPath, ...]:
    """Return the candidate paths through the output of ops[at], pruned as in section 4.3.3.

    Arguments as for straight(). fan_in: whether paths may end with FDTI. Each path is shortened so that it begins and
    ends at the smallest tensor on either side of the output; of equal tensors, the path is the shortest.
    """
    chain = straight(ops, at, outside)
    middle = chain.index(at) + 1
    above, below = [ops[i] for i in chain[:middle]], [ops[i] for i in chain[middle:]]
    found: dict[TiledPath, None] = {}
    for cut in cuts(ops[at].writes):
        ends = [_narrow_end(below, blocks) for blocks in downward(below, cut, fan_in=fan_in)]
        for start, end in product((_narrow_start(above, blocks) for blocks in upward(above, cut)), ends):
            path = TiledPath(cut, (), (*start, *end))
            first = middle - len(TiledPath(cut, (), start).roles)
            found[replace(path, ops=chain[first : first + len(path.roles)])] = None
    return tuple(found)


def _narrow_start(ops: Sequence[RowOp], blocks: tuple[PathBlock, ...]) -> tuple[PathBlock, ...]:
    """Shorten a start to the operator with the smallest input that a split can precede."""
    if blocks[0] is not PathBlock.SPLIT:
        return blocks
    kept = min(range(1, len(blocks)), key=lambda n: (ops[-n].reads[0].nbytes, n))
    return (PathBlock.SPLIT, *blocks[-kept:])


def _narrow_end(ops: Sequence[RowOp], blocks: tuple[PathBlock, ...]) -> tuple[PathBlock, ...]:
    """Shorten an end to the smallest output."""
    inner = len(blocks) - (blocks[-1] is PathBlock.CONCAT)
    kept = min(range(1, inner + 1), key=lambda n: (ops[n - 1].writes.nbytes, n))
    return blocks if kept == len(blocks) else (*blocks[:kept], PathBlock.CONCAT)


# ---- what the parts of a path are ----


def parts(ops: Sequence[RowOp], path: TiledPath) -> Iterator[PathPart]:
    """Yield the parts by rows, columns and channels: shares of the path's output, and what they require of earlier
    tensors. Shares are as equal as possible, the larger ones first: 64 channels in three parts are 22, 21 and 21.
    """
    tiled = [ops[i] for i in path.ops]
    last = tiled[-1].writes
    cut = path.cut if path.roles[-1] is not PathBlock.FDTI else Cut(channels=path.cut.channels)
    for row, column, channel in product(range(cut.rows), range(cut.columns), range(cut.channels)):
        reads, *channels = _channels(tiled, path, channel)
        box = Box(_share(last.h, cut.rows, row), _share(last.w, cut.columns, column), channels[-1])
        makes: list[Box] = []
        padding: list[tuple[Span, Span]] = []
        for op, wanted in zip(reversed(tiled), (*channels[-2::-1], reads), strict=True):
            makes.insert(0, box)
            w, shape = op.window, op.reads[0]
            rows, above = _needed(box.rows, w.stride_h, w.pad_top, w.extent_h, shape.h)
            columns, beside = _needed(box.columns, w.stride_w, w.pad_left, w.extent_w, shape.w)
            padding.insert(0, (above, beside))
            box = Box(rows, columns, wanted)
        yield PathPart(box, tuple(makes), tuple(padding))


def _channels(tiled: Sequence[RowOp], path: TiledPath, part: int) -> list[Span]:
    """Return the channels of the first operator's input, and of each operator's output."""
    count, first = path.cut.channels, tiled[0]
    if path.roles[0] is PathBlock.FDTO:
        found = [(0, first.reads[0].c)]
        share = _share(first.writes.c, count, part)
    else:
        share = _share(first.reads[0].c, count, part)
        found = [share]
    for op, role in zip(tiled, path.roles, strict=True):
        if count == 1 or role is PathBlock.FDTI:
            share = (0, op.writes.c)
        elif role is PathBlock.PART:
            times = op.writes.c // op.reads[0].c
            share = (times * share[0], times * share[1])
        found.append(share)
    return found


def _share(size: int, count: int, part: int) -> Span:
    """Return [first, end) of one of `count` parts.

    >>> [_share(64, 3, part) for part in range(3)]
    [(0, 22), (22, 43), (43, 64)]
    """
    smaller, larger = divmod(size, count)
    first = part * smaller + min(part, larger)
    return first, first + smaller + (part < larger)


def _needed(made: Span, stride: int, pad: int, extent: int, size: int) -> tuple[Span, Span]:
    """Return the range that a window reads along one direction, clipped to the tensor, and the clipped lengths at both
    sides.

    >>> _needed((0, 2), 1, 1, 3, 4)
    ((0, 3), (1, 0))
    """
    first, end = made[0] * stride - pad, (made[1] - 1) * stride - pad + extent
    return (max(first, 0), min(end, size)), (max(-first, 0), max(end - size, 0))
