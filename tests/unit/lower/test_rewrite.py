"""Test the operators and the memory plan of a rewritten file."""

import itertools
from functools import cache
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net, as_data
from planning import lowered, plan_of

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model import interface
from tflm_memopt.model.names import OFFLINE_PLAN, ONLINE
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Role

HEADER = 3


@cache
def rewritten(data: bytes, *, op_per_group: bool = False) -> tuple[Model, Planned]:
    source, options = read(data), ConversionOptions("group" if op_per_group else "region", seconds=0.3)
    planned = plan_of(source.graph, options)
    return read(lowered(source, planned, options)), planned


def gated() -> bytes:
    net = Net(seed=2)
    x = net.conv2d(net.input((1, 8, 8, 3)), 6, kernel=(3, 3))
    gate = net.normalized(net.conv2d(x, 6))
    y = net.add_n(gate, gate)
    return net.model(net.fully_connected(y, 4))


def kinds(model: Model) -> list[str]:
    return [op.options["custom_code"] if op.type == "CUSTOM" else op.type for op in model.graph.ops]


def offline_plan(model: Model) -> list[int]:
    data = interface.metadata(model.tree, OFFLINE_PLAN)
    assert data is not None
    return np.frombuffer(data, "<i4").tolist()


def network() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 12, 12, 3)), 8, kernel=(3, 3), stride=(2, 2))
    y = net.add(x, net.conv2d(net.depthwise_conv2d(x), 8))
    return net.model(net.softmax(net.fully_connected(net.pool(y, kernel=(6, 6)), 10)))


def test_the_memory_plan_names_every_tensor() -> None:
    for build, op_per_group in itertools.product((network, gated), (False, True)):
        model, _ = rewritten(build(), op_per_group=op_per_group)
        version, subgraphs, count, *offsets = offline_plan(model)
        assert (version, subgraphs, count, len(offsets)) == (1, 1, len(model.graph.tensors), count)
        for tensor, offset in zip(model.graph.tensors.values(), offsets, strict=True):
            assert offset == ONLINE if tensor.constant else offset >= 0 and offset % 16 == 0


def test_tensors_are_where_the_plan_puts_them() -> None:
    model, planned = rewritten(gated())
    offsets = offline_plan(model)[HEADER:]
    planned_at = {planned.graph.model.tensors[b.key].name: o for b, o in planned.plan.placed() if b.role is Role.TENSOR}
    seen = {t.name for t in model.graph.tensors.values()} & planned_at.keys()
    assert len(seen) >= 5
    assert {t.name: offsets[t.id] for t in model.graph.tensors.values() if t.name in seen} == {
        n: planned_at[n] for n in seen
    }


def test_builtin_operators_stay_byte_for_byte() -> None:
    before, (after, _) = read(gated()), rewritten(gated())

    def builtin(model: Model) -> list[Any]:
        main, codes = model.tree.subgraphs[0], model.tree.operatorCodes
        found = []
        for op in main.operators:
            code = codes[op.opcodeIndex]
            if code.builtinCode in (schema.BuiltinOperator.ADD_N, schema.BuiltinOperator.L2_NORMALIZATION):
                tensors = [
                    (as_data(t.name), as_data(t.shape)) for t in (main.tensors[i] for i in (*op.inputs, *op.outputs))
                ]
                found.append((code.builtinCode, code.version, as_data(op.builtinOptions), tensors))
        return found

    assert builtin(before) == builtin(after)
    assert len(builtin(after)) == 2
    assert kinds(after) == ["TMO_REGION", "L2_NORMALIZATION", "ADD_N", "TMO_REGION"]
