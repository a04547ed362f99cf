"""Builds models of one operator with operands of any type, and finds out whether TFLM runs them."""

import faulthandler
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from property import oracle
from unit.analysis.arena_zoo import ZOO

from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.model.reader import read

AFFINE = {"INT8": (0.05, 0), "UINT8": (0.05, 128), "INT16": (0.001, 0), "INT4": (0.05, 0)}
FIXED = {
    **{(kind, "INT16", "INT16"): (1 / 32768, 0) for kind in ("LOGISTIC", "SOFTMAX", "TANH")},
    ("SOFTMAX", "INT8", "INT16"): (1 / 65536, -32768),
}


class Base(NamedTuple):
    model: Any
    graph: Graph
    op: Op

    @property
    def inputs(self) -> list[str]:
        """An absent input has the type ""."""
        return [self.graph.tensors[t].dtype if t >= 0 else "" for t in self.op.inputs]

    @property
    def outputs(self) -> list[str]:
        return [self.graph.tensors[t].dtype for t in self.op.outputs]


@cache
def bases() -> Mapping[str, list[Base]]:
    found: dict[str, list[Base]] = {}
    for build in ZOO.values():
        model = read(build())
        for op in model.graph.ops:
            found.setdefault(op.type, []).append(Base(model, model.graph, op))
    return found


def retyped(base: Base, inputs: Sequence[str], outputs: Sequence[str], *, computed: int | None = None) -> bytes:
    """The argument `computed` is the index of a constant operand that becomes an input of the model."""
    tree = schema.ModelT(version=3, operatorCodes=[], buffers=[schema.BufferT()], description="one operator")
    graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name="main")
    tree.subgraphs = [graph]
    ids: dict[int, int] = {}
    for tensor, dtype in zip((*base.op.inputs, *base.op.outputs), (*inputs, *outputs), strict=True):
        if tensor >= 0 and dtype and tensor not in ids:
            key = base.op.type, inputs[0] if inputs else "", dtype
            affine = FIXED.get(key) if tensor in base.op.outputs else None
            ids[tensor] = _tensor(tree, base.graph.tensors[tensor], dtype, affine or AFFINE.get(dtype))
    operator = base.model.tree.subgraphs[0].operators[base.op.index]
    wanted = [ids[t] if dtype and t >= 0 else -1 for t, dtype in zip(base.op.inputs, inputs, strict=True)]
    while wanted and wanted[-1] < 0 <= base.op.inputs[len(wanted) - 1]:
        wanted.pop()
    if base.op.type == "SVDF" and inputs[2] == inputs[4] == "INT8" and inputs[3]:
        graph.tensors[ids[base.op.inputs[3]]].quantization.scale = np.array([AFFINE["INT8"][0] ** 2], np.float32)
    graph.operators = [
        schema.OperatorT(
            opcodeIndex=writer.add_opcode(tree, base.op.type),
            inputs=np.asarray(wanted, np.int32),
            outputs=np.asarray([ids[t] for t in base.op.outputs], np.int32),
            builtinOptionsType=operator.builtinOptionsType,
            builtinOptions=operator.builtinOptions,
        )
    ]
    given = dict.fromkeys(base.op.inputs)
    constant = {t for t in given if t >= 0 and (base.graph.tensors[t].constant or base.graph.tensors[t].variable)}
    if computed is not None:
        constant.discard(base.op.inputs[computed])
        graph.tensors[ids[base.op.inputs[computed]]].buffer = 0
    graph.inputs = [ids[t] for t in given if t in ids and t not in constant]
    graph.outputs = [ids[t] for t in base.op.outputs]
    return writer.write(tree)


def _tensor(tree: Any, source: Tensor, dtype: str, affine: Any) -> int:
    same = source.dtype == dtype and source.quantization
    affine = ([affine[0]], [affine[1]]) if affine else ((), ())
    if same:
        affine = source.quantization.scale, source.quantization.zero_point
    if dtype in ("INT32", "INT64") and source.quantization and source.constant:
        affine = (source.quantization.scale, source.quantization.zero_point)
    buffer = 0
    if source.data is not None:
        values = np.asarray(source.data)
        if dtype == "INT4":
            values = np.resize(values, -(-values.size // 2)).astype(np.int8)
        buffer = writer.add_buffer(tree, values.astype("int8" if dtype == "INT4" else dtype.lower()))
    index = writer.add_tensor(
        tree, source.name, source.shape, dtype, buffer=buffer, scale=affine[0], zero_point=affine[1]
    )
    tree.subgraphs[0].tensors[index].isVariable = source.variable
    if same:
        tree.subgraphs[0].tensors[index].quantization.quantizedDimension = source.quantization.axis
    return index


def runs(data: bytes) -> bool:
    """A separate process runs the model, because some kernels of TFLM abort."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        try:
            interpreter = oracle.interpreter(data, 1 << 18)
            graph = read(data).graph
            for k, tensor in enumerate(graph.tensors[t] for t in graph.inputs):
                if tensor.dtype in ("FLOAT32", "INT8", "INT16", "INT32", "INT64"):
                    interpreter.set_input(np.ones(tensor.shape, tensor.dtype.lower()), k)
            os._exit(int(interpreter.invoke() != 0))
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
