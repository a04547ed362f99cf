"""Writes a model's object tree to bytes, and edits copies of the tree."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike, NDArray

from tflm_memopt.errors import ModelError
from tflm_memopt.model.flatbuffer import IDENTIFIER
from tflm_memopt.model.graph import ABSENT
from tflm_memopt.model.reader import Model, text

ALIGNMENT = 16
"""Alignment of Buffer.data in schema.fbs (force_align: 16), which Python's object API ignores."""

PLACEHOLDER_FOR_GREATER = schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES


def write(tree: Any) -> bytes:
    """Return a ModelT of the schema as the bytes of a .tflite file, in which every buffer starts at a multiple of 16
    bytes.
    """
    shallow = copy.copy(tree)
    shallow.buffers = [_AlignedBuffer(b) for b in tree.buffers or ()]
    size = sum(len(b.data) for b in tree.buffers or () if b.data is not None)
    builder = _Builder(size + (1 << 16))
    builder.Finish(shallow.Pack(builder), file_identifier=IDENTIFIER)
    data = bytes(builder.Output())
    check_alignment(data)
    return data


def check_alignment(data: bytes) -> None:
    """Raise ModelError if a buffer of a .tflite file does not start at a multiple of 16 bytes."""
    model = schema.Model.GetRootAs(data, 0)
    for index in range(model.BuffersLength()):
        table = model.Buffers(index)._tab  # FlatBuffers' public accessors do not return offsets
        field = table.Offset(4)  # 4 is the place of Buffer.data in a vtable
        if field and table.VectorLen(field) and table.Vector(field) % ALIGNMENT:
            offset = table.Vector(field)
            raise ModelError(
                f"the data starts at byte {offset:,}, which is not a multiple of {ALIGNMENT}",
                code="damaged_model",
                where=f"buffer {index}",
                hint="write the model with tflm-memopt, or flatbuffers in C++",
            )


class _Builder(flatbuffers.Builder):  # type: ignore[misc]
    """Writes each string only once, since signatures repeat tensor names."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.strings: dict[str | bytes, int] = {}

    def CreateString(self, s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> int:  # noqa: N802
        if s not in self.strings:
            self.strings[s] = super().CreateString(s, encoding, errors)
        return self.strings[s]


class _AlignedBuffer:
    """A BufferT that packs its data at a multiple of 16 bytes."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer

    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802
        data = None if self.buffer.data is None else np.asarray(self.buffer.data, np.uint8).tobytes()
        if data is not None:
            builder.StartVector(1, len(data), ALIGNMENT if data else 1)
            builder.head -= len(data)
            builder.Bytes[builder.head : builder.head + len(data)] = data
            vector = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, vector)
        schema.BufferAddOffset(builder, self.buffer.offset)
        schema.BufferAddSize(builder, self.buffer.size)
        offset: int = schema.BufferEnd(builder)
        return offset


def edit(model: Model) -> Any:
    """Return a deep copy of the model's tree."""
    return copy.deepcopy(model.tree)


def add_buffer(tree: Any, data: bytes | NDArray[Any]) -> int:
    raw = data if isinstance(data, bytes) else data.tobytes()
    tree.buffers.append(schema.BufferT(data=np.frombuffer(raw, np.uint8)))
    return len(tree.buffers) - 1


def add_tensor(
    tree: Any,
    name: str,
    shape: Sequence[int],
    dtype: str,
    *,
    buffer: int = 0,
    scale: ArrayLike = (),
    zero_point: ArrayLike = (),
    variable: bool = False,
) -> int:
    """Add a tensor to subgraph 0 and return its index. Tensors for activations use buffer 0, which is empty."""
    quantization = None
    if np.size(scale):
        quantization = schema.QuantizationParametersT(
            scale=np.atleast_1d(np.asarray(scale, np.float32)),
            zeroPoint=np.atleast_1d(np.asarray(zero_point, np.int64)),
        )
    tensor = schema.TensorT(
        shape=np.asarray(shape, np.int32),
        type=getattr(schema.TensorType, dtype),
        buffer=buffer,
        name=name,
        quantization=quantization,
        isVariable=variable,
    )
    tensors = tree.subgraphs[0].tensors
    tensors.append(tensor)
    return len(tensors) - 1


def add_opcode(tree: Any, operator: str, *, custom_code: str | None = None) -> int:
    """Return the index of an operator code, after adding a missing code to the model."""
    code = getattr(schema.BuiltinOperator, operator)
    for index, known in enumerate(tree.operatorCodes):
        if (
            max(known.builtinCode, known.deprecatedBuiltinCode) == code
            and text(known.customCode) == (custom_code or "")
            and known.version == 1
        ):
            return index
    placeholder = min(code, PLACEHOLDER_FOR_GREATER)
    tree.operatorCodes.append(schema.OperatorCodeT(placeholder, custom_code, version=1, builtinCode=code))
    return len(tree.operatorCodes) - 1


def operator(opcode: int, inputs: Sequence[int], outputs: Sequence[int], custom_options: bytes = b"") -> Any:
    return schema.OperatorT(
        opcodeIndex=opcode,
        inputs=np.asarray(inputs, np.int32),
        outputs=np.asarray(outputs, np.int32),
        customOptions=np.frombuffer(custom_options, np.uint8) if custom_options else None,
    )


def set_metadata(tree: Any, name: str, data: bytes | NDArray[Any]) -> None:
    drop_metadata(tree, name)
    tree.metadata = [*tree.metadata, schema.MetadataT(name=name, buffer=add_buffer(tree, data))]


def drop_metadata(tree: Any, name: str) -> None:
    tree.metadata = [m for m in tree.metadata or () if text(m.name) != name]


def rename_tensor(tree: Any, tensor: int, name: str) -> None:
    tree.subgraphs[0].tensors[tensor].name = name


def replace_interface(tree: Any, replaced: Mapping[int, int]) -> None:
    """Replace inputs and outputs of the model and of its signatures."""
    graph = tree.subgraphs[0]
    graph.inputs, graph.outputs = (_mapped(v, replaced) for v in (graph.inputs, graph.outputs))
    for entry in _signature_entries(tree):
        entry.tensorIndex = replaced.get(entry.tensorIndex, entry.tensorIndex)


def drop_input(tree: Any, tensor: int) -> None:
    graph = tree.subgraphs[0]
    graph.inputs = np.asarray([i for i in graph.inputs if i != tensor], np.int32)
    for signature in tree.signatureDefs or ():
        if signature.subgraphIndex == 0:
            signature.inputs = [entry for entry in signature.inputs or () if entry.tensorIndex != tensor]


def drop_unused(tree: Any) -> Mapping[int, int]:
    """Drop unused tensors of subgraph 0, then unused buffers and operator codes. Return the new index of each remaining
    tensor. Buffer 0, which is empty by convention, always remains.
    """
    tensors = _drop_tensors(tree)
    _drop_opcodes(tree)
    _drop_buffers(tree)
    return tensors


def _drop_tensors(tree: Any) -> dict[int, int]:
    graph = tree.subgraphs[0]
    vectors = [v for o in graph.operators or () for v in (o.inputs, o.outputs, o.intermediates)]
    named = {int(i) for v in (graph.inputs, graph.outputs, *vectors) if v is not None for i in v}
    named |= {entry.tensorIndex for entry in _signature_entries(tree)}
    return reorder_tensors(tree, sorted(named - {ABSENT}))


def reorder_tensors(tree: Any, order: Iterable[int], number: int = 0) -> dict[int, int]:
    """Put the tensors of subgraph `number` in the order `order`, and remove all other tensors. Return the new index of
    each tensor in `order`.
    """
    graph, new = tree.subgraphs[number], {old: position for position, old in enumerate(order)}
    graph.tensors = [graph.tensors[i] for i in new]
    graph.inputs, graph.outputs = _mapped(graph.inputs, new), _mapped(graph.outputs, new)
    for o in graph.operators or ():
        o.inputs, o.outputs, o.intermediates = (_mapped(v, new) for v in (o.inputs, o.outputs, o.intermediates))
    for entry in _signature_entries(tree, number):
        entry.tensorIndex = new.get(entry.tensorIndex, entry.tensorIndex)
    return new


def _drop_opcodes(tree: Any) -> None:
    operators = [o for g in tree.subgraphs for o in g.operators or ()]
    new = _renumber({o.opcodeIndex for o in operators})
    tree.operatorCodes = [tree.operatorCodes[i] for i in new]
    for o in operators:
        o.opcodeIndex = new[o.opcodeIndex]


def _drop_buffers(tree: Any) -> None:
    tensors = [t for g in tree.subgraphs for t in g.tensors or ()]
    # buffers in the deprecated list Model.metadata_buffer count as used
    old_style = [int(b) for b in ([] if tree.metadataBuffer is None else tree.metadataBuffer)]
    new = _renumber({0, *old_style, *(t.buffer for t in tensors), *(m.buffer for m in tree.metadata or ())})
    tree.buffers = [tree.buffers[i] for i in new]
    for user in (*tensors, *(tree.metadata or ())):
        user.buffer = new[user.buffer]
    if old_style:
        tree.metadataBuffer = _mapped(np.asarray(old_style, np.int32), new)


def _signature_entries(tree: Any, subgraph: int = 0) -> list[Any]:
    signatures = [s for s in tree.signatureDefs or () if s.subgraphIndex == subgraph]
    return [entry for s in signatures for entry in (*(s.inputs or ()), *(s.outputs or ()))]


def _renumber(kept: Iterable[int]) -> dict[int, int]:
    return {old: new for new, old in enumerate(sorted(kept))}


def _mapped(vector: Any, new: Mapping[int, int]) -> Any:
    return None if vector is None else np.asarray([new.get(int(i), int(i)) for i in vector], np.int32)
