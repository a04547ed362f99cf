"""Plans models, and computes the expected outputs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from models import Net
from planning import lowered, plan_of

from tflm_memopt.check.checker import check
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.inputs import input_mode
from tflm_memopt.runtime import host, host_model, regions

OPTIONS = ConversionOptions(seconds=0.1)


def _classifier() -> bytes:
    net = Net(seed=3)
    stem = net.conv2d(net.input((1, 12, 12, 3)), 8, kernel=(3, 3), activation="RELU")
    y = net.conv2d(net.conv2d(stem, 8, kernel=(3, 3)), 8, kernel=(3, 3))
    group = net.add(stem, y)
    shortcut = net.conv2d(group, 12, stride=(2, 2))
    y = net.conv2d(net.conv2d(group, 12, kernel=(3, 3), stride=(2, 2)), 12, kernel=(3, 3))
    pooled = net.mean(net.unary("RELU", net.add(shortcut, y)), (1, 2))
    return net.model(net.softmax(net.fully_connected(pooled, 10)))


def _pyramid() -> bytes:
    net = Net(seed=4)
    x = net.depthwise_conv2d(net.input((1, 16, 6, 4)), kernel=(3, 3))
    small = net.conv2d(net.pool(x), 6, kernel=(3, 3))
    tiny = net.pool(small, kind="MAX_POOL_2D")
    return net.model(net.conv2d(tiny, 3), small, net.unary("RELU", x))


def _pointwise() -> bytes:
    net = Net(seed=5)
    x = net.input((1, 20, 1, 32))
    return net.model(net.conv2d(net.unary("RELU", net.conv2d(x, 16)), 24))


def _fused() -> bytes:
    net = Net(seed=6)
    x = net.conv2d(net.input((1, 30, 12, 1)), 8, kernel=(3, 3))
    y = net.depthwise_conv2d(net.conv2d(x, 8, kernel=(5, 3)), kernel=(3, 3), dilation=(2, 1))
    total = net.add(net.unary("RELU", x, out=net.affine(x)), y)
    return net.model(net.mean(net.conv2d(total, 12), (1, 2)), net.conv2d(net.conv2d(total, 8, kernel=(3, 3)), 1))


MODELS: dict[str, Callable[[], bytes]] = {
    "classifier": _classifier,
    "pyramid": _pyramid,
    "pointwise": _pointwise,
    "fused": _fused,
    "streamed": _fused,
    "streamed classifier": _classifier,
    "external": _pyramid,
    "external pointwise": _pointwise,
}
INPUTS = {
    "streamed": "stream:3",
    "streamed classifier": "stream",
    "external": "external",
    "external pointwise": "external",
}


@dataclass(frozen=True)
class Subject:
    model: Model
    planned: Planned
    inputs: list[np.ndarray]
    outputs: tuple[np.ndarray, ...]
    options: ConversionOptions

    def passes(self, mutant: Plan) -> bool:
        try:
            check(mutant, self.planned.graph)
        except PlanError:
            return False
        return True

    def runs_right(self, mutant: Plan) -> bool:
        new = read(lowered(self.model, replace(self.planned, plan=mutant), self.options))
        (region,) = regions.regions(new)
        sizes = [new.graph.tensors[t].nbytes for t in region.outputs]
        got = host.run_guarded(region.program, regions.placement(new, region), self.inputs, sizes)
        by_name = {new.graph.tensors[t].name: values for t, values in zip(region.outputs, got, strict=True)}
        names = [self.model.graph.tensors[t].name for t in self.model.graph.outputs]
        return all(np.array_equal(by_name[n], o.ravel()) for n, o in zip(names, self.outputs, strict=True))


@cache
def subject(name: str) -> Subject:
    model = read(MODELS[name]())
    options = replace(OPTIONS, input=input_mode(INPUTS.get(name, "arena")))
    planned = plan_of(model.graph, options)
    rng = np.random.default_rng(9)
    inputs = [rng.integers(-128, 128, model.graph.tensors[t].shape, np.int8) for t in model.graph.inputs]
    expected = host_model.run_model(model.graph, [values[None] for values in inputs], 1)
    return Subject(model, planned, inputs, expected, options)
