"""Test how many bytes a partial sum takes, and which operators cannot be split into partial sums."""

from collections.abc import Callable

import numpy as np
import pytest
from in_sums import in_parts
from models import Net

from tflm_memopt.model import writer
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packings import sum_range
from tflm_memopt.ops.partial import ADD_SUMS, SUMS, bytes_of
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.supported import to_row_ops


@pytest.mark.parametrize("zero", [-128, -3, 0, 127])
def test_no_input_goes_beyond_the_range(zero: int) -> None:
    rng = np.random.default_rng(zero + 128)
    weights = rng.integers(-127, 128, (5, 2, 2, 3), dtype=np.int8)
    low, high = sum_range(weights, zero)
    wide = weights.reshape(5, -1).astype(np.int64)
    for extreme, x in ((low, np.where(wide > 0, -128, 127)), (high, np.where(wide > 0, 127, -128))):
        np.testing.assert_array_equal(((x - zero) * wide).sum(axis=1), extreme)
    padded = rng.random(wide.shape) < 0.3
    some = (np.where(padded, 0, rng.integers(-128, 128, wide.shape) - zero) * wide).sum(axis=1)
    assert (low <= some).all()
    assert (some <= high).all()


@pytest.mark.parametrize("nbytes", [1, 2, 3, 4])
def test_a_sum_takes_as_many_bytes_as_its_bound_needs(nbytes: int) -> None:
    most = (1 << 8 * nbytes - 1) - 1
    assert bytes_of(-most - 1, most) == nbytes
    assert bytes_of(-most - 2, 0) == bytes_of(0, most + 1) == min(4, nbytes + 1)


def parts() -> bytes:
    net = Net()
    return in_parts(net.model(net.conv2d(net.input((1, 5, 4, 6)), 7, kernel=(3, 3))), 2)


def kinds(model: bytes) -> set[Kind]:
    found = to_row_ops(read(model).graph).values()
    return {op.kind for op in found if isinstance(op, RowOp)}


@pytest.mark.parametrize(
    ("code", "change"),
    [
        pytest.param(SUMS, lambda options, op: options[:-1], id="options that end early"),
        pytest.param(SUMS, lambda options, op: b"\2" + options[1:], id="sums of other bytes"),
        pytest.param(SUMS, lambda options, op: options[:1] + bytes(2) + options[3:], id="no stride"),
        pytest.param(SUMS, lambda options, op: options[:-8] + b"\x09" + options[-7:], id="other padding"),
        pytest.param(ADD_SUMS, lambda options, op: options + b"\0", id="more options"),
        pytest.param(ADD_SUMS, lambda options, op: b"\1" + options[1:], id="one operand"),
        pytest.param(ADD_SUMS, lambda options, op: b"\5" + options[1:], id="five operands"),
        pytest.param(ADD_SUMS, lambda options, op: options[:1] + b"\x30" + options[2:], id="sums of no bytes"),
        pytest.param(ADD_SUMS, lambda options, op: options[:1] + b"\x34" + options[2:], id="sums of more bytes"),
        pytest.param(ADD_SUMS, lambda options, op: options[:3] + b"\1" + options[4:], id="sums that are scaled"),
    ],
)
def test_damaged_parts_stay_as_they_are(code: str, change: Callable[[bytes, object], bytes]) -> None:
    source = read(parts())
    tree = writer.edit(source)
    for op in tree.subgraphs[0].operators:
        if tree.operatorCodes[op.opcodeIndex].customCode in (code, code.encode()):
            op.customOptions = np.frombuffer(change(bytes(op.customOptions), op), np.uint8)
    kind = {SUMS: Kind.SUMS, ADD_SUMS: Kind.ADD_SUMS}[code]
    assert kind not in kinds(writer.write(tree))
