"""Divides a network into sequences of consecutive operators (stages), each of which runs on one device.

Each device runs one stage. The first device may also run the last operators, since it returns the output. Tensors
between stages are sent row by row, so that no device holds them whole. If a layer has more weights than the mean
weights of a device, the layer belongs to no stage. All devices divide the channels of a layer that belongs to no stage.

For a few positions, the network is cut in two and planned for two devices. A stage needs at most the arena of all
operators up to the stage's end, and at most the arena of all operators from the stage's start on. The search chooses
stages by these upper bounds on the arena, and then plans the chosen stages.
"""

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple

from tflm_memopt.answers.devices import LINK_STATE, DevicesReport, OptimizedDevices
from tflm_memopt.devices.network import Network, filter_bytes, message_bytes, pipeline, where_possible
from tflm_memopt.devices.sharding import DeviceSharding, possible_shardings
from tflm_memopt.model.graph import Graph

CUTS = 8
"""Number of positions at which the network is cut in two and planned. With many devices, there are more positions."""
TRIED = 10
"""Maximum number of divisions into stages that are converted."""
KEPT = 6
"""The search keeps this number of best partial solutions for each operator at which another device may begin."""
FAIR_PART = 1.5
"""Weights count as evenly divided if no device has more than this factor times the mean weights of a device."""


class SplitCost(NamedTuple):
    """The cost of a split. Costs are compared field by field, and a smaller cost is better."""

    exceeds_alone: int
    """Excess of the largest arena over a single device's arena: 0 none, 1 at most LINK_STATE bytes, 2 more."""
    weights: float
    """Largest flash of a device, divided by the flash of a device in an even split, but at least FAIR_PART."""
    ram: int
    sent: float


@dataclass(frozen=True, slots=True)
class Cut:
    """A position in graph.ops at which a stage may end, and the memory of the operators before and after it."""

    position: int
    before: int
    """Arena of a device that runs all operators before the cut."""
    behind: int
    """Arena of a device that runs all operators after the cut."""
    sent: float
    """Bytes of the messages for tensors that are made before the cut and read after it."""
    weights: float
    """Weights of the unsplit layers before the cut, divided by the mean weights of a device."""


class Partial(NamedTuple):
    """The stages of the first few devices, as a partial solution of the search."""

    cost: SplitCost
    ends: tuple[int, ...]
    """For each stage, index of the cut at which the stage ends."""


def cost_of(report: DevicesReport, alone: int) -> SplitCost:
    return cost(report.ram, report.flash_part, report.sent, alone)


def cost(ram: int, weights: float, sent: float, alone: int) -> SplitCost:
    exceeds = (ram > alone) + (ram > alone + LINK_STATE)
    return SplitCost(exceeds, max(FAIR_PART, weights), ram, sent)


def budget(network: Network, normal: int) -> int:
    return max(2, round(normal * math.sqrt(min(1.0, network.asked.options.effort))))


def planned_cuts(network: Network, devices: int) -> Iterator[tuple[int, OptimizedDevices]]:
    """Yield several positions of graph.ops at which to cut the network, each with the plans for two devices."""
    graph = network.graph
    shardings = {op.index: DeviceSharding.WHOLE for op in graph.ops}
    for position in _positions(graph, max(budget(network, CUTS), devices + 2)):
        at = pipeline(graph, [graph.ops[position].index], 2)
        with where_possible():
            yield position, network.converted(shardings, 2, at=at)


def arranged(
    network: Network, devices: int, found: Sequence[tuple[int, OptimizedDevices]], best: SplitCost
) -> Iterator[OptimizedDevices]:
    """Convert divisions into stages and yield the results, as long as an untried division has a lower estimated cost.

    After a stage is planned, its exact arena replaces the estimate. At first, every second attempt takes the smallest
    estimated arena among the divisions that divide no layer by channels. After a division needs less RAM than a single
    device, these attempts end. `best` is the lowest cost so far.
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
    problem = _Arranging(tuple(cuts), devices, alone, sharded)
    tried: set[tuple[int, ...]] = {(end, len(cuts) - 1) for end in range(len(cuts))} if devices == 2 else set()
    for number in range(budget(network, TRIED)):
        partials = (one for first in range(len(cuts)) for one in problem.with_first(first))
        promising = [one for one in partials if one.ends not in tried and one.cost < best]
        if not promising:
            return
        by_ram = best.exceeds_alone and number % 2
        least = min(promising, key=operator.attrgetter("cost.ram", "cost.sent", "cost.weights") if by_ram else None)
        tried.add(least.ends)
        split = frozenset() if by_ram else heavy
        shardings = {
            op.index: DeviceSharding.CHANNELS if op.index in split else DeviceSharding.WHOLE for op in graph.ops
        }
        at = _devices(graph, [cuts[end].position for end in least.ends])
        with where_possible():
            made = network.converted(shardings, devices, at=at)
            for ends, device in zip(pairwise(least.ends), made.report.devices[1:], strict=True):
                problem.known[ends] = device.arena.total
            best = min(best, cost_of(made.report, alone))
            yield made


@dataclass(frozen=True, slots=True)
class _Arranging:
    cuts: tuple[Cut, ...]
    devices: int
    alone: int
    """Arena of a single device that runs the whole network."""
    sharded: float
    """Weights of a device in layers divided by channels, as a multiple of a device's mean weights."""
    known: dict[tuple[int, int], int] = field(default_factory=dict)
    """Arena of each planned stage other than the first, by the cuts at which the stage begins and ends."""

    def with_first(self, first: int) -> Iterator[Partial]:
        """Yield the best solutions whose first stage ends at cut `first`. Device 0 also runs the last operators."""
        cuts, count = self.cuts, len(self.cuts)
        states = {first: [Partial(cost(cuts[first].before, 0, cuts[first].sent, self.alone), (first,))]}
        for _ in range(self.devices - 1):
            further: dict[int, list[Partial]] = {}
            for end, behind in ((a, b) for a in states for b in range(a + 1, count)):
                weights = cuts[behind].weights - cuts[end].weights
                further.setdefault(behind, []).extend(self._longer(one, end, behind, weights) for one in states[end])
            states = {end: sorted(partials)[:KEPT] for end, partials in further.items()}
        for end, partials in states.items():
            if first == 0 and end == count - 1:  # The first device would run no operator.
                continue
            weights = cuts[first].weights + cuts[-1].weights - cuts[end].weights
            for one in partials:
                yield self._longer(one, end, count - 1, weights)._replace(ends=one.ends)

    def _longer(self, one: Partial, first: int, end: int, weights: float) -> Partial:
        """Return the solution with one more stage. `weights` are the stage's weights as a multiple of a device's mean
        weights.
        """
        before, behind = self.cuts[first], self.cuts[end]
        estimate = 0 if first == end else min(behind.before, before.behind)
        ram = self.known.get((first, end), estimate)
        sent = one.cost.sent + (behind.sent if first < end else 0)
        worst = max(one.cost.weights, weights + self.sharded)
        return Partial(cost(max(one.cost.ram, ram), worst, sent, self.alone), (*one.ends, end))


def _devices(graph: Graph, ends: Sequence[int]) -> Mapping[int, int]:
    at = {op.index: 0 for op in graph.ops}
    for device, (first, end) in enumerate(pairwise([0, *ends])):
        at |= {op.index: device for op in graph.ops[first:end]}
    return at


def _heavy(graph: Graph, devices: int) -> frozenset[int]:
    """Return the Op.index of operators whose weights exceed a device's mean weights and that channels can divide."""
    stored = {op.index: filter_bytes(graph, op) for op in graph.ops}
    even = sum(stored.values()) / devices
    splittable = (op for op in graph.ops if DeviceSharding.CHANNELS in possible_shardings(graph, op))
    return frozenset(op.index for op in splittable if stored[op.index] > even)


def _positions(graph: Graph, most: int) -> list[int]:
    """Return up to `most` positions, spread over the operators, at which few bytes would be sent."""
    sent, count = _sent_at(graph), len(graph.ops)
    ends = [1 + i * (count - 1) // most for i in range(most + 1)]
    found = (min(range(a, b), key=sent.__getitem__) for a, b in pairwise(ends) if a < b)
    return [position for position in found if sent[position] < math.inf]


def _sent_at(graph: Graph) -> list[float]:
    """For each position in graph.ops, return the bytes that are sent if another device runs the later operators."""
    made = dict.fromkeys(graph.inputs, 0)
    made |= {t: position + 1 for position, op in enumerate(graph.ops) for t in op.outputs}
    last = {t: position for position, op in enumerate(graph.ops) for t in op.inputs if t in made}
    found = [0.0] * (len(graph.ops) + 1)
    for tensor, end in last.items():
        for position in range(made[tensor], end + 1):
            found[position] += message_bytes(graph.tensors[tensor])
    return found
