"""Batches of images run one image at a time."""

from collections.abc import Callable

import pytest
from models import Net
from moving import depth_to_space, space_to_depth
from property.oracle import original

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise


@pytest.mark.slow
def test_steps_of_time_are_a_batch() -> None:
    """Keras' TimeDistributed makes a batch from the time steps."""
    net = Net()
    x = net.reshape(net.input((1, 5, 10, 10, 3)), (5, 10, 10, 3))
    x = net.mean(net.conv2d(net.conv2d(x, 8, kernel=(3, 3)), 16, kernel=(3, 3)), (1, 2))
    data = net.model(net.fully_connected(net.reshape(x, (1, 80)), 4))
    result = tflm_memopt.optimize(data, effort=0.05)
    assert result.report.arena.head < 5 * 10 * 10 * 3 + 1_200
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize(("shape", "images"), [((4, 1, 1, 2), 1), ((1, 1, 1, 2), 4)])
def test_a_batch_with_a_constant_of_each_image_is_not_split(shape: tuple[int, ...], images: int) -> None:
    net = Net()
    x = net.input((4, 5, 5, 2))
    constant = net.tensor(shape, data=[[[[n, n]]] for n in range(shape[0])])
    data = net.model(net.add(net.conv2d(x, 2), constant))
    original(data)
    assert [op.type for op in canonicalise(read(data).graph).ops].count("ADD") == images
    result = tflm_memopt.optimize(data, if_worthwhile=False)
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize(
    "layer",
    [
        lambda net, x: net.conv2d(x, 8, kernel=(3, 3), groups=2),
        lambda net, x: net.conv2d(x, 4, kernel=(3, 3), groups=4),
        lambda net, x: depth_to_space(net, x, 2),
        lambda net, x: space_to_depth(net, x, 2),
    ],
    ids=["two groups", "a group per channel", "depth to space", "space to depth"],
)
def test_each_image_runs_row_by_row(layer: Callable[[Net, int], int]) -> None:
    net = Net()
    data = net.model(net.conv2d(layer(net, net.conv2d(net.input((2, 24, 6, 4)), 4, kernel=(3, 3))), 3))
    result = tflm_memopt.optimize(data, effort=0.05)
    assert result.report.kept_builtin == ()
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact
