"""Two devices exchange partial sums over faulty lines, with the executor running their programs."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from kernels.links import LINK, OK, PATIENCE, PEER, WAIT, Device
from kernels.test_link import FAULTS
from models import Net
from numpy.typing import NDArray
from property.oracle import original, run

import tflm_memopt
from tflm_memopt.format.limits import ALIGNMENT
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.message import message_of
from tflm_memopt.runtime.regions import CustomOperator, regions

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

UNITS = (24, 400, 6, 320, 4)
"""Dense layers: the second and the last have far more inputs than outputs."""
Bytes = NDArray[np.int8]


class Stream(ctypes.Structure):
    """tmo_stream."""

    _fields_ = (("rows", ctypes.c_uint32), ("iterations", ctypes.c_uint32))


@cache
def network() -> tuple[bytes, tuple[CustomOperator, ...], int]:
    """Return the model, the program of each device, and the number that identifies their messages."""
    net = Net(3)
    x = net.input((1, UNITS[0]))
    for units in UNITS[1:]:
        x = net.fully_connected(x, units)
    model = net.model(x)
    shared = tflm_memopt.optimize_devices(model, 2)
    assert shared.report.inputs == (1, 3)
    programs = tuple(regions(read(one.model))[0] for one in shared.models)
    kinds = [{op.kind for op in unpack(one.program).ops} for one in programs]
    assert all({Kind.SUMS, Kind.ADD_SUMS, Kind.SEND, Kind.RECEIVE} <= of for of in kinds[:1])
    assert {Kind.SUMS, Kind.ADD_SUMS} <= kinds[1]
    found = (message_of(op) for op in read(shared.models[0].original).graph.ops)
    return model, programs, next(c.identity for c in found if c)


def placed(data: bytes) -> NDArray[np.uint8]:
    room = np.zeros(len(data) + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    room[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return room[start : start + len(data)]


class Computing(Device):
    """A device that runs its program."""

    def __init__(self, library: ctypes.CDLL, number: int, rng: random.Random) -> None:
        _, programs, identity = network()
        self.image = placed(programs[number].program)
        self.workspace = placed(bytes(unpack(programs[number].program).workspace))
        self.input, self.output = np.zeros(UNITS[0], np.int8), np.zeros(UNITS[-1], np.int8)
        super().__init__(library, number, rng, identity)

    def inference(self) -> Iterator[int]:
        """Run one inference. Yields WAIT while it waits, then its status. Memory left from earlier inferences is
        never read.
        """
        stream, ends = Stream(), [] if self.number else [self.input.ctypes.data, self.output.ctypes.data]
        io = (ctypes.c_void_p * (len(ends) + 1))(*ends, ctypes.addressof(self.link))
        self.workspace[:] = self.rng.randrange(256)
        self.library.tmo_link_begin(ctypes.byref(self.link))
        arguments = (ctypes.c_void_p(self.image.ctypes.data), io, ctypes.c_void_p(self.workspace.ctypes.data))
        while (status := self.library.tmo_push(*arguments, ctypes.byref(stream))) == WAIT:
            if self.fails:
                self.fails, self.pending = False, b""
                self.restart(self.rng.randrange(1 << 16))
                status = LINK
                break
            if self.library.tmo_link_wait(ctypes.byref(self.link)) != OK:
                status = LINK
                break
            yield WAIT
        yield status


def together(first: Computing, second: Computing, x: Bytes, expected: Bytes) -> tuple[int, int]:
    """Run one inference and return both statuses. If the first device succeeds, its output is right."""
    first.input[:], first.output[:] = x, 0x55
    runs = {device: device.inference() for device in (first, second)}
    ended: dict[Computing, int] = {}
    turns = 0
    while len(ended) < len(runs):
        for device, one in runs.items():
            if device not in ended and (status := next(one)) != WAIT:
                ended[device] = status
        if ended.get(second) == OK and first not in ended and second.has_mail():
            del ended[second]  # it was one inference behind
            runs[second] = second.inference()
        turns += 1
        assert turns < 100 * PATIENCE, "no status within the time"
    if ended[first] == OK:
        np.testing.assert_array_equal(first.output, expected)
    return ended[first], ended[second]


@cache
def examples() -> list[tuple[Bytes, Bytes]]:
    """Return inputs and TFLM's outputs for them."""
    model, rng = original(network()[0]), np.random.default_rng(1)
    inputs = [rng.integers(-128, 128, (1, UNITS[0]), np.int8) for _ in range(8)]
    return [(x.ravel(), run(model, [x], 1)[0].ravel()) for x in inputs]


def devices(library: ctypes.CDLL, seed: int) -> tuple[Computing, Computing]:
    rng = random.Random(seed)
    first, second = Computing(library, 0, rng), Computing(library, 1, rng)
    first.other, second.other = second, first
    return first, second


def drawn(device: Computing) -> Any:
    return device.rng.choice(examples())


@pytest.mark.slow
def test_partial_sums_arrive(library: ctypes.CDLL) -> None:
    first, second = devices(library, 0)
    for x, expected in examples():
        assert together(first, second, x, expected) == (OK, OK)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_no_fault_leads_to_a_wrong_output(library: ctypes.CDLL, kind: str) -> None:
    """Each inference ends with a status, and later ones succeed again."""
    for seed in range(4):
        first, second = devices(library, 100 * seed + [*FAULTS].index(kind))
        for _ in range(4):
            for device in (first, second):
                device.pending = b""
                device.fault = partial(FAULTS[kind], device)
            assert set(together(first, second, *drawn(first))) <= {OK, LINK, PEER}
            for device in (first, second):
                device.fault, device.blocked, device.fails = None, 0, False
            ends = [together(first, second, *drawn(first)) for _ in range(3)]
            assert (OK, OK) in ends, ends
