"""Test TFLite metadata, including damaged metadata of an intact model."""

import io
import zipfile

import flatbuffers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import Net

from tflm_memopt.model import writer
from tflm_memopt.model.metadata import AXIS_LABELS, ENTRY, NORMALIZATION, Metadata, read_metadata
from tflm_memopt.model.reader import read

LABELS = ("cat", "dog", "größe")


def _table(b: flatbuffers.Builder, fields: dict[int, tuple[str, object]]) -> int:
    b.StartObject(8)
    for slot, (kind, value) in fields.items():
        add = b.PrependUOffsetTRelativeSlot if kind == "offset" else b.PrependByteSlot
        add(slot, value, 0)
    return int(b.EndObject())


def _vector(b: flatbuffers.Builder, tables: list[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())


def _floats(b: flatbuffers.Builder, values: list[float]) -> int:
    b.StartVector(4, len(values), 4)
    for value in reversed(values):
        b.PrependFloat32(value)
    return int(b.EndVector())


def packed(file: str = "labels.txt", kind: int = AXIS_LABELS, means: tuple[float, ...] = (127.5,)) -> bytes:
    """Return metadata with two files for the output."""
    b = flatbuffers.Builder(256)
    other = _table(b, {0: ("offset", b.CreateString("about.txt")), 2: ("byte", 1)})
    labels = _table(b, {0: ("offset", b.CreateString(file)), 2: ("byte", kind)})
    output = _table(b, {6: ("offset", _vector(b, [other, labels]))})
    options = _table(b, {0: ("offset", _floats(b, list(means))), 1: ("offset", _floats(b, [51.0] * len(means)))})
    unit = _table(b, {0: ("byte", NORMALIZATION), 1: ("offset", options)})
    image = _table(b, {4: ("offset", _vector(b, [unit]))})
    subgraph = _table(b, {2: ("offset", _vector(b, [image])), 3: ("offset", _vector(b, [output]))})
    b.Finish(_table(b, {3: ("offset", _vector(b, [subgraph]))}), b"M001")
    return bytes(b.Output())


def with_metadata(entry: bytes, files: dict[str, str] | None = None) -> bytes:
    net = Net(1)
    tree = net.finished(net.fully_connected(net.input((1, 8)), 3))
    writer.set_metadata(tree, ENTRY, entry)
    buffer = io.BytesIO()
    buffer.write(writer.write(tree))
    with zipfile.ZipFile(buffer, "a") as archive:
        for name, text in (files or {"labels.txt": "\n".join(LABELS) + "\n"}).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def said(model: bytes) -> Metadata:
    return read_metadata(read(model), model)


def test_labels_and_how_pixels_become_values() -> None:
    assert said(with_metadata(packed())) == Metadata(LABELS, (127.5, 51.0))


@pytest.mark.parametrize(
    ("entry", "files"),
    [
        (packed("gone.txt"), None),
        (packed()[:40], None),
        (b"", None),
        (b"\0" * 64, None),
        (packed(), {"labels.txt": "x" * (2 << 20)}),
    ],
    ids=["no such file", "truncated", "empty", "no metadata", "too large"],
)
def test_what_cannot_be_read_says_nothing(entry: bytes, files: dict[str, str] | None) -> None:
    assert not said(with_metadata(entry, files)).labels


@given(st.data())
def test_damage_does_no_harm(data: st.DataObject) -> None:
    entry = bytearray(packed())
    for _ in range(data.draw(st.integers(1, 4))):
        entry[data.draw(st.integers(0, len(entry) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(said(with_metadata(bytes(entry))), Metadata)


def test_channels_with_values_of_their_own_are_left_to_the_user() -> None:
    assert said(with_metadata(packed(means=(127.5, 127.5, 127.5)))).pixels == (127.5, 51.0)
    assert said(with_metadata(packed(means=(123.7, 116.3, 103.5)))) == Metadata(LABELS, None)
