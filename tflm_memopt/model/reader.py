"""Reads a .tflite file in two forms: the schema's object tree, which has the whole content, and graphs, which are plain
data.
"""

import functools
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

from tflm_memopt.errors import ModelError
from tflm_memopt.model import calls, flatbuffer
from tflm_memopt.model.graph import ABSENT, ITEM_BYTES, Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.model.names import OURS

SCHEMA_VERSION = 3
CUSTOM = "CUSTOM"
"""Type of all custom operators, which have the options `custom_code` (str) and `custom_options` (bytes)."""

SUB_BYTE_BITS: Mapping[str, int] = {"INT4": 4, "INT2": 2, "UINT4": 4}
"""Number of bits of each type that stores several values in a byte. Only INT4 constants are unpacked to int8."""

MAX_TENSOR_BYTES = 1 << 26
"""Maximum size of an activation in bytes."""

MOST_READ = 8
"""Maximum number of models in the cache."""

_DAMAGE = (struct.error, ValueError, IndexError, TypeError, KeyError, AttributeError, OverflowError, MemoryError)


def _names(enum: type) -> dict[int, str]:
    return {value: name for name, value in vars(enum).items() if isinstance(value, int)}


TENSOR_TYPES = _names(schema.TensorType)
OPERATORS = _names(schema.BuiltinOperator)
_NAMES = frozenset(name.replace("_", "").lower() for name in OPERATORS.values())
_ENUM_OPTIONS = {"padding": _names(schema.Padding), "fusedActivationFunction": _names(schema.ActivationFunctionType)}


@dataclass(frozen=True, slots=True)
class Model:
    """A model that was read from a file. The field `tree` is a ModelT of the schema. To change a tree, use the copy
    that writer.edit() returns.
    """

    tree: Any
    graph: Graph
    """Subgraph 0, which TFLM runs first."""

    @property
    def subgraphs(self) -> int:
        return len(self.tree.subgraphs)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        return self.graph.subgraphs

    @property
    def free_batch(self) -> bool:
        """True if the first dimension of an input can have any size."""
        signatures = (_ints(self.tree.subgraphs[0].tensors[t].shapeSignature) for t in self.graph.inputs)
        return any(signature and signature[0] < 0 for signature in signatures)


@functools.lru_cache(maxsize=MOST_READ)
def read(data: bytes) -> Model:
    """Return the model in the bytes of a .tflite file, from the cache of recently read models if possible. Raises
    ModelError for invalid bytes, and no other exception.
    """
    flatbuffer.check(data)
    try:
        tree = schema.ModelT.InitFromPackedBuf(data, 0)
    except _DAMAGE as error:
        raise _damaged(f"damaged model: {error}", "operator options", "copy or convert the file again") from error
    _check_tree(tree)
    for tensor in (tensor for subgraph in tree.subgraphs for tensor in _items(subgraph.tensors)):
        if tensor.shape is None:  # a scalar: AllocateTfLiteTensor (micro_allocator.cc) allows a missing shape
            tensor.shape = np.zeros(0, np.int32)
    graphs = [_graph(tree, number) for number in range(len(tree.subgraphs))]
    calls.check(graphs)
    return Model(tree, replace(graphs[0], subgraphs=tuple(graphs)))


def _graph(tree: Any, number: int) -> Graph:
    subgraph = tree.subgraphs[number]
    prefix = f"subgraph {number}, " if number else ""
    tensors = {i: _tensor(tree, i, t, prefix) for i, t in enumerate(_items(subgraph.tensors))}
    ops = tuple(_op(tree, i, o, tensors, prefix) for i, o in enumerate(_items(subgraph.operators)))
    inputs = _indices(subgraph.inputs, len(tensors), f"{prefix}model inputs")
    outputs = _indices(subgraph.outputs, len(tensors), f"{prefix}model outputs")
    graph = Graph(tensors, ops, inputs, outputs)
    _check_order(graph, prefix)
    return graph


def is_region(op: Op) -> bool:
    return op.type == CUSTOM and op.options["custom_code"] in OURS


def describe(op: Op, tensor: Tensor | None = None) -> str:
    """Return a description of an operator or tensor for error messages.

    >>> describe(Op(3, "ADD", (), ()), Tensor(7, "sum", (1,), "INT8"))
    "operator 3 ADD, tensor 7 'sum'"
    """
    custom = f" '{op.options['custom_code']}'" if op.type == CUSTOM else ""
    return f"operator {op.index} {op.type}{custom}" + (f", tensor {tensor.id} '{tensor.label}'" if tensor else "")


def text(value: bytes | str | None) -> str:
    """Return a string of the schema as str. The object API represents strings as bytes or None."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def _items(vector: Any) -> Sequence[Any]:
    return () if vector is None else vector


def _ints(vector: Any) -> tuple[int, ...]:
    return tuple(vector.tolist() if isinstance(vector, np.ndarray) else map(int, _items(vector)))


def _damaged(what: str, where: str = "", hint: str = "convert the model again") -> ModelError:
    return ModelError(what, code="damaged_model", where=where, hint=hint)


def _unsupported(what: str, where: str, hint: str) -> ModelError:
    return ModelError(what, code="unsupported_model", where=where, hint=hint)


def _check_tree(tree: Any) -> None:
    if tree.version != SCHEMA_VERSION:
        what = f"schema version {tree.version} is not supported, only version {SCHEMA_VERSION}"
        raise _unsupported(what, "", "convert the model again")
    if not tree.subgraphs:
        raise _damaged("the model has no subgraph")
    if not tree.buffers:
        raise _damaged("the model has no buffers")
    outside = [i for i, b in enumerate(tree.buffers) if b.offset > 1]
    outside += range(len(_items(tree.externalBuffers)))
    if outside:
        what, hint = "weights are stored outside of the flatbuffer", "convert again without large or external buffers"
        raise _unsupported(what, f"buffer {outside[0]}", hint)
    users = [(entry.buffer, f"metadata {i} '{text(entry.name)}'") for i, entry in enumerate(_items(tree.metadata))]
    for buffer, where in (*users, *((b, "metadata_buffer") for b in _ints(tree.metadataBuffer))):
        if not 0 <= buffer < len(tree.buffers):
            raise _out_of_range(f"buffer {buffer}", len(tree.buffers), where)
    for i, signature in enumerate(_items(tree.signatureDefs)):
        where = f"signature {i} '{text(signature.signatureKey)}'"
        if not 0 <= signature.subgraphIndex < len(tree.subgraphs):
            raise _out_of_range(f"subgraph {signature.subgraphIndex}", len(tree.subgraphs), where)
        count = len(_items(tree.subgraphs[signature.subgraphIndex].tensors))
        _indices([m.tensorIndex for m in (*_items(signature.inputs), *_items(signature.outputs))], count, where)


def _tensor(tree: Any, index: int, t: Any, prefix: str) -> Tensor:
    name = text(t.name) or f"tensor {index}"
    where = f"{prefix}tensor {index} '{text(t.name)}'"
    if t.type not in TENSOR_TYPES:
        raise _unsupported(f"unknown tensor type {t.type}", where, "update ai-edge-litert")
    dtype, shape, signature = TENSOR_TYPES[t.type], _ints(t.shape), _ints(t.shapeSignature)
    dynamic = any(d < 0 for d in shape) or (t.shapeSignature is not None and len(signature) != len(shape))
    if not 0 <= t.buffer < len(tree.buffers):
        raise _out_of_range(f"buffer {t.buffer}", len(tree.buffers), where)
    raw, data = np.asarray(_items(tree.buffers[t.buffer].data), np.uint8), None
    if raw.size and not t.isVariable:  # TFLM zeroes variables whatever the file contains (AllocateVariables)
        data = _constant(raw, dtype, shape, t.sparsity is not None, where)
    quantization = _quantization(t.quantization, where)
    tensor = Tensor(index, name, shape, dtype, quantization, data, bool(t.isVariable), dynamic)
    nbytes = abs(tensor.nbytes)  # a negative dimension stands for an unknown dimension
    if not tensor.constant and nbytes > MAX_TENSOR_BYTES:
        what = f"shape {list(shape)} of {dtype} needs {nbytes:,} B, more than the limit of {MAX_TENSOR_BYTES:,} B"
        hint = "use a smaller model, since no microcontroller has this much RAM; or the file is damaged"
        raise _unsupported(what, where, hint)
    return tensor


def _constant(raw: NDArray[np.uint8], dtype: str, shape: tuple[int, ...], sparse: bool, where: str) -> NDArray[Any]:
    """Return the values of a constant in `shape`, or the raw bytes for types that NumPy lacks."""
    if sparse or dtype in ("STRING", "RESOURCE", "VARIANT"):
        return raw
    bits = SUB_BYTE_BITS.get(dtype, 8 * ITEM_BYTES.get(dtype, 0))
    expected = -(-math.prod(shape) * bits // 8)
    if bits and expected != raw.size:
        what = f"shape {list(shape)} of {dtype} needs {expected:,} B, but its buffer has {raw.size:,} B"
        raise _damaged(what, where)
    if dtype == "INT4":  # the low half is first: UnpackDenseInt4IntoInt8 (kernels/internal/portable_tensor_utils.cc)
        halves = np.stack([raw << 4, raw & 0xF0], axis=-1).reshape(-1)[: math.prod(shape)]
        return (halves.view(np.int8) >> 4).reshape(shape)
    if dtype not in ITEM_BYTES:
        return raw
    values: NDArray[Any] = raw.view(np.dtype(dtype.lower()).newbyteorder("<")).reshape(shape)
    return values


def _quantization(q: Any, where: str) -> Quantization | None:
    """Return the quantization as TFLM reads it (micro_allocator.cc). TFLM ignores scales without zero points."""
    if q is None or not len(_items(q.scale)) or not len(_items(q.zeroPoint)):
        return None
    scale, zero_point = tuple(np.asarray(q.scale).tolist()), _ints(q.zeroPoint)
    if len(zero_point) not in (1, len(scale)):
        raise _damaged(f"{len(scale)} scales but {len(zero_point)} zero points", where)
    return Quantization(scale, zero_point, int(q.quantizedDimension))


def _op(tree: Any, index: int, o: Any, tensors: Mapping[TensorId, Tensor], prefix: str) -> Op:
    codes = _items(tree.operatorCodes)
    if not 0 <= o.opcodeIndex < len(codes):
        raise _out_of_range(f"operator code {o.opcodeIndex}", len(codes), f"{prefix}operator {index}")
    code = codes[o.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    kind = OPERATORS.get(number, f"BUILTIN_{number}")
    where = f"{prefix}operator {index} {kind}"
    if (o.builtinOptionsType and o.builtinOptions is None) or (o.builtinOptions2Type and o.builtinOptions2 is None):
        raise _unsupported("operator options of an unknown type", where, "update ai-edge-litert")
    if o.largeCustomOptionsOffset > 1:
        what = "custom options are stored outside of the flatbuffer"
        raise _unsupported(what, where, "convert again without large buffers")
    options = {**_options(o.builtinOptions, kind), **_options(o.builtinOptions2, kind)}
    if kind == CUSTOM:
        options |= {"custom_code": text(code.customCode), "custom_options": bytes(_items(o.customOptions))}
    inputs = _indices(o.inputs, len(tensors), f"{where}, inputs", optional=True)
    _indices(o.intermediates, len(tensors), f"{where}, intermediates", optional=True)
    op = Op(index, kind, inputs, _indices(o.outputs, len(tensors), f"{where}, outputs"), options)
    for number in calls.called(op):
        if not 0 <= number < len(tree.subgraphs):
            raise _out_of_range(f"subgraph {number}", len(tree.subgraphs), where)
    return op


def _options(table: Any, kind: str) -> dict[str, Any]:
    """Return the fields of an operator's options by their names in the schema. As in TFLM, an operator's options are
    ignored if they belong to another operator type.
    """
    owner = type(table).__name__.removesuffix("OptionsT").lower()
    foreign = owner != kind.replace("_", "").lower() and owner in _NAMES
    fields = {} if table is None or foreign else vars(table)
    return {name: _plain(value, _ENUM_OPTIONS.get(name, {})) for name, value in fields.items()}


def _plain(value: Any, names: Mapping[int, str]) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return names.get(value, value) if isinstance(value, int) else value


def _indices(vector: Iterable[int] | None, count: int, where: str, *, optional: bool = False) -> tuple[TensorId, ...]:
    indices = _ints(vector)
    for i in indices:
        if not (ABSENT if optional else 0) <= i < count:
            raise _out_of_range(f"tensor {i}", count, where)
    return indices


def _check_order(graph: Graph, prefix: str) -> None:
    writer = {t: op for op in reversed(graph.ops) for t in op.outputs}
    done: set[TensorId] = set()
    for op in graph.ops:
        for t in op.inputs:
            if t in writer and t not in done:
                what = f"the operator reads a tensor that operator {writer[t].index} writes later"
                raise _damaged(what, f"{prefix}{describe(op, graph.tensors[t])}")
        for t in op.outputs:
            if t in done or graph.tensors[t].constant or t in graph.inputs:
                what = "the operator writes a tensor that already has a value"
                raise _damaged(what, f"{prefix}{describe(op, graph.tensors[t])}")
            done.add(t)


def _out_of_range(what: str, count: int, where: str) -> ModelError:
    hint = "copy or convert the file again: it is damaged"
    return _damaged(f"{what} does not exist: the model has {count:,}", where, hint)
