"""The computed work of a plan equals a count over all iterations."""

from collections.abc import Sequence

from conftest import seeds
from unit.plan.tiled import planned

from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.iteration.work import work


def test_iterations_one_by_one() -> None:
    for seed in seeds(6):
        _, found = planned(seed)
        groups = found.groups.values()
        members = [(m, g.trace.iterations_of(m.key)[1].tolist()) for g in groups for m in g.trace.members]
        for done, (m, executed) in zip(work(found), members, strict=True):
            assert done.iterations == len(executed)
            assert done.pixels == sum(int(m.iterations.x1[n] - m.iterations.x0[n]) for n in executed)
            if not m.iterative and not m.op.access:
                assert done.taps == sum(_taps(m, n) for n in executed)


def _taps(m: Member, n: int) -> int:
    w, seen, i = m.op.window, m.op.reads[0], m.iterations
    if m.nest.sums and i.channel_group[n] == m.nest.channel_groups - 1:
        return 0
    rows = _inside(int(i.row[n]) * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, seen.h)
    columns = [_inside(x * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, seen.w) for x in range(i.x0[n], i.x1[n])]
    return rows * sum(columns)


def _inside(first: int, kernel: int, dilation: int, size: int) -> int:
    taps: Sequence[int] = [first + k * dilation for k in range(kernel)]
    return sum(0 <= tap < size for tap in taps)
