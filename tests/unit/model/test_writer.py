from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net, as_data

from tflm_memopt.errors import ModelError
from tflm_memopt.model import interface, writer
from tflm_memopt.model.reader import read


def rich() -> Net:
    net = Net(seed=5)
    x = net.input((1, 5, 5, 2), name="image")
    y = net.conv2d(x, 3, kernel=(3, 3))
    z = net.op("CUSTOM", [y, -1], [net.tensor((1, 5, 5, 3))], custom_code="MY_OP")
    net.graph.operators[-1].customOptions = np.arange(5, dtype=np.uint8)
    out = net.fully_connected(z, 4)
    net.finished(out)
    writer.set_metadata(net.tree, "min_runtime_version", b"2.9.0" + bytes(11))
    entry = schema.TensorMapT
    net.tree.signatureDefs = [
        schema.SignatureDefT(
            inputs=[entry("image", x)], outputs=[entry("scores", out)], signatureKey="serving_default", subgraphIndex=0
        )
    ]
    net.tree.subgraphs.append(schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name="other"))
    net.tree.buffers.append(schema.BufferT(data=np.zeros(0, np.uint8)))
    return net


def test_real_models_unchanged(real_model: Path) -> None:
    data = real_model.read_bytes()
    model = read(data)
    written = writer.write(model.tree)
    assert as_data(read(written).tree) == as_data(model.tree)
    assert len(written) <= 1.02 * len(data)
    assert writer.write(read(written).tree) == written


def test_everything_else_that_a_file_holds() -> None:
    tree = rich().tree
    again = read(writer.write(tree)).tree
    assert as_data(again) == as_data(tree)


@pytest.mark.parametrize("length", [1, 3, 15, 16, 17, 33])
def test_buffers_start_at_multiples_of_16(length: int) -> None:
    net = rich()
    writer.add_buffer(net.tree, bytes(range(length)))
    data = writer.write(net.tree)
    starts = [data.find(b.data.tobytes()) for b in read(data).tree.buffers if b.data is not None and len(b.data) > 20]
    assert starts
    writer.check_alignment(data)
    with pytest.raises(
        ModelError, match=r"the data starts at byte [\d,]+, which is not a multiple of 16\n  at buffer \d"
    ):
        writer.check_alignment(_unaligned(net.tree))


def _unaligned(tree: Any) -> bytes:
    """FlatBuffers' object API ignores the alignment (force_align)."""
    for size in range(1, 20):
        builder = flatbuffers.Builder(1024)
        tree.description = "x" * size
        builder.Finish(tree.Pack(builder), file_identifier=b"TFL3")
        data = bytes(builder.Output())
        model = schema.Model.GetRootAs(data, 0)
        vectors = [model.Buffers(i)._tab for i in range(model.BuffersLength())]
        if any(t.Offset(4) and t.VectorLen(t.Offset(4)) and t.Vector(t.Offset(4)) % 16 for t in vectors):
            return data
    raise AssertionError("the object API aligns after all")


def test_what_nothing_names_is_dropped() -> None:
    tree = writer.edit(read(rich().model(6)))
    graph = tree.subgraphs[0]
    graph.operators = graph.operators[2:]
    dense_input = int(graph.operators[0].inputs[0])
    writer.replace_interface(tree, {0: dense_input})
    writer.rename_tensor(tree, dense_input, "image")
    kept = writer.drop_unused(tree)
    model = read(writer.write(tree))
    assert [op.type for op in model.graph.ops] == ["FULLY_CONNECTED"]
    assert len(model.graph.tensors) == len(kept) == 4
    assert [model.graph.tensors[t].name for t in model.graph.inputs] == ["image"]
    assert len(tree.operatorCodes) == 1
    signature = tree.signatureDefs[0]
    assert signature.inputs[0].tensorIndex == model.graph.inputs[0]
    assert signature.outputs[0].tensorIndex == model.graph.outputs[0]
    weights = model.graph.tensors[model.graph.ops[0].inputs[1]].data
    original = read(rich().model(6)).graph
    assert weights is not None
    np.testing.assert_array_equal(weights, original.tensors[original.ops[2].inputs[1]].data)
    assert interface.metadata(model.tree, "min_runtime_version") == b"2.9.0" + bytes(11)
    assert len(model.tree.buffers) == 4
