"""Test streamed inputs, whose rows the caller pushes, and external inputs, which stay in the caller's buffer."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import executor
import numpy as np
import pytest
from conftest import seeds
from numpy.typing import NDArray

from kernels import samples
from kernels.drawn import drawn
from kernels.loops import times
from kernels.sources import can_be_source, can_stream, external, streamed
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramTensor
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.plan.loops import Iteration, Repeat
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status


def test_a_streamed_input_gives_the_same_bytes() -> None:
    for seed in seeds(16):
        found = drawn(seed)
        program, inputs, expected = found.program, found.inputs, found.expected
        assert unpack(pack(program)) == program
        if not can_stream(program):
            continue
        data = pack(streamed(program, np.random.default_rng(seed)))
        assert host.input_mode(data) == InputPlace.STREAM
        (got,) = host.run(data, inputs, [expected.size])
        np.testing.assert_array_equal(got, expected)
        order = executor.iteration_order(pack(program), inputs, [expected.size])
        assert executor.iteration_order(data, inputs, [expected.size]) == order
        (watched,) = host.run_guarded(data, _apart(data, inputs[0].size, expected.size), inputs, [expected.size])
        np.testing.assert_array_equal(watched, expected)


def _apart(data: bytes, source: int, output: int) -> host.DeviceArena:
    size = -(-host.workspace_bytes(data) // 16) * 16
    return host.DeviceArena(size + source + output, (size,), (size + source,), 0)


@pytest.mark.parametrize("form", [host.INT8, host.UINT8])
def test_an_external_frame_gives_the_same_bytes(form: int) -> None:
    for seed in seeds(16):
        found = drawn(seed)
        if not can_be_source(found.program):
            continue
        program, rng = external(found.program), np.random.default_rng(seed)
        status, got = _run(program, found.inputs[0], found.expected.size, form, rng)
        assert status is Status.OK
        np.testing.assert_array_equal(got, found.expected)


def _run(
    program: Program, values: NDArray[Any], output: int, form: int, rng: np.random.Generator, **changes: int
) -> tuple[Status, NDArray[Any]]:
    (view,) = (t for t in program.tensors if t.base == 1)
    y, x, room = (int(v) for v in rng.integers(0, 4, 3))
    pitch = (x + view.width) * view.channels + room
    held = rng.integers(0, 256, (y + view.height, pitch), dtype=np.uint8)
    pixels = values.reshape(view.height, -1).view(np.uint8)
    held[y:, x * view.channels : pitch - room] = pixels ^ (0x80 if form == host.UINT8 else 0)
    held = held.ravel()[: held.size - room].copy()
    fields = {"bytes": held.nbytes, "pitch": pitch, "x": x, "y": y, "format": form} | changes
    source = host.TmoSource(data=held.ctypes.data, **fields)
    image, workspace = host.aligned(pack(program)), np.zeros(program.workspace + 16, np.uint8)
    place = workspace[-workspace.ctypes.data % 16 :]
    result = np.zeros(output, np.int8)
    io = (ctypes.c_void_p * 2)(ctypes.addressof(source), result.ctypes.data)
    return Status(host._library().tmo_run(image.ctypes.data, io, place.ctypes.data)), result


@pytest.mark.parametrize(
    "change",
    [
        lambda f: {"bytes": f["bytes"] - 1},
        lambda f: {"pitch": f["pitch"] + 1},
        lambda f: {"y": f["y"] + 1},
        lambda f: {"x": 0xFFFFFFFF},
        lambda f: {"y": 0xFFFFFFFF},
        lambda f: {"pitch": 0},
        lambda f: {"format": 2},
        lambda f: {"data": None},
    ],
)
def test_a_frame_that_does_not_hold_the_input_is_refused(change: Callable[[dict[str, int]], dict[str, Any]]) -> None:
    view, values = ProgramTensor(0, 4, 3, 2, 0, 1), np.zeros((4, 6), np.uint8)
    good: dict[str, Any] = {"data": values.ctypes.data, "bytes": 24, "pitch": 6, "x": 0, "y": 0, "format": 0}
    out = np.zeros(24, np.int8)

    def take(fields: dict[str, Any]) -> int:
        source = host.TmoSource(**fields)
        arguments = view.channels, view.width * view.channels, view.height, out.ctypes.data_as(ctypes.c_void_p)
        return int(host._library().tmo_take_rows(ctypes.byref(source), *arguments))

    assert take(good) == Status.OK
    assert take(good | change(good)) == Status.SOURCE


def test_an_external_program_does_not_run_on_a_frame_that_is_too_small() -> None:
    found, rng = drawn(2), np.random.default_rng(2)
    status, _ = _run(external(found.program), found.inputs[0], found.expected.size, host.INT8, rng, bytes=3)
    assert status is Status.SOURCE


Damage = Callable[[Program], Program]


def source(**changes: Any) -> Damage:
    def change(p: Program) -> Program:
        tensors = tuple(replace(t, **changes) if t.base == 1 else t for t in p.tensors)
        return replace(p, tensors=tensors)

    return change


@pytest.mark.parametrize(
    ("damage", "status"),
    [
        (source(pushed=0), Status.TABLE),
        (source(pushed=3), Status.TABLE),
        (source(pushed=8), Status.IO),
        (source(depth=9), Status.TABLE),
        (source(offset=1 << 20), Status.TABLE),
        (lambda p: replace(p, workspace=p.workspace - 1), Status.TABLE),
        (lambda p: replace(p, input=4), Status.TABLE),
        (lambda p: replace(p, n_inputs=0, n_outputs=2), Status.IO),
        (lambda p: replace(p, tensors=(*p.tensors, replace(p.tensors[0], depth=1))), Status.TABLE),
    ],
)
def test_damaged_streams_are_refused(damage: Damage, status: Status) -> None:
    good = external(samples.good())
    view = good.tensors[0]
    good = replace(good, input=InputPlace.STREAM, tensors=(replace(view, pushed=2, depth=8), *good.tensors[1:]))
    good = replace(good, workspace=view.offset + 8 * view.width * view.channels)
    output = next(t for t in good.tensors if t.base == 2)
    sizes = [2 * view.width * view.channels], [output.height * output.width * output.channels]
    assert host.check(pack(good), *sizes) is Status.OK
    assert host.check(pack(damage(good)), *sizes) is status


def test_a_later_group_finds_nothing_of_a_stream() -> None:
    program = samples.good()
    whole = tuple(replace(t, depth=8, offset=8 + 144 * n) for n, t in enumerate(program.tensors[1:3]))
    groups = (ProgramGroup(0, 1, 0, times(8)), ProgramGroup(1, 2, 2, (Repeat(8, (Iteration(0), Iteration(1))),)))
    program = replace(program, tensors=(program.tensors[0], *whole, program.tensors[3]), groups=groups, workspace=312)
    program = replace(program, ops=(*program.ops[:2], replace(program.ops[2], accumulator=300)))
    program = streamed(program, np.random.default_rng(5))
    assert program.input == InputPlace.STREAM
    view = program.tensors[0]
    second = replace(program.ops[1], inputs=(0, 0))
    wrong = replace(program, ops=(program.ops[0], second, program.ops[2]))
    sizes = [view.pushed * view.width * view.channels], [samples.OUT]
    assert host.check(pack(program), *sizes) is Status.OK
    assert host.check(pack(wrong), *sizes) is Status.OP
