"""Test the text report: computed values, the convention with every RAM figure, and escaped names."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from models import Net
from rich.console import Console, RenderableType

import tflm_memopt
from tflm_memopt.report import text
from tflm_memopt.results import Report


def shown(page: RenderableType, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    with console.capture() as said:
        console.print(page)
    return said.get()


@pytest.fixture(scope="module")
def report() -> Report:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, name="small.tflite").report


def optimized(report: Report) -> str:
    return shown(text.optimized(report, Path("out"), ["small.tflite", "small_ops.h"]))


def test_names_are_one_harmless_line(report: Report) -> None:
    said = optimized(replace(report, model="a\n[bold]b\x1b[31m.tflite"))
    assert said.startswith(r"a\n[bold]b\x1b[31m.tflite: rewritten")
