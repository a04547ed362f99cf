"""Damaged programs never get the executor out of its buffers: tmo_check() refuses them, or running them is harmless."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kernels import networks, tile_plans
from kernels.conftest import Build, sample
from kernels.frames import external, streamed
from kernels.networks import Network
from kernels.packings import packed
from kernels.programs import can_iterate, lower
from models import Net
from moving import concatenation, depth_to_space, mirror_pad, resize, space_to_depth, transpose_conv
from numpy.typing import NDArray

from tflm_memopt import pipeline
from tflm_memopt.lower.lowering import Unit
from tflm_memopt.lower.lowering import lower as lower_plan
from tflm_memopt.lower.program import Program, pack, unpack
from tflm_memopt.model.packing import Family
from tflm_memopt.model.reader import read
from tflm_memopt.plan.planner import Options
from tflm_memopt.plan.regions import Region
from tflm_memopt.runtime import host

SAMPLES = 40


def by_row(seed: int) -> tuple[Network, Program, np.random.Generator]:
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(1, 7)))
    cuts = [len(network.ops) // 2] if len(network.ops) > 3 and rng.random() < 0.5 else []
    iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op)}
    lowered = lower(network, cuts, iterative, rng)
    return network, (packed(lowered, Family.DSP) if seed % 8 == 0 else lowered).program, rng


def tiled(seed: int) -> tuple[Network, Program, np.random.Generator]:
    network, lowered, rng = (tile_plans.draw_groups if seed % 3 == 0 else tile_plans.draw)(seed)
    return network, (packed(lowered, Family.DSP) if seed % 8 == 1 else lowered).program, rng


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Good programs of all kinds, with rings, lanes, branches, groups and sums, their inputs and outputs."""
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for seed in range(SAMPLES):
        network, program, rng = (tiled if seed % 2 else by_row)(seed)
        program = {2: external, 3: streamed}.get(seed % 4, lambda p, _: p)(program, rng)
        inputs = networks.random_inputs(rng, network)
        expected = network.run(inputs)[-1]
        paths.append(folder / f"{seed}.bin")
        paths[-1].write_bytes(sample(program, inputs[0], expected))
    for k, (image, inputs) in enumerate(planned_programs()):
        (expected,) = host.run(image, [inputs], [output_bytes(unpack(image))])
        paths.append(folder / f"planned{k}.bin")
        paths[-1].write_bytes(sample(image, inputs, expected.view(np.int8)))
    return paths


def output_bytes(program: Program) -> int:
    t = program.tensors[program.ops[-1].output]
    return t.height * t.width * t.channels


def planned_programs() -> Iterator[tuple[bytes, NDArray[np.int8]]]:
    """Of operators that read no windows, and of int16, by row and tiled; with their inputs."""

    def joined(net: Net, x: int) -> int:
        y = net.conv2d(x, 4, kernel=(3, 3))
        return concatenation(net, [y, space_to_depth(net, depth_to_space(net, y, 2), 2), y], 1)

    def mirrored(net: Net, x: int) -> int:
        return net.conv2d(mirror_pad(net, x, [(0, 0), (2, 1), (1, 2), (0, 1)], reflect=True), 2, kernel=(3, 3))

    def resized(net: Net, x: int) -> int:
        y = resize(net, net.conv2d(x, 3, kernel=(3, 3)), (11, 7), bilinear=True, half=True)
        return transpose_conv(net, net.pad(y, [(0, 0), (1, 0), (0, 2), (0, 0)]), 3, kernel=(3, 2), stride=(2, 2))

    def wide(net: Net, x: int) -> int:
        y = net.depthwise_conv2d(net.conv2d(x, 4, kernel=(3, 3)), multiplier=2, kernel=(2, 3))
        return net.fully_connected(net.conv2d(y, 3), 5)

    by_row = Options(tiles=None, seconds=0.2)
    for build, bits, options in (
        (joined, 8, by_row), (mirrored, 8, by_row), (resized, 8, by_row), (wide, 16, by_row),
        (wide, 16, Options(seconds=0.2)),
    ):  # fmt: skip
        net = Net(activations=f"INT{bits}")
        source = read(net.model(build(net, net.input((1, 6, 5, 2)))))
        planned = pipeline.make_plan(pipeline.understand(source.graph), options)
        assert planned is not None
        (node,) = planned.partition.nodes
        assert isinstance(node, Region)
        unit = Unit(tuple(range(len(planned.plan.steps))), node.inputs, node.outputs)
        inputs = np.random.default_rng(0).integers(-128, 128, (1, 6, 5, 2 * bits // 8), np.int8)
        yield pack(lower_plan(planned.plan, unit, planned.partition.ops)), inputs


@pytest.mark.slow
def test_damaged_programs(sanitized: Build, samples: list[Path]) -> None:
    seed, count = 1, 100_000
    done = subprocess.run(
        [sanitized("fuzz.c"), str(seed), str(count), *samples], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    refused, unfinished, finished, right = map(int, re.findall(r"\d+", done.stdout))
    assert refused + unfinished + finished == count
    assert min(refused, finished, right, finished - right) > count // 50, done.stdout  # damage of all kinds was tried
