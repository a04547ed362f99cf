"""Reads labels and the normalisation of pixels from a model's TFLite metadata, which is a flatbuffer in the entry
TFLITE_METADATA (metadata_schema.fbs of tflite-support). Files with labels are in a ZIP archive after the model's bytes.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from flatbuffers import encode, number_types, packer
from flatbuffers.table import Table

from tflm_memopt.model.interface import metadata
from tflm_memopt.model.reader import Model

ENTRY = "TFLITE_METADATA"
IDENTIFIER = b"M001"
AXIS_LABELS = 2
"""AssociatedFileType of a file with a label for each value of an output."""
NORMALIZATION = 1
"""Value of ProcessUnitOptions for normalization. A normalized value is (pixel - mean) / standard deviation."""
MOST_FILE_BYTES = 1 << 20
"""Greatest size in bytes of a file with labels, above which the file is ignored."""
_DAMAGE = (
    struct.error, ValueError, IndexError, TypeError, KeyError, EOFError, OSError, RuntimeError, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metadata:
    """Usable metadata of a model, with an empty field for missing or unreadable metadata."""

    labels: tuple[str, ...] = ()
    """Labels of output 0, one for each value."""
    pixels: tuple[float, float] | None = None
    """Mean and standard deviation of input 0, which are the same for all channels."""


def read_metadata(model: Model, data: bytes) -> Metadata:
    """Return the usable metadata of a model."""
    packed = metadata(model.tree, ENTRY)
    if not packed or packed[4:8] != IDENTIFIER:
        return Metadata()
    try:
        root = Table(packed, encode.Get(packer.uoffset, packed, 0))
        (subgraph, *_) = _tables(root, 3)
        return Metadata(_labels(subgraph, data), _pixels(subgraph))
    except _DAMAGE:
        return Metadata()


def label_lines(text: str) -> tuple[str, ...]:
    r"""Split text into labels, one per line, without empty lines at the end.

    >>> label_lines("cat\ndog \n\n")
    ('cat', 'dog')
    """
    return tuple(line.strip() for line in text.rstrip().splitlines())


def _labels(subgraph: Table, data: bytes) -> tuple[str, ...]:
    for output in _tables(subgraph, 3, most=1):
        for file in _tables(output, 6):
            if _byte(file, 2) == AXIS_LABELS:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    name = _text(file, 0)
                    if archive.getinfo(name).file_size <= MOST_FILE_BYTES:
                        return label_lines(archive.read(name).decode("utf-8", "replace"))
    return ()


def _pixels(subgraph: Table) -> tuple[float, float] | None:
    for tensor in _tables(subgraph, 2, most=1):
        for unit in _tables(tensor, 4):
            if _byte(unit, 0) == NORMALIZATION:
                options = Table(unit.Bytes, unit.Indirect(unit.Pos + _field(unit, 1)))
                means, deviations = _floats(options, 0), _floats(options, 1)
                if len(set(means)) == 1 and len(set(deviations)) == 1 and deviations[0] > 0:
                    return means[0], deviations[0]
    return None


def _field(table: Table, slot: int) -> int:
    return int(cast(Any, table).Offset(4 + 2 * slot))


def _tables(table: Table, slot: int, most: int = 1000) -> Iterator[Table]:
    if at := _field(table, slot):
        start, length = table.Vector(at), table.VectorLen(at)
        for k in range(min(length, most)):
            yield Table(table.Bytes, table.Indirect(start + 4 * k))


def _byte(table: Table, slot: int) -> int:
    at = _field(table, slot)
    return int(table.Get(number_types.Uint8Flags, table.Pos + at)) if at else 0


def _text(table: Table, slot: int) -> str:
    at = _field(table, slot)
    return cast(bytes, table.String(table.Pos + at)).decode("utf-8") if at else ""


def _floats(table: Table, slot: int) -> tuple[float, ...]:
    at = _field(table, slot)
    return struct.unpack_from(f"<{table.VectorLen(at)}f", table.Bytes, table.Vector(at)) if at else ()
