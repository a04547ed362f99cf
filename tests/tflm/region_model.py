"""Small models for the runtime's tests; the first has a program packed by hand after custom_ops/include/tmo/program.h.

Its region computes relu(max pool 2x2) of an 8x8x4 input as two groups. The pooled tensor is whole in the workspace, and
everything overlaps the input in the arena:

    0        16             64        128            272   276  288
    | workspace: pooled rows, resident |             |counters  |
             | input 8x8x4 ------------------------- |
                            | output  |
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

from tflm_memopt.model import writer
from tflm_memopt.model.interface import Format

IN, OUT = (1, 8, 8, 4), (1, 4, 4, 4)
POOLED_AT, COUNTERS_AT, WORKSPACE = 0, 272, 288
INPUT_AT, OUTPUT_AT = 16, 64
INT8 = Format("INT8", 0.5, 0)

MAX_POOL, LOOKUP = 5, 8
HEADER, TENSOR, OP, GROUP = "<IHHIIIHHHHHHIIIIIII", "<IIHHHBBIHHhH", "<BB4bbbbB4HHH9HiIIIIIHHI", "<HHIHHI"


def program(*, version: int = 3, magic: int = 0x314F4D54, relu_from: int = 0) -> bytes:
    """Return a program: header, tables, RELU's lookup table, then the loops of both groups."""
    tables = struct.calcsize(HEADER)
    ops_at = tables + 3 * struct.calcsize(TENSOR)
    groups_at = ops_at + 2 * struct.calcsize(OP)
    table_at = groups_at + 2 * struct.calcsize(GROUP)
    loops_at = table_at + 256
    loops = struct.pack("<BHBBB", 0xFE, OUT[1], 0, 0xFF, 0xFF)
    size = loops_at + len(loops)
    rows, by_row = OUT[1], (0,) * 6
    tensors = [  # offset, channels, width, height, depth, base, layout, then fields for tiled groups only
        (0, IN[3], IN[2], IN[1], IN[1], 1, *by_row),
        (POOLED_AT, OUT[3], OUT[2], rows, rows, 0, *by_row),
        (0, OUT[3], OUT[2], rows, rows, 2, *by_row),
    ]
    pool = _op(MAX_POOL, tensors=(0, 1), window=(2, 2, 2, 2))
    relu = _op(LOOKUP, tensors=(1, 2), window=(1, 1, 1, 1), table=table_at)
    counts, places = (1, 1, 3, 2, 2, 0), (tables, ops_at, groups_at, 0, 0, 0, 0)
    header = struct.pack(HEADER, magic, version, 0, size, 2 * rows, WORKSPACE, *counts, *places)
    groups = b"".join(struct.pack(GROUP, i, 1, COUNTERS_AT + 2 * i, 0, 0, loops_at) for i in range(2))
    constants = struct.pack("<256b", *(max(x, relu_from) for x in range(-128, 128)))
    return header + b"".join(struct.pack(TENSOR, *t) for t in tensors) + pool + relu + groups + constants + loops


def _op(kind: int, *, tensors: tuple[int, int], window: tuple[int, int, int, int], table: int = 0) -> bytes:
    zero_points, activation = (0,) * 5, (-128, 127)
    operands = (tensors[0], 0, 0, 0, tensors[1], 0)
    constants = (table, 0, 0, 0, 0, 0, 0, 0)  # weights, bias, multipliers, shifts, accumulator, groups, access
    return struct.pack(OP, kind, 0, *zero_points, *activation, 1, *operands, *window, 1, 1, 0, 0, 0, 0, *constants)


def expected(x: NDArray[np.int8]) -> NDArray[np.int8]:
    """Compute the region's output in NumPy."""
    pooled = x.reshape(1, 4, 2, 4, 2, 4).max(axis=(2, 4))
    return np.maximum(pooled, 0).astype(np.int8)


def region_tree(
    code: bytes,
    *,
    name: str = "TMO_REGION",
    workspace: int = WORKSPACE,
    offsets: tuple[int, int, int] = (INPUT_AT, OUTPUT_AT, 0),
    output_name: str = "y",
) -> Any:
    """Return the schema tree of a model of this operator. offsets: arena offsets of input, output and workspace."""
    tree = empty_tree()
    x = writer.add_tensor(tree, "x", IN, "INT8", scale=INT8.scale, zero_point=INT8.zero_point)
    constant = writer.add_tensor(tree, "program", (len(code),), "UINT8", buffer=writer.add_buffer(tree, code))
    y = writer.add_tensor(tree, output_name, OUT, "INT8", scale=INT8.scale, zero_point=INT8.zero_point)
    space = writer.add_tensor(tree, "workspace", (workspace,), "UINT8")
    opcode = writer.add_opcode(tree, "CUSTOM", custom_code=name)
    graph = tree.subgraphs[0]
    graph.operators.append(writer.operator(opcode, [x, constant], [y, space]))
    graph.inputs, graph.outputs = np.int32([x]), np.int32([y])
    plan = (1, 1, 4, offsets[0], -1, offsets[1], offsets[2])
    writer.set_metadata(tree, "OfflineMemoryAllocation", np.array(plan, "<i4"))
    return tree


def region_model(code: bytes | None = None, **options: Any) -> bytes:
    """Return `region_tree` as bytes, by default with the valid program."""
    return writer.write(region_tree(program() if code is None else code, **options))


def misaligned_model() -> bytes:
    """Return the valid model, written by a packer that ignores alignment."""
    tree = region_tree(program())
    for padding in range(16):
        tree.description = " " * (padding + 1)
        builder = flatbuffers.Builder(4096)
        builder.Finish(tree.Pack(builder), b"TFL3")
        data = bytes(builder.Output())
        if data.index(program()) % 16:
            return data
    raise AssertionError("no padding moves the program off its boundary")


def float_io(tree: Any) -> None:
    """Surround the region with QUANTIZE and DEQUANTIZE. The outside is float32, and there is no offline plan."""
    graph = tree.subgraphs[0]
    inner_x, inner_y = int(graph.inputs[0]), int(graph.outputs[0])
    writer.rename_tensor(tree, inner_x, "x_int8")
    writer.rename_tensor(tree, inner_y, "y_int8")
    x, y = writer.add_tensor(tree, "x", IN, "FLOAT32"), writer.add_tensor(tree, "y", OUT, "FLOAT32")
    before = builtin(writer.add_opcode(tree, "QUANTIZE"), [x], [inner_x])
    after = builtin(writer.add_opcode(tree, "DEQUANTIZE"), [inner_y], [y])
    graph.operators = [before, *graph.operators, after]
    graph.inputs, graph.outputs = np.int32([x]), np.int32([y])
    tree.metadata = None


def empty_tree() -> Any:
    """Return a schema tree with one empty subgraph."""
    graph = schema.SubGraphT(tensors=[], operators=[])
    return schema.ModelT(version=3, buffers=[schema.BufferT()], operatorCodes=[], subgraphs=[graph], metadata=[])


def builtin(opcode: int, inputs: list[int], outputs: list[int], options: Mapping[str, Any] | None = None) -> Any:
    """Return a schema OperatorT without options."""
    return schema.OperatorT(opcodeIndex=opcode, inputs=np.int32(inputs), outputs=np.int32(outputs), **(options or {}))


def _vector(tree: Any, name: str, form: Format, elements: int) -> int:
    scaling = {} if form.scale is None else {"scale": form.scale, "zero_point": form.zero_point}
    return writer.add_tensor(tree, name, (1, elements), form.dtype, **scaling)
