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
