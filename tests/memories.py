"""Builds models whose operators hold a state: SVDF and LSTM."""

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
    inputs, filters = net.shape(x)[-1], units * rank
    features = net.tensor((filters, inputs), affine=(0.01, 0), data=net.rng.integers(-127, 128, (filters, inputs)))
    time = net.tensor((filters, memory), dtype, affine=(0.01, 0), data=net.rng.integers(-127, 128, (filters, memory)))
    bias = net.tensor((units,), "INT32", affine=(state[0] * 0.01, 0), data=net.rng.integers(-2000, 2000, units))
    held = variable(net, (1, filters * memory), dtype, state)
    y = net.tensor((1, units), affine=out)
    options = schema.SVDFOptionsT(rank=rank, fusedActivationFunction=schema.ActivationFunctionType.RELU)
    return net.op("SVDF", [x, features, time, bias, held], [y], options)


def lstm(
    net: Net,
    x: int,
    units: int,
    *,
    hidden: Affine = (1 / 128, 0),
    cells: float = 2.0**-11,
    weights: float = 0.02,
    clip: float = 0.0,
    time_major: bool = False,
) -> int:
    """Add a UNIDIRECTIONAL_SEQUENCE_LSTM with the operands that converted Keras models have."""
    inputs = net.shape(x)[-1]

    def matrix(columns: int) -> int:
        return net.tensor((units, columns), affine=(weights, 0), data=net.rng.integers(-127, 128, (units, columns)))

    def bias() -> int:
        scale = net.affine(x)[0] * weights
        return net.tensor((units,), "INT32", (scale, 0), data=net.rng.integers(-3000, 3000, units))

    operands = [x, *(matrix(inputs) for _ in range(4)), *(matrix(units) for _ in range(4)), -1, -1, -1]
    operands += [*(bias() for _ in range(4)), -1, -1]
    operands += [variable(net, (1, units), "INT8", hidden), variable(net, (1, units), "INT16", (cells, 0))]
    options = schema.UnidirectionalSequenceLSTMOptionsT(
        fusedActivationFunction=schema.ActivationFunctionType.TANH, cellClip=clip, timeMajor=time_major
    )
    y = net.tensor((*net.shape(x)[:2], units), affine=hidden)
    return net.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [*operands, -1, -1, -1, -1], [y], options)


def lstm_network(seed: int = 2, *, steps: int = 1) -> bytes:
    net = Net(seed)
    y = lstm(net, net.input((1, steps, 24), (0.05, 5)), 32)
    y = lstm(net, y, 24, hidden=(1 / 127, -4), cells=2.0**-13)
    return net.model(net.softmax(net.fully_connected(net.reshape(y, (1, steps * 24)), 4, out=(0.1, 0))))


def svdf_network(seed: int = 1) -> bytes:
    net = Net(seed)
    y = net.input((1, 40), (0.05, -3))
    for units, rank, memory in ((64, 1, 3), (48, 2, 2), (48, 1, 4), (32, 1, 3)):
        y = svdf(net, y, units, rank=rank, memory=memory, state=(0.08, 0))
    return net.model(net.softmax(net.fully_connected(y, 4, out=(0.1, 0))))
