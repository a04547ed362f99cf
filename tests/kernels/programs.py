"""Lowers random networks to programs. Groups and buffers are found naively, without the package's planner."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.random import Generator

from kernels.loops import nested
from kernels.networks import BINARY, WINDOWED, Int8, Network, Shape
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import KINDS
from tflm_memopt.plan.loops import Iteration
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import DeviceArena

OperatorRow = tuple[int, int]
"""An operator's index, and the number of one of its iterations."""


@dataclass(frozen=True)
class Actor:
    """An operator of a group. An iterative operator reads one input row per iteration."""

    inputs: Sequence[int]
    output: int
    operands: Sequence[int]
    """Indices of the inputs in the order of demand."""
    iterations: int
    window: Callable[[int, int], tuple[int, int]]
    """Half-open range of rows of an input that an iteration reads."""
    iterative: bool = False

    def reads(self, k: int, iteration: int) -> range:
        return range(iteration, iteration + 1) if self.iterative else range(*self.window(k, iteration))


def simulate(actors: Mapping[int, Actor], sinks: Sequence[int]) -> list[tuple[int, int]]:
    """Return (operator, iteration) in order of demand, by recursion and counting only."""
    maker = {a.output: key for key, a in actors.items()}
    executed = dict.fromkeys(actors, 0)
    order: list[tuple[int, int]] = []

    def made(key: int) -> int:
        return executed[key] // actors[key].iterations if actors[key].iterative else executed[key]

    def fire(key: int) -> None:
        for other in takewhile(lambda k: k != key, actors if actors[key].iterative else ()):
            alike = actors[other].iterative and actors[other].inputs[0] == actors[key].inputs[0]
            if alike and executed[other] == executed[key]:  # both operands of this operator add up the same row
                fire(other)
        for k in actors[key].operands:
            producer = maker.get(actors[key].inputs[k])
            while producer is not None and made(producer) < actors[key].reads(k, executed[key]).stop:
                fire(producer)
        order.append((key, executed[key]))
        executed[key] += 1

    for sink in sinks:
        while made(sink) < (1 if actors[sink].iterative else actors[sink].iterations):
            fire(sink)
    return order


def rows_kept(actors: Mapping[int, Actor], order: Sequence[tuple[int, int]], key: int) -> int:
    """Return the smallest rolling buffer of an output in which no written row overwrites one that is read later."""
    tensor = actors[key].output
    reads = [
        (at, row)
        for at, (reader, iteration) in enumerate(order)
        for k, t in enumerate(actors[reader].inputs)
        if t == tensor
        for row in actors[reader].reads(k, iteration)
    ]
    depth, row = 0, 0
    for at, (writer, iteration) in enumerate(order):
        if writer != key or (actors[key].iterative and iteration < actors[key].iterations - 1):
            continue
        later = [r for when, r in reads if when >= at and r <= row]
        depth = max(depth, row - min([row, *later]) + 1)
        row += 1
    return depth


@dataclass(frozen=True)
class Lowered:
    """A program, and its buffers in one arena."""

    program: Program
    arena: DeviceArena
    rolling_buffers: tuple[int, ...]
    """Tensors (in the program's table) that have fewer slots than rows."""
    order: tuple[OperatorRow, ...]
    """The order of all iterations."""


def member(network: Network, op: ProgramOp, *, iterative: bool) -> Actor:
    def window(k: int, iteration: int) -> tuple[int, int]:
        w, height = op.window, network.shapes[op.inputs[k]][0]
        if op.kind in BINARY:
            iteration = min(iteration, height - 1)
        first = iteration * w.stride_h - w.pad_top
        return max(first, 0), min(first + (w.kernel_h - 1) * w.dilation_h + 1, height)

    iterations = network.shapes[op.inputs[0] if iterative else op.output][0]
    return Actor(op.inputs, op.output, range(len(op.inputs)), iterations, window, iterative)


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
    return op.kind in WINDOWED and whole


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
        members = {i: member(network, network.ops[i], iterative=i in iterative) for i in range(first, end)}
        own_order = simulate(members, sinks[::-1])
        order += own_order
        loops = nested([Iteration(i - first) for i, _ in own_order], rng)
        groups.append(ProgramGroup(first, end - first, bump.place(2 * (end - first), 2), loops))
        for i in members:
            _, w, c = network.shapes[network.ops[i].output]
            sums = bump.place(4 * w * c // KINDS[network.ops[i].kind].writes, 4) if i in iterative else 0
            ops.append(dataclasses.replace(network.ops[i], iterative=i in iterative, accumulator=sums))
            if i not in sinks:
                depths[network.ops[i].output] = rows_kept(members, own_order, i)

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
