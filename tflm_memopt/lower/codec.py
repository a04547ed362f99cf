"""Encodes records of a program as bytes and decodes them.

The constants of a program (weights, biases, scales and moves) are stored after its tables.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.format.fields import (
    ArrayOffset,
    Flag,
    Follows,
    Inline,
    Named,
    Number,
    Stored,
    TableOffset,
    layout_of,
    stored,
)

Record = TypeVar("Record")
ALIGN = 4
SHARED = 256
"""Minimum size in bytes of a constant that may be stored as a part of another constant."""


class ConstantPool:
    """Aligned constants. Equal constants are stored once. A constant that is a part of a larger constant needs no bytes
    of its own.
    """

    def __init__(self, start: int, expected: Iterable[bytes] = (), *, alignment: int = ALIGN) -> None:
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


@dataclass(frozen=True, slots=True)
class RecordWriter:
    constants: ConstantPool
    where: str
    context: Any = None

    def record(self, record: Any) -> bytes:
        """Return the bytes of a record, followed by the bytes of the records that are stored directly after the
        record.
        """
        kind: Any = type(record)
        raw = np.zeros((), layout_of(kind).dtype)
        behind = self._fields(record, raw)
        return raw.tobytes() + behind

    def table(self, records: tuple[Any, ...]) -> int:
        """Add records to the constants, and return the offset of the first record, or 0 without records."""
        data = b"".join(self.record(record) for record in records)
        return self.constants.add(np.frombuffer(data, "u1"), "u1") if data else 0

    def _fields(self, record: Any, raw: NDArray[np.void]) -> bytes:
        behind, kind = b"", cast(Any, type(record))
        for f in stored(kind):
            items = f.name.removeprefix("n_")
            value: Any = getattr(record, f.name) if hasattr(record, f.name) else len(getattr(record, items))
            match f.type:
                case Inline() if value is not None:
                    behind += self._fields(value, raw)
                case Follows():
                    behind += b"".join(self.record(one) for one in value)
                case Flag(name, bit):
                    raw[name] |= int(value) << bit
                case Named(_, names):
                    for name, number in zip(names, value, strict=True):
                        self._put(raw, name, number)
                case Number(_, count) if value or not f.over:
                    self._put(raw, f.name_in_c, value if count == 1 else (*value, *[0] * (count - len(value))))
                case ArrayOffset() if at := self._array(f.type, value):
                    raw[f.name] = at
                case TableOffset() if value:
                    raw[f.name] = self.table(value if isinstance(value, tuple) else (value,))
        return behind

    def _array(self, kind: ArrayOffset, value: Any) -> int:
        if value is not None and kind.encode:
            value = kind.encode(value, self.context)
        if value is None or not len(value):
            return 0
        return self.constants.add(np.frombuffer(value, "u1") if isinstance(value, bytes) else value, kind.code)

    def _put(self, raw: NDArray[np.void], name: str, value: Any) -> None:
        least, most = _limits(raw.dtype[name])
        numbers = value if isinstance(value, tuple) else (value,)
        if min(numbers) < least or max(numbers) > most:
            raise PlanError(f"{name} is {value}, but a program can only hold {least} to {most}", where=self.where)
        raw[name] = value


@cache
def _limits(kind: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(kind.base)
    return int(limits.min), int(limits.max)


Shapes = Mapping[str, tuple[Any, ...]]
"""Maps names of array fields to the shapes of the arrays. If an array has no entry in the mapping, the program omits
the array.
"""
Shaper = Callable[[np.void, Any], Shapes]


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Raises ValueError or IndexError if the data ends early."""

    data: bytes
    shapers: Mapping[type, Shaper]
    """Maps a record type to a function (numbers, context) that returns the shapes of the record's arrays."""

    def record(self, kind: type[Record], at: int, context: Any = None) -> Record:
        return self.table(kind, 1, at, context)[0]

    def table(self, kind: type[Record], count: int, at: int, context: Any = None) -> tuple[Record, ...]:
        layout = layout_of(cast(Any, kind))
        raw = np.frombuffer(self.data, layout.dtype, count, at)
        return tuple(self._built(kind, r, at + (i + 1) * layout.nbytes, context) for i, r in enumerate(raw))

    def _built(self, kind: type[Record], raw: np.void, end: int, context: Any) -> Record:
        shapes = self.shapers[kind](raw, context) if kind in self.shapers else {}
        fields = stored(cast(Any, kind))
        values = {f.name: self._value(f, raw, end, context, shapes) for f in fields if _is_there(f, raw, shapes)}
        hidden = {f.over: 0 for f in fields if f.over in values and f.name in values}
        return kind(**{**values, **hidden})

    def _value(self, f: Stored, raw: np.void, end: int, context: Any, shapes: Shapes) -> Any:
        shape, plain = shapes.get(f.name, ()), _plain(f.base)
        match f.type:
            case Number(_, 1):
                return plain(int(raw[f.name_in_c]))
            case Number():
                return tuple(raw[f.name_in_c].tolist()[: shape[0]])
            case Named(_, names):
                return tuple(int(raw[name]) for name in names)
            case Flag(name, bit):
                return bool(int(raw[name]) >> bit & 1)
            case Inline(record):
                return self._built(record, raw, end, context)
            case Follows(record):
                return self.table(record, shape[0], end)
            case TableOffset(record):
                found: tuple[Any, ...] = self.table(record, shape[0], int(raw[f.name]), *shape[1:])
                return found if plain is tuple else found[0]
            case ArrayOffset(_, _, decode) if decode:
                return decode(self.data, int(raw[f.name]), context)
            case ArrayOffset(code):
                values = np.frombuffer(self.data, code, int(np.prod(shape)), int(raw[f.name])).reshape(shape)
                return values if plain is np.ndarray else values.tobytes() if plain is bytes else (*values.tolist(),)
        raise TypeError(f"{f.name} has no known type")


def _is_there(f: Stored, raw: np.void, shapes: Shapes) -> bool:
    """Return whether the record stores the field, which otherwise has its default value."""
    if f.base is None:
        return False
    if isinstance(f.type, ArrayOffset | TableOffset) and not getattr(f.type, "decode", None):
        return f.name in shapes and bool(raw[f.name])
    return f.name in shapes or not (f.over or isinstance(f.base, UnionType))


def _plain(kind: Any) -> Any:
    """Return the class of a field's value, without None: tuple for `tuple[int, ...] | None`."""
    some = next(one for one in get_args(kind) if one is not type(None)) if isinstance(kind, UnionType) else kind
    return get_origin(some) or some
