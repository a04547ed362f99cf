"""Builds streaming models as converters write them: resource variables keep rows between inferences."""

from collections.abc import Sequence

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Affine, Net
from numpy.typing import NDArray
from unit.analysis.arena_zoo import with_subgraphs

from tflm_memopt.model import writer


class Streaming:
    """Adds resource variables to a network. CALL_ONCE assigns the first value of a variable."""

    def __init__(self, net: Net, *, setup: bool = True) -> None:
        self.net = net
        self.handles: dict[str, int] = {}
        self.first: dict[str, tuple[NDArray[np.int8], Affine]] = {}
        if setup:
            net.op("CALL_ONCE", [], [], schema.CallOnceOptionsT(initSubgraphIndex=1))
            net.tree.subgraphs.append(schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name="setup"))

    def handle(self, name: str, subgraph: int = 0) -> int:
        handle = self._moved(writer.add_tensor(self.net.tree, f"{name}/{subgraph}", (), "RESOURCE"), subgraph)
        options = schema.VarHandleOptionsT(container="", sharedName=name)
        return self.net.op("VAR_HANDLE", [], [handle], options, subgraph=subgraph)

    def _moved(self, tensor: int, subgraph: int) -> int:
        if subgraph == 0:
            return tensor
        tensors = self.net.tree.subgraphs[subgraph].tensors
        tensors.append(self.net.graph.tensors.pop())
        return len(tensors) - 1

    def read(self, name: str, shape: Sequence[int], affine: Affine = (0.05, 0), dtype: str = "INT8") -> int:
        if name not in self.handles:
            self.handles[name] = self.handle(name)
        return self.net.op("READ_VARIABLE", [self.handles[name]], [self.net.tensor(shape, dtype, affine)])

    def assign(self, name: str, value: int) -> None:
        if name not in self.handles:
            self.handles[name] = self.handle(name)
        self.net.op("ASSIGN_VARIABLE", [self.handles[name], value], [])

    def fill(self, name: str, values: NDArray[np.int8], affine: Affine) -> None:
        tensor = self._moved(self.net.tensor(values.shape, self.net.activations, affine, data=values), 1)
        self.net.op("ASSIGN_VARIABLE", [self.handle(name, 1), tensor], [], subgraph=1)

    def read_elsewhere(self, name: str, shape: Sequence[int], affine: Affine) -> None:
        value = self._moved(self.net.tensor(shape, "INT8", affine), 1)
        self.net.op("READ_VARIABLE", [self.handle(name, 1)], [value], subgraph=1)

    def window(self, name: str, x: int, old: int, *, axis: int = 1, first: int | None = None) -> int:
        """A CALL_ONCE assigns the initial value `first` to the kept rows."""
        shape, affine = list(self.net.shape(x)), self.net.affine(x)
        shape[axis] = old
        before = self.read(name, shape, affine, self.net.dtype(x))
        rows = self.join([before, x], axis)
        self.assign(name, self.last(rows, old, axis))
        if first is not None:
            self.fill(name, np.full(shape, first), affine)
        return rows

    def join(self, tensors: Sequence[int], axis: int) -> int:
        shape = list(self.net.shape(tensors[0]))
        shape[axis] = sum(self.net.shape(t)[axis] for t in tensors)
        out = self.net.tensor(shape, self.net.dtype(tensors[0]), self.net.affine(tensors[0]))
        return self.net.op("CONCATENATION", tensors, [out], schema.ConcatenationOptionsT(axis=axis))

    def last(self, x: int, count: int, axis: int = 1) -> int:
        shape = list(self.net.shape(x))
        begin, end, stride = (self.net.tensor((len(shape),), "INT32", data=v) for v in self._bounds(shape, count, axis))
        shape[axis] = count
        mask = (1 << len(shape)) - 1
        options = schema.StridedSliceOptionsT(beginMask=mask - (1 << axis), endMask=mask)
        return self.net.op(
            "STRIDED_SLICE",
            [x, begin, end, stride],
            [self.net.tensor(shape, self.net.dtype(x), self.net.affine(x))],
            options,
        )

    @staticmethod
    def _bounds(shape: Sequence[int], count: int, axis: int) -> tuple[NDArray[np.int32], ...]:
        begin = [-count if a == axis else 0 for a in range(len(shape))]
        return tuple(np.array(v, np.int32) for v in (begin, [0] * len(shape), [1] * len(shape)))


def mixed(seed: int = 1, *, first: int | None = 0, activations: str = "INT8") -> bytes:
    net = Net(seed, activations=activations)
    streaming = Streaming(net, setup=first is not None)
    x = net.input((1, 2, 1, 8), (0.05, 0))
    y = net.conv2d(
        streaming.window("a", x, 3, first=first), 6, kernel=(4, 1), stride=(2, 1), padding="VALID", out=(0.1, 0)
    )
    rows = streaming.window("b", y, 4, first=first)
    halves = [net.tensor((1, 5, 1, 3), activations, net.affine(rows)) for _ in range(2)]
    axis = net.tensor((), "INT32", data=np.array(3, np.int32))
    net.op("SPLIT", [axis, rows], halves, schema.SplitOptionsT(numSplits=2))
    a = net.depthwise_conv2d(streaming.last(halves[0], 3), kernel=(3, 1), padding="VALID", out=(0.1, 3))
    b = net.depthwise_conv2d(halves[1], kernel=(5, 1), padding="VALID", out=(0.1, 3))
    return net.model(net.conv2d(streaming.join([a, b], 3), 4))


def pooled(seed: int = 2) -> bytes:
    net = Net(seed)
    streaming = Streaming(net)
    x = net.input((1, 1, 3, 5), (0.05, -7))
    rows = streaming.window("a", x, 6, axis=2, first=-7)
    y = net.conv2d(rows, 4, kernel=(1, 3), dilation=(1, 3), padding="VALID", out=(0.1, -4))
    more = streaming.window("b", y, 5, axis=2, first=-4)
    m = net.reshape(net.mean(more, [2], out=(0.1, 1)), (1, 4))
    dense = net.fully_connected(more, 4, out=(0.1, 1))
    return net.model(net.add(m, dense))


def wide(seed: int = 7) -> bytes:
    net = Net(seed, activations="INT16")
    streaming = Streaming(net)
    rows = streaming.window("a", net.input((1, 1, 2, 4)), 3, first=0)
    y = net.conv2d(rows, 4, kernel=(2, 1), padding="VALID")
    return net.model(net.fully_connected(streaming.window("b", y, 3, first=0), 3))


def recurrent(seed: int = 3) -> bytes:
    """Inferences replace the first variable, update the second variable, and delay rows in the third variable."""
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 3, 4), (0.05, 3))
    y = net.conv2d(net.add(x, streaming.read("a", (1, 2, 3, 4), (0.05, 2)), out=(0.05, 2)), 4, out=(0.05, 2))
    streaming.assign("a", y)
    old = streaming.read("b", (1, 2, 3, 4), (0.05, 3))
    z = net.add(y, old, out=(0.1, 5))
    streaming.assign("b", x)
    return net.model(z)


def read_often(seed: int = 15) -> bytes:
    """Return a model in which six operators read a variable before the variable is replaced."""
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 3, 4), (0.05, 3))
    old = streaming.read("a", (1, 2, 3, 4), (0.05, 3))
    sums = [net.add(x, old, out=(0.05 + n / 50, n)) for n in range(6)]
    streaming.assign("a", x)
    return net.model(*sums)


def joined(seed: int = 4) -> bytes:
    net = Net(seed)
    streaming = Streaming(net)
    rows = streaming.window("a", net.input((1, 2, 1, 6), (0.05, -7)), 5, first=-7)
    wide = net.conv2d(rows, 4, kernel=(5, 1), padding="VALID", out=(0.1, 0))
    return net.model(net.softmax(net.reshape(wide, (3, 4))), net.unary("LOGISTIC", rows, out=(1 / 256, -128)))


def chunks(seed: int = 5) -> bytes:
    net = Net(seed)
    streaming = Streaming(net)
    y = net.input((1, 8, 3, 4), (0.05, 1))
    for name, old in ("a", 2), ("b", 4):
        y = streaming.window(name, y, old, first=net.affine(y)[1])
        y = net.conv2d(y, 5, kernel=(old + 1, 3), padding="VALID", out=(0.1, -2)) if old == 2 else y
    return net.model(net.pool(y, kind="MAX_POOL_2D", kernel=(5, 1), stride=(1, 1)))


def partly(seed: int = 6) -> bytes:
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    old = streaming.read("a", (1, 2, 1, 4), (0.05, 3))
    streaming.assign("a", x)
    y = net.conv2d(streaming.window("b", x, 3), 4, kernel=(5, 1), padding="VALID", out=(0.1, 0))
    return net.model(y, net.add_n(old, x))


def twice_assigned(seed: int = 7) -> bytes:
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    y = net.add(net.conv2d(x, 4), streaming.read("a", (1, 2, 1, 4), (0.05, 3)), out=(0.05, 3))
    streaming.assign("a", x)
    streaming.assign("a", y)
    return net.model(y)


def read_late(seed: int = 8) -> bytes:
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    streaming.assign("a", net.conv2d(x, 4, out=(0.05, 3)))
    return net.model(net.add(x, streaming.read("a", (1, 2, 1, 4), (0.05, 3))))


def passed_on(seed: int = 9) -> bytes:
    """Return a model that delays rows by two inferences, by copying one variable to another variable."""
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    once, twice = (streaming.read(name, (1, 2, 1, 4), (0.05, 3)) for name in "ab")
    streaming.assign("b", once)
    streaming.assign("a", x)
    return net.model(net.add(net.conv2d(x, 4), twice))


def filled(seed: int = 10) -> bytes:
    return mixed(seed, first=5)


def assigned_nowhere() -> bytes:
    """TFLM allocates no bytes for the variable."""
    net = Net(11)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    return net.model(net.conv2d(net.add(x, streaming.read("a", (1, 2, 1, 4), (0.05, 3)), out=(0.05, 3)), 4))


def reshaped(seed: int = 12) -> bytes:
    net = Net(seed)
    streaming = Streaming(net, setup=False)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    y = net.conv2d(net.add(x, streaming.read("a", (1, 2, 1, 4), (0.05, 3)), out=(0.05, 3)), 4, out=(0.05, 3))
    streaming.assign("a", net.reshape(y, (1, 1, 2, 4)))
    return net.model(y)


def shared(seed: int = 13) -> bytes:
    net = Net(seed)
    streaming = Streaming(net)
    x = net.input((1, 2, 1, 4), (0.05, 3))
    y = net.conv2d(net.add(x, streaming.read("a", (1, 2, 1, 4), (0.05, 3)), out=(0.05, 3)), 4, out=(0.05, 3))
    streaming.assign("a", y)
    streaming.read_elsewhere("a", (1, 2, 1, 4), (0.05, 3))
    return net.model(y)


def reset_in_a_branch(seed: int = 14) -> bytes:
    """Return a model that sets its variable to zero in a branch of an IF."""
    net, shape = Net(seed), (1, 2, 1, 4)
    streaming = Streaming(net, setup=False)
    x = net.input(shape, (0.05, 0))
    y = net.conv2d(net.add(x, streaming.read("a", shape, (0.05, 0)), out=(0.05, 0)), 4, out=(0.05, 0))
    streaming.assign("a", y)
    mean = net.mean(x, (1, 2, 3))
    high = net.op("GREATER", [mean, net.tensor((1,), data=[0])], [net.tensor(net.shape(mean), "BOOL", None)])
    options = schema.IfOptionsT(thenSubgraphIndex=1, elseSubgraphIndex=2)
    out = net.op("IF", [high, y], [net.tensor(shape, affine=(0.05, 0))], options)

    def zeroed() -> int:
        z = net.input(shape, (0.05, 0))
        Streaming(net, setup=False).assign("a", net.tensor(shape, affine=(0.05, 0), data=np.zeros(shape, np.int8)))
        return net.conv2d(z, 4, out=(0.05, 0))

    return with_subgraphs(net, out, zeroed, lambda: net.conv2d(net.input(shape, (0.05, 0)), 4, out=(0.05, 0)))
