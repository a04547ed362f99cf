"""Counts the work of operators from their iterations. Repeated work is counted each time, and padding adds no work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import GATES, Channels
from tflm_memopt.ops.movement import without_waiting
from tflm_memopt.ops.packing import QUAD, Packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.trace import Member, Trace, executed
from tflm_memopt.plan.iteration.work_moves import copied
from tflm_memopt.plan.iteration.work_packed import PACKED
from tflm_memopt.plan.iteration.work_plain import SUMS_AT_ONCE, in_fours, plain
from tflm_memopt.plan.iteration.work_windows import FULL_RANGE, Windows, named
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Role

_PADDED = set(Packing) - {Packing.NONE, Packing.DSP_ADD}
"""Packings whose kernels multiply the padding like other pixels, instead of skipping the padding."""
GROUP_START = 2
"""Number of steps for starting a group, in addition to one step for each operator."""


def work(planned: Planned) -> Iterator[Work]:
    """Yield the work of each operator in execution order, without operators that TFLM runs."""
    for group in planned.groups.values():
        of_members = work_of(group.trace, is_reversed=group.step.is_reversed)
        for member, done in zip(group.trace.members, of_members, strict=True):
            found = planned.plan.find(Role.WEIGHTS, member.op.output)
            copied = found[0].nbytes if found else 0
            passes = max(1, done.iterations // max(1, member.nest.channel_groups))  # Each pass reads all weights.
            yield replace(done, copied=copied, spared=copied * (passes - 1))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    made: frozenset[TensorId]
    inner: frozenset[TensorId]
    source: TensorId | None
    is_reversed: bool


def work_of(trace: Trace, *, is_reversed: bool) -> Iterator[Work]:
    """Yield the work of each operator of a group, without the copies of weights to RAM."""
    made = frozenset(m.op.output for m in trace.members)
    around = _Surroundings(made, made - trace.wanted, trace.source.tensor if trace.source else None, is_reversed)
    for m in trace.members:
        at, iterations = trace.iterations_of(m.key)
        runs = _runs(m, at, iterations)
        entered = GROUP_START + len(trace.members) if at[:1].tolist() == [0] else 0
        done = _of(m, iterations, runs, _calls(m, at, iterations), around)
        yield replace(_with_calls(m, done, len(runs)), entered=entered)


def least_work_of(
    members: Sequence[Member], sinks: Sequence[int], source: TensorId | None, *, is_reversed: bool
) -> Iterator[tuple[Work, ...]]:
    """Yield the least work of each operator of a tiled group, without a simulation.

    An operator whose kernel can compute one pixel or several pixels per call has a Work for each case.
    """
    made, found = frozenset(m.op.output for m in members), executed(members, sinks)
    around = _Surroundings(made, made - {m.op.output for m in members if m.key in sinks}, source, is_reversed)
    for m in members:
        done = found[m.key]
        key = m.op.inputs[0] not in made, m.op.output in around.inner, is_reversed
        if key not in done.works:
            each = {0, done.calls * (m.together > 1 and done.calls < len(done.iterations))}
            runs = _runs(m, done.iterations, done.iterations)
            works = (_of(m, done.iterations, runs, n, around) for n in each)
            done.works[key] = tuple(_with_calls(m, work, len(runs)) for work in works)
        yield done.works[key]


def _with_calls(m: Member, done: Work, calls: int) -> Work:
    older = done.rows if m.op.older is not None else 0
    return replace(done, calls=calls, older=older, state_writes=done.iterations * (m.op.state_write is not None))


def _of(m: Member, executed: Ints, runs: Ints, calls: int, around: _Surroundings) -> Work:
    border = m.op.inputs[0] not in around.made
    flags = {
        "backwards": border and around.is_reversed,
        "in_one_piece": not m.stripes or (border and not around.is_reversed),
        "out_in_one_piece": not m.stripes or (m.op.output not in around.inner and not around.is_reversed),
        "elsewhere": _is_elsewhere(m.op, around.source),
        "along": m.stripes > 0 and m.nest.tile == 1 and 2 * len(runs) < len(executed),
    }
    key = executed.tobytes() if m.nest.recomputes else len(executed), calls, *flags.values()
    if m.op.moves:
        key = *key, runs.tobytes(), around.inner.isdisjoint(m.op.inputs)
    if key not in m.works:
        if m.op.moves:
            m.works[key] = _moved(m, executed, runs, around)
        elif m.op.access:
            m.works[key] = _by_access(m, executed)
        elif m.iterative:
            m.works[key] = _summed(m, executed)
        else:
            m.works[key] = _windowed(m, executed, calls=calls, **flags)
    return m.works[key]


def _runs(m: Member, at: Ints, executed: Ints) -> Ints:
    """Return the number of iterations of each kernel call. A kernel call ends if the next iteration is of another
    operator. In a tiled group, a kernel call also ends at the end of a row.
    """
    starts = at[1:] - at[:-1] != 1
    if m.stripes:
        row = m.iterations.row[executed]
        starts |= row[1:] != row[:-1]
    bounds = np.concatenate(([0], starts.nonzero()[0] + 1, [len(executed)]))
    return bounds[1:] - bounds[:-1] if len(executed) else bounds[:0]


def _calls(m: Member, at: Ints, executed: Ints) -> int:
    if m.together == 1 or not len(at):
        return 0
    starts = np.diff(at, prepend=-2) != 1
    if m.nest.tile > 1:  # The tiles of a kernel call belong to one stripe, and have the same columns.
        each = m.iterations
        starts |= (np.diff(each.x0[executed], prepend=-1) != 0) | (np.diff(each.stripe[executed], prepend=-1) != 0)
    calls = int((-(-np.diff(np.flatnonzero(starts), append=len(at)) // m.together)).sum())
    return calls if calls < len(at) else 0


def _name(m: Member, *words: str) -> str:
    plain = f"{m.op.kind.name}_S4" if m.op.nibbles else m.op.kind.name
    packed = m.stage.packing(m.op)
    kernel = plain if packed is Packing.NONE else packed.name
    way = "rows" if not m.stripes else "pixels" if m.nest.tile == 1 else "tiles"
    return " ".join([kernel, *words, way])


def _moved(m: Member, executed: Ints, runs: Ints, around: _Surroundings) -> Work:
    op, n = without_waiting(m.op), len(executed)
    by_row = not (m.stripes or op.scatters or _is_elsewhere(op, around.source))
    rolling = not around.inner.isdisjoint(op.inputs)
    pixels = 1 if op.scatters else n * op.writes.w
    done = Work(_name(m, *["alone"] * (not by_row)), written=pixels * op.writes.c, pixels=pixels, iterations=n)
    return copied(op, done, m.iterations.row[executed], runs, by_row=by_row, rolling=rolling)


def _is_elsewhere(op: RowOp, source: TensorId | None) -> bool:
    replaced = op.state_write is not None and op.writes.h % op.state_write.rows.h == 0
    reads = op.older is not None or op.recalls or bool(op.updates) or op.message is not None
    return reads or (op.stateful and not replaced) or source in op.inputs


def _by_access(m: Member, executed: Ints) -> Work:
    op, n = m.op, len(executed)
    read = looked_up = 0
    for k, rows in enumerate(op.reads):
        first, end = m.rows(k, executed)
        there = int(np.maximum(end - first, 0).sum())
        looked_up += there
        read += there * rows.row_bytes
    macs = op.macs * n / op.writes.h
    pixels = n * op.writes.w
    loops = pieces = 0.0
    runs = swept = quads = singles = 0.0
    if op.traits.runs_along:
        loops = n * op.rows_at_once * op.writes.row_bytes
    elif op.is_product:  # A matrix product computes four output columns at once.
        fours, alone = n * (op.writes.c // 4), n * (op.writes.c % 4)
        loops, quads, singles = fours + alone, fours * op.reads[0].c, alone * op.reads[0].c
    elif op.updates:
        loops = n * 2 * GATES * op.writes.c
    elif op.traits.biased:
        loops, pieces = macs / op.reads[0].c, looked_up * op.writes.w * op.writes.c
        c = op.reads[0].c
        runs = loops / op.writes.c * -(-op.writes.c // SUMS_AT_ONCE)
        quads, singles = loops * (c // 8 + c % 8 // 4), loops * (c % 4)
        swept = runs * (c // 8 + c % 8 // 4 + c % 4)
    words = ["transposed"] * (op.is_product and op.param == 1)
    done = Work(
        _name(m, *words), macs, macs, read, pixels * op.writes.c, pixels, n * op.rows_at_once, n, rows=looked_up,
        loops=loops, pieces=pieces, quads=quads, singles=singles, runs=runs, swept=swept,
    )  # fmt: skip
    if op.is_product:
        return _product_on_dsp(done, op, n)
    return in_fours(done, op.writes.c) if op.traits.biased else done


def _product_on_dsp(done: Work, op: RowOp, rows: int) -> Work:
    """Add the work of tmo_matmul_dsp.c, which first multiplies four values at a time and then single values."""
    values, columns = op.reads[0].c, op.writes.c
    if columns < QUAD:
        return replace(done, odd=rows, gathers=rows * columns * values)
    blocks = rows * -(-columns // QUAD)
    return replace(done, odd=blocks, batches=blocks * (values // QUAD), gathers=blocks * (values % QUAD))


def _windowed(
    m: Member,
    executed: Ints,
    *,
    in_one_piece: bool,
    out_in_one_piece: bool,
    backwards: bool,
    elsewhere: bool,
    along: bool,
    calls: int,
) -> Work:
    op, w, channel_groups = m.op, m.op.window, m.nest.channel_groups - m.nest.sums
    packed = m.stage.packing(m.op)
    above, size = (0, op.reads[0].h + w.pad_top) if op.older is not None else (w.pad_top, op.reads[0].h)
    high = _clipped(m.iterations.row[executed], w.stride_h, above, w.kernel_h, w.dilation_h, size)
    if m.nest.sums:
        # After the last channel group, an additional iteration writes the sums and reads no rows of a window.
        high = np.where(m.iterations.channel_group[executed] == channel_groups, 0, high)
    read_groups = 1 if m.nest.splits and op.traits.channels is Channels.SUMMED else channel_groups
    written_groups = channel_groups if m.nest.splits else 1
    windows = Windows(
        op=op, rows=not m.stripes, columns=m.nest.tile or op.writes.w,
        in_channels=max(1, op.reads[0].c // read_groups), out_channels=max(1, op.writes.c // written_groups),
        x0=m.iterations.x0[executed], x1=m.iterations.x1[executed], high=high,
        wide=_clipped(np.arange(op.writes.w), w.stride_w, w.pad_left, w.kernel_w, w.dilation_w, op.reads[0].w),
        in_one_piece=in_one_piece, out_in_one_piece=out_in_one_piece, whole=m.nest.channel_groups == 1,
        complete=not m.nest.sums, in_arena=not elsewhere, room=op.room(m.stage.pixels), backwards=backwards,
        calls=0 if elsewhere or backwards else calls,
        along=along and in_one_piece and out_in_one_piece and not elsewhere,
    )  # fmt: skip
    pixels = windows.pixels
    taps = pixels * w.kernel_h * w.kernel_w if packed in _PADDED else windows.taps
    made = op.writes.h * op.writes.w * w.kernel_h * w.kernel_w
    macs = op.macs / made * taps / channel_groups
    done = Work(
        _name(m, *["summed" if m.nest.sums else "split"] * (m.nest.channel_groups > 1)), macs=macs, weights=macs,
        read=taps * op.reads[0].c * len(op.inputs) / read_groups, written=pixels * op.writes.c / written_groups,
        pixels=pixels, taps=taps, iterations=len(executed), listed=0 if in_one_piece or backwards else taps,
        rows=windows.row_windows if m.stripes else int(high.sum()),
    )  # fmt: skip
    return _by_kernel(windows, done, packed)


def _by_kernel(w: Windows, done: Work, packed: Packing) -> Work:
    kernel = PACKED.get(packed) if packed is not Packing.NONE else plain(w.op)
    done = named(done, *_words(w, packed))
    if w.op.activation != FULL_RANGE and (packed is not Packing.NONE or w.makes_fours):
        done = replace(done, clamped=done.written)
    return kernel(w, done) if kernel else done


def _words(w: Windows, packed: Packing) -> Iterator[str]:
    if w.rows and w.makes_single_pixels(packed):
        yield "narrow"
    elif w.columns == 1 and not w.rows and w.backwards and packed is not Packing.NONE:
        yield "reversed"


def _summed(m: Member, executed: Ints) -> Work:
    op, each = m.op, m.iterations
    pixels = int((each.x1 - each.x0)[executed].sum())
    share = pixels / (op.reads[0].h * op.reads[0].w)
    taps = share * op.writes.h * op.writes.w * op.window.kernel_h * op.window.kernel_w
    passes = taps if m.stripes else len(executed) * op.writes.w
    macs = op.macs * share
    return Work(
        _name(m, "summed"), macs, macs, taps * op.reads[0].c, passes * op.writes.c, pixels, taps, len(executed),
        rows=op.writes.nbytes, loops=taps * (op.writes.c if op.is_convolution else 1),
    )  # fmt: skip


def _clipped(at: Ints, stride: int, pad: int, kernel: int, dilation: int, size: int) -> Ints:
    first = at * stride - pad
    skipped = np.maximum(0, (dilation - 1 - first) // dilation)
    end = np.minimum(kernel, (dilation - 1 + size - first) // dilation)
    inside: Ints = np.maximum(0, end - skipped)
    return inside
