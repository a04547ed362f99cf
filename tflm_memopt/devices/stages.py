"""Divides a network into sequences of consecutive operators (stages), each of which runs on one device.

The first device may also run the last operators, because it returns the network's output. Tensors between devices are
sent row by row, so that no device holds a whole tensor. If a layer has more weights than a device's equal part of all
weights, all devices divide the layer's channels. At a few positions, the network is cut in two and planned for two
devices. The arena of each half is an upper bound for the arena of a part of the half.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple

from tflm_memopt.answers.devices import LINK_STATE, DevicesReport, OptimizedDevices
from tflm_memopt.devices.network import Network, filter_bytes, message_bytes, pipeline, where_possible
from tflm_memopt.devices.sharding import DeviceSharding, possible_shardings
from tflm_memopt.model.graph import Graph

CUTS = 8
"""Number of positions at which the converter tries to cut the network in two."""
TRIED = 10
"""Maximum number of divisions into stages that the converter tries."""
FAIR_PART = 1.5
"""Weights count as evenly split if no device stores more than FAIR_PART times the mean."""


class SplitCost(NamedTuple):
    """The cost of a split. The first field that differs decides, and the smaller value is better."""

    exceeds_alone: int
    """0 if the largest arena is at most the arena of one device alone, 1 if it is at most LINK_STATE bytes larger, and
    2 otherwise.
    """
    weights: float
    """Size of the weights on the device with the most weights, divided by the mean of all devices, but at least
    FAIR_PART.
    """
    ram: int
    sent: float


@dataclass(frozen=True, slots=True)
class Cut:
    """A position in graph.ops at which a stage may end, with the memory that the operators before and after the
    position need.
    """

    position: int
    before: int
    """Size in bytes of the arena of a device that runs all operators before the cut."""
    behind: int
    """Size in bytes of the arena of a device that runs all operators after the cut."""
    sent: float
    """Size in bytes of all messages for tensors that are made before the cut and read after the cut."""
    weights: float
    """Size of the unsplit weights before the cut, as a multiple of a device's equal share of all weights."""


def cost_of(report: DevicesReport, alone: int) -> SplitCost:
    return cost(report.ram, report.flash_part, report.sent, alone)


def cost(ram: int, weights: float, sent: float, alone: int) -> SplitCost:
    exceeds = (ram > alone) + (ram > alone + LINK_STATE)
    return SplitCost(exceeds, max(FAIR_PART, weights), ram, sent)


def budget(network: Network, normal: int) -> int:
    return max(2, round(normal * math.sqrt(min(1.0, network.asked.options.effort))))


def planned_cuts(network: Network, devices: int) -> Iterator[tuple[int, OptimizedDevices]]:
    """For each position of graph.ops at which the network can be cut in two, yield the position and a conversion for
    two devices.
    """
    graph = network.graph
    shardings = {op.index: DeviceSharding.WHOLE for op in graph.ops}
    for position in _positions(graph, max(budget(network, CUTS), devices + 2)):
        at = pipeline(graph, [graph.ops[position].index], 2)
        with where_possible():
            yield position, network.converted(shardings, 2, at=at)


def arranged(
    network: Network, devices: int, found: Sequence[tuple[int, OptimizedDevices]], best: SplitCost
) -> Iterator[OptimizedDevices]:
    """Try divisions into stages, and yield their conversions. The search stops when no untried division has an
    estimated cost below the lowest cost of a conversion.

    When a sequence of operators has been planned for a device, the exact size of the arena replaces the estimated size.
    Every second attempt tries the division with the smallest estimated arena, until a division needs no more RAM than
    one device alone.
    """
    graph, alone = network.graph, network.alone.report.arena.total
    heavy, sent = _heavy(graph, devices), _sent_at(graph)
    even = max(1, network.weights) / devices
    parts = [filter_bytes(graph, op) / even for op in graph.ops]
    stored = [0.0, *accumulate(0.0 if op.index in heavy else part for op, part in zip(graph.ops, parts, strict=True))]
    cuts = [Cut(0, 0, alone, sent[0], 0)]
    for position, made in found:
        before, behind = (d.arena.total for d in made.report.devices)
        cuts.append(Cut(position, before, behind, sent[position], stored[position]))
    outputs = sum(message_bytes(graph.tensors[t]) for t in graph.outputs)
    cuts.append(Cut(len(graph.ops), alone, 0, outputs, stored[-1]))
    sharded = sum(part for op, part in zip(graph.ops, parts, strict=True) if op.index in heavy) / devices
    known: dict[tuple[int, int], int] = {}
    untried = {*combinations(range(len(cuts)), devices)}
    if devices == 2:  # The caller tries all divisions with a single cut.
        untried -= {(end, len(cuts) - 1) for end in range(len(cuts))}
    untried = {ends for ends in untried if ends[0] > 0 or ends[-1] < len(cuts) - 1}  # Device 0 must not be idle.
    for number in range(budget(network, TRIED)):
        estimates = ((_estimated(cuts, ends, alone, sharded, known), ends) for ends in untried)
        promising = [(estimate, ends) for estimate, ends in estimates if estimate < best]
        if not promising:
            return
        by_ram = best.exceeds_alone and number % 2
        _, least = min(promising, key=lambda one: (one[0].ram, one[0].sent, *one) if by_ram else one)
        untried.remove(least)
        split = frozenset() if by_ram else heavy
        shardings = {
            op.index: DeviceSharding.CHANNELS if op.index in split else DeviceSharding.WHOLE for op in graph.ops
        }
        at = _devices(graph, [cuts[end].position for end in least])
        with where_possible():
            made = network.converted(shardings, devices, at=at)
            for ends, device in zip(pairwise(least), made.report.devices[1:], strict=True):
                known[ends] = device.arena.total
            best = min(best, cost_of(made.report, alone))
            yield made


def _estimated(
    cuts: Sequence[Cut], ends: Sequence[int], alone: int, sharded: float, known: Mapping[tuple[int, int], int]
) -> SplitCost:
    """Estimate the cost of dividing the network into sequences of operators that end at the cuts `ends`. The operators
    after the last cut run on the first device.

    The argument `sharded` is the size of the divided weights on one device, as a multiple of a device's equal share of
    all weights. The argument `known` has the arena in bytes for the operators between two cuts.
    """
    first, last = cuts[ends[0]], len(cuts) - 1
    ram, sent, weights = first.before, first.sent, 0.0
    for begin, end in pairwise((*ends, last)):
        if begin < end:
            ram = max(ram, known.get((begin, end), min(cuts[end].before, cuts[begin].behind)))
            sent += cuts[end].sent
        weights = max(weights, cuts[end].weights - cuts[begin].weights + sharded)
    return cost(ram, max(weights, first.weights + cuts[last].weights - cuts[ends[-1]].weights + sharded), sent, alone)


def _devices(graph: Graph, ends: Sequence[int]) -> Mapping[int, int]:
    at = {op.index: 0 for op in graph.ops}
    for device, (first, end) in enumerate(pairwise([0, *ends])):
        at |= {op.index: device for op in graph.ops[first:end]}
    return at


def _heavy(graph: Graph, devices: int) -> frozenset[int]:
    """Return the Op.index of each operator whose channels can be divided and whose weights exceed the mean size of a
    device's weights.
    """
    stored = {op.index: filter_bytes(graph, op) for op in graph.ops}
    even = sum(stored.values()) / devices
    splittable = (op for op in graph.ops if DeviceSharding.CHANNELS in possible_shardings(graph, op))
    return frozenset(op.index for op in splittable if stored[op.index] > even)


def _positions(graph: Graph, most: int) -> list[int]:
    """Return at most `most` positions, spread over the network, at which few bytes are sent."""
    sent, count = _sent_at(graph), len(graph.ops)
    ends = [1 + i * (count - 1) // most for i in range(most + 1)]
    found = (min(range(a, b), key=sent.__getitem__) for a, b in pairwise(ends) if a < b)
    return [position for position in found if sent[position] < math.inf]


def _sent_at(graph: Graph) -> list[float]:
    """Return the sent bytes for each position in graph.ops, if another device runs the operators after the position."""
    made = dict.fromkeys(graph.inputs, 0)
    made |= {t: position + 1 for position, op in enumerate(graph.ops) for t in op.outputs}
    last = {t: position for position, op in enumerate(graph.ops) for t in op.inputs if t in made}
    found = [0.0] * (len(graph.ops) + 1)
    for tensor, end in last.items():
        for position in range(made[tensor], end + 1):
            found[position] += message_bytes(graph.tensors[tensor])
    return found
