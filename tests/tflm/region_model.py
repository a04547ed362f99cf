"""Builds small models in which our custom operator runs a hand-written program. The program computes a max pool 2x2 and
a RELU, and its buffers overlap the input in the arena.
"""

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

from tflm_memopt.lower.program import HEADER, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model import writer
from tflm_memopt.model.interface import Format
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Window
from tflm_memopt.plan.loops import Iteration, Repeat

IN, OUT = (1, 8, 8, 4), (1, 4, 4, 4)
POOLED_AT, COUNTERS_AT, WORKSPACE = 0, 272, 288
INPUT_AT, OUTPUT_AT = 16, 64
INT8 = Format("INT8", 0.5, 0)


def program(*, relu_from: int = 0, **header: int) -> bytes:
    pool = ProgramOp(Kind.MAX_POOL, (0,), 1, (0,), 0, window=Window(2, 2, 2, 2))
    relu = ProgramOp(Kind.LOOKUP, (1,), 2, (0,), 0, weights=np.arange(-128, 128).clip(relu_from).astype(np.int8))
    rows = OUT[1]
    tensors = (
        ProgramTensor(0, *IN[1:], depth=IN[1], base=1),
        ProgramTensor(POOLED_AT, *OUT[1:], depth=rows, base=0),
        ProgramTensor(0, *OUT[1:], depth=rows, base=2),
    )
    loops = (Repeat(rows, (Iteration(0),)),)
    groups = tuple(ProgramGroup(n, 1, COUNTERS_AT + 2 * n, loops) for n in range(2))
    data = bytearray(pack(Program(1, 1, WORKSPACE, 2 * rows, tensors, (pool, relu), groups)))
    for field, value in header.items():
        np.frombuffer(data, HEADER, 1)[field] = value
    return bytes(data)


def expected(x: NDArray[np.int8]) -> NDArray[np.int8]:
    pooled = x.reshape(1, 4, 2, 4, 2, 4).max(axis=(2, 4))
    return np.maximum(pooled, 0).astype(np.int8)


def region_tree(
    code: bytes,
    *,
    name: str = "TMO_REGION",
    workspace: int = WORKSPACE,
    offsets: tuple[int, int, int] = (INPUT_AT, OUTPUT_AT, 0),
) -> Any:
    """The argument `offsets` has the arena offsets of input, output and workspace."""
    graph = schema.SubGraphT(tensors=[], operators=[])
    tree = schema.ModelT(version=3, buffers=[schema.BufferT()], operatorCodes=[], subgraphs=[graph], metadata=[])
    x = writer.add_tensor(tree, "x", IN, "INT8", scale=INT8.scale, zero_point=INT8.zero_point)
    constant = writer.add_tensor(tree, "program", (len(code),), "UINT8", buffer=writer.add_buffer(tree, code))
    y = writer.add_tensor(tree, "y", OUT, "INT8", scale=INT8.scale, zero_point=INT8.zero_point)
    space = writer.add_tensor(tree, "workspace", (workspace,), "UINT8")
    opcode = writer.add_opcode(tree, "CUSTOM", custom_code=name)
    graph = tree.subgraphs[0]
    graph.operators.append(writer.operator(opcode, [x, constant], [y, space]))
    graph.inputs, graph.outputs = np.int32([x]), np.int32([y])
    plan = (1, 1, 4, offsets[0], -1, offsets[1], offsets[2])
    writer.set_metadata(tree, "OfflineMemoryAllocation", np.array(plan, "<i4"))
    return tree


def region_model(code: bytes | None = None, **options: Any) -> bytes:
    return writer.write(region_tree(program() if code is None else code, **options))


def misaligned_model() -> bytes:
    """Return a model with unaligned buffers, as some FlatBuffers packers write."""
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
    """Make inputs and outputs float32 by QUANTIZE and DEQUANTIZE, and remove the memory plan."""
    graph = tree.subgraphs[0]
    inner_x, inner_y = int(graph.inputs[0]), int(graph.outputs[0])
    writer.rename_tensor(tree, inner_x, "x_int8")
    writer.rename_tensor(tree, inner_y, "y_int8")
    x, y = writer.add_tensor(tree, "x", IN, "FLOAT32"), writer.add_tensor(tree, "y", OUT, "FLOAT32")
    before = writer.operator(writer.add_opcode(tree, "QUANTIZE"), [x], [inner_x])
    after = writer.operator(writer.add_opcode(tree, "DEQUANTIZE"), [inner_y], [y])
    graph.operators = [before, *graph.operators, after]
    graph.inputs, graph.outputs = np.int32([x]), np.int32([y])
    tree.metadata = None
