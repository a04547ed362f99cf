"""Stores the simulated iterations of a group's last operators, for all groups that end with the same operators.


An operator at the front of a group changes neither the order nor the buffers of the later operators.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.column_windows import lives
from tflm_memopt.plan.iteration.liveness import least_buffer, rolling_buffer_of
from tflm_memopt.plan.iteration.trace import Lives, Member, Trace, beginning, prepend, requested, start
from tflm_memopt.plan.plan import Buffer, Stage
from tflm_memopt.rowgraph.graph import InputSource

MOST_ENTRIES = 1 << 21
PARTS = 3
"""The fraction 1 / PARTS of the iterations is simulated first, to reject groups that need too many bytes."""


@dataclass(frozen=True, slots=True)
class Ending:
    trace: Trace
    buffers: Mapping[TensorId, Buffer]
    lives: Mapping[int, Lives]


Key = tuple[tuple[tuple[TensorId, int], ...], bool, int, tuple[int, ...], bool]


class Endings:
    def __init__(self, source: InputSource | None) -> None:
        self._source = source
        self._known: OrderedDict[Key, Ending] = OrderedDict()
        self._entries = 0
        self._numbers: dict[Stage, int] = {}

    def rebuild(
        self, members: Sequence[Member], sinks: Sequence[int], stripes: int, *, in_turn: bool, in_part: bool = False
    ) -> tuple[Trace, Mapping[TensorId, Buffer]]:
        """If the argument `in_part` is true, only the first iterations of a tiled group are simulated, so buffers may
        be smaller than for the whole group.
        """
        wanted = tuple(requested(members, sinks))
        stages = tuple(self._numbers.setdefault(m.stage, len(self._numbers)) for m in members)
        keys: list[Key] = [(wanted, in_turn, stripes, stages[i:], False) for i in range(len(members))]
        parts: list[Key] = [(*key[:-1], True) for key in keys] if in_part else keys
        known = next((i for i, key in enumerate(keys) if key in self._known or parts[i] in self._known), len(members))
        for key in (*keys[known:], *parts[known:]):
            if key in self._known:
                self._known.move_to_end(key)
        if known < len(members):
            ending = self._known.get(keys[known]) or self._known[parts[known]]
        else:
            ending = Ending(start(wanted, self._source, in_turn=in_turn), {}, {})
        for i in reversed(range(known)):
            if in_part:
                most = sum(len(m.iterations) * (1 + len(m.stage.operands)) for m in members[i + 1 :]) // PARTS
                ending = replace(ending, trace=beginning(ending.trace, 1 + most))
            ending = _longer(ending, members[i], is_inner=members[i].key not in sinks, in_part=in_part)
            self._keep(parts[i], ending)
        _note_lives(ending)
        buffers = [(t, buffer) for t, buffer in ending.buffers.items() if buffer.nbytes]
        return ending.trace, dict(reversed(buffers) if stripes else buffers)

    def _keep(self, key: Key, ending: Ending) -> None:
        self._known[key] = ending
        self._entries += len(ending.trace)
        while self._entries > MOST_ENTRIES and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._entries -= len(oldest.trace)


def _longer(ending: Ending, member: Member, *, is_inner: bool, in_part: bool) -> Ending:
    trace = prepend(ending.trace, member)
    if not is_inner:
        return Ending(trace, ending.buffers, ending.lives)
    buffer = least_buffer(trace, member) if in_part else rolling_buffer_of(trace, member)
    known = ending.lives
    if member.stripes:
        known = {**known, member.key: lives(trace, member)}
    return Ending(trace, {**ending.buffers, member.op.output: buffer}, known)


def _note_lives(ending: Ending) -> None:
    trace = ending.trace
    if ending.lives.keys() <= trace.lives.keys():
        return
    number = {member.key: i for i, member in enumerate(trace.members)}
    keys = np.array(sorted(number), dtype=np.int64)
    order = np.array([number[key] for key in keys.tolist()], dtype=np.int64)[keys.searchsorted(trace.executed)]
    for key, life in ending.lives.items():
        if key not in trace.lives:
            at = np.flatnonzero(order >= number[key])
            made = life.written < len(at)  # Pixels are missing if the trace ends early.
            read = np.minimum(life.read[made], len(at) - 1)
            trace.lives[key] = Lives(life.iteration[made], at[life.written[made]], at[read], life.stripes[made])
