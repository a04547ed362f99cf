"""Checks that every table, vector and string that the reader uses lies inside the .tflite file, because FlatBuffers'
Python package has no verifier. Vectors in operator options are not checked, because the reader catches the exceptions
of invalid vectors.
"""

import struct
from collections.abc import Mapping

from tflm_memopt.errors import ModelError
from tflm_memopt.model import formats

IDENTIFIER = b"TFL3"
GIT_LFS = b"version https://git-lfs.github.com/"
START = formats.START
HEADER_BYTES = 8
MOST_BYTES = 2**31 - 1
"""Maximum size of a flatbuffer in bytes (FLATBUFFERS_MAX_BUFFER_SIZE)."""
MAX_TABLES = 1_000_000
"""Greatest number of tables that are checked, as in flatbuffers::Verifier. A file can refer to one table many times."""

STRING = "string"
TABLE = "table"
"""Type of a table whose fields are not checked, such as a union's table."""

Schema = Mapping[str, Mapping[int, str]]
SCHEMA: Schema = {
    "Model": {
        1: "[OperatorCode]",
        2: "[SubGraph]",
        3: STRING,
        4: "[Buffer]",
        5: "[4]",
        6: "[Metadata]",
        7: "[SignatureDef]",
    },
    "OperatorCode": {1: STRING},
    "SubGraph": {0: "[Tensor]", 1: "[4]", 2: "[4]", 3: "[Operator]", 4: STRING},
    "Tensor": {0: "[4]", 3: STRING, 4: "Quantization", 6: TABLE, 7: "[4]", 9: "[table]"},
    "Quantization": {0: "[4]", 1: "[4]", 2: "[4]", 3: "[8]", 5: TABLE},
    "Operator": {1: "[4]", 2: "[4]", 4: TABLE, 5: "[1]", 7: "[1]", 8: "[4]", 12: TABLE},
    "Buffer": {0: "[1]"},
    "Metadata": {0: STRING},
    "SignatureDef": {0: "[TensorMap]", 1: "[TensorMap]", 2: STRING},
    "TensorMap": {0: STRING},
    TABLE: {},
}
"""Types of the fields of each table in schema.fbs, such as "[8]" for a vector of items of 8 bytes."""


def check(data: bytes) -> None:
    """Raise ModelError if a table that the reader uses is damaged."""
    check_start(data)
    _Walk(data).table("Model", 0, "model")


def check_start(data: bytes) -> None:
    """Raise ModelError if a file's first bytes cannot be the beginning of a model."""
    if len(data) < HEADER_BYTES:
        raise ModelError(
            f"{len(data)} B are too short for a model",
            code="not_a_model",
            hint="give a .tflite file as the TFLite converter writes it",
        )
    if data.startswith(GIT_LFS):
        raise ModelError(
            "the file is a Git LFS pointer, not the model itself",
            code="not_a_model",
            hint="run `git lfs pull`, then try again",
        )
    if data[4:8] != IDENTIFIER and (other := formats.format_of(data)):
        raise other.refused()
    if data[4:8] != IDENTIFIER:
        raise ModelError(
            f"not a .tflite file: its identifier is {data[4:8]!r}, not {IDENTIFIER!r}",
            code="not_a_model",
            hint="give a .tflite file as the TFLite converter writes it",
        )


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data, self.tables = data, 0

    def number(self, code: str, position: int, where: str) -> int:
        if not 0 <= position <= len(self.data) - struct.calcsize(code):
            raise self.broken(f"an offset points to byte {position:,} of {len(self.data):,}", where)
        value: int = struct.unpack_from(code, self.data, position)[0]
        return value

    def table(self, kind: str, reference: int, where: str) -> None:
        self.tables += 1
        if self.tables > MAX_TABLES:
            raise self.broken(f"more than {MAX_TABLES:,} tables", where)
        table = reference + self.number("<I", reference, where)
        vtable = table - self.number("<i", table, where)
        vtable_bytes, table_bytes = self.number("<H", vtable, where), self.number("<H", vtable + 2, where)
        if (
            vtable_bytes < 4
            or vtable + vtable_bytes > len(self.data)
            or table_bytes < 4
            or table + table_bytes > len(self.data)
        ):
            raise self.broken("a table does not fit the file", where)
        fields = struct.unpack_from(f"<{(vtable_bytes - 4) // 2}H", self.data, vtable + 4)
        if any(field >= table_bytes for field in fields):
            raise self.broken("a field is outside of its table", where)
        for slot, target in SCHEMA[kind].items():
            if slot < len(fields) and fields[slot]:
                self.field(target, table + fields[slot], f"{where}, {kind} field {slot}")

    def field(self, target: str, reference: int, where: str) -> None:
        if target == STRING:
            self.vector(reference, 1, where)
        elif not target.startswith("["):
            self.table(target, reference, where)
        elif target[1:-1].isdigit():
            self.vector(reference, int(target[1:-1]), where)
        else:
            start, length = self.vector(reference, 4, where)
            for k in range(length):
                self.table(target[1:-1], start + 4 * k, f"{target[1:-1]} {k}")

    def vector(self, reference: int, item_bytes: int, where: str) -> tuple[int, int]:
        """Return start and length of the vector that the offset stored at `reference` points to."""
        vector = reference + self.number("<I", reference, where)
        length = self.number("<I", vector, where)
        if vector + 4 + length * item_bytes > len(self.data):
            raise self.broken(
                f"{length:,} items of {item_bytes} B at byte {vector:,} do not fit {len(self.data):,} B", where
            )
        return vector + 4, length

    @staticmethod
    def broken(what: str, where: str) -> ModelError:
        return ModelError(
            f"damaged model: {what}",
            code="damaged_model",
            where=where,
            hint="copy or convert the file again: it is truncated or overwritten",
        )
