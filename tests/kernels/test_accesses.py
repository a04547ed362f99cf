"""The executor accesses only arena bytes that the checker expects, per iteration or, on two cores, between barriers."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import memories
import pytest
import streaming
from compiling import objects
from conftest import seeds
from property import two_cores
from property.forced import forced, mobile, random_settings, squeezed
from property.layers import Layer
from property.networks import Recipe, build
from property.oracle import convert

from kernels.conftest import INCLUDE, ROOT, SOURCES, WATCHED
from kernels.touched import by_executor, by_one_core, by_two_cores, counters_of, group_at, surprises
from tflm_memopt.check import checker
from tflm_memopt.check.arena import Ints
from tflm_memopt.check.cores import Bytes, CoresReplay
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.rowgraph.inputs import InputMode

WRAPPED = ("-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset", "-pthread", "-lm")
STATES = (
    streaming.mixed, streaming.pooled, streaming.recurrent, streaming.joined, memories.svdf_network,
    memories.lstm_network,
)  # fmt: skip
MODES = (InputMode("stream", 1), InputMode("external"))


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build touches.c and the library."""
    folder = tmp_path_factory.mktemp("touches")
    made = objects([*WATCHED.split(), *INCLUDE], SOURCES, folder)
    made += objects(["gcc", "-std=gnu11", "-O1", *INCLUDE], [ROOT / "tests/kernels/touches.c"], folder)
    subprocess.run(["gcc", *made, *WRAPPED, "-o", folder / "touches", "-lm"], check=True)
    return folder / "touches"


SPLIT_INTO_ROWS = Recipe(
    ((1, 46, 3, 1),),
    (
        Layer("conv", channels=1, kernel=(1, 1)),
        Layer("reshape", channels=2, kernel=(1, 1)),
        Layer("padded", other=1, channels=6, kernel=(3, 1), flag=True, zero_point=3),
    ),
)
"""A network whose counters lie in bytes of a row that the group's SPLITs do not read."""


def test_two_cores(executor: Path) -> None:
    for seed, recipe in enumerate((SPLIT_INTO_ROWS, *map(mobile, seeds(8)))):
        found = two_cores.planned(build(recipe), two_cores.drawn(seed), room=seed % 2 * two_cores.ROOM)
        assert found
        assert not surprises(by_executor(executor, *found, 2), by_two_cores(found[0]))


def test_a_counter_read_after_its_group_is_a_race() -> None:
    """If the first iteration of a group reads the counters of the previous group, the executor has a race."""
    found = two_cores.planned(build(mobile(0)), two_cores.drawn(0))
    assert found
    plan, graph = found[0].plan, found[0].graph
    accesses = CoresReplay._accesses

    def late(self: CoresReplay, core: int, *iteration: Any) -> Iterator[tuple[Ints, Bytes]]:
        if self.number > 0 and self.executed == 1:
            at, both = counters_of(plan, self.number - 1)
            own = 2 * len(group_at(plan, self.number - 1).stages)
            yield self.read, (at + core * (both - own), 1, own, own)
        yield from accesses(self, core, *iteration)

    with mock.patch.object(CoresReplay, "_accesses", late), pytest.raises(PlanError, match="since the last barrier"):
        checker.check(plan, graph)


def on_one_core(executor: Path, data: bytes, options: ConversionOptions) -> None:
    found = convert(data, options)
    assert found
    model, planned = found
    assert not surprises(by_executor(executor, planned, model, 1), by_one_core(planned))


def test_one_core(executor: Path) -> None:
    for seed in seeds(6, first=2):
        data = build((squeezed if seed % 2 else mobile)(seed))
        on_one_core(executor, data, ConversionOptions(seconds=0, target=random.Random(seed).choice(two_cores.TARGETS)))


def test_tiled_groups(executor: Path) -> None:
    for seed in seeds(6):
        with forced(random_settings(random.Random(seed)), seed):
            on_one_core(executor, build(mobile(seed)), ConversionOptions(seconds=0))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_inputs_outside_of_the_arena(executor: Path, mode: InputMode) -> None:
    for seed in seeds(4):
        on_one_core(executor, build(mobile(seed)), ConversionOptions(seconds=0, input=mode))


@pytest.mark.parametrize("network", STATES)
def test_states(executor: Path, network: Callable[[], bytes]) -> None:
    on_one_core(executor, network(), ConversionOptions(seconds=0, tiles=None))
