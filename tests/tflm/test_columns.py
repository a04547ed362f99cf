"""If a network computes means of columns, the converter exchanges rows and columns, and changes no output byte."""

from unittest.mock import patch

import pytest
from conftest import examples
from hypothesis import HealthCheck, given, settings
from models import Net
from property.floats import in_float
from property.layers import COLUMNS
from property.networks import Recipe, recipes
from property.test_random_models import examine

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rewrite.rules import columns

FRAMES, BANDS, CHANNELS = 60, 32, 8


def spectrogram_net(activations: str = "INT8", channels: int = CHANNELS, *, transposed: bool = True) -> bytes:
    """Build a small BC-ResNet, which adds the mean over all frequencies to each frequency."""
    net = Net(activations=activations)
    if transposed:
        x = net.reshape(net.transpose(net.input((1, FRAMES, BANDS)), (0, 2, 1)), (1, BANDS, FRAMES, 1))
    else:
        x = net.input((1, BANDS, FRAMES, 1))
    x = net.conv2d(x, channels, kernel=(5, 5), stride=(2, 1), padding="SAME")
    for _ in range(2):
        y = net.depthwise_conv2d(x, kernel=(3, 1), padding="SAME")
        mean = net.depthwise_conv2d(net.mean(y, (1,)), kernel=(1, 3), padding="SAME")
        y = net.add(x, y)
        x = net.binary("ADD", y, net.conv2d(mean, channels), out=net.affine(y))
    return net.model(net.fully_connected(net.mean(x, (1, 2), keep=False), 4))


@pytest.mark.parametrize(("activations", "transposed"), [("INT8", False), ("INT16", True)])
def test_no_map_waits(activations: str, *, transposed: bool) -> None:
    data = spectrogram_net(activations, transposed=transposed)
    result = tflm_memopt.optimize(data, effort=0.05)
    item = 2 if activations == "INT16" else 1
    assert result.report.arena.total < item * BANDS // 2 * FRAMES * CHANNELS
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize("dtype", ["INT8", "INT16", "FLOAT32"])
def test_windows_over_more_rows_than_the_library_supports(dtype: str) -> None:
    """A convolution over all 80 electrodes gets a window of 80 columns."""
    net = Net(activations="INT16" if dtype == "INT16" else "INT8")
    x = net.depthwise_conv2d(net.conv2d(net.input((1, 80, 50, 1)), 8, kernel=(1, 9)), kernel=(80, 1), padding="VALID")
    x = net.conv2d(net.pool(x, kernel=(1, 4), stride=(1, 4)), 6, kernel=(1, 5))
    data = in_float(net.model(x), 1) if dtype == "FLOAT32" else net.model(x)
    result = tflm_memopt.optimize(data, effort=0.05)
    assert not result.report.kept_builtin
    assert result.report.arena.total < result.report.original_arena.total / 3
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


def test_maps_that_would_be_transposed_as_a_whole() -> None:
    graph = read(spectrogram_net(channels=2, transposed=False)).graph
    assert "TRANSPOSE" not in {op.type for op in canonicalise(graph).ops}


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [True, False])
def test_a_sliding_window_computes_only_new_rows(*, transposed: bool) -> None:
    data = spectrogram_net(transposed=transposed)
    result = tflm_memopt.optimize(data, effort=0.05, input="sliding:2")
    assert result.report.macs.rewritten < 0.5 * result.report.macs.original
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact


@pytest.mark.slow
@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(recipes(sets=(COLUMNS,)))
def test_random_networks(recipe: Recipe) -> None:
    with patch.object(columns, "WORTH", 0):
        examine(recipe)
