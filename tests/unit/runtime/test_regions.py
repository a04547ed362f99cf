"""Test programs inside rewritten models, and the addresses of their buffers."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from tflm.region_model import IN, OUT, WORKSPACE, program, region_tree

from tflm_memopt.model import writer
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.guard import guarded_runs
from tflm_memopt.runtime.regions import placement, regions


def test_places_buffers_that_tflm_plans_behind_the_others() -> None:
    tree = region_tree(program())
    tree.metadata = None
    model = read(writer.write(tree))
    arena = placement(model, regions(model)[0])
    ranges = sorted([(arena.inputs[0], np.prod(IN)), (arena.outputs[0], np.prod(OUT)), (arena.workspace, WORKSPACE)])
    assert all(a + n <= b for (a, n), (b, _) in pairwise(ranges))
    assert arena.workspace % 16 == 0
    assert guarded_runs(model, [[np.ones(IN, np.int8)]], seed=0) == (1, "")


def test_names_are_those_of_the_c_library() -> None:
    header = (Path(__file__).parents[3] / "custom_ops/tflm/tmo_names.h").read_text()
    assert set(re.findall(r'"(TMO_\w+)"', header)) == OURS
