"""Random networks with streamed or external input give the bytes of the original under the official TFLM wheel. A test
runs several frames, and resets the model in the middle of a frame.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import seeds
from property.forced import bordered, mobile, random_settings, squeezed
from property.networks import build
from property.oracle import EFFORTS, assert_arena_as_predicted, draw_inputs, original, rewritten, run

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import UsageError
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.planner import Planner
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rowgraph.graph import tensor_sizes
from tflm_memopt.rowgraph.inputs import InputMode, with_input
from tflm_memopt.rowgraph.rematerialisation import choices, rematerialised
from tflm_memopt.runtime.feeds import feeder
from tflm_memopt.runtime.guard import guarded_runs

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

SECONDS = 0.05


def converted(data: bytes, seed: int) -> tuple[bytes, Planned]:
    rng = random.Random(seed)
    source = read(data)
    annotated = pipeline.annotate(source.graph)
    parts = pipeline.find_regions(annotated, fold=rng.random() < 0.5)
    assert parts is not None
    height = source.graph.tensors[source.graph.inputs[0]].shape[1]
    pushed = rng.choice([n for n in range(1, height + 1) if height % n == 0])
    mode = InputMode("external") if rng.random() < 0.4 else InputMode("stream", pushed)
    parts = with_input(parts, mode)
    found = choices(parts, tensor_sizes(parts))
    parts = rematerialised(parts, random.Random(seed).choice(found[-2:]).rematerialisations)
    tiles = rng.choice((None, NO_RECOMPUTE, random_settings(rng), random_settings(rng)))
    if tiles and tiles.max_overhead > 4:
        tiles = replace(tiles, max_overhead=4.0)
    op_per, effort = "group" if rng.random() < 0.3 else "region", EFFORTS[seed % len(EFFORTS)]
    options = ConversionOptions(op_per, seconds=SECONDS, effort=effort, input=mode, tiles=tiles)
    planner = Planner(parts, options)
    plan = planner.plan(rng.choice([planner.macs, *(point.macs for point in planner.points())]))
    planned = pipeline.checked(parts, plan)
    border = Int8Interface(source.graph, Changes(), {}, ())
    return pipeline.lower(source, border, planned, options), planned


def examine(seed: int, data: bytes) -> None:
    before = original(data)
    try:
        new, planned = converted(data, seed)
    except UsageError:
        return
    source = planned.graph.source
    assert source is not None
    after, outputs = rewritten(new), len(read(data).graph.outputs)
    feed = feeder(after, new, f"stream:{source.pushed}" if source.pushed else "external")
    frames = draw_inputs(data, seed)
    for number, inputs in enumerate(frames):
        expected = run(before, inputs, outputs)
        assert feed(inputs, number) == 0
        for k, values in enumerate(expected):
            np.testing.assert_array_equal(values, after.get_output(k), err_msg=f"seed {seed}, frame {number}")
    assert_arena_as_predicted(new)
    done, problem = guarded_runs(read(new), frames[:2], seed)
    assert not problem
    assert done


def test_sources() -> None:
    for seed in seeds(12, first=1000):
        examine(seed, build(bordered(mobile(seed))))


@pytest.mark.slow
def test_sources_and_rematerialisations() -> None:
    for seed in seeds(8, first=2000):
        examine(seed, build(bordered(squeezed(seed))))
