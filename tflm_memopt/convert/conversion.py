"""Converts one model: makes or reads a plan, checks the plan, and lowers it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.convert import annotation, pipeline
from tflm_memopt.convert.frontier import Plans, cheapest
from tflm_memopt.convert.limits import Limits
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.convert.tilings import Tilings
from tflm_memopt.emit.firmware import firmware_of, is_module, module_arena, module_firmware
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.lower.traffic import BytesMoved, traffic
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.choices import BUILTIN, PER_GROUP
from tflm_memopt.plan.cores import shard
from tflm_memopt.plan.drafts import TFLM_ALIGN
from tflm_memopt.plan.effort import Spent
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import SCHEMA_VERSION, Group, Plan, Role
from tflm_memopt.plan.search.groups import UNLIMITED
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rewrite.int8_io import int8_io as to_int8_io
from tflm_memopt.rowgraph.graph import RowGraph, tensor_sizes, with_slow
from tflm_memopt.rowgraph.inputs import IN_ARENA, SLIDING, InputMode
from tflm_memopt.rowgraph.rematerialisation import rematerialised
from tflm_memopt.rowgraph.supported import AnnotatedGraph
from tflm_memopt.tflm.arena import Arena, predict
from tflm_memopt.tflm.refused import Refusal, refusals

NOTHING = "no operator of the model can run row by row"
LEAST_TRIES = 5
"""Maximum number of sizes of fast memory that are tried, so that an error message can state the smallest sufficient
size.
"""
SPILL_TRIES = 4
"""Maximum number of tried plans with tensors in slow memory."""
LARGEST = 4
"""All buffers of a plan together may take at most LARGEST times as many bytes as all tensors together."""
_BROKEN = (PlanError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Exceptions that can occur while the converter reads a damaged plan or the plan of a different model."""


@dataclass(frozen=True)
class Converted:
    """A checked plan, the rewritten model, and the RAM that the model takes."""

    planned: Planned
    model: bytes
    read: Model
    arena: Arena
    """Size of the arena under TFLM, or of the C module's RAM if TFLM does not run the model."""
    interpreter: bool = True

    @cached_property
    def moved(self) -> BytesMoved:
        """How many bytes an inference moves from and to slow memory, and how many bytes of constants it reads."""
        return traffic(self.planned)

    @property
    def slow_moved(self) -> tuple[int, int]:
        """Number of bytes of slow memory that an inference reads and writes."""
        return (self.moved.slow_read, self.moved.slow_written) if self.planned.plan.slow else (0, 0)

    @cached_property
    def firmware(self) -> Firmware:
        return firmware_of(self.read, len(self.model)) if self.interpreter else module_firmware(self.read)


@dataclass(frozen=True, eq=False)
class Conversion:
    """Each plan of a conversion is made, checked and lowered on demand, and only once."""

    source: Model
    border: Int8Interface
    whole: AnnotatedGraph
    options: ConversionOptions
    widest: Settings | None = None
    """Limits of the search that finds hints for error messages. The search tries tiled groups of any width."""
    rows: RowGraph | None = None
    """The row graph to plan, set by placed(), or None if there is nothing to convert."""
    spent: Spent = field(default_factory=Spent)
    known: Plans | None = None
    """Plans of an earlier search, whose operator orders are reused."""

    def placed(self) -> Conversion:
        """Return the conversion with the attribute `rows` set. Raises UsageError if the input cannot be in the place
        that the user requested.
        """
        rows = None
        if not annotation.left_whole(self.source):
            if self.options.ops != BUILTIN:
                rows = pipeline.row_graph(self.whole, self.options)
            elif self.whole.graph.ops:
                rows = pipeline.in_parts(self.whole, (), self.options.library, self.options.abi)
        if rows is None and self.options.input != IN_ARENA:
            what = f"the input can only be in the arena: {NOTHING}"
            raise UsageError(what, code="unsupported_input", hint="--input arena")
        return replace(self, rows=rows)

    @cached_property
    def refused(self) -> tuple[Refusal, ...]:
        return refusals(self.source)

    @cached_property
    def original(self) -> AnnotatedGraph:
        if self.border.graph is self.source.graph and self.options.ops != BUILTIN:
            return self.whole
        return annotation.annotate(self.source.graph, annotation.left_whole(self.source))

    @cached_property
    def plans(self) -> Plans:
        """Raises TypeError for a model without operators to convert."""
        better = Tilings(self.whole, self.options).least if self.options.ops == BUILTIN else None
        return Plans(self._there, self.options, self.spent, better, self.known)

    @property
    def _there(self) -> RowGraph:
        if self.rows is None:
            raise TypeError("there is nothing to convert")
        return self.rows

    @cached_property
    def within(self) -> Callable[[Settings | None], Conversion]:
        @cache
        def within(tiles: Settings | None) -> Conversion:
            if tiles == self.options.tiles:
                return self
            return replace(self, options=replace(self.options, tiles=tiles), known=self.plans if self.rows else None)

        return within

    def wide(self) -> Conversion | None:
        """Return the conversion with wide tiles for packed convolutions, or None if the tiles of the conversion are
        already wide.
        """
        rows = self._there
        graph = pipeline.pack_for(rows, self.options.target, wide=True)
        if all(
            op.scratch_bytes(op.writes.w) == rows.ops[key].scratch_bytes(op.writes.w) for key, op in graph.ops.items()
        ):
            return None
        return replace(self, rows=graph, options=replace(self.options, wide=True), known=None)

    def in_two_rows(self) -> Conversion:
        return replace(self, options=replace(self.options, two_rows=True, reverse=False), known=None)

    def low(self) -> Conversion:
        """Return the conversion that prefers plans with few live bytes at every moment, not only at the peak."""
        return replace(self, options=replace(self.options, low=True), known=None)

    def of(self, plan: Plan) -> Converted:
        """Check and lower a plan. Raises PlanError for an invalid plan, and UsageError for a model with variables on
        two cores.
        """
        planned = self.planned(plan)
        return self.lowered(pipeline.checked(planned.graph, planned.plan))

    def planned(self, plan: Plan) -> Planned:
        """Raises UsageError for a model with variables on two cores."""
        plan = replace(plan, wide=plan.wide or self.options.wide)
        graph = self._planned_from(plan)
        if self.options.speeds and any(op.stateful for op in graph.ops.values()):
            raise UsageError("a model with variables runs on one core", code="cannot_share", hint="omit --cores")
        if self.options.speeds and not plan.shardings:
            plan = shard(Planned(graph, plan), self.options.speeds)
        return Planned(graph, plan)

    def lowered(self, planned: Planned) -> Converted:
        options, model = self.options, pipeline.lower(self.source, self.border, planned, self.options)
        again = read(model)
        if options.interpreter or not is_module(again):
            return Converted(planned, model, again, predict(again, options.abi, library=options.library))
        return Converted(planned, model, again, module_arena(again, options.abi), interpreter=False)

    def _planned_from(self, plan: Plan) -> RowGraph:
        if plan.tilings:
            return pipeline.in_parts(self.whole, plan.tilings, self.options.library, self.options.abi)
        there = pipeline.pack_for(self._there, self.options.target, wide=True) if plan.wide else self._there
        graph = rematerialised(there, plan.rematerialisations)
        return with_slow(graph, {slow.tensor for slow in plan.slow})

    @property
    def is_packed(self) -> bool:
        return self.rows is not None and any(op.packing for op in self.rows.ops.values())

    @property
    def once(self) -> Converted:
        return self.at(self.plans.macs)

    @cached_property
    def at(self) -> Callable[[int], Converted]:
        return cache(lambda macs: self.of(self.plans.at(macs)))

    def overhead(self, macs: int) -> float:
        return macs / self.original_macs if self.original_macs else 1.0

    @property
    def original_macs(self) -> int:
        """Number of multiply-accumulates of the original model's row operators or, with `--ops builtin`, of all
        operators.
        """
        return self.rows.macs if self.rows and self.options.ops == BUILTIN else self.whole.macs

    @property
    def folded(self) -> float:
        """Compute factor F of a plan that computes no value twice. F is below 1 if dead channels are removed."""
        left = self.rows.macs if self.rows else 0
        return self.overhead(left) if left else 1.0

    def macs(self, overhead: float) -> int:
        return math.floor(overhead * self.original_macs + 1e-6)

    def least(self, limits: Limits) -> tuple[Converted | None, Converted]:
        """Return two plans: the plan with the fewest multiply-accumulates within the limits, or None, and the plan with
        the least RAM of all tried plans.
        """
        first = self.first(limits)
        room = limits.ram if limits.ram is not None else UNLIMITED
        if limits.admit(first.arena):  # The plan without recompute fits, so no search is needed.
            return first, first
        if self.plans.inputs + first.arena.tail > room:  # The inputs and the arena's tail alone exceed the limit.
            return None, first
        most = None if limits.overhead is None else self.macs(limits.overhead)
        budgets = [self._first(limits)]
        found = self._cheapest(limits, budgets, most)
        tried = [first, self.at(max(budgets))]
        return None if found is None else self.at(found), min(tried, key=lambda c: c.arena.total)

    def spilled(self, limits: Limits) -> Converted | None:
        """Return the plan without recompute that fits in RAM and spends the least time on slow memory, or None if no
        plan fits.
        """
        if limits.slow is None or limits.ram is None or self.options.ops == BUILTIN:
            return None
        room = limits.ram - self.once.arena.tail
        for _ in range(SPILL_TRIES):
            plan = self.plans.spilled(room, limits.slow.cost)
            if plan is None:
                return None
            found = self.of(plan)
            if limits.admit(found.arena):
                return found
            room = min(room, plan.head) - max(1, found.arena.needed - limits.ram)
        return None

    def least_spilled(self, limits: Limits) -> Converted | None:
        """Return the plan with slow memory for the lowest possible RAM limit, or None if no such plan exists."""
        best, low, high = None, limits.ram or 0, self.once.arena.total
        for _ in range(LEAST_TRIES):
            found = self.spilled(replace(limits, board=None, total=(low + high) // 2))
            if found is None:
                low = (low + high) // 2
            else:
                best, high = found, found.arena.total
        return best

    def first(self, limits: Limits) -> Converted:
        """Return the plan without recompute that has the smallest activation memory within the compute limit."""
        return self.at(self._first(limits))

    def _first(self, limits: Limits) -> int:
        most = self.plans.macs if limits.overhead is None else self.macs(limits.overhead)
        return max(self.plans.least_macs, min(self.plans.macs, most))

    def _cheapest(self, limits: Limits, budgets: list[int], most: int | None) -> int | None:
        """Return the smallest compute budget above budgets[0] whose plan fits, or None if no plan fits. All tried
        compute budgets are added to the list `budgets`.
        """
        once, found = budgets[0], None
        head = (limits.ram or 0) - self.at(once).arena.tail
        for choice in self.plans.choices:
            bar = min((macs for macs in (found, most) if macs is not None), default=UNLIMITED)
            if not choice.rematerialisations or (choice.bound <= head and choice.macs < bar):
                tried = [macs for macs in self.plans.budgets_with(choice) if once < macs <= bar]
                found = cheapest(tried, lambda macs: limits.admit(self.at(macs).arena)) or found
                budgets += tried
        return found

    def packed_for(self, target: str) -> Conversion:
        return self._other(self.border, self.whole, replace(self.options, target=target))

    def _other(self, border: Int8Interface, whole: AnnotatedGraph, options: ConversionOptions) -> Conversion:
        return replace(self, border=border, whole=whole, options=options, spent=Spent(), known=None).placed()

    def elsewhere(self, input: InputMode, *, int8_io: bool) -> Conversion | None:  # noqa: A002 (the option's name)
        """Return the conversion with another place of the input and, if `int8_io` is true, with int8 inputs and
        outputs. Return None if both changes cannot be combined.
        """
        border = to_int8_io(self.source.graph) if int8_io else self.border
        options = replace(self.options, input=input)
        same = not int8_io and (input.where == SLIDING) == (self.options.input.where == SLIDING)
        original = self.whole if same else pipeline.interpret(border.graph, options.ops, mode=input)
        try:
            return self._other(border, original, options)
        except UsageError:
            return None

    def state_variants(self) -> list[Conversion]:
        """Return conversions for a sliding window, cheapest first. The conversions differ in the number of layers that
        keep rows.
        """
        here, found = self.options.input, {self.plans.macs: self}
        for layers in reversed(range(len(self.whole.graph.ops)) if here.where == SLIDING else ()):
            other = self.elsewhere(replace(here, layers=layers), int8_io=False)
            if other is not None and other.rows is not None and other.rows.macs >= self.plans.macs:
                found.setdefault(other.rows.macs, other)
        return [found[macs] for macs in sorted(found)]

    def in_arena(self, chosen: Converted, limits: Limits) -> int | None:
        """Return the total size of an arena that contains the whole input, or None if that arena is not smaller than
        the arena of `chosen`.
        """
        graph = chosen.planned.graph
        pushed = graph.source and graph.source.pushed and graph.source.height * graph.source.row_bytes
        if not graph.window and not (pushed and pushed < chosen.planned.plan.head):
            return None
        other = self.elsewhere(IN_ARENA, int8_io=False)
        if other is None:
            return None
        there = other.at(max(other.plans.least_macs, chosen.planned.plan.macs))
        return there.arena.total if limits.admit(there.arena) and there.arena.total < chosen.arena.total else None

    def saved(self, document: Mapping[str, Any], others: int = 0) -> Converted:
        """Check and lower a saved plan, and return the result. Raises UsageError for a plan of another model.

        The argument `others` is the number of bytes of other models in the arena.
        """
        try:
            if document["schema"] != SCHEMA_VERSION:
                what = f"the plan has schema {document['schema']}, but this version reads {SCHEMA_VERSION}"
                raise PlanError(what)
            plan = Plan.from_json(document)
            self._demand_own(plan, others)
            return self.of(plan)
        except _BROKEN as error:
            reason = f": {error}" if isinstance(error, PlanError) else ""
            options = "--input, --int8-io, --ops, --target, --no-fold and --describe"
            what = f"the plan is damaged, or does not belong to this model{reason}"
            hint = f"use a plan of this model with the same {options}"
            raise UsageError(what, code="bad_plan", where="--plan", hint=hint) from error

    @property
    def largest(self) -> int:
        """Maximum number of bytes that all buffers of a plan together may take."""
        return _largest(self.rows) if self.rows else 0

    def _demand_own(self, plan: Plan, others: int) -> None:
        """Raise PlanError if a plan has sizes or regions of another model, which the checker does not notice."""
        if plan.target != self.options.target:
            raise PlanError(f"the plan is for target {plan.target}, not for {self.options.target}")
        largest = _largest(self._planned_from(plan)) + TFLM_ALIGN * len(plan.buffers) + others
        if not 0 <= plan.head <= largest:
            raise PlanError(f"the plan's head of {plan.head:,} B is larger than all buffers of this model could be")
        for call in plan.calls():
            step = plan.steps[call[0]]
            if isinstance(step, Group) and step.region != min(plan.operators(call)):
                raise PlanError(f"region {step.region} of the plan has other operators than in this model")
        if self.options.ops == PER_GROUP:
            crooked = [b.key for b, o in plan.placed() if b.role is Role.TENSOR and o % TFLM_ALIGN]
            if crooked:
                raise PlanError(f"tensor {crooked[0]} is not at a multiple of {TFLM_ALIGN} bytes, as --ops group needs")


def _largest(graph: RowGraph) -> int:
    constants = sum(tensor.nbytes for tensor in graph.model.tensors.values() if tensor.constant)
    return LARGEST * (sum(tensor_sizes(graph).values()) + constants)
