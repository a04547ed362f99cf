"""The last operators of detectors and pose networks, such as ARG_MAX, comparisons and GATHER_ND, have the same output
bytes as in TFLM.
"""

from collections.abc import Sequence
from typing import Any

import moving
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from models import Net
from numpy.typing import NDArray
from poses import cast, floats, gather_nd, one, pose_network, two
from property.floats import drawn, same_floats
from property.oracle import assert_same_bytes, original, rewrite, rewritten, run

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.opset import FLOATS
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import Unsupported, to_row_ops
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.arena import predict

EXAMPLES = settings(max_examples=examples(8))
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
OPERANDS = ("whole", "channels", "single", "constant", "constant whole", "constant channels")
UNARY = ("ABS", "NEG", "SQUARE", "SQRT", "RSQRT", "EXP", "LOG", "FLOOR", "CEIL", "ROUND")
sizes, seeds = st.tuples(*[st.integers(1, 6)] * 3), st.integers(0, 999)


def assert_rewritten(data: bytes, seed: int = 0) -> None:
    graph = canonicalise(read(data).graph)
    assert not [str(s) for s in to_row_ops(graph).values() if isinstance(s, Unsupported)]
    before, after, rng = original(data), rewritten(rewrite(data)[0]), np.random.default_rng(seed)
    tensors = [read(data).graph.tensors[t] for t in read(data).graph.inputs]
    for _ in range(3):
        inputs = [values(rng, t.shape, t.dtype) for t in tensors]
        pairs = zip(*(run(model, inputs, len(read(data).graph.outputs)) for model in (before, after)), strict=True)
        for expected, found in pairs:
            if expected.dtype == np.float32:
                same_floats(expected, found, f"seed {seed}")
            else:
                np.testing.assert_array_equal(found, expected, f"seed {seed}")


def values(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> NDArray[Any]:
    if dtype == "FLOAT32":
        return np.where(rng.random(shape) < 0.3, rng.integers(-2, 3, shape), drawn(rng, shape, 3, 0.2)).astype("f4")
    if dtype == "INT32":
        wide = rng.integers(-(1 << 31), 1 << 31, shape)
        return np.where(rng.random(shape) < 0.5, rng.integers(-2, 3, shape), wide).astype("i4")
    if dtype == "BOOL":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.choice([-128, 127, *range(-3, 4)], shape).astype(dtype.lower())


@EXAMPLES
@given(size=sizes, kind=st.sampled_from(COMPARISONS), dtype=st.sampled_from(["FLOAT32", "INT32", "INT8"]), seed=seeds,
       other=st.sampled_from(OPERANDS), swapped=st.booleans())  # fmt: skip
def test_comparisons(size: tuple[int, ...], kind: str, dtype: str, seed: int, other: str, swapped: bool) -> None:
    net, shape = Net(seed), (1, *size)
    part = {"whole": shape, "channels": (1, 1, 1, size[2])}.get(other.rsplit(maxsplit=1)[-1], (1, 1, 1, 1))
    affine, second = ((0.05, 1), (float(net.rng.choice([0.05, 0.1, 0.9])), -2)) if dtype == "INT8" else (None, None)
    x = net.input(shape, affine, dtype=dtype)
    fixed = values(net.rng, part, dtype).astype(dtype.lower())
    y = net.tensor(part, dtype, second, data=fixed) if "constant" in other else net.input(part, second, dtype=dtype)
    mask = two(net, kind, *((y, x) if swapped else (x, y)), dtype="BOOL")
    assert_rewritten(net.model(cast(net, mask, "FLOAT32"), cast(net, mask, "INT8")), seed)


@EXAMPLES
@given(size=sizes, seed=seeds, kind=st.sampled_from(["LOGICAL_AND", "LOGICAL_OR"]))
def test_logic(size: tuple[int, ...], seed: int, kind: str) -> None:
    net = Net(seed)
    x, y = (net.input((1, *size), None, dtype="FLOAT32") for _ in range(2))
    both = two(net, kind, two(net, "LESS", x, y, "BOOL"), two(net, "LESS", y, floats(net, [1.0]), "BOOL"))
    assert_rewritten(net.model(cast(net, one(net, "LOGICAL_NOT", both), "FLOAT32")), seed)


def test_a_mask_leaves_a_region() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 9, 7, 3)), 4, kernel=(3, 3))
    mask = two(net, "LESS", net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None), floats(net, [0.5]), "BOOL")
    like_x = net.op("CAST", [mask], [moving.like(net, x, net.shape(mask))], schema.CastOptionsT())
    y = net.add(like_x, net.normalized(x))
    data = net.model(y, cast(net, mask, "FLOAT32"))
    made = rewrite(data, ConversionOptions("group", seconds=0))
    assert_same_bytes(data, made[0])


@EXAMPLES
@given(size=sizes, seed=seeds, kind=st.sampled_from(["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"]), last=st.booleans())
def test_arithmetic_of_int32(size: tuple[int, ...], seed: int, kind: str, last: bool) -> None:
    net = Net(seed)
    x, y = (net.input(shape, None, dtype="INT32") for shape in ((1, *size), (1, 1, 1, size[2]) if last else (1, *size)))
    assert_rewritten(net.model(cast(net, two(net, kind, x, y), "FLOAT32")), seed)


@EXAMPLES
@given(size=sizes, seed=seeds, kind=st.sampled_from(["DIV", "FLOOR_DIV", "FLOOR_MOD"]), fixed=st.booleans())
def test_division(size: tuple[int, ...], seed: int, kind: str, fixed: bool) -> None:
    net = Net(seed)
    x = net.input((1, *size), None, dtype="FLOAT32")
    constant = values(net.rng, (1,), "FLOAT32")
    if kind == "FLOOR_DIV":
        fixed, constant = True, np.where(constant == 0, np.float32(0.1), constant)
    y = floats(net, constant) if fixed else net.input((1, *size), None, dtype="FLOAT32")
    assert_rewritten(net.model(two(net, kind, x, y)), seed)


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_float32(kind: str) -> None:
    assert kind in FLOATS
    net = Net(1)
    assert_rewritten(net.model(one(net, kind, net.input((1, 6, 5, 4), None, dtype="FLOAT32"))))


@EXAMPLES
@example(size=(2, 6, 2), axis=1, dtype="INT8", smallest=False, streamed=False, seed=0)
@given(size=sizes, axis=st.integers(-4, 3), dtype=st.sampled_from(["INT8", "FLOAT32"]), smallest=st.booleans(),
       streamed=st.booleans(), seed=seeds)  # fmt: skip
def test_places_along_any_axis(
    size: tuple[int, ...], axis: int, dtype: str, smallest: bool, streamed: bool, seed: int
) -> None:
    net = Net(seed)
    x = net.input((1, *size), (0.05, 0) if dtype == "INT8" else None, dtype=dtype)
    if streamed:
        x = net.unary("RELU", x, dtype=dtype, out=net.affine(x) if dtype == "INT8" else None)
    assert_rewritten(net.model(moving.arg_max(net, x, axis=axis, smallest=smallest)), seed)


def test_the_checker_refuses_places_in_reverse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowOp, "needs_order", False)
    net = Net()
    with pytest.raises(PlanError, match="depends on the order"):
        rewrite(net.model(moving.arg_max(net, net.input((1, 6, 6, 2)), axis=1)))


@EXAMPLES
@given(size=sizes, depth=st.integers(1, 4), count=st.integers(1, 5), dtype=st.sampled_from(["INT8", "FLOAT32"]),
       seed=seeds)  # fmt: skip
def test_what_indices_select(size: tuple[int, ...], depth: int, count: int, dtype: str, seed: int) -> None:
    net, shape = Net(seed), (1, *size)
    x = net.input(shape, (0.05, 0) if dtype == "INT8" else None, dtype=dtype)
    parts = []
    for d in shape[:depth]:
        y = net.conv2d(net.input((1, 1, d, 1)), count)
        parts.append(moving.arg_max(net, net.reshape(y, (d, count)), axis=0))
    columns = [net.reshape(part, (count, 1)) for part in parts]
    indices = moving.concatenation(net, columns, 1) if depth > 1 else columns[0]
    assert_rewritten(net.model(gather_nd(net, x, indices)), seed)


@pytest.mark.parametrize("index", [6, -1, 1 << 30, -(1 << 31)])
def test_an_index_that_selects_nothing_ends_the_run(index: int) -> None:
    net = Net()
    x, indices = net.input((1, 6, 3)), net.input((2, 2), None, dtype="INT32")
    data = net.model(gather_nd(net, x, indices))
    inputs = [np.zeros((1, 6, 3), np.int8), np.array([[0, 5], [0, index]], np.int32)]
    (program,) = (region.program for region in regions(read(rewrite(data)[0])))
    with pytest.raises(ModelError, match="outside of its table"):
        host.run(program, inputs, [6])


@pytest.mark.slow
def test_a_pose_network() -> None:
    data = pose_network(64)
    support = to_row_ops(canonicalise(read(data).graph)).values()
    assert not [s for s in support if isinstance(s, Unsupported)]
    assert sum(isinstance(s, RowOp) for s in support) > 50
    result = tflm_memopt.optimize(data, effort=0.05)
    assert result.report.arena.total < 0.3 * predict(data).total
    verification = tflm_memopt.verify(data, result.model, runs=3)
    assert verification.bit_exact
    assert verification.guarded


@EXAMPLES
@given(size=sizes, dtype=st.sampled_from(["INT8", "INT16", "INT32", "FLOAT32"]), seed=seeds, rank=st.integers(1, 4),
       parts=st.lists(st.tuples(st.integers(0, 15), st.booleans()), min_size=3, max_size=3))  # fmt: skip
def test_selections(size: tuple[int, ...], dtype: str, seed: int, rank: int, parts: list[tuple[int, bool]]) -> None:
    net, shape = Net(seed), (1, *size)[-rank:]
    affine = None if dtype in ("FLOAT32", "INT32") else (0.05, 0)
    operands = []
    for k, (mask, fixed) in enumerate(parts):
        kind = dtype if k else "BOOL"
        part = tuple(1 if mask >> a & 1 else d for a, d in enumerate(shape))
        data = values(net.rng, part, dtype) if k else net.rng.integers(0, 2, part).astype(bool)
        constant = (
            fixed and not (k == 1 and parts[0][1]) and not (k == 2 and (parts[0][1] or not len(net.graph.inputs)))
        )
        q = affine if k else None
        operands.append(net.tensor(part, kind, q, data=data) if constant else net.input(part, q, dtype=kind))
    y = net.tensor(np.broadcast_shapes(*map(net.shape, operands)), dtype, affine)
    assert_rewritten(net.model(net.op("SELECT_V2", operands, [y], schema.SelectV2OptionsT())), seed)


@EXAMPLES
@given(size=sizes, rank=st.integers(1, 4), seed=seeds)
def test_normalized_channels(size: tuple[int, ...], rank: int, seed: int) -> None:
    net, shape = Net(seed), (1, *size)[:rank]
    x = net.input(shape, None, dtype="FLOAT32")
    y = net.op("L2_NORMALIZATION", [x], [net.tensor(shape, "FLOAT32", None)], schema.L2NormOptionsT())
    data = net.model(y)
    assert_rewritten(data, seed)
    before, after = original(data), rewritten(rewrite(data)[0])
    for value in (0.0, 1e-8, 1e-30):
        inputs = [np.full(shape, value, np.float32)]
        same_floats(run(before, inputs, 1)[0], run(after, inputs, 1)[0], f"value {value}")


@EXAMPLES
@given(size=sizes, count=st.integers(2, 5), seed=seeds)
def test_sum_of_several_tensors(size: tuple[int, ...], count: int, seed: int) -> None:
    """TFLM's ADD_N of negative zeros is 0, not -0."""
    net, shape = Net(seed), (1, *size)
    operands = [net.input(shape, None, dtype="FLOAT32") for _ in range(count)]
    data = net.model(net.op("ADD_N", operands, [net.tensor(shape, "FLOAT32", None)], schema.AddNOptionsT()))
    assert_rewritten(data, seed)
    zeros = [np.full(shape, -0.0, np.float32)] * count
    before, after = (run(model, zeros, 1)[0] for model in (original(data), rewritten(rewrite(data)[0])))
    same_floats(before, after, "negative zeros")
