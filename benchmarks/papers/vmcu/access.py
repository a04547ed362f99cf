"""Trace the memory segments that a kernel reads, writes and frees. Compute the least distance between the start of the
output and the start of the input.

The distance solves problem (1) of vMCU (Zheng et al.). With the least distance from the output's start to the input's
start (b_In - b_Out), no write hits a segment that is still to be read. The loads and stores in the kernel's description
are traced, so no operator needs its own formula.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.kernels.language import Compute, Extents, Free, KernelProgram, Load, Memory
from tflm_memopt.kernels.meaning import Addresses, walk


@dataclass(frozen=True, slots=True)
class SegmentAccess:
    what: str
    """Kind of access: "read", "write" or "free"."""
    tensor: str
    segment: int


def accesses(kernel: KernelProgram, values: Extents) -> Iterator[SegmentAccess]:
    """Yield all accesses of a kernel to RAM in order. A segment has one byte."""
    addresses = Addresses()
    for one, names, count in walk(kernel, values):
        if isinstance(one, Compute) or one.tensor.memory is Memory.FLASH:
            continue
        if isinstance(one, Free):
            touched, what = one.elements(names, count), "free"
        else:
            what = "read" if isinstance(one, Load) else "write"
            touched = addresses.of(one, names, count).tolist()
        nbytes = one.tensor.type.nbytes
        for at in dict.fromkeys(element * nbytes for element in touched):
            yield SegmentAccess(what, one.tensor.name, at)


def distance(trace: Sequence[SegmentAccess], source: str, to: str) -> int:
    """Return vMCU's b_In - b_Out: the least number of segments from the start of `to` to the start of `source`."""
    last = {a.segment: t for t, a in enumerate(trace) if a.what == "read" and a.tensor == source}
    unread = sorted(last, key=lambda segment: last[segment])
    lowest: list[int] = []  # `lowest[i]` is the minimum of `unread[i:]`.
    for segment in reversed(unread):
        lowest.append(min(segment, lowest[-1]) if lowest else segment)
    lowest.reverse()
    done = need = 0
    for t, a in enumerate(trace):
        while done < len(unread) and last[unread[done]] <= t:
            done += 1
        if a.what == "write" and a.tensor == to and done < len(unread):
            need = max(need, a.segment - lowest[done] + 1)
    return need


def segments(kernel: KernelProgram, values: Extents) -> dict[str, int]:
    """Return the number of segments of each tensor in RAM."""
    ram = (t for t in kernel.tensors if t.memory is Memory.RAM)
    return {t.name: t.elements.at(values) * t.type.nbytes for t in ram}


def footprint(trace: Sequence[SegmentAccess], source: str, to: str, counts: Mapping[str, int]) -> int:
    """Return how many segments input and output take together if the output starts first."""
    return max(counts[source] + distance(trace, source, to), counts[to])
