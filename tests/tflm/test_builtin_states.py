"""Models with resource variables give the same bytes with `--ops builtin`, under the official wheel."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import streaming
from conftest import WAKE_WORD
from models import Net
from tflm.test_states import STEPS, differing

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.pipeline import ConversionOptions, builtin_alone, in_parts
from tflm_memopt.errors import PlanError
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import library

BUILDS = [
    streaming.mixed, streaming.joined, streaming.chunks, streaming.partly, streaming.twice_assigned,
    streaming.read_late, streaming.passed_on, streaming.filled,
]  # fmt: skip


def as_builtin(data: bytes) -> Converted:
    source, options = read(data), ConversionOptions(ops="builtin", kernels="reference", seconds=0.05)
    border = Int8Interface(source.graph, Changes(), {}, ())
    return Conversion(source, border, builtin_alone(source.graph), options).placed().once


@pytest.mark.parametrize("build", BUILDS)
def test_steps_give_the_same_bytes(build: Callable[[], bytes]) -> None:
    data = build()
    done = as_builtin(data)
    assert done.arena.head <= predict(data).head
    before, after = read(data), read(done.model)
    assert after.subgraphs == before.subgraphs
    kinds = [sorted(op.type for op in model.graph.ops) for model in (before, after)]
    assert kinds[0] == kinds[1]
    assert differing(data, done.model, 60, (20, 21)) == 0


def test_rows_that_are_kept_are_never_copied() -> None:
    net = Net(3)
    stream = streaming.Streaming(net, setup=False)
    x = net.conv2d(net.input((1, 2, 1, 16), (0.05, 0)), 16, out=(0.05, 0))
    data = net.model(net.conv2d(stream.window("a", x, 4), 4, kernel=(6, 1), padding="VALID", out=(0.1, 0)))
    done = as_builtin(data)
    assert done.arena.head == 2 * 16 + 6 * 16
    assert differing(data, done.model, 20, (7,)) == 0


def in_order(order: tuple[int, ...], plan: Plan) -> Plan:
    buffers = tuple(replace(b, first=0, last=len(plan.steps)) for b in plan.buffers)
    sizes = [-(-b.nbytes // 16) * 16 for b in buffers]
    offsets = tuple(int(o) for o in np.cumsum([0, *sizes[:-1]]))
    steps = tuple(plan.steps[n] for n in order)
    return replace(plan, steps=steps, buffers=buffers, offsets=offsets, head=sum(sizes))


def test_operators_of_a_variable_keep_their_order() -> None:
    net = Net(4)
    stream = streaming.Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 0))
    stream.assign("a", stream.read("b", (1, 2, 1, 4)))
    stream.assign("b", x)
    data = net.model(net.unary("LOGISTIC", x, out=(1 / 256, -128)))
    graph = read(data).graph
    annotated = builtin_alone(graph)
    parts = in_parts(annotated, (), library("reference"), "ilp32")
    plan = as_builtin(data).planned.plan
    types = [next(op.type for op in graph.ops if op.index == step.op) for step in plan.steps]
    passed = set()
    for order in permutations(range(len(types))):
        try:
            check(in_order(order, plan), parts)
            passed.add(tuple(plan.steps[n].op for n in order))
        except PlanError:
            continue
    handles = {op.inputs[0]: op.index for op in graph.ops if op.type == "ASSIGN_VARIABLE"}
    made = {op.outputs[0]: op.index for op in graph.ops if op.type == "VAR_HANDLE"}
    (reading,) = (op for op in graph.ops if op.type == "READ_VARIABLE")
    pairs = [(made[t], assign) for t, assign in handles.items()]
    pairs += [(made[reading.inputs[0]], reading.index), (reading.index, handles[reading.inputs[0]])]
    pairs += [(reading.index, assign) for assign in handles.values()]
    wanted = {
        tuple(order) for order in permutations(op.index for op in graph.ops)
        if all(order.index(a) < order.index(b) for a, b in pairs)
    }  # fmt: skip
    assert passed == wanted


@pytest.mark.slow
def test_a_wake_word_with_its_own_kinds_of_operators() -> None:
    data = WAKE_WORD.read_bytes()
    done = tflm_memopt.optimize(data, ops="builtin")
    assert done.report.arena.total <= 6_052 < done.report.original_arena.total
    assert {op.type for op in read(done.model).graph.ops} == {op.type for op in read(data).graph.ops}
    assert differing(data, done.model, STEPS, (1, 333, 334, 700)) == 0
