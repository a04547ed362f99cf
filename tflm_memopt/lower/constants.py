"""The constants behind the tables of a program: weights, biases, scales, moves. No byte of them is there twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGN = 4
SHARED = 256
"""Bytes of the shortest constant that may be a part of another one."""


class ConstantPool:
    """Aligned; equal ones are stored once, and no part of another one is stored beside it."""

    def __init__(self, start: int, expected: Iterable[bytes] = ()) -> None:
        """`start`: of the first constant, bytes from the program's start. `expected`: some that will be added."""
        self.start = start
        self.data = bytearray()
        self.stored: dict[bytes, int] = {}
        self._longest = {raw[:SHARED]: raw for raw in sorted(expected, key=len) if len(raw) >= SHARED}
        """By how they begin: where the first part of one is added before all of it, all of it is stored at once."""

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def add(self, values: NDArray[Any] | None, dtype: str) -> int:
        """Offset from the program's start, or 0 for none."""
        if values is None:
            return 0
        raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
        if raw not in self.stored:
            at = self._inside(raw)
            self.stored[raw] = self._store(raw) if at is None else at
        return self.stored[raw]

    def _inside(self, raw: bytes) -> int | None:
        """Where it lies in another constant, aligned."""
        if len(raw) < SHARED:
            return None
        whole = self._longest.get(raw[:SHARED], raw)
        if whole != raw and whole.startswith(raw) and whole not in self.stored:
            self.stored[whole] = self._store(whole)
        at = self.data.find(raw)
        return None if at < 0 or (self.start + at) % ALIGN else self.start + at

    def _store(self, raw: bytes) -> int:
        self.data.extend(bytes(-self.end % ALIGN))
        at = self.end
        self.data.extend(raw)
        return at
