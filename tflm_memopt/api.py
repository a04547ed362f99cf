"""The package's functions: optimize(), inspect(), verify()."""

from __future__ import annotations

import time
from typing import Literal

from tflm_memopt import pipeline
from tflm_memopt.analysis.arena import Arena, predict
from tflm_memopt.analysis.liveness import live_bytes
from tflm_memopt.analysis.supported import View
from tflm_memopt.analysis.tflm_structs import Abi
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.int8_io import Int8Interface
from tflm_memopt.model.int8_io import int8_io as to_int8_io
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.opset import Unsupported
from tflm_memopt.model.reader import Model, read
from tflm_memopt.model.rowop import RowOp
from tflm_memopt.pipeline import Planned, Understood
from tflm_memopt.plan.plan import Block, Role
from tflm_memopt.plan.planner import Options
from tflm_memopt.plan.regions import Kept
from tflm_memopt.results import (
    BlockReport,
    Flash,
    Inspection,
    InterfaceReport,
    KeptBuiltin,
    Macs,
    OperatorReport,
    Optimized,
    Report,
    RingReport,
    TensorReport,
)
from tflm_memopt.runtime.verify import Verification, verify

__all__ = ["Inspection", "Optimized", "Verification", "inspect", "optimize", "verify"]

NOTHING_SUPPORTED = "no operator can run row by row: see kept_builtin"
NO_GAIN = "the rewritten model would need no less arena"
SEVERAL_SUBGRAPHS = "the model has several subgraphs (IF, WHILE, CALL_ONCE): such models are left whole"


def optimize(
    model: bytes,
    *,
    name: str = "model",
    input: Literal["arena"] = "arena",  # noqa: A002 (the option's name)
    int8_io: bool = False,
    op_per: Literal["region", "block"] = "region",
    abi: Abi = "ilp32",
    seconds: float = 4.0,
) -> Optimized:
    """Rewrites a .tflite model so that TFLM runs it with the same output bits in less arena.

    name: for the report. input: where the model's input lives. int8_io: drop QUANTIZE and DEQUANTIZE at the model's
    border. op_per: one custom operator for each region, or for each block. abi: of the arena figures. seconds: limit of
    the exact layout's search.

    Raises ModelError for bytes that are no model, UsageError for impossible arguments. A model with nothing to gain
    comes back as it is.
    """
    started = time.monotonic()
    if input != "arena" or op_per not in ("region", "block"):
        raise UsageError(f"unknown setting: input={input!r}, op_per={op_per!r}")
    source = read(model)
    border = to_int8_io(source.graph) if int8_io else Int8Interface(source.graph, Changes(), {}, ())
    understood = pipeline.understand(border.graph)
    options = Options(op_per_block=op_per == "block", seconds=seconds)
    before = predict(source, abi)
    planned = pipeline.make_plan(understood, options) if source.subgraphs == 1 else None
    rewritten, after, why = model, before, ""
    if planned is None:
        why = NOTHING_SUPPORTED if source.subgraphs == 1 else SEVERAL_SUBGRAPHS
    else:
        rewritten = pipeline.lower(source, border, planned, options)
        after = predict(rewritten, abi)
        if after.total >= before.total and not border.replaced:
            rewritten, after, planned, why = model, before, None, NO_GAIN
    report = _report(name, model, rewritten, source, understood, planned, border, (before, after), why, op_per, started)
    return Optimized(rewritten, planned.plan if planned else None, report)


def inspect(model: bytes, *, name: str = "model", abi: Abi = "ilp32") -> Inspection:
    """What a model consists of, what of it would run row by row, and what it needs under TFLM today."""
    source = read(model)
    graph, understood = source.graph, pipeline.understand(source.graph)
    outcome = {i: understood.support[op.index] for op in understood.graph.ops for i in op.stands_for}
    live = live_bytes(graph)
    macs = {op.index: s.macs for op in understood.graph.ops if isinstance(s := understood.support[op.index], RowOp)}
    operators = []
    for op, nbytes in zip(graph.ops, live, strict=True):
        support = outcome.get(op.index)
        refused = support if isinstance(support, Unsupported) else None
        operators.append(
            OperatorReport(
                op.index,
                op.type,
                op.inputs,
                op.outputs,
                macs.get(op.index, 0),
                nbytes,
                refused is None,
                refused.code if refused else "",
                str(refused) if refused else "",
                refused.hint if refused else "",
            )
        )
    tensors = tuple(TensorReport(t.id, t.name, t.shape, t.dtype, t.nbytes, t.constant) for t in graph.tensors.values())
    peak = graph.ops[live.index(max(live))].index if live else None
    return Inspection(name, len(model), tuple(operators), tensors, predict(source, abi), peak, understood.macs)


def _report(
    name: str,
    original: bytes,
    rewritten: bytes,
    source: Model,
    understood: Understood,
    planned: Planned | None,
    border: Int8Interface,
    arenas: tuple[Arena, Arena],
    why: str,
    op_per: str,
    started: float,
) -> Report:
    macs = understood.macs
    executed = planned.plan.macs if planned else macs
    return Report(
        model=name,
        changed=planned is not None,
        why_unchanged=why,
        input="arena",
        op_per=op_per,
        overhead=executed / macs if macs else 1.0,
        macs=Macs(macs, executed),
        arena=arenas[1],
        original_arena=arenas[0],
        lower_bound_head=planned.plan.lower_bound if planned else arenas[0].head,
        proven=planned.plan.proven if planned else False,
        blocks=tuple(_blocks(planned)) if planned else (),
        flash=Flash(len(original), len(rewritten)),
        kept_builtin=tuple(_kept(source.graph, understood, planned)),
        interface=tuple(_interface(border)) if planned else (),
        interface_kept=tuple(f"{refusal.where}: {refusal.reason}" for refusal in border.refusals),
        seconds=round(time.monotonic() - started, 3),
    )


def _blocks(planned: Planned) -> list[BlockReport]:
    plan, ops, tensors = planned.plan, planned.partition.ops, planned.understood.graph.tensors
    reports = []
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Block):
            continue
        alive = [(b, o) for b, o in plan.placed() if b.first <= number < b.last]
        rows = {ops[stage.op].output: ops[stage.op].writes.h for stage in step.stages}
        reports.append(
            BlockReport(
                ops=tuple(i for stage in step.stages for i in ops[stage.op].sources),
                operators=tuple(ops[stage.op].name for stage in step.stages),
                rings=tuple(
                    RingReport(tensors[b.key].name, rows[b.key], b.depth, b.nbytes)
                    for b, _ in alive
                    if b.role is Role.RING
                ),
                accumulators=sum(b.nbytes for b, _ in alive if b.role is Role.ACCUMULATOR),
                bytes=max(o + b.nbytes for b, o in alive),
            )
        )
    return reports


def _kept(graph: Graph, understood: Understood, planned: Planned | None) -> list[KeptBuiltin]:
    names = {op.index: op.type for op in graph.ops}
    kept = (
        {node.op for node in planned.partition.nodes if isinstance(node, Kept)} if planned else set(understood.support)
    )
    reports = []
    for index in sorted(kept):
        support = understood.support[index]
        if isinstance(support, Unsupported):
            reports.append(KeptBuiltin(index, names[index], support.code, str(support), support.hint))
        elif isinstance(support, View):
            reports.append(
                KeptBuiltin(index, names[index], "view", "its shape is asked for by operators that stay builtin", "")
            )
    return reports


def _interface(border: Int8Interface) -> list[InterfaceReport]:
    return [
        InterfaceReport(side, change.name, str(change.before), str(change.after))
        for side, changes in (("input", border.changes.inputs), ("output", border.changes.outputs))
        for change in changes
    ]
