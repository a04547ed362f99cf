"""Draws random networks with a state: resource variables, SVDF and LSTM."""

import random

import memories
from ai_edge_litert import schema_py_generated as schema
from models import Net
from property.sliding import move_rows
from stepping import differing
from streaming import Streaming

import tflm_memopt
from tflm_memopt.convert.policy import NO_GAIN
from tflm_memopt.model.reader import read

LAYERS = ("conv", "depthwise", "pool", "same", "residual", "halves", "sum", "svdf", "lstm", "relu", "rows", "columns")
REMEMBERING = {"conv", "depthwise", "pool", "halves", "sum", "svdf", "lstm"}
VARIABLES = {"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


class _Drawn:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.net = Net(seed, activations="INT16" if seed % 4 == 3 else "INT8")
        self.streaming = Streaming(self.net, setup=self.rng.random() < 0.5)
        self.filled = bool(self.net.tree.subgraphs[1:])
        self.states = 0

    def model(self) -> bytes:
        rng, net = self.rng, self.net
        x = net.input((1, rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 4)), rng.choice((3, 8, 16))), (0.05, 4))
        kinds = [rng.choice(LAYERS) for _ in range(rng.randint(1, 5))]
        if net.activations == "INT16":
            kinds = [kind for kind in kinds if kind not in ("svdf", "lstm")]
        if not REMEMBERING & set(kinds):
            kinds.append(rng.choice(sorted(REMEMBERING - {"lstm", "svdf"})))
        made = []
        for kind in kinds:
            x = self._layer(x, kind)
            made.append(x)
        last = net.fully_connected(x, rng.randint(1, 5)) if rng.random() < 0.6 else x
        return net.model(last, *(t for t in made if t != last and rng.random() < 0.15))

    def _window(self, x: int, old: int) -> int:
        self.states += 1
        first = self.net.affine(x)[1] if self.filled and self.rng.random() < 0.8 else None
        return self.streaming.window(f"state{self.states}", x, old, first=first)

    def _layer(self, x: int, kind: str) -> int:
        rng, net = self.rng, self.net
        _, h, w, c = net.shape(x)
        channels = rng.choice((2, 4, 8, 12))
        match kind:
            case "conv" | "depthwise" | "pool":
                return self._on_window(x, kind, channels)
            case "same":
                return net.conv2d(x, channels, kernel=(3, min(w, 3)))
            case "residual":
                return net.add(net.conv2d(x, c), x)
            case "halves":
                return self._halves(net.conv2d(x, 2 * channels))
            case "sum":
                return self._sum(x)
            case "svdf":
                y = memories.svdf(
                    net, net.reshape(x, (1, h * w * c)), channels, rank=rng.randint(1, 3), memory=rng.randint(2, 9)
                )
                return net.reshape(y, (1, 1, 1, channels))
            case "lstm":
                steps = net.reshape(x, (1, h, w * c))
                y = memories.lstm(net, steps, channels, clip=rng.choice((0.0, 2.0)), cells=2.0 ** -rng.randint(9, 13))
                return net.reshape(y, (1, h, 1, channels))
            case "rows":
                return move_rows(net, x, rng)
            case "columns":
                return net.transpose(x, (0, 2, 1, 3))
        return net.unary("RELU", x, dtype=net.dtype(x), out=net.affine(x))

    def _on_window(self, x: int, kind: str, channels: int) -> int:
        rng, net = self.rng, self.net
        _, h, w, _ = net.shape(x)
        old = rng.randint(1, 7)
        kernel_h, dilation = rng.randint(1, old + h), 1
        if kind != "pool" and kernel_h > 1 and rng.random() < 0.3:
            dilation = rng.randint(1, (old + h - 1) // (kernel_h - 1))
        stride = 1 if dilation > 1 else rng.randint(1, 3)
        kernel = kernel_h, rng.randint(1, min(w, 3))
        rows = self._window(x, old)
        where = {"kernel": kernel, "stride": (stride, 1), "padding": "VALID"}
        if kind == "pool":
            return net.pool(rows, kind=rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D")), **where)
        if kind == "depthwise":
            return net.depthwise_conv2d(rows, **where, dilation=(dilation, 1))
        return net.conv2d(rows, channels, **where, dilation=(dilation, 1))

    def _halves(self, x: int) -> int:
        rng, net = self.rng, self.net
        _, h, w, c = net.shape(x)
        old = rng.randint(2, 6)
        rows = self._window(x, old)
        halves = [net.tensor((1, old + h, w, c // 2), net.dtype(rows), net.affine(rows)) for _ in range(2)]
        axis = net.tensor((), "INT32", data=3)
        net.op("SPLIT", [axis, rows], halves, schema.SplitOptionsT(numSplits=2))
        few = rng.randint(1, old)
        part = self.streaming.last(halves[0], few + h)
        a = net.depthwise_conv2d(part, kernel=(few + 1, 1), padding="VALID", out=(0.1, 3))
        b = net.depthwise_conv2d(halves[1], kernel=(old + 1, 1), padding="VALID", out=(0.1, 3))
        return self.streaming.join([a, b], 3)

    def _sum(self, x: int) -> int:
        self.states += 1
        name, affine = f"state{self.states}", self.net.affine(x)
        old = self.streaming.read(name, self.net.shape(x), affine, self.net.dtype(x))
        total = self.net.add(old, x, out=affine)
        self.streaming.assign(name, total)
        return total


def network(seed: int) -> bytes:
    return _Drawn(seed).model()


def examine(seed: int) -> None:
    """Compare the outputs of an original and a rewritten model in a sequence of inferences that contains resets."""
    model = network(seed)
    done = tflm_memopt.optimize(model, seconds=0.05, effort=0.05, target=("generic", "cortex-m4")[seed % 2])
    if done.report.why_unchanged != NO_GAIN:
        assert not VARIABLES & {op.type for op in read(done.model).graph.ops}
    assert differing(model, done.model, 24, (7, 8), seed, least=1) == 0
