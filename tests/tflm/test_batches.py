"""Batches of images run one image at a time."""

from __future__ import annotations

import random

import pytest
from conftest import seeds
from models import Net
from moving import transpose_conv
from property.oracle import original

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise


def network(seed: int) -> bytes:
    """Return a random network on a batch of images."""
    rng, net = random.Random(seed), Net(seed)
    x = net.input((rng.choice((2, 3, 4, 8)), rng.randint(6, 14), rng.randint(4, 10), rng.choice((1, 3, 4))))
    for _ in range(rng.randint(2, 6)):
        n, h, w, c = net.shape(x)
        match rng.choice(
            ("conv", "depthwise", "average", "max", "add", "relu", "softmax", "logistic", "reshape", "up")
        ):
            case "conv":
                kernel = rng.randint(1, 3), rng.randint(1, 3)
                x = net.conv2d(x, rng.choice((3, 8)), kernel=kernel, stride=rng.choice(((1, 1), (2, 2))))
            case "depthwise":
                x = net.depthwise_conv2d(x)
            case "average":
                x = net.pool(x, padding="SAME", stride=(1, 1))
            case "max":
                x = net.pool(x, kind="MAX_POOL_2D", padding="SAME")
            case "add":
                x = net.add(x, net.conv2d(x, c))
            case "relu":
                x = net.unary("RELU", x, out=net.affine(x))
            case "softmax":
                x = net.softmax(x)
            case "logistic":
                x = net.unary("LOGISTIC", x, out=(1 / 256, -128))
            case "up" if h < 12:
                x = transpose_conv(net, x, 4, kernel=(3, 3), stride=(2, 2))
            case "reshape":
                x = net.reshape(x, (n, h * w, 1, c))
    x = net.mean(x, (1, 2), keep=rng.random() < 0.5)
    return net.model(net.fully_connected(x, 5) if len(net.shape(x)) == 2 else x)


@pytest.mark.slow
def test_random_batches() -> None:
    for seed in seeds(3):
        data = network(seed)
        result = tflm_memopt.optimize(data, if_worthwhile=False, effort=0.05, seconds=0.05)
        assert tflm_memopt.verify(data, result.model, runs=3).bit_exact, seed
        assert result.report.arena.total <= result.report.original_arena.total, seed


@pytest.mark.slow
def test_steps_of_time_are_a_batch() -> None:
    """Keras' TimeDistributed makes a model in which the steps of time are a batch."""
    net = Net()
    x = net.reshape(net.input((1, 5, 10, 10, 3)), (5, 10, 10, 3))
    x = net.mean(net.conv2d(net.conv2d(x, 8, kernel=(3, 3)), 16, kernel=(3, 3)), (1, 2))
    data = net.model(net.fully_connected(net.reshape(x, (1, 80)), 4))
    result = tflm_memopt.optimize(data, effort=0.05)
    assert result.report.arena.head < 5 * 10 * 10 * 3 + 1_200
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize(("shape", "why"), [((4, 1, 1, 2), "differs from image to image"), ((1, 1, 1, 2), "")])
def test_a_constant_of_each_image_is_refused(shape: tuple[int, ...], why: str) -> None:
    net = Net()
    x = net.input((4, 5, 5, 2))
    constant = net.tensor(shape, data=[[[[n, n]]] for n in range(shape[0])])
    data = net.model(net.add(net.conv2d(x, 2), constant))
    original(data)
    found = canonicalise(read(data).graph)
    assert [refusal.reason.partition("constant ")[2] for refusal in found.refusals if refusal.rule == "batched"] == (
        [why] if why else []
    )
    result = tflm_memopt.optimize(data, if_worthwhile=False)
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact
