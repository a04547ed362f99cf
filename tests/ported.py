"""Builds models with unused inputs and with repeated, constant or unordered outputs."""

from collections.abc import Callable, Mapping

from models import Net


def swapped() -> bytes:
    net = Net(1)
    first, second = net.input((1, 12, 12, 4)), net.input((1, 12, 12, 4))
    y = net.conv2d(second, 4, kernel=(3, 3))
    return net.model(net.binary("SUB", net.conv2d(first, 4), y, out=(0.9, 3)))


def reversed_outputs() -> bytes:
    net = Net(2)
    x = net.conv2d(net.input((1, 12, 12, 4)), 4, kernel=(3, 3))
    return net.model(net.conv2d(x, 2), x)


def unread(side: int) -> bytes:
    net = Net(3)
    net.input((1, side, side, 4))
    return net.model(net.conv2d(net.conv2d(net.input((1, 12, 12, 4)), 4, kernel=(3, 3)), 4))


def repeated() -> bytes:
    net = Net(5)
    x = net.input((1, 9, 9, 2))
    constant = net.tensor((2, 3), "FLOAT32", None, data=[[0.5, -1.0, 2.0], [3.0, 4.0, -0.0]])
    y = net.conv2d(net.conv2d(x, 4, kernel=(3, 3)), 3)
    return net.model(constant, y, x, net.conv2d(y, 2), y)


def apart() -> bytes:
    net = Net(6)
    a, b = net.input((1, 8, 8, 2)), net.input((1, 6, 6, 3))
    return net.model(net.conv2d(net.conv2d(b, 4, kernel=(3, 3)), 2), net.conv2d(net.conv2d(a, 4, kernel=(3, 3)), 2))


def wide() -> bytes:
    net = Net(7, activations="INT16")
    net.input((1, 3), None, dtype="FLOAT32")
    x = net.input((1, 12, 12, 4))
    net.input((1, 5), None, dtype="INT32")
    y = net.conv2d(net.conv2d(x, 4, kernel=(3, 3)), 2)
    return net.model(net.fully_connected(y, 3), y)


MADE: Mapping[str, Callable[[], bytes]] = {
    "swapped": swapped, "reversed": reversed_outputs, "repeated": repeated, "apart": apart, "wide": wide,
}  # fmt: skip
