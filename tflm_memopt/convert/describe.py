"""Uses the records of answers/ to describe a model, its conversion, and its frontier."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.answers import report as answers
from tflm_memopt.answers.exploration import PointReport
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import GroupReport, KeptBuiltin, RollingBufferReport, StageReport
from tflm_memopt.convert import speed
from tflm_memopt.convert.annotation import dead_channels
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.policy import Decision
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.model.graph import Tensor, TensorId, short_name
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import memory_map
from tflm_memopt.plan.choices import BUILTIN
from tflm_memopt.plan.cores import CORES, fraction
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Buffer, Group, Plan, Role, Stage
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rowgraph.supported import View
from tflm_memopt.targets.boards import Board, BoardFit, fit, fits

NEST, SET_UP, BARRIER = 220, 250, 20
"""Instructions that each of two cores executes in addition to its share of a single core's instructions, counted on
Cortex-M33 (benchmarks/two_cores.py). For each iteration, the core takes NEST instructions to find the iteration and
SET_UP instructions to begin its part; a barrier takes BARRIER instructions.
"""
STACKS = 1872, 1776
"""Maximum number of stack bytes of each core inside Invoke() on Cortex-M33 (docs/two-cores.md)."""


def optimized(made: Decision, started: float) -> Optimized:
    """The argument `started` is the value of time.monotonic() at the start of the conversion."""
    given, original, chosen = made.task.given, made.task.original, made.chosen
    on_boards = fits(made.arena, made.firmware, made.slow)
    done = tuple(work(chosen.planned)) if chosen else ()
    report = _report(made, on_boards, done)
    if chosen:
        report = _with_plan(report, made, chosen, done)
    source = chosen.read if chosen else made.conversion.source
    size = arena_bytes(source, report) if made.arena.exact and made.firmware.interpreter else None
    return Optimized(
        model=made.model,
        plan=chosen.planned.plan if chosen else None,
        report=replace(report, arena_size=size, seconds=round(time.monotonic() - started, 3)),
        original=given.data,
        source=given.path,
        inspection=original,
        memory=memory_map.of_plan(chosen.planned, chosen.arena) if chosen else original.memory,
        fits=on_boards,
        work=done,
    )


def _report(made: Decision, on_boards: Sequence[BoardFit], done: Sequence[Work]) -> answers.Report:
    asked, original, conversion, limits = made.task.asked, made.task.original, made.conversion, made.limits
    board, macs, changes = limits.board, conversion.original_macs, _interface(conversion.border)
    unchanged = tuple(f"{i.side} '{short_name(i.name)}': {made.why}" for i in changes if made.why)
    core = board.flash_core if board else asked.table.core
    return answers.Report(
        model=original.model,
        diagnosis=original.diagnosis,
        why_unchanged=made.why,
        input=str(conversion.options.input),
        op_per=asked.options.ops,
        target=conversion.options.target,
        max_macs=limits.overhead,
        ram_limit=limits.ram,
        max_instructions=limits.instructions,
        without=asked.without,
        macs=answers.BeforeAfter(macs, macs),
        arena=made.arena,
        original_arena=original.arena,
        lower_bound_head=original.arena.head,
        flash=answers.BeforeAfter(original.flash, len(made.model)),
        kept_builtin=() if asked.options.ops == BUILTIN else tuple(_builtins(conversion, made.chosen)),
        interface_kept=tuple(f"{refusal.where}: {refusal.reason}" for refusal in conversion.border.refusals)
        + unchanged,
        boards=tuple(b.board for b in on_boards if b.fits),
        original_boards=tuple(b.board for b in original.fits if b.fits),
        balance=made.balance,
        board=fit(board, made.arena, made.firmware, made.slow) if board else None,
        time=speed.time(conversion, made.chosen, done, asked.table, asked.clock),
        faster=made.faster,
        flash_limit=limits.flash.nbytes if limits.flash else None,
        time_limit=limits.time.milliseconds if limits.time else None,
        interpreter=made.firmware.interpreter,
        footprint=answers.BeforeAfter(original.firmware.on(core), made.firmware.on(core)),
        original_refused=original.refused,
    )


def _with_plan(report: answers.Report, made: Decision, chosen: Converted, done: tuple[Work, ...]) -> answers.Report:
    conversion, graph, plan = made.conversion, chosen.planned.graph, chosen.planned.plan
    options, source, window = conversion.options, graph.source, graph.window
    added = [kind for kind in chosen.firmware.operators if kind not in made.task.original.firmware.operators]
    generic = options.target == GENERIC and not (options.speeds or made.limits.board or made.task.asked.clock)
    each, barriers = _cores(plan, graph.ops, done, made.task.asked.table)
    return replace(
        report,
        changed=True,
        source=answers.SourceReport(source.height, source.row_bytes, source.pushed) if source else None,
        window=answers.WindowReport(window.rows, window.new, window.inferences) if window else None,
        overhead=conversion.overhead(plan.macs),
        macs=answers.BeforeAfter(conversion.original_macs, plan.macs),
        instructions=costs.estimates(options.target, done) if done else {},
        dead_channels=sum(dead_channels(conversion.whole, conversion.rows).values()) if conversion.rows else 0,
        lower_bound_head=plan.lower_bound,
        proven=plan.proven,
        groups=tuple(_groups(chosen.planned)),
        interface=tuple(_interface(conversion.border)),
        cut_short=tuple(part.value for part in conversion.spent.cut_short),
        in_arena=conversion.in_arena(chosen, made.limits),
        packed=speed.packed(conversion, chosen) if generic and made.task.asked.table.core == costs.DEFAULT else None,
        planned_for=options.kernels if options.ops == BUILTIN else "",
        in_parts=plan.tilings,
        to_register=tuple(added) if plan.tilings else (),
        cores=each,
        barriers=barriers,
        memories=_memories(chosen),
    )


def _cores(
    plan: Plan, ops: Mapping[int, RowOp], done: Sequence[Work], table: costs.Table
) -> tuple[tuple[answers.CoreReport, ...], answers.BarriersReport | None]:
    if not plan.shardings:
        return (), None
    shardings = [(one, group) for group in plan.shardings for one in group.ops]
    each, whole = [0.0] * CORES, 0.0
    for (sharding, _), own in zip(shardings, done, strict=True):
        one = costs.estimate(table.kernels, own)
        mine = fraction(sharding, ops[sharding.op].writes)
        whole += one
        for core, part in enumerate((mine, 1 - mine)):
            each[core] += one * part
            again = NEST if part == 0 else SET_UP if part < 1 else 0
            each[core] += own.iterations * again * (1 if part == 0 else 1 - part)
    cores = tuple(
        answers.CoreReport(round(n), round(n / whole, 4), stack) for n, stack in zip(each, STACKS, strict=True)
    )
    return cores, answers.BarriersReport(sum(len(group.barriers) for group in plan.shardings), BARRIER)


def _memories(chosen: Converted) -> answers.MemoriesReport:
    found, plan = chosen.moved, chosen.planned.plan
    copied = sum(buffer.nbytes for buffer in plan.buffers if buffer.role is Role.WEIGHTS)
    return answers.MemoriesReport(
        chosen.arena.total, plan.slow_bytes, found.slow_read, found.slow_written, found.weights_read, copied
    )


def point(conversion: Conversion, costed: Costed, on: Board | None = None, clock: Clock | None = None) -> PointReport:
    """Describe a plan of the frontier."""
    point = costed.converted
    plan = point.planned.plan
    return PointReport(
        overhead=conversion.overhead(plan.macs),
        macs=plan.macs,
        instructions=costed.instructions,
        arena=point.arena,
        groups=sum(isinstance(step, Group) for step in plan.steps),
        tiled=sum(isinstance(step, Group) and step.stripes > 0 for step in plan.steps),
        rematerialisations=len(plan.rematerialisations),
        proven=plan.proven,
        plan=plan,
        board=fit(on, point.arena, point.firmware, plan.slow_bytes) if on else None,
        milliseconds=clock.milliseconds(clock.cycles(costed.work, point.slow_moved)) if clock else None,
        work=costed.work,
        memories=_memories(point) if plan.slow else None,
    )


def _groups(planned: Planned) -> list[GroupReport]:
    plan, ops, tensors = planned.plan, planned.graph.ops, planned.graph.model.tensors
    reports = []
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Group):
            continue
        alive = [(plan.buffers[i], plan.offsets[i]) for i in plan.alive[number]]
        rows = {ops[stage.op].output: ops[stage.op].writes.h for stage in step.stages}
        if (source := planned.graph.source) is not None:
            rows[source.tensor] = source.height
        reports.append(
            GroupReport(
                ops=tuple(i for stage in step.stages for i in ops[stage.op].sources),
                operators=tuple(ops[stage.op].name for stage in step.stages),
                rolling_buffers=tuple(
                    RollingBufferReport(tensors[b.key].name, rows[b.key], b.depth, b.nbytes)
                    for b, _ in alive
                    if b.role is Role.ROLLING_BUFFER
                ),
                stripes=step.stripes,
                accumulators=sum(b.nbytes for b, _ in alive if b.role is Role.ACCUMULATOR),
                scratch=sum(b.nbytes for b, _ in alive if b.role is Role.SCRATCH),
                bytes=max(o + b.nbytes for b, o in alive),
                stages=tuple(_stage(stage, ops[stage.op], alive, tensors) for stage in step.stages),
            )
        )
    return reports


def _stage(
    stage: Stage, op: RowOp, alive: Sequence[tuple[Buffer, int]], tensors: Mapping[TensorId, Tensor]
) -> StageReport:
    kept = [b for b, _ in alive if b.key == op.output and b.role in (Role.TENSOR, Role.ROLLING_BUFFER)]
    nest = stage.nest
    return StageReport(
        ops=op.sources,
        operator=op.name,
        tensor=tensors[op.output].name,
        kept=sum(b.nbytes for b in kept),
        whole=op.writes.nbytes,
        stripe=op.writes.h if stage.iterative else nest.rows,
        tile=nest.tile,
        channel_groups=nest.channel_groups,
        again=nest.recomputes,
        cached=op.writes.h > 1
        and any(column_window.depth >= op.writes.w for b in kept for column_window in b.column_windows),
        sums=stage.iterative or nest.sums,
        packed=stage.runs_packed(op),
        rematerialised=op.again,
    )


def _builtins(conversion: Conversion, chosen: Converted | None) -> list[KeptBuiltin]:
    supports, names = conversion.whole.support, {op.index: op.kind for op in conversion.source.graph.ops}
    kept = [node.op for node in chosen.planned.graph.builtins] if chosen else supports.keys()
    reports = []
    for index in sorted(kept):
        support = supports[index]
        if isinstance(support, Unsupported):
            reports.append(KeptBuiltin(index, names[index], support.code, str(support), support.hint))
        elif isinstance(support, View) and index in names:
            reports.append(KeptBuiltin(index, names[index], "view", "builtin operators use its shape", ""))
    return reports


def _interface(border: Int8Interface) -> list[answers.InterfaceReport]:
    return [
        answers.InterfaceReport(side, change.name, str(change.before), str(change.after))
        for side, changes in (("input", border.changes.inputs), ("output", border.changes.outputs))
        for change in changes
    ]
