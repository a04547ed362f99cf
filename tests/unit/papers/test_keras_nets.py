"""Test benchmarks/papers/msf_cnn/keras_nets.py: the layer list has the network's published properties."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.msf_cnn import keras_nets


def test_mobilenet_v2_has_the_parameters_of_keras() -> None:
    """Keras counts 3,504,872 trainable parameters at width 1: kernels, two per normalised channel, and the last
    bias.
    """
    layers = keras_nets.mobilenet_v2(224, 1.0)
    convolutions = [layer for layer in layers if layer["type"] in ("conv", "pw", "dw")]
    kernels = sum(
        layer["k"][0] * layer["k"][1] * layer["cout"] * (1 if layer["type"] == "dw" else layer["cin"])
        for layer in [*convolutions, layers[-1]]
    )
    assert kernels + sum(2 * layer["cout"] for layer in convolutions) + 1000 == 3_504_872


@pytest.mark.parametrize(("size", "width"), [(144, 0.35), (96, 1.0), (160, 0.5)])
def test_each_layer_reads_what_the_one_before_makes(size: int, width: float) -> None:
    for before, layer in pairwise(keras_nets.mobilenet_v2(size, width)):
        assert (layer["h"], layer["w"], layer["cin"]) == (before["ho"], before["wo"], before["cout"])
        if layer["type"] == "add":
            assert layer["cout"] % 8 == 0
