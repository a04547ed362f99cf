"""Lowers random networks to programs. Groups and buffers are found naively, without the package's planner."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from kernels.families import BINARY_INT8
from kernels.loops import nested
from kernels.networks import POOLS_S16, WINDOWED, Int8, Network, Shape
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import KINDS
from tflm_memopt.plan.loops import Iteration
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import DeviceArena

OperatorRow = tuple[int, int]
"""An operator's index, and the number of one of its iterations."""


@dataclass(frozen=True)
class Lowered:
    """A program, and its buffers in one arena."""

    program: Program
    arena: DeviceArena
    rolling_buffers: tuple[int, ...]
    """Tensors (in the program's table) that have fewer slots than rows."""
    order: tuple[OperatorRow, ...]
    """The order of all iterations."""


@dataclass(frozen=True)
class Group:
    """Operators of a network that run on demand of `sinks`. Those of `iterative` process one input row at a time."""

    network: Network
    members: range
    sinks: tuple[int, ...]
    iterative: frozenset[int]

    def iterations(self, i: int) -> int:
        op = self.network.ops[i]
        return self.network.shapes[op.inputs[0] if i in self.iterative else op.output][0]

    def rows_read(self, i: int, k: int, iteration: int) -> tuple[int, int]:
        """Return the half-open range of operand k's rows that an iteration reads."""
        if i in self.iterative:
            return iteration, iteration + 1
        w, height = self.network.ops[i].window, self.network.shapes[self.network.ops[i].inputs[k]][0]
        if self.network.ops[i].kind in BINARY_INT8:
            iteration = min(iteration, height - 1)
        first = iteration * w.stride_h - w.pad_top
        return max(first, 0), min(first + (w.kernel_h - 1) * w.dilation_h + 1, height)

    def order(self) -> Iterator[OperatorRow]:
        """Yield iterations in the executor's order: sinks from the last operator on, then operands in order."""
        executed = dict.fromkeys(self.members, 0)
        for sink in sorted(self.sinks, reverse=True):
            while executed[sink] < self.iterations(sink):
                current = sink
                while (missing := self._missing(current, executed)) is not None:
                    current = missing
                yield current, executed[current]
                executed[current] += 1

    def _missing(self, i: int, executed: dict[int, int]) -> int | None:
        """Return the first producer of operator i that has not made enough rows for its next iteration."""
        for k, tensor in enumerate(self.network.ops[i].inputs):
            producer = tensor - self.network.n_inputs
            if producer in executed and self._rows(producer, executed) < self.rows_read(i, k, executed[i])[1]:
                return producer
        return None

    def _rows(self, i: int, executed: dict[int, int]) -> int:
        return int(executed[i] == self.iterations(i)) if i in self.iterative else executed[i]

    def rolling_buffer_depth(self, producer: int, order: Sequence[OperatorRow]) -> int:
        """Return the largest distance between the oldest row that is still needed and the newest one."""
        if producer in self.iterative:
            return 1
        tensor, depth = producer + self.network.n_inputs, 1
        oldest = self.network.shapes[tensor][0]
        for i, iteration in reversed(order):
            for k, t in enumerate(self.network.ops[i].inputs):
                if t == tensor:
                    oldest = min(oldest, self.rows_read(i, k, iteration)[0])
            if i == producer:
                depth = max(depth, iteration + 1 - oldest)
        return depth


class Bump:
    """Allocate buffers consecutively, with random gaps."""

    def __init__(self, rng: Generator) -> None:
        self.rng, self.top = rng, 0

    def place(self, nbytes: int, align: int = 1) -> int:
        start = -(-(self.top + int(self.rng.integers(0, 9))) // align) * align
        self.top = start + nbytes
        return start


def can_iterate(network: Network, op: ProgramOp) -> bool:
    """Return whether the operator makes one output row from all input rows."""
    height, w = network.shapes[op.inputs[0]][0], op.window
    whole = w.kernel_h == height and w.pad_top == 0 and w.dilation_h == 1 and network.shapes[op.output][0] == 1
    return op.kind in (*WINDOWED, *POOLS_S16) and whole


def lower(network: Network, cuts: Sequence[int], iterative: set[int], rng: Generator) -> Lowered:
    """Lower the groups [0, cuts[0]), [cuts[0], cuts[1]) .. [.., n)."""
    last = len(network.shapes) - 1
    bump = Bump(rng)
    depths = [h for h, _, _ in network.shapes]
    ops: list[ProgramOp] = []
    groups: list[ProgramGroup] = []
    order: list[OperatorRow] = []
    for first, end in itertools.pairwise([0, *cuts, len(network.ops)]):
        sinks = tuple(i for i in range(first, end) if last_reader(network, i) >= end)
        group = Group(network, range(first, end), sinks, frozenset(iterative))
        own_order = list(group.order())
        order += own_order
        loops = nested([Iteration(i - first) for i, _ in own_order], rng)
        groups.append(ProgramGroup(first, end - first, bump.place(2 * (end - first), 2), loops))
        for i in group.members:
            ops.append(_member(group, i, bump))
            if i not in sinks:
                depths[network.ops[i].output] = group.rolling_buffer_depth(i, own_order)

    tensors = []
    for t, (h, w, c) in enumerate(network.shapes):
        base = t + 1 if t < network.n_inputs else network.n_inputs + 1 if t == last else 0
        tensors.append(ProgramTensor(0 if base else bump.place(depths[t] * w * c), h, w, c, depths[t], base))
    workspace = bump.top
    io = [bump.place(int(np.prod(network.shapes[t]))) for t in (*range(network.n_inputs), last)]
    program = Program(network.n_inputs, 1, workspace, len(order), tuple(tensors), tuple(ops), tuple(groups))
    rolling_buffers = tuple(t for t, shape in enumerate(network.shapes) if depths[t] < shape[0])
    return Lowered(
        program, DeviceArena(bump.top + 16, tuple(io[:-1]), tuple(io[-1:]), 0), rolling_buffers, tuple(order)
    )


def single(op: ProgramOp, shapes: Sequence[Shape]) -> Network:
    """Return a network of one operator. shapes: of its inputs and its output."""
    n = len(op.inputs)
    return Network(n, tuple(shapes), (dataclasses.replace(op, inputs=tuple(range(n)), output=n),))


def computed(network: Network, inputs: Sequence[Int8]) -> Int8:
    """Compute the output by a program for each operator, on whole tensors. tests/tflm compares these with TFLM."""
    tensors = list(inputs)
    for op in network.ops:
        one = single(op, [network.shapes[t] for t in (*op.inputs, op.output)])
        program = pack(lower(one, [], set(), np.random.default_rng(0)).program)
        tensors += host.run(program, [tensors[i] for i in op.inputs], [math.prod(one.shapes[-1])])
    return tensors[-1]


def last_reader(network: Network, i: int) -> int:
    """Return the last operator that reads operator i's output. The network's output is read after the end."""
    readers = [r for r, op in enumerate(network.ops) if network.ops[i].output in op.inputs]
    return max(readers, default=len(network.ops))


def _member(group: Group, i: int, bump: Bump) -> ProgramOp:
    op = group.network.ops[i]
    _, w, c = group.network.shapes[op.output]
    return dataclasses.replace(
        op,
        iterative=i in group.iterative,
        accumulator=bump.place(4 * w * c // KINDS[op.kind].writes, 4) if i in group.iterative else 0,
    )
