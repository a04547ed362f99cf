"""Stores the constants of a program after its tables: weights, biases, scales and moves."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGN = 4
SHARED = 256
"""Minimum size in bytes of a constant that may be stored as a part of another constant."""


class ConstantPool:
    """Aligned constants. Equal constants are stored once. A constant that is a part of a larger constant needs no bytes
    of its own.
    """

    def __init__(self, start: int, expected: Iterable[bytes] = (), *, alignment: int = ALIGN) -> None:
        """The argument `expected` has constants that will be added later."""
        self.alignment = alignment
        self.start = start
        self.data = bytearray()
        self.stored: dict[bytes, int] = {}
        self._longest = {raw[:SHARED]: raw for raw in sorted(expected, key=len) if len(raw) >= SHARED}
        """Maps the first SHARED bytes of an expected constant to the constant. If several expected constants have the
        same first bytes, the map has only the longest constant.
        """

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def add(self, values: NDArray[Any], dtype: str) -> int:
        """Add a constant, and return its offset from the program's start."""
        raw = np.ascontiguousarray(values, dtype=dtype).tobytes()
        if raw not in self.stored:
            at = self._inside(raw)
            self.stored[raw] = self._store(raw) if at is None else at
        return self.stored[raw]

    def _inside(self, raw: bytes) -> int | None:
        if len(raw) < SHARED:
            return None
        whole = self._longest.get(raw[:SHARED], raw)
        if whole != raw and whole.startswith(raw) and whole not in self.stored:
            self.stored[whole] = self._store(whole)
        at = self.data.find(raw)
        return None if at < 0 or (self.start + at) % self.alignment else self.start + at

    def _store(self, raw: bytes) -> int:
        self.data.extend(bytes(-self.end % self.alignment))
        at = self.end
        self.data.extend(raw)
        return at
