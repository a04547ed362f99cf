"""Builds graphs of operators without weights."""

import random
from dataclasses import dataclass, field, replace

from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, Access, Move, Moves, RowOp, Rows, Window
from tflm_memopt.plan.search.groups import Chain
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.regions import partition


@dataclass
class Sketch:
    rows: dict[TensorId, Rows] = field(default_factory=dict)
    ops: list[RowOp] = field(default_factory=list)
    inputs: list[TensorId] = field(default_factory=list)
    first: TensorId = 0

    def input(self, h: int, w: int, c: int) -> TensorId:
        self.inputs.append(self._tensor(Rows(h, w, c)))
        return self.inputs[-1]

    def conv(
        self, x: TensorId, c: int, *, kernel: int = 3, stride: int = 1, dilation: int = 1, pad: int | None = None
    ) -> TensorId:
        """The argument `pad` is the number of padding rows above the image, or None for the padding SAME."""
        h, extent = self.rows[x].h, (kernel - 1) * dilation + 1
        out = -(-h // stride) if pad is None else (h + 2 * pad - extent) // stride + 1
        top = max(0, (out - 1) * stride + extent - h) // 2 if pad is None else pad
        window = Window(kernel, 1, stride, 1, dilation, 1, top, 0)
        return self._op(Kind.CONV, (x,), Rows(out, self.rows[x].w, c), window)

    def pool(self, x: TensorId, *, kernel: int = 2, stride: int = 2) -> TensorId:
        rows = self.rows[x]
        out = Rows((rows.h - kernel) // stride + 1, rows.w, rows.c)
        return self._op(Kind.MAX_POOL, (x,), out, Window(kernel, 1, stride, 1))

    def add(self, a: TensorId, b: TensorId) -> TensorId:
        return self._op(Kind.ADD, (a, b), self.rows[a])

    def relu(self, x: TensorId) -> TensorId:
        return self._op(Kind.LOOKUP, (x,), self.rows[x])

    def row(self, x: TensorId, y: int) -> TensorId:
        rows = self.rows[x]
        made = self._op(Kind.COPY, (x,), Rows(1, rows.w, rows.c))
        moves = Moves((Move(0, 0, 0, 0, rows.row_bytes),))
        self.ops[-1] = replace(self.ops[-1], access=(Access(y, 1, 1, 1),), moves=moves, macs=0)
        return made

    def mean(self, x: TensorId) -> TensorId:
        rows = self.rows[x]
        return self._op(Kind.MEAN, (x,), Rows(1, 1, rows.c), Window(rows.h, rows.w))

    def dense(self, x: TensorId, units: int) -> TensorId:
        rows = self.rows[x]
        return self._op(Kind.CONV, (x,), Rows(1, 1, units), Window(rows.h, rows.w))

    def chain(self, *wanted: TensorId, across: int = 0) -> Chain:
        """The tensors in `wanted` are read by layers after the chain."""
        return Chain(tuple(range(len(self.ops))), tuple(self.ops), frozenset(wanted), across)

    def graph(self, *outputs: TensorId) -> Graph:
        ops = tuple(Op(i, "SKETCH", op.inputs, (op.output,)) for i, op in enumerate(self.ops))
        tensors = {t: Tensor(t, f"t{t}", (1, r.h, r.w, r.c), "INT8") for t, r in self.rows.items()}
        return Graph(tensors, ops, tuple(self.inputs), outputs)

    def row_graph(self, *outputs: TensorId) -> RowGraph:
        return partition(self.graph(*outputs), dict(enumerate(self.ops)))

    def unread(self) -> list[TensorId]:
        return [op.output for op in self.ops if not any(op.output in other.inputs for other in self.ops)]

    def _tensor(self, rows: Rows) -> TensorId:
        tensor = self.first + len(self.rows)
        self.rows[tensor] = rows
        return tensor

    def _op(self, kind: Kind, inputs: tuple[TensorId, ...], writes: Rows, window: Window = UNIT) -> TensorId:
        number, output, zeros = len(self.ops), self._tensor(writes), (0,) * len(inputs)
        reads = tuple(self.rows[t] for t in inputs)
        op = RowOp(kind, kind.name, (number,), inputs, output, reads, writes, zeros, 0, window, macs=writes.nbytes)
        self.ops.append(op)
        return output


def random_sketch(seed: int, *, least: int = 2, most: int = 7, tallest: int = 9) -> Sketch:
    rng = random.Random(seed)
    s = Sketch()
    s.input(rng.randint(1, tallest), rng.randint(1, 4), rng.randint(1, 6))
    count = rng.randint(least, most)
    while len(s.ops) < count:
        x = rng.choice(list(s.rows)[-3:])
        match rng.choice(["conv"] * 4 + ["relu", "add", "pool", "mean", "dense", "row"]):
            case "conv":
                kernel, stride, dilation = rng.choice([1, 2, 3, 3, 5]), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2])
                extent = (kernel - 1) * dilation + 1
                pad = rng.choice([None, 0]) if extent <= s.rows[x].h else None
                s.conv(x, rng.randint(1, 6), kernel=kernel, stride=stride, dilation=dilation, pad=pad)
            case "relu":
                s.relu(x)
            case "add":
                s.add(x, rng.choice([t for t in s.rows if s.rows[t] == s.rows[x]]))
            case "pool" if s.rows[x].h >= 2:
                s.pool(x, kernel=2, stride=rng.choice([1, 2, 3]))
            case "row":
                s.row(x, rng.randrange(s.rows[x].h))
            case "mean":
                s.mean(x)
            case "dense":
                s.dense(x, rng.randint(1, 40))
    return s
