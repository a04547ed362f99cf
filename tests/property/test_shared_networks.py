"""Random networks that are split over devices have the same output bytes as in TFLM, and messages have the predicted
sizes.
"""

import ctypes
import random
from collections import defaultdict, deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from kernels.links import OK, WAIT
from numpy.typing import NDArray
from property.layers import Layer
from property.networks import Recipe, build, recipes
from property.oracle import Inputs, draw_inputs, run
from property.planted import plant
from property.test_random_models import QUICK, running

import tflm_memopt
from tflm_memopt.answers.devices import OptimizedDevices
from tflm_memopt.api import optimize_planned
from tflm_memopt.check.together import HEAD_BYTES
from tflm_memopt.convert.constants import compare_devices
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network
from tflm_memopt.devices.sharding import possible_shardings
from tflm_memopt.errors import UsageError
from tflm_memopt.format.limits import ALIGNMENT
from tflm_memopt.lower.program import MESSAGE
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.runtime.native import native_library
from tflm_memopt.runtime.regions import regions

NOT_FOR_DEVICES = ("unsupported_operator", "cannot_share")
EXCHANGE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_bool, ctypes.c_uint16, ctypes.c_void_p, ctypes.c_uint32
)
MessageQueue = deque[tuple[int, int, bytes]]


class Stream(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_uint32), ("iterations", ctypes.c_uint32))


class MessageQueues:
    def __init__(self) -> None:
        self.links: defaultdict[tuple[int, int], MessageQueue] = defaultdict(deque)
        self.sent: defaultdict[int, int] = defaultdict(int)
        self.function = EXCHANGE(self._exchange)
        self.messenger = ctypes.c_void_p(ctypes.cast(self.function, ctypes.c_void_p).value)

    def _exchange(self, _: object, what: int, sent: bool, row: int, data: int, count: int) -> int:
        raw = ctypes.string_at(what, MESSAGE.itemsize)
        said = np.frombuffer(raw, MESSAGE)[0]
        link = self.links[int(said["from"]), int(said["to"])]
        if sent:
            link.append((int(said["step"]), row, ctypes.string_at(data, count)))
            self.sent[int(said["from"])] += HEAD_BYTES + count
        elif not link:
            return WAIT
        else:
            step, number, came = link.popleft()
            assert (step, number, len(came)) == (int(said["step"]), row, count)
            ctypes.memmove(data, came, count)
        return OK


class Running:
    def __init__(self, model: bytes, links: MessageQueues) -> None:
        graph = read(model).graph
        (region,) = regions(read(model))
        program = unpack(region.program)
        self.room = np.zeros(len(region.program) + program.workspace + 2 * ALIGNMENT, np.uint8)
        self.program = self.room.ctypes.data + -self.room.ctypes.data % ALIGNMENT
        ctypes.memmove(self.program, region.program, len(region.program))
        self.workspace = self.program + -(-len(region.program) // ALIGNMENT) * ALIGNMENT
        tensors = (*region.inputs[: program.n_inputs], *region.outputs)
        read_or_not = (*tensors, *graph.inputs)
        self.buffers = {t: np.zeros(graph.tensors[t].nbytes, np.int8) for t in read_or_not}
        self.inputs, self.outputs = graph.inputs, graph.outputs
        ends = [self.buffers[t].ctypes.data for t in tensors]
        self.io = (ctypes.c_void_p * (len(ends) + 1))(*ends, ctypes.addressof(links.messenger))
        self.stream = Stream()

    def goes_on(self, library: ctypes.CDLL) -> int:
        arguments = ctypes.c_void_p(self.program), self.io, ctypes.c_void_p(self.workspace)
        return int(library.tmo_push(*arguments, ctypes.byref(self.stream)))


def together(made: OptimizedDevices, inputs: Inputs) -> tuple[list[NDArray[np.int8]], list[int]]:
    library, links = ctypes.CDLL(str(native_library("tmo_host"))), MessageQueues()
    devices = [Running(one.model, links) for one in made.models]
    for tensor, values in zip(devices[0].inputs, inputs, strict=True):
        devices[0].buffers[tensor][:] = np.ascontiguousarray(values).view(np.int8).ravel()
    left = devices
    for _ in range(100_000):
        statuses = [device.goes_on(library) for device in left]
        assert set(statuses) <= {OK, WAIT}
        left = [device for device, status in zip(left, statuses, strict=True) if status == WAIT]
        if not left:
            return [devices[0].buffers[t] for t in devices[0].outputs], [links.sent[n] for n in range(len(devices))]
    raise AssertionError("they wait for one another")


def optimized(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
    return optimize_planned(data, name=name, if_worthwhile=False, seconds=0.05, effort=0.05, fold=False)


def examine_devices(recipe: Recipe) -> None:
    data, rng = build(recipe), random.Random(recipe.seed)
    if recipe.seed % 2:
        data = plant(data, recipe.seed)
    before = running(data)
    try:
        network = Network(data, "random", request({}), optimized)
        shardings = {op.index: rng.choice(possible_shardings(network.graph, op)) for op in network.graph.ops}
        devices = 2 + recipe.seed % 4
        at = {index: rng.randrange(devices) for index in shardings if rng.random() < 0.5}
        made = network.converted(shardings, devices, at=at)
    except UsageError as why:
        assume(why.code not in NOT_FOR_DEVICES)
        raise
    for inputs in draw_inputs(data, recipe.seed):
        expected = run(before, inputs, len(network.graph.outputs))
        outputs, sent = together(made, inputs)
        for x, y in zip(expected, outputs, strict=True):
            np.testing.assert_array_equal(np.ascontiguousarray(x).view(np.int8).ravel(), y)
        assert sent == [d.sent for d in made.report.devices]
    found = compare_devices(read(data), [read(one.model) for one in made.models], Changes())
    assert not found.different


COMPUTED_SHAPE = Recipe(
    ((1, 1, 1, 1),),
    (*[Layer("conv", channels=1, kernel=(1, 1), flag=False)] * 3, Layer("computed shape", channels=1, flag=False)),
    seed=1,
)


INT16 = Recipe(((1, 2, 2, 1),), (Layer("conv", channels=2), Layer("int4", channels=2)), seed=1, inside="INT16")

BRANCHED = Recipe(
    ((1, 1, 1, 1),),
    tuple(
        Layer(kind, source, channels=1, kernel=(1, 1), flag=False)
        for kind, source in (("branched", 0), ("conv", 1), ("tiled", 0))
    ),
    unwanted=1,
)

ONE_ROW = Recipe(((1, 5, 3, 3),), (Layer("depthwise", channels=6, kernel=(2, 4), stride=(2, 1)),), seed=1)
"""Each of the two devices computes a single output row. A device that computes a single row may store the weights with
height and width exchanged.
"""


@pytest.mark.slow
@QUICK
@example(COMPUTED_SHAPE)
@example(BRANCHED)
@example(ONE_ROW)
@example(INT16)
@example(replace(INT16, inside="INT8"))
@given(recipes(most=4))
def test_random_networks(recipe: Recipe) -> None:
    examine_devices(recipe)
