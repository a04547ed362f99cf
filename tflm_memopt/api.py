"""The package's functions: optimize(), explore(), inspect(), verify()."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, overload

import tflm_memopt.convert.saved
import tflm_memopt.convert.saved_app
import tflm_memopt.report.notebook  # noqa: F401 (they register with generic.py)
from tflm_memopt import units
from tflm_memopt.analysis.lines import LineSpeed
from tflm_memopt.application.app import App, AppModel
from tflm_memopt.application.results import AppExploration, AppOptimized
from tflm_memopt.convert import describe, devices_choice, pipeline, speed
from tflm_memopt.convert import instructions as by_instructions
from tflm_memopt.convert.app import optimize_app
from tflm_memopt.convert.app_explore import explore_app
from tflm_memopt.convert.app_fit import fit_app
from tflm_memopt.convert.conversion import Conversion, Limits
from tflm_memopt.convert.devices import Network, checked_count
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.policy import decide
from tflm_memopt.convert.request import Request, request, whose_kernels
from tflm_memopt.convert.verify import verify
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.options import ExploreOptions, OptimizeOptions, complete
from tflm_memopt.plan import waiting
from tflm_memopt.plan.planned import Planned
from tflm_memopt.plan.waiting import Progress
from tflm_memopt.results import (
    BoardReport,
    DevicesExploration,
    Exploration,
    Fits,
    Inspection,
    Optimized,
    OptimizedDevices,
    Report,
)
from tflm_memopt.runtime.verification import Verification
from tflm_memopt.runtime.verify_devices import DevicesVerification, verify_devices
from tflm_memopt.targets.boards import board as board_named
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import Kernels
from tflm_memopt.tflm.structs import Abi

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "App",
    "AppExploration",
    "AppModel",
    "AppOptimized",
    "DevicesExploration",
    "DevicesVerification",
    "Exploration",
    "Fits",
    "Inspection",
    "Optimized",
    "OptimizedDevices",
    "Report",
    "Verification",
    "explore",
    "explore_devices",
    "fit",
    "inspect",
    "optimize",
    "optimize_devices",
    "verify",
    "verify_devices",
]

COSTS = ("macs", "instructions")
Link = str | Collection[float]
"""Bytes a second and milliseconds of latency."""


def nothing(what: str, done: int, of: int) -> None:
    """Nobody wants to know."""


@overload
def optimize(model: App, *, progress: Progress = nothing, **options: Unpack[OptimizeOptions]) -> AppOptimized: ...


@overload
def optimize(
    model: GivenModel,
    *,
    name: str = "",
    frontier: bool = False,
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> Optimized: ...


def optimize(
    model: GivenModel | App,
    *,
    name: str = "",
    frontier: bool = False,
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> Optimized | AppOptimized:
    """Rewrites a .tflite model so that TFLM runs it with the same output bits in less arena.

    model: its bytes, or the path of a .tflite file or of C source with it as an array; or several as an App, which
    share an arena: then the options are for all of them that say nothing else.
    name: for the report and the files; by default the file's.
    frontier: explore() as well, for the report.
    progress: told what is being done, and how many of how many steps of it are.
    options: see options.py. input, int8_io, ops, op_per, allow_ops, abi, fold, effort, core, board, without, target,
        kernels; seconds, max_macs, ram_limit, max_instructions, time_limit, clock, plan, if_worthwhile.

    Raises ModelError for what is no model, UsageError for impossible arguments, DoesNotFit when nothing keeps to the
    limits. A model with nothing to gain comes back as it is.
    """
    if isinstance(model, App):
        return optimize_app(replace(model, options={**options, **model.options}), progress)
    return optimize_planned(model, name=name, frontier=frontier, progress=progress, **options)[0]


def optimize_planned(
    model: GivenModel,
    *,
    name: str = "",
    frontier: bool = False,
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> tuple[Optimized, Planned | None]:
    """optimize() for those who go on with the checked plan, too; None for a model that comes back as it is."""
    started = time.monotonic()
    progress("reading", 0, 0)
    data, name, path = loaded(model, name)
    asked = request(complete("optimize", options, OptimizeOptions))
    conversion = asked.conversion(data)
    progress("searching blocks", 0, 0)
    if not frontier:
        _tell_left(progress, conversion, asked.limits, started)
    original = describe.inspection(
        name, len(data), conversion.source, conversion.original, asked.abi, asked.library, int8_interface=asked.int8_io
    )
    made = decide(asked, conversion, original, partial(progress, "planning points"))
    done = describe.optimized(data, asked, made, original, started)
    explored = _explored(data, name, asked.exploring(), "macs", progress) if frontier else None
    return replace(done, source=path, frontier=explored), made.chosen.planned if made.chosen else None


def optimize_devices(
    model: GivenModel,
    devices: int,
    *,
    link: Link | None = None,
    memory: str | Collection[int | None] | None = None,
    cut: Sequence[int] = (),
    name: str = "",
    progress: Progress = nothing,
    **options: Unpack[OptimizeOptions],
) -> OptimizedDevices:
    """Shares a network out among devices that are linked: a model for each, which runs in our operator.

    devices: how many. The first has the input, and gets the output. name, progress, options: as optimize() has them;
    they hold for each device. The plans are checked together: what is sent is what is received.
    link: bytes a second from one device to another, and latency, "125kB/s,2ms" or (125000, 2): then the report says how
    long an inference takes, for which a clock is needed.
    memory: bytes of RAM and flash that each device has for arena and model, "20kB,128kB", or RAM alone. Without it each
    has the least to hold; with it, of what fits, the fastest is taken or, without a link, what sends the fewest bytes.
    board: each device is one; its clock and core are taken, and DoesNotFit is raised where one does not fit.
    cut: numbers of operators at which the next device begins, one less than devices: each runs all of its operators.

    Raises what optimize() raises, UsageError for a network, or options, that several devices cannot have, and
    DoesNotFit where `memory` is too small.
    """
    progress("reading", 0, 0)
    network = _network(model, name, link, progress, options)
    count = checked_count(devices, network.asked)
    limit = None if memory is None else units.memory(memory)
    if cut and limit:
        raise UsageError("a cut says what each device runs", code="devices_cut_memory", hint="--cut without --memory")
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
    """The frontier of a network on so many devices: the memory of the largest one against the time of an inference.

    Each point is planned, and checked; one device alone is among them. Arguments: as optimize_devices() has them; a
    clock is needed.
    """
    progress("reading", 0, 0)
    network = _network(model, name, link, nothing, options)
    count = checked_count(devices, network.asked)
    return devices_choice.frontier(network, count, partial(progress, "planning ways to share"))


def _network(model: GivenModel, name: str, link: Link | None, progress: Progress, options: OptimizeOptions) -> Network:
    """A model that is to be shared. progress: told of each device's conversion."""
    data, name, _ = loaded(model, name)
    line = None if link is None else LineSpeed(*units.line(link))
    asked = request(complete("optimize", options, OptimizeOptions))
    own = OptimizeOptions(**{**options, "if_worthwhile": False})
    if on := asked.limits.board:  # devices are compared with it when all of them are there
        target = options.get("target") or on.target
        own = OptimizeOptions(**{**own, "board": None, "clock": None, "target": target, "abi": on.abi})

    def one(data: bytes, name: str) -> tuple[Optimized, Planned | None]:
        return optimize_planned(data, name=name, progress=progress, **own)

    return Network(data, name, asked, one, line)


def _tell_left(progress: Progress, conversion: Conversion, limits: Limits, started: float) -> None:
    """Only where nothing is computed twice: how often other conversions search depends on what they find."""
    once = limits.overhead is None or limits.overhead <= 1
    if once and limits == Limits(limits.overhead):
        searches = 2 if limits == Limits() and conversion.is_packed else 1
        operators = len(conversion.source.graph.ops)
        waiting.tell(progress, conversion.log, operators, conversion.options.seconds, searches, started)


@overload
def explore(model: App, *, progress: Progress = nothing, **options: Unpack[ExploreOptions]) -> AppExploration: ...


@overload
def explore(
    model: GivenModel,
    *,
    name: str = "",
    cost: Literal["macs", "instructions"] = "macs",
    progress: Progress = nothing,
    **options: Unpack[ExploreOptions],
) -> Exploration: ...


def explore(
    model: GivenModel | App,
    *,
    name: str = "",
    cost: Literal["macs", "instructions"] = "macs",
    progress: Progress = nothing,
    **options: Unpack[ExploreOptions],
) -> Exploration | AppExploration:
    """The frontier of a model: the least arena at every compute budget. Each point is planned, checked and lowered.

    model: as optimize() takes it; of an App, the frontier of all models together, over the points of each.
    cost: what compute is: multiply-accumulates, or instructions on `core`, by estimate; then plans of several tile
    widths are tried.
    options: see options.py. input, int8_io, ops, op_per, allow_ops, abi, fold, effort, without, target, kernels, core;
        board: each point says what it leaves of that one.
    """
    if cost not in COSTS:
        raise UsageError(f"'{cost}' is nothing that plans cost", code="unknown_cost", hint=one_of(cost, COSTS))
    if isinstance(model, App):
        return explore_app(replace(model, options={**options, **model.options}), progress)
    data, name, _ = loaded(model, name)
    asked = request(complete("explore", options, ExploreOptions))
    return _explored(data, name, asked.exploring(), cost, progress)


def _explored(model: bytes, name: str, asked: Request, cost: str, progress: Progress) -> Exploration:
    started = time.monotonic()
    conversion, on_board = asked.conversion(model), asked.limits.board
    timer = speed.of_points(conversion, asked.clock, asked.table)
    points: list[Costed] = []
    planning = partial(progress, "planning points")
    if conversion.rows:
        points = by_instructions.of_keepings(conversion, cost, asked.table, planning)
    return Exploration(
        model=name,
        input=str(conversion.options.input),
        op_per=asked.op_per,
        target=conversion.options.target,
        cost=cost,
        core=asked.table.core,
        without=asked.without,
        original_macs=conversion.whole.macs,
        original_arena=predict(conversion.source, asked.abi, library=conversion.library),
        board=on_board.id if on_board else None,
        points=tuple(describe.point(conversion, point, on_board, timer) for point in points),
        seconds=round(time.monotonic() - started, 3),
    )


def fit(optimized: Optimized | AppOptimized, names: Collection[str] = (), packed: Optimized | None = None) -> Fits:
    """On which boards (boards.json) a model fits before and after optimize(). `names`: of the boards; none: all.

    optimized: also an application, whose models share RAM and flash.
    packed: the same model for a target; boards whose core runs such programs take it, unless it only fits without.
    Raises UsageError for a board that is not known.
    """
    if isinstance(optimized, AppOptimized):
        return fit_app(optimized, names)
    report, original = optimized.report, optimized.inspection.firmware
    each = [(one, firmware(one.model)) for one in (packed, optimized) if one]
    rows = []
    for on in [board_named(name) for name in names] or list(boards().values()):
        there = [(one, board_fit(on, one.report.arena, needs)) for one, needs in each]
        rewritten, fitting = next((found for found in there if found[1].fits), there[-1])
        before = board_fit(on, report.original_arena, original)
        if report.original_refused:
            before = replace(before, fits=False, fits_with_radio=False, only_external=False)
        rows.append(BoardReport(on, before, fitting, speed.on_board(rewritten, on)))
    arenas = report.original_arena, report.arena
    return Fits(report.model, report.convention, *arenas, report.flash, tuple(rows), report.original_refused)


def inspect(
    model: GivenModel,
    *,
    name: str = "",
    abi: Abi = "ilp32",
    target: str = GENERIC,
    kernels: Kernels = "reference",
) -> Inspection:
    """What a model consists of, what of it would run row by row, and what it needs under TFLM today.

    kernels: whose scratch and state the arena figures count; with CMSIS-NN they depend on the core, `target`.
    """
    data, name, _ = loaded(model, name)
    source = read(data)
    annotated = pipeline.annotate(source.graph, pipeline.left_whole(source))
    return describe.inspection(name, len(data), source, annotated, abi, whose_kernels(kernels, target))
