"""Test models that are cut into partitions, which run as a pipeline on two cores."""

from typing import Any

import numpy as np
import pytest
import streaming
from models import Net
from unit.command import long, small

from tflm_memopt import App, AppModel, explore, optimize
from tflm_memopt.apps.pipeline import expanded
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.runtime.process import run_model

LOW: dict[str, Any] = {"effort": 0.05, "seconds": 0.2}


def residual() -> bytes:
    net = Net(3)
    x = net.conv2d(net.input((1, 8, 8, 4)), 4, kernel=(3, 3))
    return net.model(net.conv2d(net.add(net.conv2d(x, 4), x), 4))


@pytest.mark.parametrize("starts", [[2], [1, 3]])
def test_partitions_are_the_model(starts: list[int]) -> None:
    app = expanded(App({"net": AppModel(long(), pipeline=starts)}))
    value = np.random.default_rng(1).integers(-128, 128, (2, 1, 44, 44, 3), dtype=np.int8)
    (whole,) = run_model(long(), [value], 2, 1).outputs
    for entry in app.models.values():
        assert isinstance(entry.model, bytes)
        (value,) = run_model(entry.model, [value], 2, 1).outputs
    assert np.array_equal(value, whole)


def test_the_tensor_between_two_partitions_exists_twice() -> None:
    models = {"net": AppModel(long(), pipeline=[2]), "other": AppModel(small())}
    result = optimize(App(models, (("net", "other"),), options=LOW))
    assert list(result.models) == ["net_1", "net_2", "other"]
    assert result.app.concurrent_pairs == {("net_1", "net_2"), ("net_1", "other"), ("net_2", "other")}
    assert [kept.model for kept in result.report.reserved] == ["net_1"]
    taken = []
    for done in result.models.values():
        assert done.plan is not None
        taken.append({at for b, first in done.plan.placed() for at in range(first, first + b.nbytes)})
    assert sum(map(len, taken)) == len(set.union(*taken))


@pytest.mark.slow
def test_partitions_run_on_two_cores() -> None:
    options = {**LOW, "clock": 64, "core": "cortex-m4"}

    def at(fps: float, cores: int) -> App:
        models = {"net": AppModel(long(), fps=fps, pipeline=[2])}
        return App(models, model_cores=cores, options=options)

    (alone,) = optimize(at(1, 1)).report.cores
    assert alone.models == ("net_1", "net_2")
    fastest = explore(at(1, 1)).points[0]
    assert fastest.busy
    fps = 1.02 / fastest.busy[0]
    with pytest.raises(DoesNotFit, match=r"the models need 10[0-9.]+ % of a core's time"):
        optimize(at(fps, 1))
    first, second = sorted(optimize(at(fps, 2)).report.cores, key=lambda core: core.models)
    assert (first.models, second.models) == (("net_1",), ("net_2",))
    assert max(first.busy, second.busy) < 1 < first.busy + second.busy


def test_models_that_exclude_each_other_stay_on_one_core() -> None:
    models = {name: AppModel(small(), fps=1, ms_measured=300) for name in ("a", "b", "c")}
    cores = optimize(App(models, (("a", "b"),), model_cores=2, options=LOW)).report.cores
    assert [core.models for core in cores].count(()) == 1
    cores = optimize(App(models, (("a", "b"), ("b", "c")), model_cores=2, options=LOW)).report.cores
    assert {core.models for core in cores} == {("a", "c"), ("b",)}


@pytest.mark.parametrize(
    ("entry", "code", "says"),
    [
        (AppModel(long(), pipeline=["nothing"]), "cannot_share", "no operator 'nothing'"),
        (AppModel(long(), pipeline=[3, 1]), "cannot_share", "3, 1 would feed each other in a cycle"),
        (AppModel(long(), pipeline=[0]), "cannot_share", "operators 0 "),
        (AppModel(residual(), pipeline=[2]), "cannot_share", "2 tensors cross where operator 2 ADD"),
        (AppModel(streaming.mixed(), pipeline=[1]), "cannot_share", "subgraphs cannot be a pipeline"),
        (AppModel(long(), ms=3, pipeline=[2]), "bad_config", "run as a whole"),
    ],
)
def test_what_is_no_pipeline_is_refused(entry: AppModel, code: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        optimize(App({"net": entry}, options=LOW))
    assert caught.value.code == code
    assert caught.value.where == "models.net.pipeline"
    assert caught.value.hint
