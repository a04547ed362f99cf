"""The checker refuses operators that read other rows of a sliding input than TFLM's operators."""

from dataclasses import replace

import pytest
from models import Net
from moving import resize, slice_
from property.sliding import network
from unit.check.test_reads import with_op

from tflm_memopt.check.checker import check
from tflm_memopt.check.reads import check_reads
from tflm_memopt.check.sliding import check_sliding
from tflm_memopt.convert.request import request
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import plan
from tflm_memopt.rowgraph.graph import RowGraph

OPTIONS = {"effort": 0.05, "seconds": 0.05}


def slid(model: bytes, rows: int) -> RowGraph:
    graph = request({"input": f"sliding:{rows}", **OPTIONS}).conversion(model).rows
    assert graph is not None
    return graph


def two_layers() -> RowGraph:
    net = Net(3)
    x = net.conv2d(net.input((1, 15, 1, 4)), 6, kernel=(5, 1), padding="VALID")
    x = net.depthwise_conv2d(x, kernel=(3, 1), padding="VALID")
    return slid(net.model(net.fully_connected(x, 3)), 1)


def planned(graph: RowGraph) -> Plan:
    return plan(graph, request({"input": "sliding", **OPTIONS}).options)


def reading(graph: RowGraph) -> list[tuple[int, RowOp]]:
    return [(key, op) for key, op in graph.ops.items() if op.older is not None and op.has_window]


def moved(graph: RowGraph, key: int, rows: int) -> RowGraph:
    op = graph.ops[key]
    return with_op(graph, key, replace(op, window=replace(op.window, pad_top=op.window.pad_top - rows)))


def reaches_an_output(graph: RowGraph, tensor: TensorId) -> bool:
    """A SLICE may leave out rows, which then influence no output."""
    readers = [op for op in graph.ops.values() if tensor in op.inputs and not op.leaves and op.writes.row_bytes > 1]
    return tensor in graph.model.outputs or any(
        op.name not in ("SLICE", "STRIDED_SLICE") and reaches_an_output(graph, op.output) for op in readers
    )


def keeping_fewer(graph: RowGraph, key: int) -> RowGraph:
    state = graph.ops[key].older
    keeper, op = next((k, o) for k, o in graph.ops.items() if o.state_write and o.state_write.tensor == state)
    assert op.state_write
    rows = replace(op.state_write.rows, h=op.state_write.rows.h - 1)
    tensor = graph.model.tensors[op.state_write.tensor]
    shape = (1, rows.h, *tensor.shape[2:])
    tensors = {**graph.model.tensors, tensor.id: replace(tensor, shape=shape)}
    graph = replace(graph, model=replace(graph.model, tensors=tensors))
    return with_op(moved(graph, key, 1), keeper, replace(op, state_write=replace(op.state_write, rows=rows)))


@pytest.mark.parametrize("seed", range(15))
def test_random_windows_pass_and_moved_ones_do_not(seed: int) -> None:
    graph = slid(*network(seed))
    check_reads(graph)
    check_sliding(graph)
    for key, op in graph.ops.items():
        for rows in (1, -1) if op.has_window and reaches_an_output(graph, op.output) else ():
            with pytest.raises(PlanError, match=r"is no row of TFLM's output|has other rows than in TFLM"):
                check_sliding(moved(graph, key, rows))


@pytest.mark.parametrize("layer", [0, 1])
def test_a_plan_that_keeps_too_few_rows_is_refused(layer: int) -> None:
    graph = two_layers()
    check(planned(graph), graph)
    key, op = reading(graph)[layer]
    assert op.window.pad_top == (4, 2)[layer]
    fewer = keeping_fewer(graph, key)
    with pytest.raises(PlanError, match=r"row 0 is no row of TFLM's output"):
        check(planned(fewer), fewer)


def test_kept_rows_of_another_tensor_are_refused() -> None:
    graph = two_layers()
    (_, first), (key, op), _ = reading(graph)
    with pytest.raises(PlanError, match=r"row 0 is no row of TFLM's output"):
        check_sliding(with_op(graph, key, replace(op, older=first.older)))


def test_joined_rows_in_another_order_are_refused() -> None:
    net = Net(3)
    x = net.conv2d(net.input((1, 15, 2, 4)), 6, kernel=(5, 1), padding="SAME")
    graph = slid(net.model(net.fully_connected(x, 3)), 2)
    joins = {
        key: op for key, op in graph.ops.items() if op.name == "CONCATENATION" and len(op.inputs) > 1 < op.writes.h
    }
    assert joins
    for key, op in joins.items():
        turned = replace(op, access=op.access[1:] + op.access[:1])
        with pytest.raises(PlanError, match=r"has other rows than in TFLM|is no row of TFLM's output"):
            check_sliding(with_op(graph, key, turned))


def test_rows_between_the_same_two_rows_differ() -> None:
    """RESIZE_BILINEAR computes output rows 2 and 3 from the same two input rows, with different weights for each."""
    net = Net(1)
    x = resize(net, net.conv2d(net.input((1, 12, 2, 4)), 4, kernel=(3, 1)), (24, 2), bilinear=True)
    x = net.conv2d(x, 4, kernel=(1, 1), stride=(2, 1), padding="VALID")
    graph = slid(net.model(net.fully_connected(x, 3)), 2)
    check_sliding(graph)
    key = next(key for key, op in graph.ops.items() if op.window.stride_h == 2)
    with pytest.raises(PlanError, match=r"is no row of TFLM's output|has other rows than in TFLM"):
        check_sliding(moved(graph, key, 1))


def test_first_rows_of_the_input_are_not_its_newest_rows() -> None:
    net = Net(1)
    x = slice_(net, net.input((1, 12, 3, 2)), (0, 0, 0, 0), (1, 6, 3, 2))
    graph = slid(net.model(net.fully_connected(net.conv2d(x, 3, kernel=(3, 2), padding="VALID"), 4)), 1)
    check_sliding(graph)
    key, op = next((key, op) for key, op in graph.ops.items() if op.name == "SLICE")
    newest = replace(op, access=(replace(op.access[0], add=op.access[0].add + 6),))
    with pytest.raises(PlanError, match=r"SLICE: row 0 is no row of TFLM's output"):
        check_sliding(with_op(graph, key, newest))


@pytest.mark.parametrize("rows", [1, 2])
def test_windows_that_are_higher_than_a_map_of_one_row(rows: int) -> None:
    """Time runs along the columns of an input of one row."""
    net = Net(2)
    x = net.conv2d(net.input((1, 1, 40, 3)), 4, kernel=(3, 2), padding="SAME")
    x = net.conv2d(x, 4, kernel=(5, 3), stride=(2, 1), padding="SAME")
    graph = slid(net.model(net.fully_connected(x, 3)), rows)
    assert any(op.older is not None for op in graph.ops.values())
    check(planned(graph), graph)
