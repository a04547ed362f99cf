"""The checker refuses operators that do not read the same data as TFLM's kernels."""

from collections.abc import Iterator
from dataclasses import replace

import moving
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from property.layers import KINDS, Layer

from tflm_memopt.check.movements import MOVEMENTS
from tflm_memopt.check.reads import check_reads
from tflm_memopt.convert.annotation import annotate
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import NO_ROW, Access, RowOp
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.regions import partition

COMPUTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "TRANSPOSE_CONV", "RESIZE_BILINEAR", "BATCH_MATMUL")
LAYERS = (
    Layer("transpose conv", channels=3, kernel=(4, 3), stride=(2, 2)),
    *(
        Layer(kind, channels=channels, kernel=kernel, stride=(2, 2), flag=flag)
        for kind in KINDS
        for channels, kernel, flag in ((3, (3, 2), True), (4, (1, 1), False), (5, (3, 3), False))
    ),
)


def row_graph(net: Net, *outputs: int) -> RowGraph:
    annotated = annotate(read(net.model(*outputs)).graph)
    return partition(annotated.graph, annotated.support)


def graphs() -> Iterator[RowGraph]:
    """A cube has equal sides, so each TRANSPOSE gives the same shape."""
    for layer in LAYERS:
        net = Net(1)
        x = net.input((1, 4, 4, 4) if layer.kind == "transposed" and layer.flag else (1, 6, 4, 8))
        yield row_graph(net, *KINDS[layer.kind](net, layer, x, x))
    net = Net(1)
    yield row_graph(net, net.pad(net.input((1, 6, 4, 8)), [(0, 0), (1, 2), (0, 1), (0, 0)]))
    net = Net(1)
    yield row_graph(net, net.reshape(moving.pack(net, [net.input((1, 6, 4)), net.input((1, 6, 4))], 1), (1, 12, 4)))
    for size in ((2, 2), (1, 3), (5, 9)):
        net = Net(1)
        yield row_graph(net, moving.resize(net, net.input((1, 6, 4, 8)), size, bilinear=True, corners=True))
        net = Net(1)
        x = net.input((1, 6, 4, 8), None, dtype="FLOAT32")
        yield row_graph(net, moving.resize(net, x, size, bilinear=True, half=size[0] == 2))
    net = Net(1)
    x = net.input((1, 6, 4, 8))
    options = schema.GatherOptionsT(axis=1)
    chosen = net.op("GATHER", [x, moving.constant(net, [1, 3, 4])], [moving.like(net, x, (1, 3, 4, 8))], options)
    yield row_graph(net, chosen)


def damaged(op: RowOp) -> Iterator[RowOp]:
    for k, access in enumerate(op.access):
        for wrong in _wrong(access):
            yield replace(op, access=(*op.access[:k], wrong, *op.access[k + 1 :]))
    if op.moves is not None:
        for n, move in enumerate(op.moves.moves):
            for wrong_move in (replace(move, source=move.source + 1), replace(move, nbytes=move.nbytes + 1)):
                moves = (*op.moves.moves[:n], wrong_move, *op.moves.moves[n + 1 :])
                yield replace(op, moves=replace(op.moves, moves=moves))
    if op.has_window and op.reads[0].h > 1:
        yield replace(op, window=replace(op.window, pad_top=op.window.pad_top + op.window.rows.extent))
        yield replace(op, window=replace(op.window, stride_h=op.window.stride_h + op.reads[0].h))


def _wrong(access: Access) -> Iterator[Access]:
    if access.table is not None:
        yield replace(access, table=tuple(row if row == NO_ROW else row + access.extent for row in access.table))
    else:
        yield replace(access, add=access.add + access.extent * access.div)
        yield replace(access, add=access.add - access.extent * access.div)


def with_op(graph: RowGraph, key: int, op: RowOp) -> RowGraph:
    return replace(graph, ops={**graph.ops, key: op})


def test_every_kind_reads_what_tflm_reads() -> None:
    for graph in graphs():
        check_reads(graph)


def test_wrong_accesses_are_refused() -> None:
    refused, tried = set[str](), set[str]()
    for graph in graphs():
        types = {op.index: op.type for op in graph.model.ops}
        for key, op in graph.ops.items():
            for wrong in damaged(op):
                tried.add(types[key])
                try:
                    check_reads(with_op(graph, key, wrong))
                except PlanError:
                    refused.add(types[key])
    assert not tried - refused
    assert tried >= {*MOVEMENTS, *COMPUTED} - {"CAST"}


@pytest.mark.parametrize(("height", "made"), [(33, 17), (6, 12), (9, 5)])
def test_a_resize_that_misses_a_row(height: int, made: int) -> None:
    net = Net(1)
    graph = row_graph(net, moving.resize(net, net.input((1, height, 2, 3)), (made, 2)))
    (key,) = graph.ops
    check_reads(graph)
    missing = replace(graph.ops[key], access=(Access(-1, 2, 1, 1),))
    with pytest.raises(PlanError, match="RESIZE_NEAREST_NEIGHBOR: byte 0 of output row 0 is padding"):
        check_reads(with_op(graph, key, missing))


def test_a_window_that_ends_early() -> None:
    net = Net(1)
    graph = row_graph(net, net.conv2d(net.input((1, 6, 4, 3)), 2, kernel=(3, 3)))
    (key,) = graph.ops
    short = replace(graph.ops[key], window=replace(graph.ops[key].window, kernel_h=2))
    with pytest.raises(PlanError, match=r"needs row 1, column 1 of input 0, but reads rows 0\.\.0,"):
        check_reads(with_op(graph, key, short))
