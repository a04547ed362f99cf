"""Checks the options of optimize() and explore(), and combines them with the settings of a board."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import Cost, Table
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.convert import annotation, pipeline, speed
from tflm_memopt.convert.conversion import Conversion
from tflm_memopt.convert.frontier import settings
from tflm_memopt.convert.inspecting import inspection
from tflm_memopt.convert.limits import FlashLimit, Limits, SlowMemory
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import Loaded
from tflm_memopt.model.interface import ANY, Changes
from tflm_memopt.ops.packing import GENERIC, Family, family
from tflm_memopt.options import Weights, complete
from tflm_memopt.plan.choices import BUILTIN, MOVES, PER_GROUP, PER_REGION, Ops
from tflm_memopt.plan.cores import CORES, EVEN
from tflm_memopt.plan.effort import EXACT
from tflm_memopt.plan.search.spill import SlowCost
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rewrite.int8_io import int8_io as to_int8_io
from tflm_memopt.rowgraph.inputs import ARENA, input_mode
from tflm_memopt.targets.boards import Board, has_two_cores, runs
from tflm_memopt.targets.own_board import board as board_named
from tflm_memopt.tflm.libraries import whose_kernels
from tflm_memopt.tflm.refused import refuse
from tflm_memopt.tflm.structs import Abi

TFLM_CORE = "cortex-m4"
"""Default core for estimates with `--ops builtin`, if the user names neither a board nor a core."""
EXPLORING = 10
"""Factor by which explore() multiplies the effort of the planner."""
LEAST_SHARE = 0.2
"""A model for two cores must get at least the fraction LEAST_SHARE of each core's time, because two cores are otherwise
not faster than one core.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """All options of a conversion, except the model."""

    options: ConversionOptions
    limits: Limits
    without: tuple[str, ...]
    int8_io: bool
    table: Table
    clock: Clock | None
    saved: Mapping[str, Any] | None = None
    cost: Cost = "macs"
    """Kind of cost that explore() uses by default: the most precise kind that is known for the core."""
    if_worthwhile: bool = False
    """True if a model stays unchanged when its rewrite adds more bytes to flash than it removes from RAM."""
    weights: Weights = "auto"

    def tiles(self, overhead: float | None = None) -> Settings | None:
        return settings(self.without, overhead)

    @property
    def only_rewritten(self) -> bool:
        """Whether the user gets the rewritten model even if it adds more bytes to flash than it saves in RAM."""
        asked = replace(self.limits, flash=None) != Limits() or self.options.target != GENERIC
        return asked or self.saved is not None or bool(self.without) or self.options.ops == PER_GROUP

    def in_one_memory(self) -> Request:
        """Return the request without the slow memory of its board. Raises UsageError if the user set a size of slow
        memory.
        """
        if self.limits.slow and self.limits.slow.asked:
            raise UsageError("--memory fast=SIZE,slow=SIZE is for one device", hint="--memory RAM,FLASH")
        return replace(self, limits=replace(self.limits, slow=None))

    def exploring(self) -> Request:
        """Return the request for explore(), with more effort and without most limits."""
        effort = self.options.effort
        options = replace(self.options, seconds=EXACT * effort, effort=EXPLORING * effort, tiles=self.tiles())
        return replace(self, options=options, limits=Limits(board=self.limits.board, slow=self.limits.slow))

    def conversion(self, model: bytes) -> Conversion:
        """Raises ModelError if the model is invalid or if TFLM refuses the model."""
        source = annotation.read_sound(model)
        border = to_int8_io(source.graph) if self.int8_io else Int8Interface(source.graph, Changes(), {}, ())
        whole = annotation.left_whole(source)
        annotated = pipeline.interpret(border.graph, self.options.ops, whole, self.options.input)
        refuse(annotation.refused(source, annotated))
        return Conversion(source, border, annotated, self.options, self.tiles()).placed()

    def task(self, given: Loaded) -> ConversionTask:
        start = self.conversion(given.data)
        known = start.source, start.original, self.options.abi, self.options.library
        original = inspection(given, *known, int8_interface=self.int8_io)
        return ConversionTask(given, self, start, original)


@dataclass(frozen=True, slots=True)
class ConversionTask:
    given: Loaded
    asked: Request
    start: Conversion
    original: Inspection


def request(given: Mapping[str, Any], function: str = "optimize") -> Request:
    """Raises UsageError for options that are invalid or contradict each other."""
    said = complete(given, function)
    on_board, target, core, abi = _on_board(said)
    overhead, plan, effort = said["max_macs"], said["plan"], said["effort"]
    if said["cores"] > 1 and overhead is not None and overhead > 1:
        raise UsageError("--cores 2 cannot be combined with --max-macs above 1", hint="omit one of them")
    useless = ("tiles",) if said["cores"] > 1 else ()  # A tile of one pixel cannot be split between cores.
    without = _without((*said["without"], *useless), overhead)
    ops = said["op_per"] or said["ops"]
    under_tflm = ops == BUILTIN and core is None and said["target"] is None and on_board is None
    table = costs.table(target, TFLM_CORE if under_tflm else core)
    clock = speed.clock(on_board, core, table, said["clock"])
    limits = _limits(said, on_board, table, clock, exploring=function == "explore")
    if plan is not None and (limits.timed or overhead is not None or said["without"]):
        raise UsageError("--plan cannot be combined with limits of compute or --without", hint="omit them")
    seconds, where = said["seconds"], input_mode(said["input"])
    core_target = target  # TFLM's kernels are built for the target even if no operator is packed.
    if ops == BUILTIN:
        _only_builtin(said["target"] or GENERIC, said["input"], said["weights"])
        target = GENERIC
    options = ConversionOptions(
        seconds=EXACT * effort if seconds is None else seconds,
        effort=effort,
        fold=said["fold"],
        target=target,
        overlap="overlap" not in without,
        reorder="reorder" not in without,
        reverse="reverse" not in without,
        rematerialisation="rematerialisation" not in without and said["cores"] == 1,
        ops=ops,
        speeds=_speeds(said["cores"], said["share"], target, said["input"], ops),
        kernels=said["kernels"] or ANY,
        library=whose_kernels(said["kernels"], core_target),
        abi=abi,
        interpreter=said["interpreter"],
        allow_ops=_allowed(said["allow_ops"], ops),
        input=where,
    )
    cost: Cost = "macs" if ops == BUILTIN or (core is None and target == GENERIC) else "instructions"
    if ops != BUILTIN and clock and clock.prices(table.core):
        cost = "time"
    known = options, limits, without, said["int8_io"], table, clock, plan, cost
    return Request(*known, said["if_worthwhile"], said["weights"])


def _limits(
    said: Mapping[str, Any], board: Board | None, table: Table, clock: Clock | None, *, exploring: bool
) -> Limits:
    flash, pools, ops = said["flash_limit"], said["memory"] or {}, said["op_per"] or said["ops"]
    if not isinstance(pools, Mapping):
        raise UsageError(
            "--memory RAM,FLASH is for several devices", hint="--memory fast=SIZE,slow=SIZE, or --devices 2"
        )
    sizes = [size for size in (said["ram_limit"], pools.get("fast")) if size is not None]
    if board and pools:
        board = replace(board, external_ram=pools["slow"])  # The user may have added memory to the board.
    limits = Limits(
        said["max_macs"],
        min(sizes, default=None),
        said["max_instructions"],
        board,
        speed.limit(said["time_limit"], clock),
        None if flash is None else FlashLimit(flash, board.flash_core if board else table.core),
    )
    nbytes = pools["slow"] if pools else board.external_ram if board else 0
    if pools:
        _check_pools(limits, nbytes, ops, exploring=exploring)
    elif nbytes == 0 or ops != PER_REGION or limits.timed:
        return limits
    slow = clock.slow if clock else None
    cost = SlowCost(slow.read[1], slow.write[1]) if slow else SlowCost()
    known = clock if clock and slow and clock.known else None
    return replace(limits, slow=SlowMemory(nbytes, cost, bool(pools), known))


def _check_pools(limits: Limits, nbytes: int, ops: Ops, *, exploring: bool) -> None:
    if limits.ram is None and not exploring:
        hint = f"--memory fast=SIZE,slow={nbytes}, or --board"
        raise UsageError("the size of fast memory is unknown", hint=hint)
    if ops != PER_REGION:
        raise UsageError(f"--memory cannot be combined with --ops {ops}", hint="--ops region")
    if limits.timed:
        raise UsageError("--memory cannot be combined with limits of time or instructions", hint="--memory alone")


def _allowed(kinds: Collection[str], ops: Ops) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(kind.upper() for kind in kinds))
    for kind in wanted:
        if kind not in MOVES:
            raise UsageError(f"'{kind}' is not an operator that tiling can add", hint=one_of(kind, MOVES))
    if wanted and ops != BUILTIN:
        raise UsageError("--allow-ops needs --ops builtin", hint="--ops builtin")
    return wanted


def _only_builtin(target: str, where: str, weights: Weights) -> None:
    allowed = {"--target": (target, [GENERIC]), "--input": (where, [ARENA]), "--weights": (weights, ["auto", "flash"])}
    for flag, (wanted, values) in allowed.items():
        if wanted not in values:
            hint = f"--ops region, or {flag} {values[0]}"
            raise UsageError(f"--ops builtin cannot be combined with {flag} {wanted}", hint=hint)


def _on_board(said: Mapping[str, Any]) -> tuple[Board | None, str, str | None, Abi]:
    target, core = said["target"], said["core"]
    if said["board"] is None:
        return None, target or GENERIC, core, said["abi"]
    on = board_named(said["board"])
    target = target or on.target
    if not runs(on, {family(target)}):
        what = f"{on.id} cannot run programs for --target {target}"
        raise UsageError(what, hint=f"omit --target: {on.id} implies {on.target}, or use another --board")
    if said["cores"] > 1 and not has_two_cores(on):
        raise UsageError(
            f"--cores 2: {on.id} has one core", hint="omit --cores, or use for example --board esp32s3 or pico"
        )
    return on, target, core or (on.measured_core if costs.runs(on.measured_core, target) else None), on.abi


def _without(without: Collection[str], max_macs: float | None) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(without))
    settings(wanted)
    barred = [switch for switch in ("recompute", "tiles") if switch in wanted]
    if barred and max_macs is not None and max_macs > 1:
        hint = f"use --max-macs 1, or omit --without {barred[0]}"
        raise UsageError(f"F = {max_macs:g} needs {barred[0]}: without it, nothing can be recomputed", hint=hint)
    return wanted


def _speeds(
    cores: int, share: str | Collection[float] | None, target: str, where: str, ops: Ops
) -> tuple[float, float] | None:
    """Return for each core the fraction of the core's time that the model gets, or None if the model runs on one core.
    Raises UsageError for bad options.
    """
    if cores == 1:
        if share is not None:
            raise UsageError("--share needs two cores", hint="--cores 2")
        return None
    barred = {
        f"--input {where}": where != ARENA,
        f"--target {target}": family(target) not in (Family.GENERIC, Family.DSP, Family.ESP),
        f"--ops {ops}": ops != PER_REGION,
    }
    for flag in (name for name, wrong in barred.items() if wrong):
        raise UsageError(f"--cores 2 cannot be combined with {flag}", hint=f"omit {flag}, or use --cores 1")
    return _shares(share) if share is not None else EVEN


def _shares(share: str | Collection[float]) -> tuple[float, float]:
    try:
        found = tuple(map(float, share.split(",") if isinstance(share, str) else share))
    except ValueError:
        found = ()
    if len(found) != CORES or not all(LEAST_SHARE <= part <= 1 for part in found):
        raise UsageError(
            f"invalid shares of two cores: '{share}'", hint=f"give two numbers from {LEAST_SHARE} to 1: --share 0.8,1"
        )
    return found[0], found[1]
