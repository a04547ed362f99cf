"""Test BATCH_MATMUL in odd shapes, alone and between operators that make its matrices, against TFLM."""

from __future__ import annotations

import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Affine, Net
from tflm.test_moving import assert_all
from tflm.test_operators import affines, assert_equal, seeds

sizes = st.integers(1, 9)


@settings(max_examples=examples(13), deadline=None)
@given(batch=st.sampled_from([(), (1,), (3,), (1, 2)]), rows=sizes, depth=sizes, columns=sizes, adjoint=st.booleans(),
       a=affines, b=affines, out=affines, seed=seeds)  # fmt: skip
def test_batch_matmul(
    batch: tuple[int, ...], rows: int, depth: int, columns: int, adjoint: bool, a: Affine, b: Affine, out: Affine,
    seed: int,
) -> None:  # fmt: skip
    net = Net(seed)
    right = (columns, depth) if adjoint else (depth, columns)
    x, w = net.input((*batch, rows, depth), a), net.input((*batch, *right), b)
    assert_equal(net.model(net.batch_matmul(x, w, adjoint=adjoint, out=out)))


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(rows=sizes, depth=sizes, seed=seeds)
def test_attention(rows: int, depth: int, seed: int) -> None:
    """Queries, keys and values of one head, with one row per token."""
    net = Net(seed)
    x = net.input((1, rows, 1, 4))
    q, k, v = (net.reshape(net.conv2d(x, depth), (1, rows, depth)) for _ in range(3))
    scores = net.softmax(net.batch_matmul(q, k, adjoint=True, out=(0.5, 3)))
    assert_all(net, net.batch_matmul(scores, v, adjoint=False, out=(0.1, -5)))
