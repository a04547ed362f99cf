"""Runs the command line on small models."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from models import Net

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.cli import main as cli

MAIN = [sys.executable, "-m", "tflm_memopt"]

SUFFIXES = (".tflite", ".report.json", ".report.html", "_model.h", "_model.cpp", "_ops.h")
"""Endings of the files that the converter writes for any model."""
REWRITTEN = (*SUFFIXES, ".plan.json", "_library.c", "_library.LICENSE")
"""Endings of the files that the converter writes for a rewritten model."""
ARENA = {"abi", "head", "tail", "total", "min"}


def small(seed: int = 1) -> bytes:
    net = Net(seed)
    x = net.input((1, 24, 24, 3))
    x = net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2), activation="RELU", out=(0.4, -5))
    x = net.depthwise_conv2d(x, activation="RELU6", out=(0.3, -7))
    return net.model(net.conv2d(x, 4, out=(0.5, 3)))


def long(seed: int = 5) -> bytes:
    net = Net(seed)
    x = net.input((1, 44, 44, 3))
    x = net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2), activation="RELU", out=(0.4, -5))
    x = net.depthwise_conv2d(x, stride=(2, 2), activation="RELU6", out=(0.3, -7))
    return net.model(net.conv2d(net.conv2d(x, 16, out=(0.5, 3)), 4, out=(0.5, 3)))


def wide(last: str = "") -> bytes:
    """Return a model with long rows, which needs less memory but more kernel calls in tiles."""
    net = Net(12)
    x = net.conv2d(net.input((1, 10, 20, 2)), 16, out=(0.4, -5))
    x = net.depthwise_conv2d(x, activation="RELU6", out=(0.3, -7))
    x = net.conv2d(x, 2, kernel=(3, 3), stride=(2, 2), out=(0.5, 3))
    return net.model(net.unary(last, x) if last else x)


def narrowing() -> bytes:
    """Return a model whose input is smaller than its inner tensors, so that computing rows twice saves RAM."""
    net = Net(12)
    x = net.conv2d(net.input((1, 12, 12, 2)), 24, out=(0.4, -5))
    for _ in range(2):
        x = net.depthwise_conv2d(x, activation="RELU6", out=(0.3, -7))
    return net.model(net.conv2d(x, 1, kernel=(3, 3), stride=(2, 2), out=(0.5, 3)))


CLOCKED: dict[str, Any] = {"effort": 0.01, "seconds": 0.2, "core": "cortex-m4", "clock": 64, "target": "cortex-m4"}


def pausing(share: float) -> App:
    time = optimize(long(), **CLOCKED).report.time
    assert time and time.rewritten and time.rewritten.milliseconds
    models = {"long": AppModel(long()), "short": AppModel(small())}
    return App(models, (("long", "short"),), share * time.rewritten.milliseconds[1], options=CLOCKED)


def partly_dead(convolutions: int = 1) -> bytes:
    """Return a model in which a first convolution has 8 channels, and all further convolutions read 5 of 8 channels."""
    net = Net(2)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3))
    for count in (*[8] * (convolutions - 1), 4):
        x = net.conv2d(x, count)
        filter_ = net.tree.buffers[net.graph.tensors[net.graph.operators[-1].inputs[1]].buffer]
        filter_.data = np.where(np.arange(8 * count) % 8 < 5, filter_.data, 0).astype(np.uint8)
    return net.model(x)


def unsupported() -> bytes:
    net = Net()
    x = net.input((1, 4, 4, 2), None, dtype="FLOAT32")
    return net.model(net.unary("COS", net.unary("COS", x, dtype="FLOAT32", out=None), dtype="FLOAT32", out=None))


def float_io() -> bytes:
    net = Net(5)
    q = net.unary("QUANTIZE", net.input((1, 24, 24, 3), None, dtype="FLOAT32"))
    q = net.conv2d(net.conv2d(q, 8, kernel=(3, 3)), 4)
    return net.model(net.unary("DEQUANTIZE", q, dtype="FLOAT32", out=None))


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Answer]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def assert_refused(answer: Answer, says: str) -> None:
    assert answer.code == cli.BAD
    assert answer.out == "" or answer.json["error"]["code"] in answer.err
    first_words = [line.split(maxsplit=1)[0] for line in answer.err.splitlines()]
    assert first_words.pop() == "code"
    assert first_words in (["error:"], ["error:", "at"], ["error:", "try:"], ["error:", "at", "try:"])
    assert says in answer.err
