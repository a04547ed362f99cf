"""Chooses how to split a network: for the least memory, for the least time within a limit, or for the best compromises.

Each device runs a sequence of whole operators, or a part of each operator: rows in the first layers, channels in the
later layers. If memory is limited, the first device may run the first or the last layers without the other devices.
Splits are compared by the largest device's bytes, the busiest device's multiply-accumulates, and the sent bytes. A
split is converted only if no other split is better in all three figures.
"""

import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, takewhile

from tflm_memopt.answers.devices import DevicesExploration, DevicesPoint, DevicesReport, OptimizedDevices
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.convert.frontier import cheapest
from tflm_memopt.devices.network import Network, bytes_sent, cut, in_rows, layer, pipeline, switch_of, where_possible
from tflm_memopt.devices.sharding import MOST_DEVICES, DeviceSharding, possible_shardings
from tflm_memopt.devices.stages import CUTS, TRIED, SplitCost, arranged, cost_of, planned_cuts
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.model.graph import Graph
from tflm_memopt.ops.message import SEND
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.targets.boards import Board, BoardFit
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.tflm.arena import predict
from tflm_memopt.units import DeviceMemory

Shardings = Mapping[int, DeviceSharding]
CLOSE = Fraction(2, 100)
"""If the first device's size exceeds the mean size by less than CLOSE times the mean, the split counts as even."""
FAIR = Fraction(108, 100)
"""After balancing, a device has at most FAIR times the mean size of a device's weights."""
Planning = Callable[[int, int], None]


def choose(network: Network, devices: int, memory: DeviceMemory | None, planning: Planning) -> OptimizedDevices:
    """Return the split whose largest arena is smallest and, among equals, the split that sends the fewest bytes.

    A split that needs a larger arena than one device alone is worse than all other splits. A split that hardly divides
    the weights is worse than a split that divides the weights evenly. If `memory` is not None, return the fastest split
    that fits on the devices. If the link speed is unknown, return the split that fits and sends the fewest bytes.
    Raises DoesNotFit if no split fits.
    """
    if memory is None:
        return min(_compared(network, devices, planning), key=lambda one: _cost(network, one))
    found = [*_compared(network, devices, planning), *_converted(network, devices, planning)]
    fitting = [one for one in found if admits(memory, one.report)]
    if not fitting:
        raise _diagnostics(network, devices, memory, found)
    return min(fitting, key=lambda one: (one.report.time.milliseconds if one.report.time else 0.0, one.report.sent))


def _compared(network: Network, devices: int, planning: Planning) -> list[OptimizedDevices]:
    switch = switch_of(network.graph, devices)
    fronts = (DeviceSharding.ROWS, DeviceSharding.OVERLAP) if switch else (DeviceSharding.ROWS,)
    shared = {front: shared_layers(network, devices, switch, front) for front in fronts}
    found, cuts = [*shared.values()], []
    for number, (position, one) in enumerate(planned_cuts(network, devices)):
        planning(number, CUTS + TRIED)
        cuts.append((position, one))
        found += [one] if devices == 2 else []
    found += arranged(network, devices, cuts, min(_cost(network, one) for one in found))
    best = min(_cost(network, one) for one in found)
    for front, one in shared.items():
        if _cost(network, one) == best:
            for step in (-1, 1):
                found += _switched(network, one, switch, step, front)
    return found


def _switched(
    network: Network, before: OptimizedDevices, switch: int, step: int, front: DeviceSharding
) -> Iterator[OptimizedDevices]:
    """Divide more layers by rows (`step` = 1) or fewer layers (`step` = -1), one at a time, as long as the cost falls.
    Yield each conversion that is cheaper than the previous conversion.
    """
    with where_possible():
        while 0 <= switch + step <= in_rows(network.graph):
            switch += step
            one = shared_layers(network, len(before.models), switch, front)
            if _cost(network, one) >= _cost(network, before):
                return
            before = one
            yield one


def _cost(network: Network, one: OptimizedDevices) -> SplitCost:
    return cost_of(one.report, network.alone.report.arena.total)


def shared_layers(
    network: Network, devices: int, switch: int | None = None, front: DeviceSharding = DeviceSharding.ROWS
) -> OptimizedDevices:
    """Convert a model for several devices. The operators before the position `switch` are divided by rows, and all
    later operators are divided by channels.

    The argument `switch` is a position in graph.ops, or None for an estimate of the best position. The argument `front`
    is ROWS, or is OVERLAP if devices exchange no rows. If the user allows partial sums, layers use them where they
    reduce the number of sent bytes.
    """
    graph = network.graph
    shardings = cut(graph, switch_of(graph, devices) if switch is None else switch, len(graph.ops), front)
    return _balanced(network, _with_fan_in(network, shardings, devices), devices)


def in_a_row(network: Network, devices: int, cuts: Sequence[int]) -> OptimizedDevices:
    """Convert the network for devices that run whole operators in sequence. The argument `cuts` has the index of the
    first operator of each device, beginning with device 1.
    """
    shardings = {op.index: DeviceSharding.WHOLE for op in network.graph.ops}
    return network.converted(shardings, devices, at=pipeline(network.graph, cuts, devices))


def _with_fan_in(network: Network, shardings: Shardings, devices: int) -> Shardings:
    if "fan-in" in network.asked.without:
        return shardings
    graph = network.graph
    readers: dict[int, list[int]] = {}
    for op in graph.ops:
        if shardings[op.index] is DeviceSharding.CHANNELS and DeviceSharding.INPUTS in possible_shardings(graph, op):
            readers.setdefault(op.inputs[0], []).append(op.index)
    best, least = shardings, bytes_sent(graph, shardings, devices)
    for layers in readers.values():
        other = {**best, **dict.fromkeys(layers, DeviceSharding.INPUTS)}
        sent = bytes_sent(graph, other, devices)
        if sent < least:
            best, least = other, sent
    return best


def _balanced(network: Network, shardings: Shardings, devices: int) -> OptimizedDevices:
    """If the first device stores more bytes than the mean of all devices, give it fewer channels.

    Besides its share of weights, the first device has the input, the output and the unsplit operators.
    """
    even = network.converted(shardings, devices)
    held = [d.arena.total + d.flash for d in even.report.devices]
    mean, split = Fraction(sum(held), devices), even.report.original_split_weights
    if held[0] - mean < CLOSE * mean or not split:
        return even
    others = [max(2 - FAIR, min(FAIR, 1 - (one - mean) * devices / split)) for one in held[1:]]
    portions = (devices - sum(others, Fraction(0)), *others)
    if max(portions) > FAIR:
        return even
    found = [even]
    with where_possible():  # The portions may cut through a group of a convolution, which is impossible.
        found.append(network.converted(shardings, devices, portions))
    return min(found, key=lambda one: max(d.arena.total + d.flash for d in one.report.devices))


def admits(memory: DeviceMemory, report: DevicesReport) -> bool:
    ram, flash = memory
    return report.ram <= ram and (flash is None or report.flash <= flash)


def _diagnostics(network: Network, devices: int, memory: DeviceMemory, found: Sequence[OptimizedDevices]) -> DoesNotFit:
    ram, flash = memory
    best = min((one.report for one in found), key=lambda r: max(r.ram / ram, r.flash / flash if flash else 0.0))
    least = f"{best.ram},{best.flash}" if flash is not None else str(best.ram)
    needs, limit = f"{best.ram:,} B of RAM", f"{ram:,} B"
    if flash is not None:
        needs, limit = f"{needs} and {best.flash:,} B of flash", f"{limit} and {flash:,} B"
    return DoesNotFit(
        f"{devices} devices need up to {needs} each, limit is {limit}",
        where=f"device {max(range(devices), key=lambda n: best.devices[n].arena.total)} has the largest arena",
        hint=", or ".join([*_more(network, devices, memory), f"--memory {least}"]),
    )


def _more(network: Network, devices: int, memory: DeviceMemory) -> Iterator[str]:
    """Yield a hint that says how many devices, up to 2 × `devices`, are enough."""
    planned = cache(lambda number: network.converted(_even(network, number), number).report)
    more = range(devices + 1, min(2 * devices, MOST_DEVICES) + 1)
    enough = [*takewhile(lambda number: network.is_enough_for(number, _even(network, number)), more)]
    if least := cheapest(enough, lambda number: admits(memory, planned(number))):
        best = planned(least)
        yield f"--devices {least} (fits in {best.ram:,} B of RAM and {best.flash:,} B of flash)"


def _even(network: Network, devices: int) -> Shardings:
    graph = network.graph
    return _with_fan_in(network, cut(graph, switch_of(graph, devices), len(graph.ops)), devices)


def demand_board(made: OptimizedDevices, board: Board | None) -> None:
    for number, found in enumerate(_left(made.models, board)):
        if not found.fits:
            raise DoesNotFit(
                f"device {number} of {len(made.models)} does not fit on {found.board}",
                where=f"{found.ram_left:,} B of RAM and {found.flash_left:,} B of flash would be left",
                hint=f"--devices {min(len(made.models) + 1, MOST_DEVICES)}, or a larger board",
            )


def frontier(network: Network, devices: int, planning: Planning) -> DevicesExploration:
    """Return the frontier of memory against time. A split's memory is the memory of the device that needs most. The
    speed of the links must be known.
    """
    started, asked = time.monotonic(), network.asked
    points = [_alone(network)] if network.link else []
    candidates = chain(_compared(network, devices, planning), _converted(network, devices, planning))
    points += [_point(one, asked.limits.board) for one in candidates]
    best = undominated(points, lambda p: (math.ceil(1000 * p.milliseconds), p.memory))
    link, clock = network.link, asked.clock
    if link is None or clock is None:
        raise TypeError("no link or no clock")
    return DevicesExploration(
        model=network.name,
        devices=devices,
        rate=link.rate,
        latency=link.latency,
        core=clock.core,
        mhz=clock.mhz,
        original_arena=predict(network.source, asked.options.abi, library=asked.options.library),
        original_flash=len(network.data),
        points=tuple(best),
        seconds=round(time.monotonic() - started, 3),
        board=asked.limits.board.id if asked.limits.board else None,
    )


def _alone(network: Network) -> DevicesPoint:
    one, alone = network.alone
    spent = math.inf if alone.milliseconds is None else alone.milliseconds
    whole = tuple(op.index for op in network.graph.ops)
    left = _left((one,), network.asked.limits.board)
    return DevicesPoint(1, (), (), (), (), whole, alone.arena.total, alone.flash, 0, spent, board=left)


def _left(models: Sequence[Optimized], board: Board | None) -> tuple[BoardFit, ...]:
    return tuple(board_fit(board, one.report.arena, firmware(one.model)) for one in models) if board else ()


def _point(made: OptimizedDevices, board: Board | None) -> DevicesPoint:
    report = made.report
    return DevicesPoint(
        devices=len(report.devices),
        rows=report.rows,
        overlap=report.overlap,
        channels=report.channels,
        inputs=report.inputs,
        whole=report.whole,
        stages=report.stages,
        ram=report.ram,
        flash=report.flash,
        sent=report.sent,
        milliseconds=report.time.milliseconds if report.time else 0.0,
        board=_left(made.models, board),
    )


def _converted(network: Network, devices: int, planning: Planning) -> Iterator[OptimizedDevices]:
    """Yield the conversions of all promising splits, including splits with partial sums that reduce the sent bytes."""
    candidates = []
    for shardings in promising(network, devices):
        other = _with_fan_in(network, shardings, devices)
        candidates += [shardings] if other == shardings else [shardings, other]
    for number, shardings in enumerate(candidates):
        planning(number, len(candidates))
        with where_possible():
            yield network.converted(shardings, devices)
    planning(len(candidates), len(candidates))


def promising(network: Network, devices: int) -> list[Shardings]:
    """Return the Pareto-optimal splits for three figures: memory, the busiest device's work, and sent bytes."""
    graph = network.graph
    switch = switch_of(graph, devices)
    count = len(graph.ops)
    fronts = (cut(graph, s, count) for s in range(in_rows(graph) + 1))
    stacks = (cut(graph, s, count, DeviceSharding.OVERLAP) for s in range(1, in_rows(graph) + 1))
    backs = (cut(graph, min(switch, e), e) for e in range(1, count))
    alone = (cut(graph, s, count, DeviceSharding.WHOLE) for s in range(1, count))
    found: dict[tuple[float, ...], Shardings] = {}
    for shardings in chain(fronts, stacks, backs, alone):
        if any(sharding is not DeviceSharding.WHOLE for sharding in shardings.values()) and network.is_enough_for(
            devices, shardings
        ):
            found.setdefault(_told(network, shardings, devices), shardings)
    return [
        shardings
        for figures, shardings in found.items()
        if not any(other != figures and all(map(operator.le, other, figures)) for other in found)
    ]


def _told(network: Network, shardings: Shardings, devices: int) -> tuple[float, ...]:
    graphs = network.sharded(shardings, devices).graphs
    held, busy, sent = [], [], 0
    for graph in graphs:
        layers = [layer(graph, op) for op in graph.ops]
        held.append(max((a.reads + a.makes for a in layers), default=0) + sum(a.weights for a in layers))
        busy.append(sum(_macs(graph, i, a.weights) for i, a in enumerate(layers)))
        sent += sum(a.reads for op, a in zip(graph.ops, layers, strict=True) if op.options.get("custom_code") == SEND)
    return float(max(held)), float(max(busy)), float(sent)


def _macs(graph: Graph, number: int, weights: int) -> float:
    output = graph.tensors[graph.ops[number].outputs[0]]
    return output.elements * max(1.0, weights / max(1, output.shape[-1] if output.shape else 1))
