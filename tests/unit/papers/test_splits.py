"""Compare the integer programs for splitting layers over devices with every possible split."""

from __future__ import annotations

import random
import sys
from itertools import product

from conftest import ROOT, seeds

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.fused_tiling.splits import LayerSplit, SplitLayer, footprint, least_memory, least_sent, possible, sent


def drawn(seed: int) -> list[SplitLayer]:
    rng = random.Random(seed)
    sizes = [rng.randint(1, 60) for _ in range(rng.randint(2, 6))]
    sums = [rng.randint(1, 4) for _ in sizes]
    return [
        SplitLayer(m, k, rng.choice((0, m * k)), s, rng.choice((None, 2 * k)))
        for m, k, s in zip(sizes, sizes[1:], sums, strict=False)
    ]


def test_no_other_split_sends_less() -> None:
    for seed in seeds(24):
        layers, devices = drawn(seed), 2 + seed % 5
        found = least_sent(layers, devices)
        every = [splits for splits in product(LayerSplit, repeat=len(layers)) if possible(splits)]
        assert found in every
        assert sent(layers, found, devices) == min(sent(layers, splits, devices) for splits in every)


def test_no_other_switch_takes_less_memory() -> None:
    for seed in seeds(24):
        layers, devices = drawn(seed), 2 + seed % 5
        found = footprint(layers, least_memory(layers, devices), devices)
        assert found == min(footprint(layers, switch, devices) for switch in range(len(layers) + 1))


def test_one_device_sends_nothing() -> None:
    layers = drawn(1)
    assert sent(layers, least_sent(layers, 1), 1) == 0
    assert least_sent([], 3) == ()


def test_fused_layers_stand_in_pairs() -> None:
    out, into, alone = LayerSplit.FUSED_OUT, LayerSplit.FUSED_IN, LayerSplit.FAN_OUT
    assert possible((out, into, alone, out, into))
    assert not any(map(possible, [(into,), (out,), (out, out, into), (out, alone), (alone, into)]))


def test_dear_partial_sums_are_not_sent() -> None:
    """A fan-in of few outputs pays off with one-byte sums, but not with four-byte ones."""
    assert LayerSplit.FAN_IN in least_sent([SplitLayer(64, 8)], 2)
    assert least_sent([SplitLayer(64, 20, sum_size=4)], 2) == (LayerSplit.FAN_OUT,)


def test_sums_are_sent_before_a_pool_makes_less_of_them() -> None:
    assert LayerSplit.FAN_IN in least_sent([SplitLayer(64, 8)], 2)
    assert least_sent([SplitLayer(64, 8, sums=80)], 2) == (LayerSplit.FAN_OUT,)
