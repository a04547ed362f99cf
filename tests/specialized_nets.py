"""Small networks that together contain each form of model-specific code (`--emit c-specialized`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from models import Net

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.runtime.verify import sample

KIND = "c-specialized"


def relu(net: Net, x: int, taps: int) -> tuple[float, int]:
    """Scale and zero point of a ReLU's output after sums of `taps` products; half of the output is not zero."""
    return net.affine(x)[0] * 0.58 * math.sqrt(taps), -128


def odd() -> bytes:
    """Odd channels, padding on both sides, a window that is larger than the row, and a row of three pixels."""
    net = Net(1)
    x = net.input((1, 18, 14, 3), (0.008, 3))
    x = net.conv2d(x, 7, kernel=(3, 3), activation="RELU", out=relu(net, x, 27))
    x = net.depthwise_conv2d(x, kernel=(3, 3), stride=(2, 2), activation="RELU6", out=relu(net, x, 9))
    x = net.conv2d(x, 9)
    x = net.conv2d(x, 6, kernel=(5, 5), activation="RELU", out=relu(net, x, 225))
    return net.model(net.conv2d(x, 5, stride=(2, 2), kernel=(3, 3), padding="VALID"))


def residual() -> bytes:
    """Additions with and without saturation, of counts that are not multiples of four."""
    net = Net(2)
    x = net.input((1, 6, 5, 5))
    x = net.conv2d(x, 5, kernel=(3, 3), activation="RELU", out=relu(net, x, 45))
    y = net.add(net.conv2d(x, 5, kernel=(3, 3)), x)
    z = net.conv2d(y, 5, kernel=(1, 3))
    return net.model(net.add(z, y, activation="RELU", out=(net.affine(z)[0] / 2, -128)))


def deep() -> bytes:
    """Rows of eleven pixels, deep windows, depthwise windows of 25 taps, and operators that the library runs."""
    net = Net(3)
    x = net.input((1, 12, 22, 4))
    x = net.conv2d(x, 24, kernel=(5, 10), stride=(2, 2), activation="RELU", out=relu(net, x, 200))
    x = net.depthwise_conv2d(x, kernel=(5, 5), activation="RELU", out=relu(net, x, 25))
    x = net.conv2d(x, 64, activation="RELU", out=relu(net, x, 24))
    x = net.depthwise_conv2d(x, kernel=(3, 3), dilation=(1, 2))
    x = net.conv2d(x, 10, kernel=(3, 3), dilation=(2, 2))
    return net.model(net.pool(x))


def tall() -> bytes:
    """Rows of two pixels with vertical dilation, then rows of one."""
    net = Net(4)
    x = net.input((1, 30, 2, 8))
    x = net.conv2d(x, 16, kernel=(5, 1), activation="RELU", out=relu(net, x, 40))
    x = net.conv2d(x, 8, kernel=(3, 1), dilation=(2, 1))
    return net.model(net.conv2d(x, 8, kernel=(3, 2), padding="VALID"))


def narrow() -> bytes:
    """Additions of three values, which are too few for a specialized kernel: the library runs them inside
    specialized code.
    """
    net = Net(5)
    x = net.depthwise_conv2d(net.input((1, 9, 1, 4)), kernel=(3, 1))
    y = net.conv2d(x, 3)
    return net.model(net.add(net.conv2d(y, 3), y))


NETS: Mapping[str, Callable[[], bytes]] = {
    "odd": odd, "residual": residual, "deep": deep, "tall": tall, "narrow": narrow,
}  # fmt: skip


def written(model: bytes, name: str, kind: str = KIND, **settings: object) -> Mapping[str, bytes]:
    """Return the files of a module."""
    result = tflm_memopt.optimize(model, if_worthwhile=False, **settings)  # type: ignore[arg-type]
    return bundle.files(result, name, (kind,), bundle.Extras(lambda: sample(model, result.model)))


def saved(folder: Path, *module: object, **settings: object) -> None:
    """Write a module's files to a folder."""
    for file, data in written(*module, **settings).items():  # type: ignore[arg-type]
        (folder / file).write_bytes(data)
