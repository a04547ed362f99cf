"""Compare models with computed shapes, as converters write them, with TFLM. The operators of shapes are removed."""

from __future__ import annotations

import pytest
from models import Net
from moving import computed_shape, reshape_by
from property import oracle

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Builtin

QUICK = ConversionOptions(tiles=None, seconds=0.2)


def head(form: int, *, activations: str = "INT8") -> tuple[Net, int, int]:
    """Return a convolution, the RESHAPE that joins its height and width, and the shape operand."""
    net = Net(form, activations=activations)
    x = net.conv2d(net.input((1, 6, 5, 3)), 4, kernel=(3, 3))
    target = computed_shape(net, x, (1, 30, 4), form=form)
    return net, reshape_by(net, x, target, (1, 30, 4)), target


@pytest.mark.parametrize("activations", ["INT8", "INT16"])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_a_network_around_a_computed_shape_is_one_region(form: int, activations: str) -> None:
    net, y, _ = head(form, activations=activations)
    data = net.model(net.fully_connected(y, 5, batches=30))
    new, planned = oracle.rewrite(data, QUICK)
    assert not any(isinstance(step, Builtin) for step in planned.plan.steps)
    assert [op.type for op in read(new).graph.ops] == ["CUSTOM"]
    oracle.assert_same_bytes(data, new)
