"""The package's public functions, such as optimize() and verify()."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, overload

# The imports of convert/saved.py and apps/saved.py register functions with generic.py.
import tflm_memopt.apps.saved
import tflm_memopt.convert.saved  # noqa: F401
from tflm_memopt import units
from tflm_memopt.analysis.costs import COSTS, Cost
from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.answers.devices import DevicesExploration, OptimizedDevices
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.fits import BoardReport, Fits
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.apps.app import App
from tflm_memopt.apps.explore import explore_app
from tflm_memopt.apps.fit import fit_app
from tflm_memopt.apps.optimize import optimize_app
from tflm_memopt.apps.results import AppExploration, AppOptimized
from tflm_memopt.convert import describe, speed
from tflm_memopt.convert import instructions as by_instructions
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.limits import Limits
from tflm_memopt.convert.policy import decide
from tflm_memopt.convert.request import ConversionTask, Request, request
from tflm_memopt.devices import choice as devices_choice
from tflm_memopt.devices.links import LinkSpeed
from tflm_memopt.devices.network import Network, checked_count
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.errors import RuntimeUnavailable, UsageError, about, one_of
from tflm_memopt.files import GivenModel, loaded, read_file
from tflm_memopt.options import ExploreOptions, OptimizeOptions
from tflm_memopt.plan.choices import BUILTIN
from tflm_memopt.plan.effort import Progress, tell_time_left
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.targets.own_board import board as board_named
from tflm_memopt.tflm.arena import predict

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tflm_memopt.registers.generate import Generated

SHORT_NETWORK = 40
"""Maximum number of operators of a network for which the search for each device runs with full effort."""
Link = str | Collection[float]
"""Speed of a link: a text, or two numbers (bytes per second, and milliseconds of latency)."""


def nothing(what: str, done: int, of: int) -> None:
    """Progress callback that does nothing."""


@overload
def optimize(model: App, *, progress: Progress = nothing, **options: Unpack[OptimizeOptions]) -> AppOptimized: ...


@overload
def optimize(
    model: GivenModel, *, name: str = "", progress: Progress = nothing, **options: Unpack[OptimizeOptions]
) -> Optimized: ...


def optimize(
    model: GivenModel | App, *, name: str = "", progress: Progress = nothing, **options: Unpack[OptimizeOptions]
) -> Optimized | AppOptimized:
    """Rewrite a .tflite model so that TFLM runs it with the same output bits in a smaller arena.

    The argument `model` has the bytes of a .tflite model, or the path of a .tflite file or of C source with the model.
    For an App, which has several models, the options are defaults for each model. The argument `name` is the model's
    name in the report and in file names. The default is the name of the model's file. The callback `progress` gets the
    name of the current step, the number of finished parts, and the number of all parts. OptimizeOptions in options.py
    lists all options.

    Raises ModelError for an unreadable model, UsageError for invalid arguments, and DoesNotFit if no plan keeps the
    limits. A model that would not benefit from a rewrite is returned unchanged.
    """
    if isinstance(model, App):
        return optimize_app(replace(model, options={**options, **model.options}), progress)
    return optimize_planned(model, name=name, progress=progress, **options)[0]


def optimize_planned(
    model: GivenModel, *, name: str = "", progress: Progress = nothing, **options: Unpack[OptimizeOptions]
) -> tuple[Optimized, Planned | None]:
    """Return the result of optimize() and the checked plan, which is None if the model stays unchanged."""
    started = time.monotonic()
    progress("reading", 0, 0)
    given = loaded(model, name)
    task = request(options).task(given)
    progress("searching groups", 0, 0)
    _tell_left(progress, task, started)
    made = decide(task, partial(progress, "planning points"))
    return describe.optimized(made, started), made.chosen.planned if made.chosen else None


def optimize_devices(
    model: GivenModel,
    devices: int,
    *,
    link: Link | None = None,
    cut: Sequence[int] = (),
    name: str = "",
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> OptimizedDevices:
    """Split a network among several linked devices, and make a model for each device.

    The plans of all devices are checked together. The argument `devices` is the number of devices. Device 0 has the
    input and gets the output of the network. A link has a rate in bytes per second and a latency in milliseconds, such
    as "125kB/s,2ms" or (125000, 2). With a link, the report estimates the time of an inference. The estimate requires a
    clock. The argument `cut` has the index of the first operator on device 1, on device 2, and so on. If `cut` is
    given, no operator is divided among devices.

    The arguments `name`, `progress` and `options` are those of optimize(), and apply to each device. The option
    `memory` has two sizes for each device: the RAM for the arena and the flash for the model, such as "20kB,128kB". The
    size of the flash may be omitted. With `memory` and a link, the result is the fastest split that fits. With `memory`
    but without a link, the result is the split that fits and sends the fewest bytes. Without `memory`, the largest
    device needs as little memory as possible. The option `board` names the board of every device. The estimates are for
    the board's clock and core.

    Raises UsageError for a network or options that several devices do not support. Raises DoesNotFit if `memory` is too
    small, or if a device's model does not fit on the board. Raises the errors of optimize() for each device's model.
    """
    progress("reading", 0, 0)
    given = options.pop("memory", None)
    limit = None if given is None else units.memory(given)
    if isinstance(limit, Mapping):
        raise UsageError("several devices have one memory each", hint="--memory RAM,FLASH")
    network = _network(model, name, link, progress, options)
    count = checked_count(devices, network.asked)
    if cut and limit:
        raise UsageError("a cut and a memory limit cannot be combined", hint="leave out --cut or --memory")
    if cut:
        made = devices_choice.in_a_row(network, count, cut)
    else:
        made = devices_choice.choose(network, count, limit, partial(progress, "planning ways to share"))
    devices_choice.demand_board(made, network.asked.limits.board)
    return made


def explore_devices(
    model: GivenModel,
    devices: int,
    *,
    link: Link,
    name: str = "",
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> DevicesExploration:
    """Compute the frontier of up to `devices` devices: the least memory of the largest device for each inference time.

    The frontier includes the network on one device. Each point of the frontier is planned and checked. The function
    takes the arguments of optimize_devices(), and requires a clock.
    """
    progress("reading", 0, 0)
    network = _network(model, name, link, nothing, options)
    count = checked_count(devices, network.asked)
    return devices_choice.frontier(network, count, partial(progress, "planning ways to share"))


def _network(model: GivenModel, name: str, link: Link | None, progress: Progress, options: OptimizeOptions) -> Network:
    data, name, _ = loaded(model, name)
    speed = None if link is None else LinkSpeed(*units.link(link))
    asked = request(options).in_one_memory()
    own = OptimizeOptions(**{**options, "if_worthwhile": False})
    if on := asked.limits.board:  # The function demand_board() checks all devices against the board.
        target = options.get("target") or on.target
        own = OptimizeOptions(**{**own, "board": None, "clock": None, "target": target, "abi": on.abi})

    def one(data: bytes, name: str, limited: bool) -> tuple[Optimized, Planned | None]:
        part = min(1.0, SHORT_NETWORK / len(network.graph.ops))
        changed: OptimizeOptions = {"max_instructions": None}
        if limited:  # Dead channels were removed before the network was split.
            changed = {"effort": part * asked.options.effort, "fold": False}
        return optimize_planned(data, name=name, progress=progress, **OptimizeOptions(**{**own, **changed}))

    network = Network(data, name, asked, one, speed)
    return network


def combine_registers(
    driver: str | PathLike[str],
    description: str | PathLike[str],
    *,
    place: bool = False,
    folders: Sequence[str | PathLike[str]] = (),
) -> Generated:
    """Combine register accesses of a C driver without changing the behaviour of the driver.

    The argument `description` is a CMSIS-SVD file, or a header that uses register_words.h. If the
    argument `place` is true, the function chooses the positions of register fields even if the description gives
    positions. The argument `folders` has the folders of the driver's headers.

    Raises RegisterError for a driver or description that cannot be used, and RuntimeUnavailable without the extra
    "registers".
    """
    try:
        from tflm_memopt.registers import generate  # noqa: PLC0415
    except ImportError as error:
        raise RuntimeUnavailable(
            f"{error.name} is not installed: it reads drivers and descriptions",
            hint='pip install "tflm-memopt[registers]"',
        ) from error  # fmt: skip
    paths = Path(driver), Path(description)
    with about(paths[0]):
        texts = [read_file(path).decode("utf-8", "replace") for path in paths]
        return generate.generate(paths[0], texts[0], paths[1], texts[1], place=place, folders=[*map(Path, folders)])


def _tell_left(progress: Progress, task: ConversionTask, started: float) -> None:
    conversion, limits = task.start, task.asked.limits
    once = limits.overhead is None or limits.overhead <= 1
    if once and limits == Limits(limits.overhead):
        searches = 2 if limits == Limits() and conversion.is_packed else 1
        operators = len(conversion.source.graph.ops)
        tell_time_left(progress, conversion.spent, operators, conversion.options.seconds, searches, started)


@overload
def explore(model: App, *, progress: Progress = nothing, **options: Unpack[ExploreOptions]) -> AppExploration: ...


@overload
def explore(
    model: GivenModel,
    *,
    name: str = "",
    cost: Cost | None = None,
    progress: Progress = nothing,
    **options: Unpack[ExploreOptions],
) -> Exploration: ...


def explore(
    model: GivenModel | App,
    *,
    name: str = "",
    cost: Cost | None = None,
    progress: Progress = nothing,
    **options: Unpack[ExploreOptions],
) -> Exploration | AppExploration:
    """Compute the frontier of a model: the smallest arena at every cost. Each point of the frontier is planned, checked
    and lowered.

    The argument `model` has the types that optimize() accepts. For an App, one frontier combines the plans of all
    models. The argument `cost` is "macs", "instructions" or "time". Instructions and times are estimates for the core.
    If the cost is "instructions" or "time", plans with several tile widths are tried. Without a board or core, the
    default cost is "macs". The default is "time" for a board with modelled cycles, and "instructions" for any other
    board or core. ExploreOptions in options.py lists all options. With a board, each point of the frontier reports the
    board's free RAM and flash.
    """
    if cost is not None and cost not in COSTS:
        raise UsageError(f"unknown cost '{cost}'", hint=one_of(cost, COSTS))
    if isinstance(model, App):
        return explore_app(replace(model, options={**options, **model.options}), progress)
    data, name, _ = loaded(model, name)
    asked = request(options, "explore")
    if cost == "time" and asked.cost != cost:
        raise UsageError(
            "the frontier by time needs a core whose cycles are modelled", code="time_unknown", hint="--board"
        )
    if cost == "instructions" and asked.options.ops == BUILTIN:
        raise UsageError("the frontier of --ops builtin is by MACs", hint="--cost macs")
    return _explored(data, name, asked.exploring(), cost, progress)


def _explored(model: bytes, name: str, asked: Request, wanted: Cost | None, progress: Progress) -> Exploration:
    started = time.monotonic()
    conversion, on_board = asked.conversion(model), asked.limits.board
    timer = speed.of_points(conversion, asked.clock, asked.table)
    cost = wanted or asked.cost
    if wanted != "instructions":
        cost = by_instructions.known_cost(conversion, cost, asked.table, timer)
    points: list[Costed] = []
    planning = partial(progress, "planning points")
    if conversion.rows:
        points = by_instructions.frontier(conversion, cost, asked.table, asked.clock, planning)
        if (slow := asked.limits.slow) and (cost != "time" or slow.clock):
            points += by_instructions.in_less_memory(conversion, slow, asked.table)
    return Exploration(
        model=name,
        input=str(conversion.options.input),
        op_per=asked.options.ops,
        target=conversion.options.target,
        cost=cost,
        core=asked.table.core,
        without=asked.without,
        original_macs=conversion.original_macs,
        original_arena=predict(conversion.source, asked.options.abi, library=conversion.options.library),
        original_instructions=speed.instructions_today(conversion, asked.table.core),
        original_milliseconds=timer.milliseconds(speed.cycles_today(conversion.source.graph, timer)) if timer else None,
        board=on_board.id if on_board else None,
        points=tuple(describe.point(conversion, point, on_board, timer) for point in points),
        seconds=round(time.monotonic() - started, 3),
    )


def fit(
    optimized: Optimized | AppOptimized,
    names: Collection[str] = (),
    packed: Optimized | None = None,
    on: Mapping[str, Optimized] | None = None,
) -> Fits:
    """Return how a model fits on boards (boards.json) before and after optimize().

    The argument `optimized` is the result of optimize(). For an application, all models share RAM and flash. The
    argument `names` has ids of boards, or files that describe boards. The default is all known boards. The argument
    `packed` is the model with weights packed for a target. On a board that can run the packed model, the generic model
    is used only if the packed model does not fit. The argument `on` has the results of optimize() for single boards, by
    board id. Raises UsageError for an unknown board.
    """
    if isinstance(optimized, AppOptimized):
        return fit_app(optimized, names)
    report, original = optimized.report, optimized.inspection.firmware

    def with_needs(one: Optimized) -> tuple[Optimized, Firmware, int]:
        slow = one.report.memories.slow if one.report.memories else 0
        return one, firmware(one.model, interpreter=one.report.interpreter), slow

    each, rows = [with_needs(one) for one in (packed, optimized) if one], []
    for board in [board_named(name) for name in names] or list(boards().values()):
        own = [with_needs(one) for one in [(on or {}).get(board.id)] if one]
        there = [(one, board_fit(board, one.report.arena, needs, slow)) for one, needs, slow in (*own, *each)]
        rewritten, fitting = next((found for found in there if found[1].fits), there[-1])
        before = board_fit(board, report.original_arena, original)
        if report.original_refused:
            before = replace(before, fits=False, fits_with_radio=False, only_external=False)
        time = speed.on_board(rewritten, board)
        rows.append(BoardReport(board, before, fitting, time, rewritten.report.target))
    arenas = report.original_arena, report.arena
    return Fits(report.model, report.conventions, *arenas, report.flash, tuple(rows), report.original_refused)
