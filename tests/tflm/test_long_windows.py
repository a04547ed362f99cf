"""The converter accepts windows of more than 64 samples along one axis, although the library's windows have at most 64
rows.
"""

import random

import pytest
from models import Net
from property.floats import in_float

import tflm_memopt
from tflm_memopt.plan.plan import Builtin


def network(seed: int, dtype: str, kind: str) -> bytes:
    rng, net = random.Random(seed), Net(seed, activations=dtype)
    kernel, stride = rng.randint(65, 200), rng.choice((1, 1, 2, 3, 4, 8, 50))
    samples, channels = kernel + stride * rng.randint(5, 80) + rng.randint(0, stride), rng.choice((1, 1, 2, 3))
    down = rng.random() < 0.5
    x = net.input((1, samples, 1, channels) if down else (1, 1, samples, channels))
    along = [(n, 1) if down else (1, n) for n in (kernel, stride, 3)]
    padding, other = rng.choice(("SAME", "VALID")), rng.choice(("SAME", "VALID"))
    activation = rng.choice(("NONE", "RELU"))
    weighted = {"per_channel": rng.random() < 0.7, "bias": rng.random() < 0.7}
    options = {"kernel": along[0], "stride": along[1], "padding": padding, "activation": activation}
    if kind == "CONV_2D":
        x = net.conv2d(x, rng.choice((1, 4, 5)), **options, **weighted)
    elif kind == "DEPTHWISE_CONV_2D":
        x = net.depthwise_conv2d(x, multiplier=rng.choice((1, 1, 3)), **options, **weighted)
    else:
        padding = padding if kernel <= 8 * stride else "VALID"
        x = net.pool(x, kind=kind, kernel=along[0], stride=along[1], padding=padding, activation=activation)
        other = "SAME"
    return net.model(net.conv2d(x, 4, kernel=along[2], padding=other) if rng.random() < 0.7 else x)


KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")


def examine_long(seed: int, dtype: str = "", kind: str = "") -> None:
    data = network(seed, dtype or ("INT16", "INT8")[seed % 3 > 0], kind or KINDS[seed % 4])
    where = "stream" if seed % 2 else "arena"
    result = tflm_memopt.optimize(data, input=where, if_worthwhile=False, seconds=0.05)
    steps = result.plan.steps if result.plan else ()
    assert not [step for step in steps if isinstance(step, Builtin)], seed
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact, seed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
def test_random_windows(dtype: str, kind: str) -> None:
    for seed in range(4):
        examine_long(seed, dtype, kind)


@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_windows_that_cover_a_tall_map(kind: str, dtype: str) -> None:
    net = Net(8, activations=dtype)
    x = net.conv2d(net.input((1, 70, 4, 3)), 6, kernel=(3, 3))
    match kind:
        case "CONV_2D":
            y = net.conv2d(x, 5, kernel=(70, 4), padding="VALID")
        case "DEPTHWISE_CONV_2D":
            y = net.depthwise_conv2d(x, kernel=(70, 4), padding="VALID")
        case _:
            y = net.fully_connected(net.reshape(x, (1, 1680)), 5)
    data = net.model(y)
    for model in (data, in_float(data, 8))[: 2 if dtype == "INT8" else 1]:
        result = tflm_memopt.optimize(model, if_worthwhile=False, effort=0.05)
        assert not result.report.kept_builtin
        assert tflm_memopt.verify(model, result.model, runs=3).bit_exact
