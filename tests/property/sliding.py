"""Draws random networks over a sliding window in time."""

import random

from ai_edge_litert import schema_py_generated as schema
from hypothesis import assume
from models import Net
from moving import concatenation, slice_, split, strided_slice
from property.floats import in_float
from property.networks import Recipe, build
from property.test_random_models import running

import tflm_memopt
from tflm_memopt.errors import ModelError, UsageError
from tflm_memopt.runtime.stimuli import Steps
from tflm_memopt.runtime.verify import verify

LAYERS = ("conv", "conv", "depthwise", "pointwise", "pool", "relu", "residual", "skip", "concat", "rows")


def network(seed: int) -> tuple[bytes, int]:
    rng = random.Random(seed)
    net = Net(seed, activations="INT16" if seed % 5 == 3 else "INT8")
    height, width = rng.randint(8, 40), rng.choice((1, 1, 1, 4, 7))
    first = x = net.input((1, height, width, rng.choice((1, 3, 8, 16))))
    step, padded = 1, rng.choice((0, 0, 0.3, 0.8))
    for _ in range(rng.randint(1, 6)):
        x, stride = _layer(net, x, rng.choice(LAYERS), rng, "SAME" if rng.random() < padded else "VALID")
        step *= stride
    if x == first:
        x = net.conv2d(x, 4, kernel=(2, 1), padding="VALID")
    rows = net.shape(x)[1]
    if rng.random() < 0.5 and rows > 1:
        x = net.depthwise_conv2d(x, kernel=(rows, 1), padding="VALID")
    end = rng.random()
    if end < 0.5:
        x = net.fully_connected(x, rng.randint(1, 5))
    elif end < 0.7:
        x = net.mean(x, (1, 2), keep=False)
    elif end < 0.85:
        _, h, w, _ = net.shape(x)
        x = net.pool(x, kernel=(h, rng.choice((1, w))), stride=(1, 1))
    return net.model(x), min(step * rng.randint(1, 3), height - 1)


def examine(seed: int) -> None:
    model, rows = network(seed)
    if seed % 5 == 4:
        model = in_float(model, seed)
    anew = 1 if seed % 3 == 0 else None
    result = tflm_memopt.optimize(model, input=f"sliding:{rows}", seconds=0.05, effort=0.05, max_macs=anew)
    assert result.report.changed and result.report.overhead <= 1
    found = verify(model, result.model, runs=3, seed=seed, steps=Steps(12, 5))
    assert found.bit_exact, found


def examine_recipe(recipe: Recipe) -> None:
    data, rows = build(recipe), 1 + recipe.seed % 3
    running(data)
    try:
        result = tflm_memopt.optimize(data, input=f"sliding:{rows}", effort=0.05)
    except (ModelError, UsageError) as refusal:
        assume(refusal.code not in ("tflm_refuses", "unsupported_input"))
        raise
    found = verify(data, result.model, runs=2, seed=recipe.seed, steps=Steps(12, 5))
    assert found.bit_exact, found


def _layer(net: Net, x: int, kind: str, rng: random.Random, padding: str) -> tuple[int, int]:
    _, h, w, c = net.shape(x)
    kernel = rng.randint(1, min(5, h)), rng.randint(1, min(3, w))
    dilation = rng.randint(1, 2) if (kernel[0] - 1) * 2 < h else 1, 1
    stride = rng.choice((1, 1, 2)) if dilation == (1, 1) and h > 4 else 1
    window = {"kernel": kernel, "stride": (stride, 1), "padding": padding}
    channels = rng.choice((2, 4, 8, 16))
    match kind:
        case "conv":
            return net.conv2d(x, channels, **window, dilation=dilation), stride
        case "depthwise":
            return net.depthwise_conv2d(x, **window, dilation=dilation), stride
        case "pool":
            return net.pool(x, kind=rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D")), **window), stride
        case "relu":
            return net.unary("RELU", x, dtype=net.dtype(x), out=net.affine(x)), 1
        case "residual":
            return net.add(net.conv2d(x, c), x), 1
        case "skip":
            return net.add(net.conv2d(x, c, kernel=kernel, dilation=dilation), x), 1
        case "concat":
            both = [x, net.conv2d(x, c, out=net.affine(x))]
            joined = net.tensor((1, h, w, 2 * c), net.dtype(x), net.affine(x))
            net.op("CONCATENATION", both, [joined], schema.ConcatenationOptionsT(axis=3))
            return net.conv2d(joined, channels), 1
        case "rows":
            return move_rows(net, x, rng), 1
    return net.conv2d(x, channels), 1


def move_rows(net: Net, x: int, rng: random.Random) -> int:
    _, h, w, c = net.shape(x)
    first, end = sorted(rng.sample(range(h + 1), 2))
    match rng.randrange(6):
        case 0:
            return slice_(net, x, (0, 0, 0, 0), (1, end, w, c))
        case 1:
            return slice_(net, x, (0, first, 0, 0), (1, end - first, w, c))
        case 2:
            return strided_slice(net, x, (slice(None), slice(first, None, 2), slice(None), slice(None)))
        case 3:
            return net.pad(x, [(0, 0), (first % 3, end % 3), (0, 0), (0, 0)])
        case 4 if h % 2 == 0:
            upper, lower = split(net, x, 1, 2)
            return net.add(upper, lower)
    return concatenation(net, [x, slice_(net, x, (0, first, 0, 0), (1, end - first, w, c))], 1)
