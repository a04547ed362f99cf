"""Test SUMS and ADD_SUMS in programs: validation by tmo_check(), and reading them back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from kernels import naive
from kernels.loops import times

from tflm_memopt.lower.program import NestRecord, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

SCALES: dict[str, Any] = {"multipliers": np.full(5, 1 << 30, np.int32), "shifts": np.zeros(5, np.int8)}
MAKING = ProgramOp(
    Kind.SUMS, (0,), 1, (0,), 0, param=3, weights=np.ones((5, 1, 1, 2), np.int8)
)  # fmt: skip
ADDING = ProgramOp(
    Kind.ADD_SUMS, (0, 1), 2, (0, 0), 0, access=(Access(), Access()), param=0x23, **SCALES
)  # fmt: skip
"""Sums of three bytes and of two."""


def rows(channels: int, base: int) -> ProgramTensor:
    return ProgramTensor(0, 4, 3, channels, 4, base)


def checked(tensors: tuple[ProgramTensor, ...], op: ProgramOp, inputs: int) -> Status:
    program = Program(inputs, 1, 2, 4, tensors, (op,), (ProgramGroup(0, 1, 0, times(4)),))
    return host.check(pack(program), [12 * 16] * inputs, [12 * 16])


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, Status.OK, id="fine"),
        pytest.param({"param": 5, "weights": np.ones((3, 1, 1, 2), np.int8)}, Status.OP, id="sums of five bytes"),
        pytest.param({"param": 0}, Status.OP, id="sums of no bytes"),
        pytest.param({"param": 4}, Status.OP, id="sums that do not divide the channels"),
        pytest.param({"param": 1}, Status.OP, id="weights behind the program's end"),
        pytest.param({"bias": np.ones(5, np.int32)}, Status.OP, id="a bias"),
        pytest.param({"window": Window(stride_h=0)}, Status.OP, id="no stride"),
        pytest.param({"iterative": True}, Status.OP, id="iterative"),
    ],
)
def test_sums_are_checked(changes: dict[str, Any], status: Status) -> None:
    assert checked((rows(2, 1), rows(15, 2)), dataclasses.replace(MAKING, **changes), 1) is status


def test_sums_run_in_tiles() -> None:
    """They run pixel by pixel, but not in channel groups."""
    tensors = (rows(2, 1), dataclasses.replace(rows(15, 2), nest=NestRecord(4, 4, 4)))
    for channel_groups, status in ((0, Status.OK), (2, Status.OP)):
        op = dataclasses.replace(MAKING, tile=1, channel_groups=channel_groups, group_channels=8)
        program = Program(1, 1, 8, 12, tensors, (op,), (ProgramGroup(0, 1, 0, times(12), 1),))
        assert host.check(pack(program), [12 * 16], [12 * 16]) is status
        if status is Status.OK:
            x = np.arange(24, dtype=np.int8)
            (made,) = host.run(pack(program), [x], [12 * 15])
            sums = np.repeat(x.reshape(12, 2).sum(axis=1), 5)
            np.testing.assert_array_equal(made.view(np.uint8).reshape(-1, 3)[:, 0], sums.astype(np.uint8))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, Status.OK, id="fine"),
        pytest.param({"bias": np.ones(5, np.int32)}, Status.OK, id="a bias"),
        pytest.param({"param": 0x10023, "multipliers": None, "shifts": None}, Status.OK, id="sums again"),
        pytest.param({"param": 0x50023}, Status.OP, id="sums of five bytes"),
        pytest.param({"param": 0x20023}, Status.OP, id="sums that do not divide the channels"),
        pytest.param({"param": 0x33}, Status.OP, id="more sums than the operand has"),
        pytest.param({"param": 0x22}, Status.OP, id="fewer sums than the operand has"),
        pytest.param({"param": 0x03}, Status.OP, id="sums of no bytes"),
        pytest.param({"multipliers": None}, Status.OP, id="no scales"),
        pytest.param({"access": (Access(), Access(extent=2))}, Status.OP, id="two rows"),
        pytest.param({"access": ()}, Status.OP, id="no access"),
    ],
)
def test_what_adds_sums_is_checked(changes: dict[str, Any], status: Status) -> None:
    tensors = (rows(15, 1), rows(10, 2), rows(5, 3))
    assert checked(tensors, dataclasses.replace(ADDING, **changes), 2) is status


@pytest.mark.parametrize("tile", [0, 2])
def test_more_channels_than_the_kernel_makes_at_once(tile: int) -> None:
    rng = np.random.default_rng(tile)
    weights = rng.integers(-127, 128, (70, 1, 1, 2), dtype=np.int8)
    nest = NestRecord(4, 4, 4) if tile else None
    tensors = (rows(2, 1), dataclasses.replace(rows(210, 2), nest=nest))
    op = dataclasses.replace(MAKING, weights=weights, tile=tile)
    iterations = 8 if tile else 4
    group = ProgramGroup(0, 1, 0, times(iterations), int(tile > 0))
    program = Program(1, 1, 8 if tile else 2, iterations, tensors, (op,), (group,))
    x = rng.integers(-128, 128, (4, 3, 2), np.int8)
    (made,) = host.run(pack(program), [x.ravel()], [12 * 210])
    np.testing.assert_array_equal(made.reshape(4, 3, 210), naive.output(op, [x], (4, 3, 210)))
