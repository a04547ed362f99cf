"""Models whose operators have variables of their own: SVDF."""

from __future__ import annotations

from ai_edge_litert import schema_py_generated as schema
from models import Affine, Net


def variable(net: Net, shape: tuple[int, ...], dtype: str, affine: Affine) -> int:
    tensor = net.tensor(shape, dtype, affine)
    net.graph.tensors[tensor].isVariable = True
    return tensor


def svdf(
    net: Net,
    x: int,
    units: int,
    *,
    rank: int = 1,
    memory: int = 8,
    state: Affine = (0.1, 0),
    out: Affine = (0.1, -5),
    dtype: str = "INT8",
) -> int:
    """SVDF of random weights. dtype: of its state and its weights along time."""
    inputs, filters = net.shape(x)[-1], units * rank
    features = net.tensor((filters, inputs), affine=(0.01, 0), data=net.rng.integers(-127, 128, (filters, inputs)))
    time = net.tensor((filters, memory), dtype, affine=(0.01, 0), data=net.rng.integers(-127, 128, (filters, memory)))
    bias = net.tensor((units,), "INT32", affine=(state[0] * 0.01, 0), data=net.rng.integers(-2000, 2000, units))
    held = variable(net, (1, filters * memory), dtype, state)
    y = net.tensor((1, units), affine=out)
    options = schema.SVDFOptionsT(rank=rank, fusedActivationFunction=schema.ActivationFunctionType.RELU)
    return net.op("SVDF", [x, features, time, bias, held], [y], options)


def svdf_network(seed: int = 1) -> bytes:
    """A keyword network: layers that remember a few steps each, of rank 1 and 2, and a dense one."""
    net = Net(seed)
    y = net.input((1, 40), (0.05, -3))
    for units, rank, memory in ((64, 1, 3), (48, 2, 2), (48, 1, 4), (32, 1, 3)):
        y = svdf(net, y, units, rank=rank, memory=memory, state=(0.08, 0))
    return net.model(net.softmax(net.fully_connected(y, 4, out=(0.1, 0))))
