"""Collects the buffers of all steps of a plan into one layout problem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from types import MappingProxyType

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.liveness import LiveRange, constraints, most_alive
from tflm_memopt.plan.iteration.reversal import mirrored
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.plan import Buffer, Builtin, Group, Role, SlowTensor, Step
from tflm_memopt.plan.search.groups import Candidate

TFLM_ALIGN = 16
"""Alignment of TFLM's tensors (tensorflow/lite/micro/micro_arena_constants.h)."""
_ALIGN = {Role.TENSOR: 1, Role.ROLLING_BUFFER: 1, Role.ACCUMULATOR: 4, Role.COUNTERS: 2, Role.SCRATCH: 4}


@dataclass(frozen=True, slots=True)
class Draft:
    step: Step
    whole: tuple[TensorId, ...]
    buffers: tuple[Buffer, ...] = ()
    """Buffers that the step needs besides whole tensors, such as rolling buffers and sums."""
    constraints: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Maps a pair (lower, upper) of indices of buffers to the minimum distance between the two buffers in bytes."""
    most_alive: int = 0
    group: tuple[int, Candidate] | None = None
    """Index of the region, and the operators of the group, or None for an operator of TFLM."""

    def keys(self) -> list[tuple[Role, int]]:
        return [(h.role, h.key) for h in self.buffers]


def drafted(step: Step, ranges: Sequence[LiveRange], whole: tuple[TensorId, ...], *, placed: bool = True) -> Draft:
    """If the argument `placed` is false, the draft has no minimum distances, so the draft's size is a lower bound."""
    distances, buffers = constraints(ranges) if placed else {}, tuple(r.buffer for r in ranges)
    if isinstance(step, Group) and step.is_reversed:
        distances = mirrored(buffers, distances)
    return Draft(step, whole, buffers, distances, most_alive(ranges))


def without(draft: Draft, slow: Collection[TensorId]) -> Draft:
    return _selected(draft, lambda buffer: buffer.role is not Role.TENSOR or buffer.key not in slow)


def slow_tensors(placer: Placer, drafts: Sequence[Draft], slow: Collection[TensorId]) -> tuple[SlowTensor, ...]:
    """Outputs may overwrite bytes that inputs no longer need."""
    only = [_selected(draft, lambda buffer: buffer.role is Role.TENSOR and buffer.key in slow) for draft in drafts]
    buffers, problem = placer.problem(only)
    problem = replace(problem, align=(TFLM_ALIGN,) * len(buffers))
    placed = layout.place(problem, seconds=0)
    return tuple(
        SlowTensor(b.key, at, b.nbytes, b.first, b.last) for b, at in zip(buffers, placed.offsets, strict=True)
    )


def _selected(draft: Draft, wanted: Callable[[Buffer], bool]) -> Draft:
    left = [i for i, buffer in enumerate(draft.buffers) if wanted(buffer)]
    number = {i: n for n, i in enumerate(left)}
    constraints = {(number[u], number[v]): d for (u, v), d in draft.constraints.items() if u in number and v in number}
    gone = sum(buffer.nbytes for i, buffer in enumerate(draft.buffers) if i not in number)
    return replace(
        draft,
        whole=tuple(t for t in draft.whole if wanted(Buffer(Role.TENSOR, t, 0))),
        buffers=tuple(draft.buffers[i] for i in left),
        constraints=constraints,
        most_alive=max(0, draft.most_alive - gone),
    )


_Place = tuple[Role, int, int]
"""Role and key of a buffer, and the index of its step. For a tensor, the index is -1, because a tensor can outlive a
step.
"""


def _place_of(buffer: Buffer, step: int) -> _Place:
    key = step if buffer.role in (Role.COUNTERS, Role.SCRATCH) else buffer.key
    return buffer.role, key, -1 if buffer.role is Role.TENSOR else step


@dataclass(frozen=True, slots=True)
class Placer:
    sizes: Mapping[TensorId, int]
    inputs: Collection[TensorId]
    outputs: Collection[TensorId]
    known: Collection[TensorId] | None
    """Tensors that TFLM places and aligns, or None if TFLM places all tensors."""
    vectors: int = 1
    """Alignment in bytes of rows that kernels read and write as vectors."""

    def problem(
        self, drafts: Sequence[Draft], reversibles: Mapping[int, Draft] = MappingProxyType({})
    ) -> tuple[list[Buffer], layout.LayoutProblem]:
        """The argument `reversibles` maps the index of a plan step to the step in reversed row order, if this order is
        possible.
        """
        found = self._buffers(drafts)
        buffers, numbers = [*found.values()], {key: i for i, key in enumerate(found)}
        distances: dict[tuple[int, int], int] = {}
        choices: list[layout.Reversible] = []
        lower_bound = 0
        before: set[int] = set()
        for number, draft in enumerate(drafts):
            local = [numbers[_place_of(buffer, number)] for buffer in draft.buffers]
            whole = [numbers[Role.TENSOR, t, -1] for t in draft.whole]
            filled = [i for i, buffer in zip(local, draft.buffers, strict=True) if self._is_filled(buffer)]
            # Tensors that were live together in the previous step already have their minimum distances.
            fresh = [t for t in whole if t not in before]
            before = set(whole)
            apart = {*permutations(filled, 2), *((t, u) for t in whole for u in (*local, *fresh) if t != u)}
            pairs = {p: buffers[p[0]].nbytes for t, u in apart for p in ((t, u), (u, t))}
            forms = (draft, reversibles[number]) if number in reversibles else (draft,)
            forward, *backward = ({(local[u], local[v]): d for (u, v), d in f.constraints.items()} for f in forms)
            if backward:
                sizes = {i: h.nbytes for i, h in zip(local, reversibles[number].buffers, strict=True)}
                larger = {(i, t): n for i, n in sizes.items() for t in whole if n > buffers[i].nbytes}
                choices.append(layout.Reversible(forward, backward[0] | larger, sizes))
            else:
                pairs = forward | pairs
            for pair, distance in pairs.items():
                distances[pair] = max(distance, distances.get(pair, distance))
            lower_bound = max(lower_bound, min(map(self.bound, forms)))
        nbytes, align = tuple(b.nbytes for b in buffers), tuple(b.align for b in buffers)
        return buffers, layout.LayoutProblem(nbytes, align, distances, lower_bound, tuple(choices))

    def bound(self, draft: Draft) -> int:
        filled = sum(buffer.nbytes for buffer in draft.buffers if self._is_filled(buffer))
        return max(draft.most_alive, filled) + sum(self.sizes[t] for t in draft.whole)

    def _is_filled(self, buffer: Buffer) -> bool:
        """Return whether the buffer holds a whole model input, which exists before any operator runs."""
        return buffer.role is Role.TENSOR and buffer.key in self.inputs and buffer.nbytes == self.sizes[buffer.key]

    def _buffers(self, drafts: Sequence[Draft]) -> dict[_Place, Buffer]:
        found: dict[_Place, Buffer] = {}
        for step, draft in enumerate(drafts):
            whole = (Buffer(Role.TENSOR, t, self.sizes[t]) for t in draft.whole)
            for buffer in (*draft.buffers, *whole):
                place = role, key, _ = _place_of(buffer, step)
                if role is not Role.TENSOR:
                    align = TFLM_ALIGN if isinstance(draft.step, Builtin) else self._align(role)
                    found[place] = replace(buffer, key=key, first=step, last=step + 1, align=align)
                    continue
                align = TFLM_ALIGN if self.known is None or key in self.known else self._align(role)
                first = found[place].first if place in found else 0 if key in self.inputs else step
                last = len(drafts) if key in self.outputs else step + 1
                found[place] = Buffer(role, key, self.sizes[key], first, last, align)
        return found

    def _align(self, role: Role) -> int:
        return max(_ALIGN[role], self.vectors if role in (Role.TENSOR, Role.ROLLING_BUFFER) else 1)
