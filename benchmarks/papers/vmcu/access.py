"""Compute the least distance between the starts of a kernel's output and input, if the output overlaps the input.

With this distance, no write hits a byte that is still to be read, as in problem (1) of vMCU (Zheng et al.).
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
    """Each segment of vMCU is one byte."""
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
    """Return the least number of bytes from the start of `to` to the start of `source` (b_In - b_Out in vMCU)."""
    last = {a.segment: t for t, a in enumerate(trace) if a.what == "read" and a.tensor == source}
    unread = sorted(last, key=lambda segment: last[segment])
    lowest: list[int] = []
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
    ram = (t for t in kernel.tensors if t.memory is Memory.RAM)
    return {t.name: t.elements.at(values) * t.type.nbytes for t in ram}


def footprint(trace: Sequence[SegmentAccess], source: str, to: str, counts: Mapping[str, int]) -> int:
    return max(counts[source] + distance(trace, source, to), counts[to])
