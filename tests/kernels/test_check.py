"""tmo_check() refuses each kind of damage, with the status that says which."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tflm_memopt.errors import ModelError
from tflm_memopt.lower.order import ORDER, Order
from tflm_memopt.lower.program import (
    INPUT_EXTERNAL,
    LAYOUT_PIXELS_TURNED,
    LAYOUT_ROWS_TURNED,
    PROGRAM_BASE,
    Lane,
    Program,
    ProgramBlock,
    ProgramOp,
    ProgramTensor,
    WalkRecord,
)
from tflm_memopt.lower.records import FLAG_PER_CHANNEL, FLAG_SUMS, HEADER, OP, TENSOR
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.rowop import Kind, Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

IN, OUT = 8 * 6 * 2, 1 * 1 * 3
FIRST_OP = HEADER.itemsize + 4 * TENSOR.itemsize
TILED_OP = HEADER.itemsize + 5 * TENSOR.itemsize


def good() -> Program:
    """CONV 3x3 into a ring, ADD of the ring with itself, iterative MEAN-like convolution over all that."""
    scale = {"multipliers": np.full(3, 1 << 30, np.int32), "shifts": np.full(3, -7, np.int8)}
    conv = ProgramOp(
        kind=Kind.CONV,
        inputs=(0,),
        producers=(None,),
        output=1,
        input_zero_points=(0,),
        output_zero_point=0,
        window=Window(3, 3, 1, 1, 1, 1, 1, 1),
        weights=np.ones((3, 3, 3, 2), np.int8),
        bias=np.zeros(3, np.int32),
        **scale,
    )
    add = dataclasses.replace(
        conv, kind=Kind.ADD, inputs=(1, 1), producers=(0, 0), output=2, input_zero_points=(0, 0), param=20,
        window=Window(), weights=None, bias=None,
    )  # fmt: skip
    whole = dataclasses.replace(
        conv, inputs=(2,), producers=(1,), output=3, window=Window(kernel_h=8, kernel_w=6), iterative=True, sink=True,
        accumulator=104, weights=np.ones((3, 8, 6, 3), np.int8),
    )  # fmt: skip
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(8, 8, 6, 3, 2),
        ProgramTensor(44, 8, 6, 3, 3),
        ProgramTensor(0, 1, 1, 3, 1, base=2),
    )
    return Program(1, 1, 116, 24, tensors, (conv, add, whole), (ProgramBlock(0, 3, 0),))


def tensor(i: int, **changes: Any) -> Callable[[Program], Program]:
    def change(p: Program) -> Program:
        return dataclasses.replace(
            p, tensors=(*p.tensors[:i], dataclasses.replace(p.tensors[i], **changes), *p.tensors[i + 1 :])
        )

    return change


def op(i: int, **changes: Any) -> Callable[[Program], Program]:
    def change(p: Program) -> Program:
        return dataclasses.replace(p, ops=(*p.ops[:i], dataclasses.replace(p.ops[i], **changes), *p.ops[i + 1 :]))

    return change


def window(i: int, **changes: int) -> Callable[[Program], Program]:
    return lambda p: op(i, window=dataclasses.replace(p.ops[i].window, **changes))(p)


def whole(**changes: Any) -> Callable[[Program], Program]:
    return lambda p: dataclasses.replace(p, **changes)


def order(ops: tuple[int, ...]) -> Callable[[Program], Program]:
    return whole(orders=(Order(1, 5, ops),))


def softmax(**changes: Any) -> Callable[[Program], Program]:
    return op(1, kind=Kind.SOFTMAX, inputs=(1,), producers=(0,), input_zero_points=(0,), **changes)


REFUSED: list[tuple[str, Callable[[Program], Program], Status]] = [
    ("tensor outside of the workspace", tensor(1, offset=116 - 35), Status.TABLE),
    ("offset and size that overflow 32 bits", tensor(1, offset=0xFFFFFFFF), Status.TABLE),
    ("size of 64 bits", tensor(1, channels=0xFFFFFFFF, width=0xFFFF, height=0xFFFF, depth=0xFFFF), Status.TABLE),
    ("input larger than given", tensor(0, offset=1), Status.IO),
    ("output larger than given", tensor(3, channels=4), Status.IO),
    ("no such base", tensor(1, base=3), Status.TABLE),
    ("no rows", tensor(1, height=0), Status.TABLE),
    ("ring without rows", tensor(1, depth=0), Status.TABLE),
    ("ring deeper than the tensor", tensor(3, depth=2), Status.TABLE),
    ("no columns", tensor(1, width=0), Status.TABLE),
    ("no channels", tensor(1, channels=0), Status.TABLE),
    ("no such tensor", op(0, output=4), Status.OP),
    ("no such operand", op(0, inputs=(4,)), Status.OP),
    ("producer that comes later", op(1, producers=(0, 2)), Status.OP),
    ("its own producer", op(1, producers=(1, 0)), Status.OP),
    ("producer of another tensor", op(2, producers=(0,)), Status.OP),
    ("ring without a producer", op(1, producers=(0, None)), Status.OP),
    ("ADD of one operand", op(1, inputs=(1,), producers=(0,), input_zero_points=(0,)), Status.OP),
    ("CONV of two operands", op(0, inputs=(0, 0), producers=(None, None), input_zero_points=(0, 0)), Status.OP),
    ("empty activation range", op(0, activation=(1, 0)), Status.OP),
    ("no kernel", window(0, kernel_h=0), Status.OP),
    ("no stride", window(0, stride_w=0), Status.OP),
    ("no dilation", window(0, dilation_h=0), Status.OP),
    ("window in the padding only", window(0, pad_left=3), Status.OP),
    ("last window below the input", window(0, stride_h=2), Status.OP),
    ("last window beside the input", window(0, stride_w=2), Status.OP),
    ("window taller than the kernel takes", window(0, kernel_h=65, dilation_h=1), Status.OP),
    ("window that overflows", window(0, kernel_w=0xFFFF, dilation_w=0xFFFF), Status.OP),
    ("iterative, but not over all rows", window(2, kernel_h=7), Status.OP),
    ("iterative with padding", window(2, pad_top=1), Status.OP),
    ("iterative ADD", op(1, iterative=True), Status.OP),
    ("sums outside of the workspace", op(2, accumulator=108), Status.OP),
    ("misaligned sums", op(2, accumulator=102), Status.OP),
    ("no weights", op(0, weights=None), Status.OP),
    ("no multipliers", op(0, multipliers=None), Status.OP),
    ("no shifts", op(0, shifts=None), Status.OP),
    ("shift too far left", op(0, shifts=np.full(3, 31, np.int8)), Status.OP),
    ("shift too far right", op(0, shifts=np.full(3, -32, np.int8)), Status.OP),
    ("weights too short", window(2, kernel_w=200), Status.OP),
    ("ADD with a window", window(1, kernel_h=2), Status.OP),
    ("ADD with too large a shift", op(1, param=23), Status.OP),
    ("SOFTMAX that counts nothing", softmax(param=1), Status.OP),
    ("depth multiplier 3/2", op(0, kind=Kind.DEPTHWISE), Status.OP),
    ("pool of other channels", op(0, kind=Kind.MAX_POOL), Status.OP),
    ("dilated pool", op(0, kind=Kind.MAX_POOL, output=0, window=Window(3, 3, 1, 1, 2, 1, 1, 1)), Status.OP),
    ("block that starts elsewhere", whole(blocks=(ProgramBlock(1, 2, 0),)), Status.TABLE),
    ("block without operators", whole(blocks=(ProgramBlock(0, 0, 0), ProgramBlock(0, 3, 0))), Status.TABLE),
    ("block beyond the table", whole(blocks=(ProgramBlock(0, 4, 0),)), Status.TABLE),
    ("operators in no block", whole(blocks=(ProgramBlock(0, 2, 0),)), Status.TABLE),
    ("counters outside of the workspace", whole(blocks=(ProgramBlock(0, 3, 112),)), Status.TABLE),
    ("misaligned counters", whole(blocks=(ProgramBlock(0, 3, 1),)), Status.TABLE),
    ("order without operators", order(()), Status.TABLE),
    ("no firings", whole(firings=0), Status.FIRINGS),
    ("another core", whole(target=7), Status.TARGET),
    ("another number of inputs", whole(n_inputs=0, n_outputs=2), Status.IO),
]  # fmt: skip


def tiled() -> Program:
    """A bottleneck in two strips, two tiles and two groups of two channels, then an iterative convolution."""
    conv, _, whole = good().ops
    expand = dataclasses.replace(
        conv, window=Window(), tile=4, groups=2, group_channels=2, weights=np.ones((4, 1, 1, 2), np.int8), bias=None,
        multipliers=np.full(1, 1 << 30, np.int32), shifts=np.full(1, -7, np.int8),
    )  # fmt: skip
    depthwise = dataclasses.replace(
        expand, kind=Kind.DEPTHWISE, inputs=(1,), producers=(0,), output=2, window=conv.window,
        weights=np.ones((3, 3, 4), np.int8),
    )  # fmt: skip
    project = dataclasses.replace(
        expand, inputs=(2,), producers=(1,), output=3, weights=np.ones((3, 1, 1, 4), np.int8), accumulator=32,
    )  # fmt: skip
    whole = dataclasses.replace(whole, inputs=(3,), producers=(2,), output=4, accumulator=320, tile=4)
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(0, 8, 6, 4, 8, 0, (Lane(332, 12, 2), Lane(356, 24, 4)), WalkRecord(4, 5, 6)),
        ProgramTensor(0, 8, 6, 4, 8, 0, (Lane(404, 24, 4),), WalkRecord(4, 4, 4)),
        ProgramTensor(0, 8, 6, 3, 8, 0, (Lane(452, 24, 4),), WalkRecord(4, 4, 4)),
        ProgramTensor(0, 1, 1, 3, 1, 2, (), WalkRecord(1, 0, 1)),
    )
    ops = (expand, depthwise, project, whole)
    return Program(1, 1, 524, 40 + 32 + 48 + 16, tensors, ops, (ProgramBlock(0, 4, 0, 2),))


def lane(i: int, **changes: int) -> Callable[[Program], Program]:
    return lambda p: tensor(i, lanes=(dataclasses.replace(p.tensors[i].lanes[0], **changes), *p.tensors[i].lanes[1:]))(
        p
    )


def walk(i: int, **changes: int) -> Callable[[Program], Program]:
    return lambda p: tensor(i, walk=dataclasses.replace(p.tensors[i].walk or WalkRecord(0, 0, 0), **changes))(p)


def strips(n: int) -> Callable[[Program], Program]:
    return whole(blocks=(ProgramBlock(0, 4, 0, n),))


def grouped(groups: int, channels: int) -> Callable[[Program], Program]:
    return both(*(op(i, groups=groups, group_channels=channels) for i in range(3)))


def both(*changes: Callable[[Program], Program]) -> Callable[[Program], Program]:
    return lambda p: functools.reduce(lambda q, change: change(q), changes, p)


REFUSED_TILED = [
    ("no tile", op(1, tile=0)),
    ("counters outside of the workspace", whole(blocks=(ProgramBlock(0, 4, 494, 2),))),
    ("no strips", strips(0)),
    ("no strips for a tensor", walk(2, advance=0)),
    ("strips of less than they advance", walk(2, advance=5)),
    ("strips beyond all rows", both(strips(0xFFFF), walk(4, advance=0x4000, rows=0x4000))),
    ("lanes of fewer rows than a strip", lane(1, rows=1)),
    ("lanes of more rows than a strip", lane(1, rows=3)),
    ("empty lane", lane(1, depth=0)),
    ("lane outside of the workspace", lane(3, offset=453)),
    ("lane that is too deep", lane(3, depth=25)),
    ("lane that is too deep, counted in 64 bits", lane(3, depth=0x55555556)),
    ("lanes of what comes from outside", tensor(0, lanes=(Lane(0, 1, 1),))),
    ("ring of what comes from outside", tensor(0, depth=7)),
    ("another view of an operand", both(op(3, inputs=(5,)), lambda p: whole(tensors=(*p.tensors, p.tensors[3]))(p))),
    ("more taps than are gathered", window(1, kernel_h=5, kernel_w=13)),
    ("iterative over what is computed again", both(walk(3, rows=5), lane(3, rows=5))),
    ("sums of a group outside of the workspace", op(2, accumulator=524 - 287)),
    ("misaligned sums of a group", op(2, accumulator=34)),
    ("too few channels in groups", grouped(2, 1)),
    ("an empty group", grouped(3, 2)),
    ("no channels in a group", grouped(2, 0)),
    ("a reader of groups of another size", op(1, group_channels=3)),
    ("a reader of all groups at once", op(1, groups=1)),
    ("groups in an iterative operator", op(3, groups=2, group_channels=2)),
    ("SOFTMAX in groups", op(1, kind=Kind.SOFTMAX, window=Window(), param=0)),
    ("groups of more channels than are read", both(op(1, weights=np.ones((3, 3, 8), np.int8)), tensor(2, channels=8))),
]  # fmt: skip


def test_the_good_one_is_accepted_and_runs() -> None:
    program = pack(good())
    assert host.check(program, [IN], [OUT]) is Status.OK
    assert len(host.run(program, [np.zeros(IN, np.int8)], [OUT])[0]) == OUT


@pytest.mark.parametrize(("damage", "status"), [pytest.param(d, s, id=name) for name, d, s in REFUSED])
def test_damage_is_refused(damage: Callable[[Program], Program], status: Status) -> None:
    assert host.check(pack(damage(good())), [IN], [OUT]) is status


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("ops", None, Status.OK),
        ("ops", 0, Status.TABLE),
        ("ops", 0xFFFFFFF0, Status.TABLE),
        ("period", 0xFFFF, Status.TABLE),
        ("period", 0, Status.TABLE),
        ("count", 0, Status.OK),
        ("count", 23, Status.OK),
        ("count", 24, Status.TABLE),
        ("count", 0xFFFFFFFF, Status.TABLE),
        ("first", 0xFFFFFFFF, Status.OK),
        ("first", 0, Status.TABLE),
    ],
)
def test_orders_lie_inside(field: str, value: int | None, status: Status) -> None:
    image = bytearray(pack(order((0, 1, 1))(good())))
    at = int(np.frombuffer(image, HEADER, 1)[0]["orders"])
    record = np.frombuffer(image, ORDER, 1, at)[0].copy()
    if value is not None:
        record[field] = value
    image[at : at + ORDER.itemsize] = record.tobytes()
    assert host.check(bytes(image), [IN], [OUT]) is status


@pytest.mark.parametrize("at", [-1, 2, 0xFFFFFFFC])
def test_the_table_of_orders_lies_inside(at: int) -> None:
    image = np.frombuffer(pack(order((0, 1, 1))(good())), "u1").copy()
    header = image[: HEADER.itemsize].view(HEADER)
    header["orders"] = len(image) - 12 if at < 0 else header["orders"] + at if at == 2 else at
    assert host.check(image.tobytes(), [IN], [OUT]) is Status.TABLE


@pytest.mark.parametrize(
    ("program", "number", "layout", "status"),
    [
        (good, 0, LAYOUT_ROWS_TURNED, Status.OK),
        (good, 0, LAYOUT_PIXELS_TURNED, Status.OP),
        (good, 0, LAYOUT_PIXELS_TURNED + 1, Status.TABLE),
        (good, 1, LAYOUT_ROWS_TURNED, Status.TABLE),
        (tiled, 0, LAYOUT_PIXELS_TURNED, Status.OK),
        (tiled, 1, LAYOUT_PIXELS_TURNED, Status.TABLE),
    ],
)
def test_only_what_is_whole_is_turned(program: Callable[[], Program], number: int, layout: int, status: Status) -> None:
    """Rows in any block, pixels in tiled ones alone: a row kernel goes through a row forwards."""
    assert host.check(pack(tensor(number, layout=layout)(program())), [IN], [OUT]) is status


def test_the_tiled_one_is_accepted_and_runs() -> None:
    program = pack(tiled())
    assert host.check(program, [IN], [OUT]) is Status.OK
    assert len(host.run(program, [np.zeros(IN, np.int8)], [OUT])[0]) == OUT


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in REFUSED_TILED])
def test_damage_of_tiles_is_refused(damage: Callable[[Program], Program]) -> None:
    status = host.check(pack(damage(tiled())), [IN], [OUT])
    assert status in (Status.OP, Status.TABLE)


@pytest.mark.parametrize(("width", "status"), [(4, Status.OK), (1 << 15, Status.OP)])
def test_sums_are_counted_beyond_32_bits(width: int, status: Status) -> None:
    """A ring of one pixel is small, however many the row has; the sums of an iterative operator are of all of them."""
    channels = 1 << 17
    scale = {"multipliers": np.full(1, 1 << 30, np.int32), "shifts": np.zeros(1, np.int8)}
    weights = np.ones((channels, 1, 1, 1), np.int8)
    conv = ProgramOp(Kind.CONV, (0,), (None,), 1, (0,), 0, weights=weights, tile=1, **scale)
    pool = ProgramOp(
        Kind.AVERAGE_POOL, (1,), (0,), 2, (0,), 0, tile=1, iterative=True, sink=True, accumulator=16 + 2 * channels
    )
    lanes, walk = ((Lane(16 + at, 1, 1),) for at in (0, channels)), WalkRecord(1, 1, 1)
    tensors = (
        ProgramTensor(0, 1, width, 1, 1, base=1),
        *(ProgramTensor(0, 1, width, channels, 1, lanes=lane, walk=walk) for lane in lanes),
    )
    blocks = (ProgramBlock(0, 2, 0, 1),)
    image = pack(Program(1, 0, 16 + 18 * channels, 2 * width, tensors, (conv, pool), blocks))
    assert host.check(image, [width], []) is status


@pytest.mark.parametrize(
    "damage",
    [tensor(1, lanes=(Lane(0, 1, 1),)), op(0, tile=1), op(0, groups=2, group_channels=2)],
    ids=["lanes", "tile", "groups"],
)
def test_a_row_block_has_no_tiles(damage: Callable[[Program], Program]) -> None:
    assert host.check(pack(damage(good())), [IN], [OUT]) is Status.OP


@pytest.mark.parametrize(
    ("groups", "channels", "width", "table", "status"),
    [
        pytest.param(0, 2, 6, 256, Status.OK, id="fine"),
        pytest.param(2, 2, 6, 256, Status.OP, id="groups of what comes from outside"),
        pytest.param(0, 4, 3, 256, Status.OP, id="another view of the pixels"),
        pytest.param(0, 2, 6, 255, Status.OP, id="a table behind the program's end"),
        pytest.param(0, 2, 6, None, Status.OP, id="no table"),
    ],
)
def test_tiled_lookup(groups: int, channels: int, width: int, table: int | None, status: Status) -> None:
    weights = None if table is None else np.zeros(table, np.int8)
    lookup = ProgramOp(
        Kind.LOOKUP, (0,), (None,), 1, (0,), 0, sink=True, tile=1, groups=groups, group_channels=1, weights=weights
    )
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(0, 8, width, channels, 8, base=2, walk=WalkRecord(8, 8, 8)),
    )
    program = Program(1, 1, 8, 48, tensors, (lookup,), (ProgramBlock(0, 1, 0, 1),))
    assert host.check(pack(program), [IN], [IN]) is status


GATED = ProgramOp(
    Kind.MUL, (0, 2), (None, None), 1, (0, 0), 0, sink=True,
    multipliers=np.full(1, 1 << 30, np.int32), shifts=np.zeros(1, np.int8),
)  # fmt: skip
"""An image times a constant, which is repeated."""


def gate(height: int = 1, width: int = 1, channels: int = 2, *, tiled: bool = False, **changes: Any) -> Program:
    constant = ProgramTensor(
        0, height, width, channels, height, PROGRAM_BASE, constant=bytes(height * width * channels)
    )
    image = ProgramTensor(0, 8, 6, 2, 8, base=1)
    out = ProgramTensor(0, 8, 6, 2, 8, base=2, walk=WalkRecord(8, 8, 8) if tiled else None)
    op = dataclasses.replace(GATED, tile=int(tiled), **changes)
    return Program(1, 1, 8, 48 if tiled else 8, (image, out, constant), (op,), (ProgramBlock(0, 1, 0, int(tiled)),))


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
        pytest.param({"inputs": (0,), "producers": (None,), "input_zero_points": (0,)}, Status.OP, id="one operand"),
        pytest.param({"output": 2}, Status.OP, id="a constant that is written"),
    ],
)
def test_two_operands(changes: dict[str, Any], status: Status, tiled: bool) -> None:
    program = gate(**changes, tiled=tiled)
    assert host.check(pack(program), [IN], [IN]) is status


def test_a_constant_lies_in_the_program() -> None:
    image = bytearray(pack(gate()))
    at = HEADER.itemsize + 2 * TENSOR.itemsize  # its record begins with the offset
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
    image[HEADER.itemsize + 3 * TENSOR.itemsize + 1] |= FLAG_PER_CHANNEL
    assert host.check(bytes(image), [IN], [IN]) is Status.OP


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, Status.OK, id="fine"),
        pytest.param({"param": 0}, Status.OP, id="no rows"),
        pytest.param({"param": -1}, Status.OP, id="rows below none"),
        pytest.param({"param": 6}, Status.OP, id="more rows than the program has bytes for"),
        pytest.param({"param": 0x7FFFFFFF}, Status.OP, id="rows of more than 32 bits"),
        pytest.param({"weights": None}, Status.OP, id="no table"),
        pytest.param({"iterative": True}, Status.OP, id="iterative"),
        pytest.param({"inputs": (2,)}, Status.OP, id="pixels that are no indices"),
        pytest.param({"inputs": (3,)}, Status.OP, id="fewer indices than pixels"),
    ],
)
def test_gather(changes: dict[str, Any], status: Status) -> None:
    gather = ProgramOp(Kind.GATHER, (0,), (None,), 1, (0,), 0, sink=True, param=5, weights=np.ones((5, 3), np.int8))
    tensors = (
        ProgramTensor(0, 8, 3, 4, 8, base=1),
        ProgramTensor(0, 8, 3, 3, 8, base=2),
        ProgramTensor(0, 8, 3, 3, 8, base=1),
        ProgramTensor(0, 8, 2, 4, 8, base=1),
    )
    program = Program(1, 1, 2, 8, tensors, (dataclasses.replace(gather, **changes),), (ProgramBlock(0, 1, 0),))
    assert host.check(pack(program), [IN], [8 * 3 * 3]) is status


def patched(layout: np.dtype[np.void], at: int, program: Program | None = None, **values: int) -> bytes:
    image = bytearray(pack(program or good()))
    record = np.frombuffer(image, layout, 1, at)
    for name, value in values.items():
        record[name] = value
    return bytes(image)


@pytest.mark.parametrize(
    ("image", "status"),
    [
        (patched(HEADER, 0, magic=1), Status.MAGIC),
        (patched(HEADER, 0, version=2), Status.VERSION),
        (patched(HEADER, 0, size=1 << 20), Status.TRUNCATED),
        (patched(HEADER, 0, size=8), Status.TABLE),
        (patched(HEADER, 0, ops=1 << 20), Status.TABLE),
        (patched(HEADER, 0, ops=58), Status.TABLE),
        (patched(HEADER, 0, n_tensors=0xFFFF), Status.TABLE),
        (patched(OP, FIRST_OP, kind=9), Status.OP),
        (patched(OP, FIRST_OP, kind=0), Status.OP),
        (patched(OP, FIRST_OP, flags=8), Status.OP),
        (patched(OP, FIRST_OP, multipliers=58), Status.OP),
        (patched(OP, FIRST_OP, bias=1 << 20), Status.OP),
        (pack(good())[:40], Status.TRUNCATED),
        (pack(good())[:-1], Status.TRUNCATED),
        (b"", Status.TRUNCATED),
    ],
)
def test_damaged_bytes_are_refused(image: bytes, status: Status) -> None:
    assert host.check(image, [IN], [OUT]) is status


@pytest.mark.parametrize(
    "image",
    [
        patched(OP, TILED_OP + OP.itemsize, tiled(), flags=FLAG_SUMS),
        patched(OP, TILED_OP, grouped(0, 0)(tiled()), flags=FLAG_SUMS),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), lanes=1 << 20),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), lanes=2),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), n_lanes=0xFFFF),
    ],
    ids=["sums of a DEPTHWISE", "sums without groups", "lanes outside", "misaligned lanes", "too many lanes"],
)
def test_damaged_bytes_of_tiles_are_refused(image: bytes) -> None:
    assert host.check(image, [IN], [OUT]) is Status.OP


def test_an_access_is_checked_before_it_is_read() -> None:
    """Also for pixels of an external frame, which become int8 where it says."""
    lookup = ProgramOp(Kind.LOOKUP, (0,), (None,), 1, (0,), 0, sink=True, weights=np.zeros(256, np.int8))
    tensors = (ProgramTensor(16, 8, 6, 2, 0, base=1), ProgramTensor(0, 8, 6, 2, 8, base=2))
    program = Program(1, 1, 16 + IN, 8, tensors, (lookup,), (ProgramBlock(0, 1, 0),), input=INPUT_EXTERNAL)
    assert host.check(pack(program), [0], [IN]) is Status.OK
    at = HEADER.itemsize + 2 * TENSOR.itemsize
    assert host.check(patched(OP, at, program, kind=Kind.COPY, access=1 << 31), [0], [IN]) is Status.OP


def test_too_small_a_workspace_is_refused() -> None:
    assert host.check(pack(good()), [IN], [OUT], workspace=115) is Status.IO


def test_every_status_has_its_own_text() -> None:
    texts = {status.text for status in Status}
    assert len(texts) == len(Status)
    assert "unknown status" not in texts


def test_run_says_why_a_program_is_refused() -> None:
    with pytest.raises(ModelError, match=r"refuses the program: .* copy the whole model"):
        host.run(pack(good())[:-1], [np.zeros(IN, np.int8)], [OUT])
