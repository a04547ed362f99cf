"""Models of an application may read their weights from copies in the shared arena."""

import pytest
from counted_traffic import assert_equal_outputs
from models import Net

import tflm_memopt
from tflm_memopt import App, AppModel
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Role


@pytest.fixture(scope="module")
def network() -> bytes:
    net = Net(4)
    x = net.conv2d(net.input((1, 14, 12, 3)), 16, kernel=(3, 3))
    return net.model(net.conv2d(net.depthwise_conv2d(net.conv2d(x, 24), kernel=(3, 3), stride=(2, 2)), 8))


@pytest.mark.parametrize(("concurrent", "yields"), [((), None), ([("a", "b")], None), ([("a", "b")], 1.0)])
def test_copies_share_the_arena(network: bytes, concurrent: list[tuple[str, str]], yields: float | None) -> None:
    net = Net(2)
    other = net.model(net.conv2d(net.input((1, 4, 4, 2)), 3))
    options = {"effort": 0.05, "core": "cortex-m4", "clock": 80e6}
    models = {"a": AppModel(network, {"weights": "ram"}), "b": AppModel(other)}
    done = tflm_memopt.optimize(App(models, concurrent, yields, options=options)).models["a"]
    assert done.plan and done.report.memories
    assert {role for b in done.plan.buffers if (role := b.role) is Role.WEIGHTS}
    assert done.report.memories.weights_copied > 0
    assert_equal_outputs(read(network), read(done.model))


def test_a_limit_of_ram_comes_first(network: bytes) -> None:
    app = App({"a": AppModel(network, {"weights": "ram"})}, options={"effort": 0.05})
    copied = tflm_memopt.optimize(app).report.arena.total
    limited = tflm_memopt.optimize(App(app.models, ram=copied - 1, options=app.options)).report
    assert limited.arena.total < copied
