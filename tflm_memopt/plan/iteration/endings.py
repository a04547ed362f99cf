"""Keeps the simulated iterations of a group's last operators, for other groups that end with the same operators.

Adding operators at the front of a group changes neither the order nor the stored bytes of the group's last operators.
Groups with the same last operators share the iterations and rolling buffers of these operators.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.column_windows import lives
from tflm_memopt.plan.iteration.liveness import rolling_buffer_of
from tflm_memopt.plan.iteration.trace import Lives, Member, Trace, prepend, requested, start
from tflm_memopt.plan.plan import Buffer, Stage
from tflm_memopt.rowgraph.graph import InputSource

MOST_ENTRIES = 1 << 21
"""Maximum number of simulated iterations and requests that are kept for other groups."""


@dataclass(frozen=True, slots=True)
class Ending:
    trace: Trace
    buffers: Mapping[TensorId, Buffer]
    lives: Mapping[int, Lives]


Key = tuple[tuple[tuple[TensorId, int], ...], bool, int, tuple[int, ...]]


class Endings:
    def __init__(self, source: InputSource | None) -> None:
        self._source = source
        self._known: OrderedDict[Key, Ending] = OrderedDict()
        self._entries = 0
        self._numbers: dict[Stage, int] = {}

    def rebuild(
        self, members: Sequence[Member], sinks: Sequence[int], stripes: int, *, in_turn: bool
    ) -> tuple[Trace, Mapping[TensorId, Buffer]]:
        """`sinks` are the operators whose complete output is requested. `in_turn` tells whether to alternate between
        parts of their outputs.
        """
        wanted = tuple(requested(members, sinks))
        stages = tuple(self._numbers.setdefault(m.stage, len(self._numbers)) for m in members)
        keys: list[Key] = [(wanted, in_turn, stripes, stages[i:]) for i in range(len(members))]
        known = next((i for i, key in enumerate(keys) if key in self._known), len(members))
        for key in keys[known:]:
            if key in self._known:
                self._known.move_to_end(key)
        if known < len(members):
            ending = self._known[keys[known]]
        else:
            ending = Ending(start(wanted, self._source, in_turn=in_turn), {}, {})
        for i in reversed(range(known)):
            ending = _longer(ending, members[i], is_inner=members[i].key not in sinks)
            self._keep(keys[i], ending)
        _note_lives(ending)
        buffers = [(t, buffer) for t, buffer in ending.buffers.items() if buffer.nbytes]
        return ending.trace, dict(reversed(buffers) if stripes else buffers)

    def _keep(self, key: Key, ending: Ending) -> None:
        self._known[key] = ending
        self._entries += len(ending.trace)
        while self._entries > MOST_ENTRIES and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._entries -= len(oldest.trace)


def _longer(ending: Ending, member: Member, *, is_inner: bool) -> Ending:
    trace = prepend(ending.trace, member)
    if not is_inner:
        return Ending(trace, ending.buffers, ending.lives)
    buffer = rolling_buffer_of(trace, member)
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
            trace.lives[key] = Lives(life.iteration, at[life.written], at[life.read], life.stripes)
