"""Test the projects that `optimize app.toml --emit` writes for several models."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streaming
from conftest import RESNET
from projects import TFLM, needs_host, told
from unit.command import CLOCKED, long, small

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.results import AppOptimized

LOW: Mapping[str, Any] = {"effort": 0.05, "seconds": 0.2}
LINE = r"(\w+): (?:.+, )?0 us, arena \d+ B, self-test: the same outputs as on a PC\n"


@cache
def several() -> AppOptimized:
    models = {
        "camera": AppModel(small(1), {"input": "stream:2"}),
        "state": AppModel(streaming.mixed()),
        "wake": AppModel(small(2), retain=True),
        "seen": AppModel(small(3), {"input": "external"}),
    }
    return optimize(App(models, (("state", "wake"),), options=LOW, name="door"))


@cache
def partitions() -> AppOptimized:
    return optimize(App({"net": AppModel(long(), pipeline=[2])}, yields=2.0, options=CLOCKED, name="line"))


@cache
def in_slow_memory() -> AppOptimized:
    models = {"a": AppModel(RESNET), "b": AppModel(RESNET, {"input": "external"})}
    return optimize(App(models, (("a", "b"),), options={**LOW, "memory": "fast=7kB,slow=20kB"}, name="two"))


APPS = {"in_slow_memory": in_slow_memory, "partitions": partitions, "several": several}


@pytest.mark.slow
@needs_host
@pytest.mark.parametrize(
    ("project", "app", "tflm"),
    [("esp-idf", "several", "SPRING"), ("esp-idf", "in_slow_memory", "SPRING"), ("platformio", "partitions", "AUTUMN")],
)
def test_all_models_run_in_turn(project: str, app: str, tflm: str, tmp_path: Path) -> None:
    result = APPS[app]()
    said = told(project, result.files({"arduino", project}), TFLM[tflm], tmp_path, loops=3)
    assert re.fullmatch(f"({LINE})+", said), said
    assert re.findall(LINE, said) == 3 * list(result.models)
