"""Test SUMS and ADD_SUMS in programs: validation by tmo_check(), and reading them back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kernels.loops import times
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramOp, ProgramTensor
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
