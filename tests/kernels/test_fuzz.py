"""Damaged programs never get the executor out of its buffers: tmo_check() refuses them, or running them is harmless."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from kernels import networks
from kernels.conftest import Build
from kernels.programs import can_iterate, lower

from tflm_memopt.lower.program import pack

SAMPLES = 40


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Good programs of all kinds, with rings, branches and accumulators, their inputs and the outputs to expect."""
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for seed in range(SAMPLES):
        rng = np.random.default_rng(seed)
        network = networks.draw(rng, int(rng.integers(1, 7)))
        cuts = [len(network.ops) // 2] if len(network.ops) > 3 and rng.random() < 0.5 else []
        iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op)}
        program = lower(network, cuts, iterative, rng).program
        inputs = networks.random_inputs(rng, network)
        expected = network.run(inputs)[-1]
        sizes = struct.pack("<4I", 1, 1, inputs[0].size, expected.size)
        paths.append(folder / f"{seed}.bin")
        paths[-1].write_bytes(sizes + inputs[0].tobytes() + expected.tobytes() + pack(program))
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
