"""Fills in the records of answers/ from a model, its conversion, and the points of its frontier."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.answers import report as answers
from tflm_memopt.answers.exploration import PointReport
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import GroupReport, KeptBuiltin, RollingBufferReport, StageReport
from tflm_memopt.convert import cores, speed
from tflm_memopt.convert.annotation import dead_channels
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.policy import Decision
from tflm_memopt.convert.request import Request
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.model.graph import Graph, Tensor, TensorId, short_name
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan import plan_map
from tflm_memopt.plan.choices import BUILTIN
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Buffer, Group, Role, Stage
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rowgraph.graph import BuiltinNode
from tflm_memopt.rowgraph.supported import AnnotatedGraph, View
from tflm_memopt.targets.boards import Board, BoardFit, fit, fits


def optimized(model: bytes, asked: Request, made: Decision, original: Inspection, started: float) -> Optimized:
    """Return the result of optimize() with its report. `started` is the value of time.monotonic() at the start."""
    conversion, chosen, board = made.conversion, made.chosen, made.limits.board
    needs = chosen.firmware if chosen else original.firmware
    arena = chosen.arena if chosen else original.arena
    done = tuple(work(chosen.planned)) if chosen else ()
    core = board.flash_core if board else asked.table.core
    slow = chosen.planned.plan.slow_bytes if chosen else 0
    on_boards = fits(arena, needs, slow)
    told = replace(
        _report(asked, made, original, on_boards, done, started),
        board=fit(board, arena, needs, slow) if board else None,
        flash_limit=made.limits.flash.nbytes if made.limits.flash else None,
        in_arena=conversion.in_arena(chosen, made.limits) if chosen else None,
        original_refused=original.refused,
        faster=made.faster,
        time=speed.time(conversion, chosen, done, asked.table, asked.clock),
        interpreter=needs.interpreter,
        footprint=answers.Footprints(original.firmware.on(core), needs.on(core)),
    )
    source = chosen.read if chosen else conversion.source
    if chosen:
        plan, ops = chosen.planned.plan, chosen.planned.graph.ops
        each, barriers = cores.told(plan, ops, done, asked.table)
        told = replace(told, cores=each, barriers=barriers, packed=_packed(asked, made, chosen))
        told = replace(told, memories=_memories(chosen))
    return Optimized(
        model=chosen.model if chosen else model,
        plan=chosen.planned.plan if chosen else None,
        report=replace(told, arena_size=arena_bytes(source, told) if arena.exact and needs.interpreter else None),
        original=model,
        source=None,
        inspection=original,
        memory=plan_map.of_plan(chosen.planned, chosen.arena) if chosen else original.memory,
        fits=on_boards,
        work=done,
    )


def _report(
    asked: Request,
    made: Decision,
    original: Inspection,
    on_boards: Sequence[BoardFit],
    done: tuple[Work, ...],
    started: float,
) -> answers.Report:
    conversion, chosen, limits = made.conversion, made.chosen, made.limits
    border, annotated, macs = conversion.border, conversion.whole, conversion.original_macs
    planned, parts = chosen.planned if chosen else None, conversion.rows
    executed = planned.plan.macs if planned else macs
    return answers.Report(
        model=original.model,
        diagnosis=original.diagnosis,
        changed=planned is not None,
        why_unchanged=made.why,
        input=str(conversion.options.input),
        source=_source(planned),
        window=_window(planned),
        op_per=asked.op_per,
        target=conversion.options.target,
        max_macs=limits.overhead,
        ram_limit=limits.ram,
        max_instructions=limits.instructions,
        without=asked.without,
        overhead=conversion.overhead(executed),
        macs=answers.Macs(macs, executed),
        instructions=costs.estimates(conversion.options.target, done) if done else {},
        dead_channels=sum(dead_channels(annotated, parts).values()) if planned and parts else 0,
        arena=chosen.arena if chosen else original.arena,
        original_arena=original.arena,
        lower_bound_head=planned.plan.lower_bound if planned else original.arena.head,
        proven=planned.plan.proven if planned else False,
        groups=tuple(_groups(planned)) if planned else (),
        flash=answers.Flash(original.flash, len(chosen.model) if chosen else original.flash),
        kept_builtin=tuple(_builtins(conversion.source.graph, annotated, planned)) if asked.op_per != BUILTIN else (),
        interface=tuple(_interface(border)) if planned else (),
        interface_kept=tuple(_interface_kept(border, made.why)),
        boards=tuple(b.board for b in on_boards if b.fits),
        original_boards=tuple(b.board for b in original.fits if b.fits),
        seconds=round(time.monotonic() - started, 3),
        cut_short=tuple(part.value for part in conversion.spent.cut_short) if planned else (),
        balance=made.balance,
        time_limit=limits.time.milliseconds if limits.time else None,
        planned_for=conversion.options.kernels if planned and conversion.options.ops == BUILTIN else "",
        in_parts=planned.plan.tilings if planned else (),
        to_register=_added(original, chosen) if chosen and planned and planned.plan.tilings else (),
    )


def _packed(asked: Request, made: Decision, chosen: Converted) -> answers.PackedEstimate | None:
    options, table = made.conversion.options, asked.table
    if options.target != GENERIC or options.speeds or made.limits.board or asked.clock or table.core != costs.DEFAULT:
        return None
    return speed.packed(made.conversion, chosen)


def _memories(chosen: Converted) -> answers.MemoriesReport:
    found, plan = chosen.moved, chosen.planned.plan
    copied = sum(buffer.nbytes for buffer in plan.buffers if buffer.role is Role.WEIGHTS)
    return answers.MemoriesReport(
        chosen.arena.total, plan.slow_bytes, found.slow_read, found.slow_written, found.weights_read, copied
    )


def _added(original: Inspection, chosen: Converted) -> tuple[str, ...]:
    return tuple(kind for kind in chosen.firmware.operators if kind not in original.firmware.operators)


def _source(planned: Planned | None) -> answers.SourceReport | None:
    source = planned.graph.source if planned else None
    return answers.SourceReport(source.height, source.row_bytes, source.pushed) if source else None


def _window(planned: Planned | None) -> answers.WindowReport | None:
    window = planned.graph.window if planned else None
    return answers.WindowReport(window.rows, window.new, window.inferences) if window else None


def point(conversion: Conversion, costed: Costed, on: Board | None = None, clock: Clock | None = None) -> PointReport:
    """Describe a plan of the frontier, and the memory that it leaves free on a board. `clock` is the clock for the
    times.
    """
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


def _builtins(graph: Graph, annotated: AnnotatedGraph, planned: Planned | None) -> list[KeptBuiltin]:
    names = {op.index: op.kind for op in graph.ops}
    kept = (
        {node.op for node in planned.graph.nodes if isinstance(node, BuiltinNode)}
        if planned
        else set(annotated.support)
    )
    reports = []
    for index in sorted(kept):
        support = annotated.support[index]
        if isinstance(support, Unsupported):
            reports.append(KeptBuiltin(index, names[index], support.code, str(support), support.hint))
        elif isinstance(support, View) and index in names:
            reports.append(KeptBuiltin(index, names[index], "view", "builtin operators use its shape", ""))
    return reports


def _interface_kept(border: Int8Interface, unchanged: str) -> list[str]:
    """Describe inputs and outputs that `--int8-io` left unchanged, or all inputs and outputs of an unchanged model."""
    kept = [f"{refusal.where}: {refusal.reason}" for refusal in border.refusals]
    return kept + [f"{i.side} '{short_name(i.name)}': {unchanged}" for i in _interface(border) if unchanged]


def _interface(border: Int8Interface) -> list[answers.InterfaceReport]:
    return [
        answers.InterfaceReport(side, change.name, str(change.before), str(change.after))
        for side, changes in (("input", border.changes.inputs), ("output", border.changes.outputs))
        for change in changes
    ]
