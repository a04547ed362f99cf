"""Convolutions between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND run row by row."""

import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import QUICKLY
from models import Net
from moving import constant, like
from property.floats import in_float
from property.oracle import assert_same_bytes, rewrite_whole

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise


def gated(steps: int, block: int, *, activations: str = "INT8") -> bytes:
    net = Net(4, activations=activations)
    x = net.reshape(net.conv2d(net.input((1, 1, steps, 2)), 8), (1, steps, 8))
    padded = net.pad(x, [(0, 0), (block, 0), (0, 0)])
    each = (steps + block) // block
    blocks, none = constant(net, [block]), constant(net, [[0, 0]])
    apart = net.op(
        "SPACE_TO_BATCH_ND", [padded, blocks, none], [like(net, padded, (block, each, 8))],
        schema.SpaceToBatchNDOptionsT(),
    )  # fmt: skip
    apart, branches = net.reshape(apart, (block, 1, each, 8)), []
    for kind in ("TANH", "LOGISTIC"):
        y = net.conv2d(apart, 6, kernel=(1, 2), padding="VALID")
        y = net.reshape(y, (block, each - 1, 6))
        joined = like(net, y, (1, block * (each - 1), 6))
        y = net.op("BATCH_TO_SPACE_ND", [y, blocks, none], [joined], schema.BatchToSpaceNDOptionsT())
        out = (1 / 32768, 0) if activations == "INT16" else (1 / 128, 0) if kind == "TANH" else (1 / 256, -128)
        branches.append(net.unary(kind, y, dtype=activations, out=out))
    return net.model(net.binary("MUL", *branches, out=(1 / 128, 0)))


@pytest.mark.parametrize(("steps", "block"), [(32, 2), (40, 4), (64, 8)])
def test_causal_units(steps: int, block: int) -> None:
    data = gated(steps, block)
    found = canonicalise(read(data).graph)
    assert not {"SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "PAD"} & {op.type for op in found.ops}
    assert_same_bytes(data, rewrite_whole(data))
    inspected = tflm_memopt.inspect(data)
    macs = {op.index: op.macs for op in inspected.operators if op.macs}
    assert len(macs) == 3
    assert sum(macs.values()) == inspected.macs
    assert all(inspected.operators[index].operator == "CONV_2D" for index in macs)
    wide = in_float(data, 1)
    result = tflm_memopt.optimize(wide, if_worthwhile=False, effort=0.05)
    assert tflm_memopt.verify(wide, result.model, runs=2).bit_exact


def test_int16_units_are_verified() -> None:
    """TFLM has no SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of int16, but the rewritten model needs neither."""
    data = gated(32, 2, activations="INT16")
    result = tflm_memopt.optimize(data, effort=QUICKLY)
    assert result.report.changed
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact


def test_padded_steps_that_are_an_output_stay() -> None:
    net = Net(3)
    padded = net.pad(net.input((1, 12, 4)), [(0, 0), (2, 0), (0, 0)])
    row = net.reshape(padded, (1, 1, 14, 4))
    data = net.model(net.conv2d(row, 3, kernel=(1, 3), padding="VALID"), row)
    assert "PAD" in {op.type for op in canonicalise(read(data).graph).ops}
    assert_same_bytes(data, rewrite_whole(data))
