"""Figures are valid files: complete, well-formed, inside their frame, and reproducible."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.report import figures, svg
from tflm_memopt.report.drawing import Drawing, Label
from tflm_memopt.results import Optimized

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def result() -> Optimized:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, name="small.tflite")


def inside(drawing: Drawing) -> bool:
    """Whether all corners and letters are in the frame."""
    for shape in drawing.shapes:
        if isinstance(shape, Label):
            start = shape.x - {"start": 0, "middle": 0.5, "end": 1}[shape.anchor] * shape.width
            corners = ((start, shape.y), (start + shape.width, shape.y - 8))
        else:
            corners = shape.points
        if not all(-0.5 <= x <= drawing.width + 0.5 and -0.5 <= y <= drawing.height + 0.5 for x, y in corners):
            return False
    return True


def test_hostile_names_stay_text(result: Optimized) -> None:
    evil = '</title></svg><script>alert("1")</script>\x00\x1b'
    memory = replace(result.memory, buffers=tuple(replace(b, name=evil) for b in result.memory.buffers), title=evil)
    root = ET.fromstring(svg.document(figures.memory_map(memory, 1000)))
    assert not list(root.iter(f"{SVG}script"))
    assert any('<script>alert("1")</script>' in (t.text or "") for t in root.iter(f"{SVG}title"))
