"""Random networks with tensors in slow memory give the original's bytes under the official TFLM wheel."""

import random

import pytest
from conftest import seeds
from counted_traffic import counted
from property.forced import mobile, squeezed
from property.networks import Recipe, build
from property.oracle import assert_same_bytes, original

import tflm_memopt
from tflm_memopt.errors import MemoptError
from tflm_memopt.lower.traffic import BytesMoved
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.runtime import wheel

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


def examine_spilled(recipe: Recipe) -> bool:
    data, rng = build(recipe), random.Random(recipe.seed)
    try:
        before = original(data)
    except RuntimeError:
        return False
    target, share = rng.choice([*TARGETS]), rng.choice((0.85, 0.7, 0.55))
    where, weights = rng.choice(("arena", "stream", "external", "external")), rng.choice(("auto", "ram"))
    try:
        fast = int(tflm_memopt.optimize(data, effort=0.1, target=target, input=where).report.arena.total * share)
        memory = {"fast": fast, "slow": 1 << 24}
        made = tflm_memopt.optimize(data, effort=0.1, target=target, input=where, memory=memory, weights=weights)
    except MemoptError:
        return False
    memories = made.report.memories
    if not memories or not memories.slow:
        return False
    assert memories.fast <= fast
    assert counted(read(made.model)) == BytesMoved(memories.slow_read, memories.slow_written, memories.weights_read)
    wheel.provide_memory(memories.slow)
    if where == "arena":
        assert_same_bytes(data, made.model, seed=recipe.seed, before=before)
    else:
        found = tflm_memopt.verify(data, made.model, runs=2)
        assert found.difference is None, found.difference
        assert not found.failure
    return True


@pytest.mark.slow
def test_random_networks() -> None:
    spilled = [examine_spilled((squeezed if seed % 2 else mobile)(seed)) for seed in seeds(4)]
    assert sum(spilled) >= 2
