"""Test tmo_check() on the constants, tables and accesses of each kind of operator."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from models import Net
from moving import resize, transpose_conv

from kernels.loops import times
from kernels.samples import IN, patched
from tflm_memopt import optimize
from tflm_memopt.errors import ModelError
from tflm_memopt.format.codes import Flags, FloatFunction, InputPlace, RowLayout, SelectForm
from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.program import (
    ACCESS,
    HEADER,
    OP,
    TENSOR,
    NestRecord,
    Program,
    ProgramGroup,
    ProgramOp,
    ProgramTensor,
)
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status
from tflm_memopt.runtime.regions import regions

GATED = ProgramOp(
    Kind.MUL, (0, 2), 1, (0, 0), 0,
    multipliers=np.full(1, 1 << 30, np.int32), shifts=np.zeros(1, np.int8),
)  # fmt: skip


def gate(height: int = 1, width: int = 1, channels: int = 2, *, tiled: bool = False, **changes: Any) -> Program:
    constant = ProgramTensor(
        0, height, width, channels, height, PROGRAM_BASE, constant=bytes(height * width * channels)
    )
    image = ProgramTensor(0, 8, 6, 2, 8, base=1)
    out = ProgramTensor(0, 8, 6, 2, 8, base=2, nest=NestRecord(8, 8, 8) if tiled else None)
    op = dataclasses.replace(GATED, tile=int(tiled), **changes)
    iterations = 48 if tiled else 8
    group = ProgramGroup(0, 1, 0, times(iterations), int(tiled))
    return Program(1, 1, 8, iterations, (image, out, constant), (op,), (group,))


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, Status.OK, id="fine"),
        pytest.param({"height": 8, "channels": 1}, Status.OK, id="rows of one pixel"),
        pytest.param({"height": 8, "width": 6}, Status.OK, id="whole"),
        pytest.param({"kind": Kind.MAXIMUM, "multipliers": None, "shifts": None}, Status.OK, id="no scales"),
        pytest.param({"height": 2}, Status.OP, id="some of the rows"),
        pytest.param({"width": 3}, Status.OP, id="some of the columns"),
        pytest.param({"channels": 3}, Status.OP, id="more channels"),
        pytest.param({"multipliers": None}, Status.OP, id="no multipliers"),
        pytest.param({"kind": Kind.SUB, "param": 23}, Status.OP, id="too large a shift"),
        pytest.param({"kind": Kind.PRELU, "shifts": np.full(2, 31, np.int8)}, Status.OP, id="shift of 31"),
        pytest.param({"inputs": (0,), "input_zero_points": (0,)}, Status.OP, id="one operand"),
        pytest.param({"output": 2}, Status.OP, id="a constant that is written"),
    ],
)
def test_two_operands(changes: dict[str, Any], status: Status, tiled: bool) -> None:
    program = gate(**changes, tiled=tiled)
    assert host.check(pack(program), [IN], [IN]) is status


@pytest.mark.parametrize(
    ("rows", "tiled", "status"), [(8, False, Status.OK), (7, False, Status.TABLE), (48, True, Status.TABLE)]
)
def test_one_call_computes_all_rows(rows: int, tiled: bool, status: Status) -> None:
    program = gate(tiled=tiled)
    group = dataclasses.replace(program.groups[0], loops=times(rows), whole=1)
    image = pack(dataclasses.replace(program, groups=(group,), iterations=rows))
    assert host.check(image, [IN], [IN]) is status
    if status is Status.OK:
        data = np.arange(IN, dtype=np.int8)
        np.testing.assert_array_equal(host.run(image, [data], [IN])[0], host.run(pack(program), [data], [IN])[0])


def test_a_constant_lies_in_the_program() -> None:
    image = bytearray(pack(gate()))
    at = HEADER.itemsize + 2 * TENSOR.itemsize
    for offset, status in (
        (0, Status.TABLE),
        (len(image) - 1, Status.TABLE),
        (0xFFFFFFFF, Status.TABLE),
        (4, Status.OK),
    ):
        image[at : at + 4] = offset.to_bytes(4, "little")
        assert host.check(bytes(image), [IN], [IN]) is status


def test_only_filters_have_scales_per_channel() -> None:
    image = bytearray(pack(gate()))
    image[HEADER.itemsize + 3 * TENSOR.itemsize + 1] |= Flags.PER_CHANNEL
    assert host.check(bytes(image), [IN], [IN]) is Status.OP


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, Status.OK, id="fine"),
        pytest.param({"param": 0}, Status.OP, id="no rows"),
        pytest.param({"param": -1}, Status.OP, id="rows below none"),
        pytest.param({"param": 8}, Status.OP, id="more rows than the program has bytes for"),
        pytest.param({"param": 0x7FFFFFFF}, Status.OP, id="rows of more than 32 bits"),
        pytest.param({"weights": None}, Status.OP, id="no table"),
        pytest.param({"iterative": True}, Status.OP, id="iterative"),
        pytest.param({"inputs": (2,)}, Status.OP, id="pixels that are no indices"),
        pytest.param({"inputs": (3,)}, Status.OP, id="fewer indices than pixels"),
    ],
)
def test_gather(changes: dict[str, Any], status: Status) -> None:
    gather = ProgramOp(Kind.GATHER, (0,), 1, (0,), 0, param=5, weights=np.ones((5, 3), np.int8))
    tensors = (
        ProgramTensor(0, 8, 3, 4, 8, base=1),
        ProgramTensor(0, 8, 3, 3, 8, base=2),
        ProgramTensor(0, 8, 3, 3, 8, base=1),
        ProgramTensor(0, 8, 2, 4, 8, base=1),
    )
    gather = dataclasses.replace(gather, **changes)
    program = Program(1, 1, 2, 8, tensors, (gather,), (ProgramGroup(0, 1, 0, times(8)),))
    assert host.check(pack(program), [IN], [8 * 3 * 3]) is status


@pytest.mark.parametrize("layout", [RowLayout.HWC, RowLayout.ROWS_REVERSED])
def test_an_index_behind_the_table_of_gather(layout: RowLayout) -> None:
    """If the pixels of a row are stored in reverse order, a separate function copies the pixels."""
    indices, table = np.arange(4, dtype=np.int32), np.arange(12, dtype=np.int8).reshape(4, 3)
    gather = ProgramOp(Kind.GATHER, (0,), 1, (0,), 0, param=4, weights=table)
    tensors = ProgramTensor(0, 2, 2, 4, 2, base=1), ProgramTensor(0, 2, 2, 3, 2, base=2, layout=layout)
    program = pack(Program(1, 1, 2, 2, tensors, (gather,), (ProgramGroup(0, 1, 0, times(2)),)))
    (found,) = host.run(program, [indices], [12])
    order = slice(None, None, -1 if layout is RowLayout.ROWS_REVERSED else 1)
    np.testing.assert_array_equal(found.reshape(2, 6)[order], table.reshape(2, 6))
    with pytest.raises(ModelError, match="outside of its table"):
        host.run(program, [indices + 1], [12])


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("access", "status"),
    [
        (Access(), Status.OK),
        (Access(table=(0,)), Status.OK),
        (Access(table=(0xFFFF,)), Status.OP),
        (Access(table=(1,)), Status.OP),
        (Access(add=1), Status.OP),
        (Access(add=-1), Status.OP),
        (Access(extent=2), Status.OP),
    ],
)
def test_gather_nd_reads_the_rows_of_both_operands(access: Access, status: Status, first: bool) -> None:
    both = (access, Access()) if first else (Access(), access)
    gather = ProgramOp(Kind.GATHER_ND, (0, 1), 2, (0, 0), 0, access=both, bias=np.array([1], np.int32))
    tensors = (
        ProgramTensor(0, 1, 9, 3, 1, base=1),
        ProgramTensor(0, 1, 5, 4, 1, base=2),
        ProgramTensor(0, 1, 5, 3, 1, base=3),
    )
    program = Program(2, 1, 2, 1, tensors, (gather,), (ProgramGroup(0, 1, 0, times(1)),))
    assert host.check(pack(program), [27, 20], [15]) is status


@pytest.mark.parametrize(
    ("shape", "window", "status"),
    [
        ((8, 6, 2), Window(), Status.OK),
        ((8, 3, 4), Window(), Status.OK),
        ((4, 6, 2), Window(), Status.OP),
        ((9, 6, 2), Window(), Status.OP),
        ((8, 5, 2), Window(), Status.OP),
        ((8, 6, 3), Window(), Status.OP),
        ((8, 6, 2), Window(kernel_h=2, pad_top=1), Status.OP),
    ],
)
@pytest.mark.parametrize("kind", [Kind.LOOKUP, Kind.CURVE_S16])
def test_a_row_comes_from_one_row(shape: tuple[int, int, int], window: Window, status: Status, kind: Kind) -> None:
    height, width, channels = shape
    scale: dict[str, Any] = {"multipliers": np.full(1, 1 << 14, np.int32), "shifts": np.zeros(1, np.int8)}
    numbers = {"weights": np.zeros(256, np.int8)} if kind is Kind.LOOKUP else scale
    op = ProgramOp(kind, (0,), 1, (0,), 0, window=window, **numbers)
    tensors = (ProgramTensor(0, *shape, height, base=1), ProgramTensor(0, 8, 6, 2, 8, base=2))
    program = Program(1, 1, 16, 8, tensors, (op,), (ProgramGroup(0, 1, 0, times(8)),))
    assert host.check(pack(program), [height * width * channels], [IN]) is status


@pytest.mark.parametrize(
    ("shape", "out", "status"),
    [((8, 6, 3), 4, Status.OK), ((4, 6, 3), 4, Status.OP), ((8, 5, 3), 4, Status.OP), ((8, 6, 3), 3, Status.OP)],
)
def test_an_index_for_each_pixel(shape: tuple[int, int, int], out: int, status: Status) -> None:
    height, width, channels = shape
    tensors = (ProgramTensor(0, *shape, height, base=1), ProgramTensor(0, 8, 6, out, 8, base=2))
    op = ProgramOp(Kind.ARG_MAX, (0,), 1, (0,), 0)
    program = Program(1, 1, 16, 8, tensors, (op,), (ProgramGroup(0, 1, 0, times(8)),))
    assert host.check(pack(program), [height * width * channels], [8 * 6 * out]) is status


@pytest.mark.parametrize("operand", range(3))
@pytest.mark.parametrize(
    ("shape", "form", "status"),
    [
        ((8, 6, 2), 0, Status.OK),
        ((8, 1, 2), SelectForm.ONE_COLUMN, Status.OK),
        ((8, 6, 1), SelectForm.ONE_CHANNEL, Status.OK),
        ((8, 6, 2), 3, Status.OP),
        ((7, 6, 2), 0, Status.OP),
        ((8, 5, 2), 0, Status.OP),
        ((8, 6, 1), 0, Status.OP),
        ((8, 6, 2), SelectForm.ONE_COLUMN, Status.OP),
        ((8, 6, 2), SelectForm.ONE_CHANNEL, Status.OP),
    ],
)
def test_a_condition_and_two_choices(operand: int, shape: tuple[int, int, int], form: int, status: Status) -> None:
    param = sum((n | form * (n == operand)) << 4 * n for n in range(3)) | 1 << 12
    select = ProgramOp(Kind.SELECT, (0, 1, 2), 3, (0, 0, 0), 0, access=(Access(),) * 3, param=param)
    sizes = [shape if n == operand else (8, 6, 2) for n in range(3)]
    operands = (ProgramTensor(0, *size, size[0], base=n + 1) for n, size in enumerate(sizes))
    tensors = (*operands, ProgramTensor(0, 8, 6, 2, 8, base=4))
    program = Program(3, 1, 2, 8, tensors, (select,), (ProgramGroup(0, 1, 0, times(8)),))
    assert host.check(pack(program), [int(np.prod(size)) for size in sizes], [IN]) is status


@pytest.mark.parametrize(
    ("kind", "function", "status"),
    [
        (Kind.ARITHMETIC_F32, FloatFunction.ADD, Status.OK),
        (Kind.ARITHMETIC_F32, FloatFunction.DIV, Status.OP),
        (Kind.BINARY_32, FloatFunction.DIV, Status.OK),
        (Kind.BINARY_32, FloatFunction.ADD, Status.OP),
    ],
)
def test_each_kind_has_its_functions(kind: Kind, function: FloatFunction, status: Status) -> None:
    op = ProgramOp(kind, (0, 0), 1, (0, 0), 0, param=function << 4)
    tensors = (ProgramTensor(0, 8, 3, 4, 8, base=1), ProgramTensor(0, 8, 3, 4, 8, base=2))
    program = Program(1, 1, 2, 8, tensors, (op,), (ProgramGroup(0, 1, 0, times(8)),))
    assert host.check(pack(program), [IN], [IN]) is status


def test_an_access_is_checked_before_it_is_read() -> None:
    lookup = ProgramOp(Kind.LOOKUP, (0,), 1, (0,), 0, weights=np.zeros(256, np.int8))
    tensors = (ProgramTensor(16, 8, 6, 2, 0, base=1), ProgramTensor(0, 8, 6, 2, 8, base=2))
    program = Program(
        1, 1, 16 + IN, 8, tensors, (lookup,), (ProgramGroup(0, 1, 0, times(8)),), input=InputPlace.EXTERNAL
    )
    assert host.check(pack(program), [0], [IN]) is Status.OK
    at = HEADER.itemsize + 2 * TENSOR.itemsize
    assert host.check(patched(OP, at, program, kind=Kind.COPY, access=1 << 31), [0], [IN]) is Status.OP


def region_of(net: Net, output: int, **options: Any) -> tuple[bytearray, np.ndarray]:
    (region,) = regions(read(optimize(net.model(output), seconds=0, **options).model))
    image = bytearray(region.program)
    header = np.frombuffer(image, HEADER, 1)[0]
    return image, np.frombuffer(image, OP, header["n_ops"], header["ops"])


def test_a_table_of_rows_lies_in_the_program() -> None:
    net = Net(0)
    x = net.conv2d(net.input((1, 4, 4, 2)), 2)
    image, ops = region_of(net, resize(net, x, (7, 4)), without=("tiles",))
    sizes = [32], [7 * 4 * 2]
    assert host.check(bytes(image), *sizes) is Status.OK
    (at,) = np.flatnonzero(ops["access"])
    access = np.frombuffer(image, ACCESS, 1, ops["access"][at])
    for rows, status in ((7, Status.OK), (6, Status.OP)):
        access["table"] = len(image) - 2 * rows
        assert host.check(bytes(image), *sizes) is status


def changed(image: bytes, at: int, record: np.dtype[Any], name: str, by: int) -> bytes:
    other = bytearray(image)
    found = np.frombuffer(other, record, 1, at)
    found[name] = int(found[name][0]) + by
    return bytes(other)


@pytest.mark.parametrize("kind", ["half pixels", "whole pixels", "transposed"])
def test_rows_and_columns_fit_the_input(kind: str) -> None:
    """The validator accepts the converter's record, and no other first row, step or scale."""
    net = Net(0)
    x = net.conv2d(net.input((1, 4, 4, 2)), 2)
    if kind == "transposed":
        out = transpose_conv(net, x, 2, kernel=(3, 3), stride=(2, 2))
    else:
        out = resize(net, x, (8, 8), bilinear=True, half=kind == "half pixels")
    image, ops = region_of(net, out, without=("tiles",))
    sizes = [32], [int(np.prod(net.shape(out)))]
    assert host.check(bytes(image), *sizes) is Status.OK
    (number,) = np.flatnonzero(ops["access"])
    at = int(np.frombuffer(image, HEADER, 1)[0]["ops"]) + int(number) * OP.itemsize
    fields = {"stride_h": -2, "dilation_h": 1, "kernel_h": 2}
    if kind != "transposed":
        fields = {"half_pixel_centers": 2, "scale_h": 1, "scale_w": 512}
    for name, by in fields.items():
        assert host.check(changed(image, at, OP, name, by), *sizes) is Status.OP, name
    access = int(ops["access"][number])
    for name, by in {"add": 1, "mul": 1, "div": 1, "extent": -1, "table": 16}.items():
        assert host.check(changed(image, access, ACCESS, name, by), *sizes) is Status.OP, name
    if kind != "transposed":
        below = changed(changed(image, at, OP, "scale_h", 512), access, ACCESS, "mul", 512)
        below = changed(below, access, ACCESS, "add", 256 if kind == "half pixels" else 0)
        assert host.check(below, *sizes) is Status.OP


SCALES: dict[str, Any] = {"multipliers": np.full(5, 1 << 30, np.int32), "shifts": np.zeros(5, np.int8)}
MAKING = ProgramOp(
    Kind.SUMS, (0,), 1, (0,), 0, param=3, weights=np.ones((5, 1, 1, 2), np.int8)
)  # fmt: skip
ADDING = ProgramOp(
    Kind.ADD_SUMS, (0, 1), 2, (0, 0), 0, access=(Access(), Access()), param=0x23, **SCALES
)  # fmt: skip


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
