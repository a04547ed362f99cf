"""Damaged programs never get the executor out of its buffers: tmo_check() refuses them, or running them is harmless."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from kernels import networks, tile_plans
from kernels.conftest import Build, sample
from kernels.networks import Network
from kernels.programs import can_iterate, lower

from tflm_memopt.lower.program import Program

SAMPLES = 40


def by_row(seed: int) -> tuple[Network, Program, np.random.Generator]:
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(1, 7)))
    cuts = [len(network.ops) // 2] if len(network.ops) > 3 and rng.random() < 0.5 else []
    iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op)}
    return network, lower(network, cuts, iterative, rng).program, rng


def tiled(seed: int) -> tuple[Network, Program, np.random.Generator]:
    network, lowered, rng = (tile_plans.draw_groups if seed % 3 == 0 else tile_plans.draw)(seed)
    return network, lowered.program, rng


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Good programs of all kinds, with rings, lanes, branches, groups and sums, their inputs and outputs."""
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for seed in range(SAMPLES):
        network, program, rng = (tiled if seed % 2 else by_row)(seed)
        inputs = networks.random_inputs(rng, network)
        expected = network.run(inputs)[-1]
        paths.append(folder / f"{seed}.bin")
        paths[-1].write_bytes(sample(program, inputs[0], expected))
    return paths


@pytest.mark.parametrize("count", [5_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_damaged_programs(sanitized: Build, samples: list[Path], count: int) -> None:
    seed = 1
    done = subprocess.run(
        [sanitized("fuzz.c"), str(seed), str(count), *samples], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    refused, unfinished, finished, right = map(int, re.findall(r"\d+", done.stdout))
    assert refused + unfinished + finished == count
    assert min(refused, finished, right, finished - right) > count // 50, done.stdout  # damage of all kinds was tried
