"""Test which models can have a streamed or external input."""

from collections.abc import Callable

import pytest
from models import Net
from planning import plan_of

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Group
from tflm_memopt.rowgraph.inputs import InputMode

SECONDS = 0.1


def chain(net: Net, x: int) -> int:
    return net.conv2d(net.conv2d(x, 6, kernel=(3, 3)), 4, kernel=(3, 3), stride=(2, 2))


def two_inputs() -> bytes:
    net = Net(2)
    x, y = net.input((1, 8, 8, 2)), net.input((1, 8, 8, 2))
    return net.model(net.add(x, y))


def input_is_output() -> bytes:
    net = Net(3)
    x = net.input((1, 8, 8, 2))
    return net.model(net.conv2d(x, 2), x)


def builtin_beside() -> bytes:
    net = Net(6)
    x = net.input((1, 12, 8, 3))
    return net.model(chain(net, x), net.normalized(x))


def two_regions() -> bytes:
    net = Net(8)
    x = net.input((1, 12, 8, 3))
    y = net.normalized(net.conv2d(x, 3))
    return net.model(net.add(y, x))


@pytest.mark.parametrize(
    ("model", "where", "what", "hint"),
    [
        (two_inputs, "stream", "streamed: the model has 2 inputs", "--input arena"),
        (input_is_output, "stream", "is also an output", "--input arena"),
        (builtin_beside, "external", "L2_NORMALIZATION, which stays builtin, reads it whole", "--input arena"),
        (two_regions, "stream", "builtin operators come between", "--input external, or --input arena"),
    ],
)
def test_inputs_that_have_to_stay(model: Callable[[], bytes], where: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        tflm_memopt.optimize(model(), input=where, seconds=SECONDS)
    assert what in refused.value.what
    assert refused.value.hint == hint


def test_all_readers_of_a_stream_are_in_the_first_group() -> None:
    net = Net(9)
    x = net.input((1, 16, 6, 4))
    data = net.model(net.add(net.conv2d(net.conv2d(x, 4, kernel=(3, 3)), 4, kernel=(5, 5)), x))
    planned = plan_of(read(data).graph, ConversionOptions(seconds=SECONDS, input=InputMode("stream", 2)))
    first = planned.plan.steps[0]
    assert isinstance(first, Group)
    assert {stage.op for stage in first.stages} >= {i for i, op in planned.graph.ops.items() if 0 in op.inputs}
