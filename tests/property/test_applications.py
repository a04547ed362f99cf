"""Several models in one arena have the same output bytes as in TFLM."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from applications import built
from projects import TFLM, needs_host
from property.applications import examine, network, planned

from tflm_memopt.check.checker import Sharer, check_together
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.request import request
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.pauses import live_at, moments
from tflm_memopt.plan.layout.joint import Tenant, share
from tflm_memopt.plan.plan import Group

CASES = range(8)


@pytest.mark.slow
@needs_host
def test_every_model_runs_as_it_does_alone(tmp_path: Path) -> None:
    machine = built(tmp_path, TFLM["AUTUMN"])
    said = [examine(case, machine) for case in CASES]
    assert any(" 0 pausing" not in one for one in said)
    assert any(" 0 turns" not in one for one in said)


@pytest.mark.slow
def test_an_input_whose_first_wait_is_its_only_one() -> None:
    planned(random.Random(160))


@pytest.mark.parametrize("seed", [3, 30])
def test_pauses_in_reversed_groups(seed: int) -> None:
    rng = random.Random(seed)
    options = {"effort": 0.05, "seconds": 0.05, "target": "cortex-m4"}
    asked = request(options)
    conversion = asked.conversion(network(rng, rng.randint(6, 24))).low()
    one, other = conversion.once.planned, asked.conversion(network(rng, 8)).once.planned
    assert any(isinstance(step, Group) and step.is_reversed for step in one.plan.steps)
    found = moments(one, dict.fromkeys(one.graph.ops, 1.0))
    chosen = np.sort(np.random.default_rng(seed).choice(len(found.time), 4, replace=False))
    tenants = [Tenant(one, paused=live_at(one, found, chosen)), Tenant(other)]
    shared = share(tenants, (), {(0, 1)}, seconds=0.05, budget=Budget(5))
    plan = replace(shared.plans[0], pauses=tuple(found.after[chosen].tolist()))
    pipeline.checked(one.graph, plan)
    sharers = [Sharer("one", plan, one.graph, ()), Sharer("other", shared.plans[1], other.graph, ())]
    check_together(sharers, set(), {(0, 1)})
