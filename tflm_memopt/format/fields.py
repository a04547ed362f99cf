"""Types of the fields of records, and the layout of a record as a C struct. A record is a frozen dataclass, and
programs store only its fields that are annotated with types of this module. The mapping `DERIVED` states the types of
stored properties and of item counts, such as `n_items` for the length of `items`. A C struct begins with the fields
that `C_ORDER` lists, followed by all other fields in the order of the class.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Pair:
...     first: U8
...     second: U32 = 0
>>> [(f.name, f.offset) for f in layout_of(Pair).fields], layout_of(Pair).nbytes
([('first', 0), ('second', 4)], 8)
"""

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Annotated, Any, TypeAlias

import numpy as np


@dataclass(frozen=True, slots=True)
class Number:
    """Type of a field that is a number, or an array of `count` numbers. The attribute `code` is numpy's name of the
    type.
    """

    code: str
    count: int = 1
    name: str = ""
    """Name of the field in C, or "" if the Python name is used."""


@dataclass(frozen=True, slots=True)
class Named:
    """Marks a tuple whose numbers are separate fields in C."""

    code: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """Marks a flag: one bit of an integer that the C struct declares. Several flags share the integer."""

    field: str
    bit: int
    code: str = "u1"


@dataclass(frozen=True, slots=True)
class Inline:
    """Marks a field that is a record inside the outer record."""

    record: type


@dataclass(frozen=True, slots=True)
class ArrayOffset:
    """The C field has the offset of an array in the program's constants, or 0 if there is no array. For a field whose
    value is not an array, the function `encode(value, context)` returns the bytes, and the function `decode(data, at,
    context)` reads the bytes.
    """

    code: str
    encode: Callable[[Any, Any], bytes] | None = None
    decode: Callable[[bytes, int, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class TableOffset:
    """The C field has the offset of one or more records in the program's constants, or 0 if there are no records."""

    record: type


@dataclass(frozen=True, slots=True)
class Follows:
    """Type of a field that holds records. In a program, the records directly follow the record that has the field."""

    record: type


@dataclass(frozen=True, slots=True)
class Over:
    """Marks a field that shares its bytes with another field. A record uses only one of the fields that share bytes."""

    field: str


@dataclass(frozen=True, slots=True)
class Also:
    """Marks a field that has additional names in C. Each name stands for a different meaning of the field."""

    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Cases(Also):
    """Marks a field whose Python name does not occur in C. In C, the field has the names in `names`."""


U8: TypeAlias = Annotated[int, Number("u1")]
I8: TypeAlias = Annotated[int, Number("i1")]
U16: TypeAlias = Annotated[int, Number("<u2")]
I16: TypeAlias = Annotated[int, Number("<i2")]
U32: TypeAlias = Annotated[int, Number("<u4")]
U64: TypeAlias = Annotated[int, Number("<u8")]
I32: TypeAlias = Annotated[int, Number("<i4")]

Type: TypeAlias = Number | Named | Flag | Inline | ArrayOffset | TableOffset | Follows
OFFSET = "<u4"


@dataclass(frozen=True, slots=True)
class Stored:
    name: str
    type: Type
    base: Any
    """Type of the field in the Python class, or None if the field is computed from other fields."""
    over: str = ""
    """Name of the field that shares the bytes of the described field, or ""."""
    also: Mapping[str, str] = field(default_factory=dict)
    name_in_c: str = ""


@dataclass(frozen=True, slots=True)
class CField:
    name: str
    code: str
    count: int
    offset: int
    over: str
    source: Stored
    record: type

    @property
    def nbytes(self) -> int:
        return np.dtype(self.code).itemsize * self.count


@dataclass(frozen=True, slots=True)
class RecordLayout:
    fields: tuple[CField, ...]
    nbytes: int
    dtype: np.dtype[np.void]


@cache
def stored(record: type) -> tuple[Stored, ...]:
    """Return the stored fields of a record. The fields in the mapping `DERIVED` come last."""
    hints = typing.get_type_hints(record, include_extras=True)
    derived: Mapping[str, Type] = getattr(record, "DERIVED", {})
    return (
        *(found for f in fields(record) if (found := _stored(f.name, hints[f.name]))),
        *(Stored(name, kind, None, name_in_c=name) for name, kind in derived.items()),
    )


def _stored(name: str, hint: Any) -> Stored | None:
    if typing.get_origin(hint) is not Annotated:
        return None
    base, *notes = typing.get_args(hint)
    types = [note for note in notes if isinstance(note, Type)]
    over = next((note.field for note in notes if isinstance(note, Over)), "")
    also = next((note for note in notes if isinstance(note, Also)), Also({}))
    if not types:
        return None
    in_c = next(iter(also.names)) if isinstance(also, Cases) else getattr(types[0], "name", "")
    return Stored(name, types[0], base, over, also.names, in_c or name)


@cache
def layout_of(record: type) -> RecordLayout:
    """Return the C struct of a record, in which each field is aligned to its size."""
    known: dict[str, CField] = {}
    end = align = 0
    for row in _in_order(record):
        size = np.dtype(row.code).itemsize
        at = known[row.over].offset if row.over else -(-end // size) * size
        known[row.name] = replace(row, offset=at)
        end, align = max(end, at + row.nbytes), max(align, size)
    nbytes = -(-end // align) * align
    found = sorted(known.values(), key=lambda f: f.offset)
    dtype: np.dtype[np.void] = np.dtype({
        "names": [f.name for f in found],
        "formats": [np.dtype((f.code, (f.count,))) if f.count > 1 else np.dtype(f.code) for f in found],
        "offsets": [f.offset for f in found],
        "itemsize": nbytes,
    })  # fmt: skip
    return RecordLayout(tuple(found), nbytes, dtype)


def _in_order(record: type) -> list[CField]:
    rows = list(_c_fields(record))
    order: Sequence[str] = getattr(record, "C_ORDER", "").split()
    return sorted(rows, key=lambda row: order.index(row.name) if row.name in order else len(order))


def _c_fields(record: type) -> Iterator[CField]:
    flags = set()
    for f in stored(record):
        make = partial(CField, offset=0, over=f.over, source=f, record=record)
        match f.type:
            case Number(code, count):
                yield make(f.name_in_c, code, count)
            case Named(code, names):
                yield from (make(name, code, 1) for name in names)
            case Flag(field, _, code) if field not in flags:
                flags.add(field)
                yield make(field, code, 1)
            case Inline(inner):
                yield from _c_fields(inner)
            case ArrayOffset() | TableOffset():
                yield make(f.name, OFFSET, 1)
        code = f.type.code if isinstance(f.type, Number) else OFFSET
        yield from (make(name, code, 1, over=f.name_in_c) for name in f.also if name != f.name_in_c)
