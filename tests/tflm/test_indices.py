"""Indices and casts, as at the ends of segmentation and pose networks, run row by row with TFLM's bytes."""

from __future__ import annotations

import numpy as np
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from moving import arg_max
from poses import cast
from tflm.test_moving import assert_all

import tflm_memopt

EXAMPLES = settings(max_examples=examples(6))
CASTS = [("INT8", "FLOAT32"), ("INT16", "FLOAT32"), ("INT8", "INT16"), ("INT16", "INT8")]


@EXAMPLES
@given(types=st.sampled_from(CASTS), size=st.tuples(*[st.integers(1, 9)] * 2), streamed=st.booleans())
def test_casts(types: tuple[str, str], size: tuple[int, int], streamed: bool) -> None:
    net = Net(activations=types[0])
    x = net.input((1, *size, 3))
    assert_all(net, cast(net, net.conv2d(x, 3, kernel=(3, 3)) if streamed else x, types[1]))


def test_lower_bytes_of_any_index() -> None:
    """Values beyond the range of the smaller type wrap around."""
    net = Net()
    x = net.conv2d(net.input((1, 2, 2, 1)), 300)
    y = arg_max(net, x)
    data = net.model(cast(net, y, "INT8"))
    result = tflm_memopt.optimize(data, if_worthwhile=False)
    assert tflm_memopt.verify(data, result.model, inputs=[np.full((1, 2, 2, 1), 77, np.int8)]).bit_exact
