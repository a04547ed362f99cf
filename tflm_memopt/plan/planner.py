"""Plans a model: divides every region into groups of operators, then places all buffers of the model together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import product

from tflm_memopt.analysis.costs import Work
from tflm_memopt.format.limits import PACKED_PIXELS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import FAST_TILES, GENERIC, TARGETS
from tflm_memopt.ops.packings import alignment
from tflm_memopt.plan.chains import chains_of, lives_of, living_through, stored
from tflm_memopt.plan.choices import PER_GROUP, PER_REGION, Ops
from tflm_memopt.plan.drafts import TFLM_ALIGN, Draft, Placer, drafted, slow_tensors, without
from tflm_memopt.plan.effort import EXACT, ORDERING, PLACING, SEARCH, Budget, SearchPart, Spent, allowance
from tflm_memopt.plan.iteration.liveness import kernel_ranges, live_ranges
from tflm_memopt.plan.iteration.planned import looped, trace_of
from tflm_memopt.plan.iteration.reversal import in_units, unit_bytes
from tflm_memopt.plan.iteration.trace import Trace
from tflm_memopt.plan.iteration.work import least_work_of, work_of
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.loops import Loops
from tflm_memopt.plan.operator_order import orders
from tflm_memopt.plan.plan import INDEX_BYTES, WINDOW, Buffer, Builtin, Group, PlacedState, Plan, Role, Step, calls
from tflm_memopt.plan.search import groups
from tflm_memopt.plan.search.cuts import Cuts, Joint, RowGroups, front, least_bytes
from tflm_memopt.plan.search.groups import UNLIMITED, Candidate, Chain, in_two_rows, joins, more_at_once, with_more_room
from tflm_memopt.plan.search.reverse import Reversed, reversed_chain
from tflm_memopt.plan.search.spill import Slow, SlowCost, Spilling
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Input, Settings
from tflm_memopt.plan.search.widening import GroupForm, GroupForms
from tflm_memopt.rowgraph.graph import BuiltinNode, RowGraph, may_be_slow, tensor_sizes

DRAFT_SECONDS, ITERATION_SECONDS, BUFFER_SECONDS, CONSTRAINT_SECONDS = 3e-4, 1e-6, 1.5e-5, 2e-6
"""Estimated planning time in seconds per plan step, per iteration, per pair of buffers, and per minimum distance."""
ORDER_SECONDS = 1e-3
"""Minimum budget for planning a further operator order, in seconds per operator."""
PLANNING = 1 - ORDERING - SEARCH
"""Fraction of the planner's time budget that is left for layouts."""
SPILL_TRIES = 4
"""Maximum number of tried layouts with tensors in slow memory. Each new try lowers the limit for a group's bytes."""
REVERSED_GAIN = 1 / 256
"""Layouts with reversed groups are tried if they may save 16 bytes or the fraction REVERSED_GAIN of the head."""
KEPT_TRACES = 4
TAIL_BYTES = 64
"""Approximate size in bytes of one more custom operator and its tensors in TFLM's arena (32-bit pointers)."""


Pricing = Callable[[Sequence[Work]], float]


@dataclass(frozen=True, slots=True)
class Options:
    ops: Ops = PER_REGION
    """Custom operators to make: one for each region, or one for each group."""
    seconds: float = EXACT
    """Time limit for the exact layouts of all operator orders together, in CP-SAT's deterministic seconds."""
    overlap: bool = True
    reorder: bool = True
    target: str = GENERIC
    rematerialisation: bool = True
    reverse: bool = True
    effort: float = 1.0
    """Factor by which the time budget of the search is multiplied."""
    tiles: Settings | None = NO_RECOMPUTE
    """Techniques for groups that compute tiles, or None if groups may only compute whole rows."""
    two_rows: bool = False
    """Whether kernels with packed weights may compute two rows at once."""
    low: bool = False
    """Whether to prefer groups with few live bytes, so that other models can run during a pause."""


class Planner:
    """Plans a model in one operator order for any limit of multiply-accumulates."""

    def __init__(
        self,
        graph: RowGraph,
        options: Options = Options(),
        warm: Planner | None = None,
        searching: Budget | None = None,
    ) -> None:
        """The planner reuses the results of `warm`, an earlier planner of the same graph."""
        graph = stored(graph)
        sizes, model = tensor_sizes(graph), graph.model
        known = {*model.inputs, *model.outputs, *(t for n in graph.nodes for t in (*n.inputs, *n.outputs))}
        self._graph, self._options = graph, options
        self._builtins = {n: node for n, node in enumerate(graph.nodes) if isinstance(node, BuiltinNode)}
        by_tflm = None if options.ops == PER_GROUP else known
        self._placer = Placer(sizes, model.inputs, model.outputs, by_tflm, alignment(graph.ops.values()))
        self._lives, self._whole = (lives := lives_of(graph)), living_through(graph, lives)
        self._chains: Mapping[int, Chain] = warm._chains if warm else chains_of(graph, sizes, self._whole, lives)
        self._draft: Callable[[int, Candidate], Draft] = warm._draft if warm else cache(self._new_draft)
        self._builtin_draft: Callable[[int], Draft] = warm._builtin_draft if warm else cache(self._new_builtin_draft)
        self._loops: Callable[[Group], Loops] = (
            warm._loops if warm else cache(lambda step: looped(trace_of(step, graph.ops)))
        )
        self._known_forms: dict[tuple[int, Candidate], GroupForms] = warm._known_forms if warm else {}
        self._traced = lru_cache(KEPT_TRACES)(self._new_traced)
        self._reversed = cache(self._new_reversed)
        self._spilling = cache(self._new_spilling)
        self._reversed_chain: Callable[[int, bool], Reversed] = (
            warm._reversed_chain if warm else cache(lambda n, pixels: reversed_chain(self._chains[n], pixels=pixels))
        )
        self.allowance = allowance(len(graph.model.ops), options.effort)
        self._searching = searching or Budget(SEARCH * self.allowance)
        self.spent = self._searching.spent
        self._placing = self._searching.share(PLACING * self._searching.left)
        self._plans: dict[tuple[tuple[Candidate, ...], ...], Plan] = {}
        self._rows: Mapping[int, RowGroups] = (
            warm._rows if warm else {n: RowGroups(chain, self._fair(n)) for n, chain in self._chains.items()}
        )
        self._cuts: Mapping[int, Cuts] = {n: self._cuts_of(n, rows) for n, rows in self._rows.items()}
        least = max((sum(sizes[t] for t in self._alive(n)) for n in self._builtins), default=0)
        while any(cuts.refine(nbytes) for cuts, nbytes in self._binding(least)):
            pass
        for cuts, _ in self._binding(least):
            cuts.add_single()
            cuts.add_nests()
        if options.ops == PER_GROUP:
            for cuts in self._cuts.values():
                cuts.add_long()
        self.macs = graph.macs
        """Number of multiply-accumulates if no output is computed twice."""

    def _cuts_of(self, number: int, rows: RowGroups) -> Cuts:
        tiles, low = _settings(self._options.tiles, rows.chain), self._options.low
        # The inputs are in the arena together, so tiles cannot save more than the bytes of an alignment.
        enough = 0 if low else sum(rows.chain.sizes.get(t, 0) for t in self._graph.model.inputs) + TFLM_ALIGN
        place, reverse = partial(self._place, number), partial(self._reverse, number)
        return Cuts(
            rows, place, tiles, reverse, self._fair(number), enough=enough, low=low, few=self._options.ops == PER_GROUP
        )

    def _fair(self, number: int) -> Budget:
        numbers = list(self._chains)
        return self._searching.fair(len(numbers) - numbers.index(number))

    def _binding(self, least: int) -> list[tuple[Cuts, int]]:
        needs = [(cut, cut.front()[0].nbytes) for cut in self._cuts.values()]
        most = max((nbytes for _, nbytes in needs), default=0)
        return [(cut, nbytes) for cut, nbytes in needs if nbytes >= max(most, least)]

    def within(self, tiles: Settings | None) -> Planner:
        budget = Budget(SEARCH * self.allowance, self.spent)
        return Planner(self._graph, replace(self._options, tiles=tiles), self, budget)

    def points(self) -> list[Joint]:
        return front(tuple(self._cuts.values()))

    def plan(self, macs: int, known: Sequence[Plan] = (), budget: Budget | None = None) -> Plan:
        """Return the plan with the smallest arena head among plans of at most `macs` multiply-accumulates. If a plan in
        `known` is equally good, return that plan.
        """
        budget = budget or Budget(PLANNING * self.allowance, self.spent)
        self._placing = budget.share(PLACING / PLANNING * budget.left)
        bar = min((other.head for other in known if other.macs <= macs), default=UNLIMITED)
        cuts = tuple(label.groups() for label in least_bytes(tuple(self._cuts.values()), macs, self._placing, bar))
        if cuts not in self._plans:
            drafts = self._drafts(cuts)
            for other in known:
                if self._is_beaten(other, drafts):
                    return other
            self._plans[cuts] = self._plan(drafts, budget)
        return self._plans[cuts]

    def spilled(self, limit: int, cost: SlowCost) -> Plan | None:
        """Return the plan with the least use of slow memory that computes nothing twice and needs at most `limit` bytes
        of fast memory. Return None if every plan needs more than `limit` bytes.
        """
        self._placing = Budget(PLANNING * self.allowance, self.spent)
        each = self._spilling(cost)
        room = limit
        for _ in range(SPILL_TRIES):
            found = [spilling.within(room, self._placing) for spilling in each]
            if None in found:
                return None
            steps = [list(spill.steps()) for spill in found if spill]
            drafts = self._drafts([[step.group for step, _ in reversed(of_chain)] for of_chain in steps])
            slow = frozenset().union(*(tensors for of_chain in steps for _, tensors in of_chain))
            plan = self._plan_without(slow, drafts, limit)
            if plan.head <= limit:
                return plan
            worst = max(spilling.worst(spill) for spilling, spill in zip(each, found, strict=True) if spill)
            room = min(room - (plan.head - limit), worst - 1)  # The next attempt allows fewer bytes for each group.
        return None

    def _new_spilling(self, cost: SlowCost) -> list[Spilling]:
        allowed = may_be_slow(self._graph)
        return [
            Spilling(self._chains[n], cuts.once(), allowed, cost, partial(self._place_fast, n))
            for n, cuts in self._cuts.items()
        ]

    def _plan_without(self, slow: Slow, drafts: Sequence[Draft], limit: int) -> Plan:
        fast, budget = [without(draft, slow) for draft in drafts], Budget(PLANNING * self.allowance, self.spent)
        found = self._laid_out(fast, {}, budget)
        if self._options.reverse and found.head > limit:
            backward = {i: without(draft, slow) for i, draft in self._reversibles(drafts).items()}
            found = _lower(found, self._laid_out(fast, backward, budget))
        settled = self._settled(found, drafts)
        return replace(self._with_loops(found), slow=slow_tensors(self._placer, settled, slow))

    def _drafts(self, cuts: Sequence[Sequence[Candidate]]) -> list[Draft]:
        of_chain = dict(zip(self._chains, cuts, strict=True))
        drafts: list[Draft] = []
        for number in range(len(self._graph.nodes)):
            if number in self._builtins:
                drafts.append(self._builtin_draft(number))
                continue
            for group in of_chain[number]:
                form = in_two_rows(self._chains[number], group.geometry) if self._options.two_rows else group.geometry
                drafts.append(self._draft(number, form))
        return drafts

    def _is_beaten(self, other: Plan, drafts: Sequence[Draft]) -> bool:
        steps = [draft.step for draft in drafts]
        more = tail(steps, self._options.ops) - tail(other.steps, self._options.ops)

        def loses(reversibles: Mapping[int, Draft]) -> bool:
            least = self._placer.problem(drafts, reversibles)[1].lower_bound
            return other.head <= least + min(0, more)

        if other.macs > sum(step.macs for step in steps) or not loses({}):
            return False
        return not self._options.reverse or loses(self._reversibles(drafts))

    def _reversibles(self, drafts: Sequence[Draft], least: int = 0) -> dict[int, Draft]:
        groups = {
            i: draft.group for i, draft in enumerate(drafts) if draft.group and self._placer.bound(draft) >= least
        }
        return {i: backward for i, group in groups.items() if (backward := self._reversed(*group))}

    def _plan(self, drafts: Sequence[Draft], budget: Budget) -> Plan:
        found = self._laid_out(drafts, {}, budget)
        top = found.head - min(TFLM_ALIGN, int(found.head * REVERSED_GAIN))
        if self._options.reverse and self._may_be_lower(top, drafts):
            found = _lower(found, self._laid_out(drafts, self._reversibles(drafts), budget))
        return self._with_loops(self._in_batches(found, drafts, budget))

    def roomier(self, plan: Plan, head: int, price: Pricing) -> Plan | None:
        """Return the plan with faster variants of its tiled groups, and with a head of at most `head` bytes. Return
        None if another planner made the plan.
        """
        cuts = next((cuts for cuts, known in self._plans.items() if known == plan), None)
        if cuts is None:
            return None
        budget, found = Budget(PLANNING * self.allowance, self.spent), plan
        settled = self._settled(plan, self._drafts(cuts))
        for number, name, group in _tiled(plan, settled):
            place = partial(self._with_form, settled, number, name, head, budget)
            better = self._forms(name, group, price).within(head, place, budget)
            settled[number], found = better or (settled[number], found)
        if found != plan:
            buffers, problem = self._placer.problem(settled)
            placed = layout.tighten(problem, budget, SearchPart.BATCHES)
            if placed.top < found.head:
                found = self._as_plan(settled, buffers, problem, placed)
        return self._with_loops(found)

    def _with_form(
        self, drafts: Sequence[Draft], number: int, name: int, head: int, budget: Budget, form: Candidate
    ) -> tuple[Draft, Plan] | None:
        """Return the draft of the group `form`, and a plan with that group whose head has at most `head` bytes."""
        _, new_draft = self._traced(name, form)
        draft = new_draft()
        changed = [*drafts[:number], draft, *drafts[number + 1 :]]
        buffers, problem = self._placer.problem(changed)
        budget.spend(CONSTRAINT_SECONDS * len(problem.constraints))
        placed = layout.fit(problem, head, budget, SearchPart.BATCHES)
        return (draft, self._as_plan(changed, buffers, problem, placed)) if placed else None

    def _forms(self, name: int, group: Candidate, price: Pricing) -> GroupForms:
        key = name, group
        if key not in self._known_forms:
            chain, wide = self._chain(name, group), TARGETS[self._options.target] in FAST_TILES
            least = partial(_least_cost, chain, price, cache(lambda work: price([work])))
            self._known_forms[key] = GroupForms(chain, group, least, partial(self._form, name, price), wide=wide)
        return self._known_forms[key]

    def _form(self, name: int, price: Pricing, form: GroupForm, limit: int) -> GroupForm:
        least = groups.least_bytes(self._chain(name, form.group), form.group)
        if least > limit:
            return replace(form, nbytes=least)
        trace, draft = self._traced(name, form.group)
        cost = price(tuple(work_of(trace, is_reversed=form.group.is_reversed)))
        return GroupForm(form.group, cost, self._placer.bound(rough := draft(placed=False)), _work(rough))

    def _settled(self, plan: Plan, drafts: Sequence[Draft]) -> list[Draft]:
        turned = [i for i, step in enumerate(plan.steps) if isinstance(step, Group) and step.is_reversed]
        backward = self._reversibles(drafts) if turned else {}
        return [backward[i] if i in turned else draft for i, draft in enumerate(drafts)]

    def _in_batches(self, plan: Plan, drafts: Sequence[Draft], budget: Budget) -> Plan:
        """Return the plan with faster packed kernels, which compute as many pixels at once as the head allows."""
        settled, head = self._settled(plan, drafts), plan.head
        for number, name, group in _tiled(plan, settled):
            chain, best = self._chain(name, group), group
            each = [i for i in range(len(best.stages)) if joins(chain, best, i)]
            each.sort(key=lambda i: -chain.ops[best.first + i].macs)
            for i, at_once in product(each, range(PACKED_PIXELS, 0, -1)):
                other = more_at_once(best, chain, i, at_once) if at_once > 1 else with_more_room(best, chain, i)
                if other == best:
                    continue
                if not budget.allows(SearchPart.BATCHES):
                    return plan
                _, draft = self._traced(name, other)
                budget.spend(_work(rough := draft(placed=False)))
                if self._placer.bound(rough) > head:
                    continue
                if changed := self._with_form(settled, number, name, head, budget, other):
                    (settled[number], plan), best = changed, other
        return plan

    def _as_plan(
        self, drafts: Sequence[Draft], buffers: Sequence[Buffer], problem: layout.LayoutProblem, placed: layout.Layout
    ) -> Plan:
        proven = placed.proven or placed.top <= problem.lower_bound
        return Plan(
            tuple(d.step for d in drafts), tuple(buffers), placed.offsets, placed.top, problem.lower_bound, proven,
            self._options.target, self._graph.rematerialisations, states=states(self._graph),
        )  # fmt: skip

    def _with_loops(self, plan: Plan) -> Plan:
        steps = (replace(step, loops=self._loops(step)) if isinstance(step, Group) else step for step in plan.steps)
        return replace(plan, steps=tuple(steps))

    def _may_be_lower(self, top: int, drafts: Sequence[Draft]) -> bool:
        backward = {**dict(enumerate(drafts)), **self._reversibles(drafts, top)}
        return all(self._placer.bound(draft) < top for draft in backward.values())

    def _laid_out(self, drafts: Sequence[Draft], reversibles: Mapping[int, Draft], budget: Budget) -> Plan:
        _, problem = self._placer.problem(drafts, reversibles)
        budget.spend(CONSTRAINT_SECONDS * len(problem.constraints))
        placed = layout.place(problem, seconds=self._options.seconds, budget=budget, part=SearchPart.LAYOUT)
        chosen = {step: draft for n, (step, draft) in enumerate(reversibles.items()) if n in placed.backward}
        settled = [chosen.get(i, draft) for i, draft in enumerate(drafts)]
        return self._as_plan(settled, *self._placer.problem(settled), placed)

    def _new_reversed(self, number: int, group: Candidate) -> Draft | None:
        draft = self._draft(number, group)
        if not any(buffer.role is Role.TENSOR for buffer in draft.buffers):
            return None
        found = self._reversed_form(number, group, 2 * self._placer.bound(draft))
        if found is None:
            return None
        backward = self._new_draft(number, replace(found.geometry, is_reversed=True))
        return backward if backward.keys() == draft.keys() else None

    def _reversed_form(self, number: int, group: Candidate, limit: int) -> Candidate | None:
        settings = _settings(self._options.tiles, self._chains[number])
        return self._reversed_chain(number, group.stripes > 0).group(group, settings, limit, self._searching)

    def _reverse(self, number: int, group: Candidate, limit: int) -> Candidate | None:
        if not self._options.reverse or not self._searching.allows(SearchPart.REVERSED_GROUPS):
            return None
        draft = self._reversed(number, group.geometry) if self._reversed_form(number, group, limit - 1) else None
        nbytes = self._placer.bound(draft) if draft else limit
        return replace(group, nbytes=nbytes, is_reversed=True) if nbytes < limit else None

    def _alive(self, number: int) -> tuple[TensorId, ...]:
        node = self._graph.nodes[number]
        return tuple(dict.fromkeys((*self._whole[number], *node.inputs, *node.outputs)))

    def _new_builtin_draft(self, number: int) -> Draft:
        node, sizes = self._builtins[number], self._placer.sizes
        alive, step = self._alive(number), Builtin(node.op, node.macs)
        there = any(self._lives.before(t, number) for t in node.outputs)
        grows = self._options.overlap and len(node.outputs) == 1 and not there
        dying = {t: order() for t, order in node.orders.items() if grows and not self._lives.after(t, number)}
        found = tuple(
            kernel_ranges(dying, node.outputs[0] if grows else -1, -(-node.scratch // TFLM_ALIGN) * TFLM_ALIGN, sizes)
        )
        own = {r.buffer.key for r in found if r.buffer.role is Role.TENSOR}
        draft = drafted(step, found, tuple(t for t in alive if t not in own))
        self._placing.spend(_work(draft))
        return draft

    def _new_draft(self, number: int, group: Candidate) -> Draft:
        _, draft = self._new_traced(number, group)
        found: Draft = draft()
        self._placing.spend(_work(found))
        return found

    def _chain(self, number: int, group: Candidate) -> Chain:
        return self._reversed_chain(number, group.stripes > 0).chain if group.is_reversed else self._chains[number]

    def _new_traced(self, number: int, group: Candidate) -> tuple[Trace, Callable[..., Draft]]:
        """Return the simulated iterations of a group, and a function that makes the group's step of the plan."""
        chain = self._chain(number, group)
        trace, rolling_buffers = groups.rebuild(chain, group)
        at_border = groups.border(chain, group.first, group.last)
        keys = {m.op.output: m.key for m in trace.members}
        step = Group(
            region=min(chain.keys),
            stages=group.stages,
            sinks=tuple(keys[t] for t in reversed(at_border.born)),
            iterations=len(trace.moments),
            macs=groups.executed_macs(trace),
            stripes=group.stripes,
            is_reversed=group.is_reversed,
            in_turn=group.in_turn,
        )
        found = live_ranges(trace, rolling_buffers, at_border, chain.sizes)
        if group.is_reversed:
            found = in_units(found, unit_bytes((m.op for m in trace.members), pixels=group.stripes > 0))
        if not self._options.overlap:
            found = tuple(r.in_full() for r in found)
        whole = *self._whole[number], *at_border.through

        def draft(*, placed: bool = True) -> Draft:
            return replace(drafted(step, found, whole, placed=placed), group=(number, group))

        return trace, draft

    def _place(self, number: int, candidate: Candidate, enough: int) -> int:
        if not self._placing.allows(SearchPart.GROUP_LAYOUTS):
            return candidate.nbytes
        backward = self._reversed(number, candidate.geometry) if candidate.is_reversed else None
        return self._top(backward or self._draft(number, candidate.geometry), enough)

    def _place_fast(self, number: int, group: Candidate, slow: Slow) -> int:
        return self._top(without(self._draft(number, group.geometry), slow))

    def _top(self, draft: Draft, enough: int = 0) -> int:
        _, problem = self._placer.problem([draft])
        self._placing.spend(CONSTRAINT_SECONDS * len(problem.constraints))
        problem = replace(problem, lower_bound=max(problem.lower_bound, enough))
        return layout.place(problem, seconds=0, budget=self._placing, part=SearchPart.GROUP_LAYOUTS).top


def planners(graph: RowGraph, options: Options = Options(), spent: Spent | None = None) -> tuple[Planner, ...]:
    """Return a planner for each promising operator order. The first planner keeps the order of the model."""
    spent = spent or Spent()
    total = allowance(len(graph.model.ops), options.effort)
    budget = Budget(ORDERING * total, spent)
    tried = orders(graph, tensor_sizes(graph), budget) if options.reorder else (graph,)
    each = replace(options, seconds=options.seconds / len(tried), effort=options.effort / len(tried))
    searching = Budget(SEARCH * total, spent)
    found: list[Planner] = []
    for i, order in enumerate(tried):
        if found and not searching.allows(SearchPart.ORDERS, ORDER_SECONDS * len(graph.model.ops)):
            break
        found.append(Planner(order, each, searching=searching.next(len(tried) - i)))
    spent.groups_found()
    return tuple(found)


def plans(found: Sequence[Planner], macs: int, known: Sequence[Plan] = ()) -> Iterator[Plan]:
    """For each planner, yield the best plan of at most `macs` multiply-accumulates, or an equally good plan in
    `known`.
    """
    known = list(known)
    budget = Budget(PLANNING * sum(planner.allowance for planner in found), found[0].spent if found else None)
    for i, planner in enumerate(found):
        known.append(planner.plan(macs, known, budget.next(len(found) - i)))
        yield known[-1]


def plan(graph: RowGraph, options: Options = Options()) -> Plan:
    """Among plans that compute nothing twice, return the plan with the smallest arena head. The caller must check the
    plan.
    """
    tried = planners(graph, options)
    return min(plans(tried, tried[0].macs), key=partial(cost, options.ops))


def states(graph: RowGraph) -> tuple[PlacedState, ...]:
    """Return the buffers that outlive an inference. A region's state begins with the indices of the oldest rows, and
    the buffers follow.
    """
    found: list[PlacedState] = []
    last = [region.number for region in graph.regions if any(graph.ops[i].rolling_buffers for i in region.ops)][-1:]
    for region in graph.regions:
        kept = [(op, state) for i in region.ops for op in (graph.ops[i],) for state in op.rolling_buffers]
        # The counter of a sliding input comes last, because the C library updates the counter after all other states.
        window = graph.window if region.number in last else None
        at = INDEX_BYTES * (len(kept) + bool(window))
        for op, state in kept:
            rows = state.rows
            found.append(PlacedState(state.tensor, at, rows.h, rows.row_bytes, op.writes.h, state.fill))
            at += rows.nbytes
        if window:
            found.append(PlacedState(WINDOW, at, window.inferences, 0, 1, 0))
    return tuple(found)


def _lower(forward: Plan, backward: Plan) -> Plan:
    return backward if backward.head < forward.head else forward


def _tiled(plan: Plan, drafts: Sequence[Draft]) -> Iterator[tuple[int, int, Candidate]]:
    for number, (step, draft) in enumerate(zip(plan.steps, tuple(drafts), strict=True)):
        if draft.group and isinstance(step, Group) and step.stripes:
            yield number, draft.group[0], replace(draft.group[1], stages=step.stages)


def tail(steps: Sequence[Step], ops: Ops) -> int:
    """Return about how many bytes of the arena's tail the custom operators of a schedule take."""
    return TAIL_BYTES * (sum(isinstance(step, Group) for step in steps) if ops == PER_GROUP else len(calls(steps)))


def cost(ops: Ops, plan: Plan) -> tuple[int, int]:
    """Return the bytes of a plan with its custom operators in the arena's tail, and the plan's multiply-accumulates."""
    return plan.head + tail(plan.steps, ops), plan.macs


def _settings(tiles: Settings | None, chain: Chain) -> Settings | None:
    if tiles is None or chain.source is None:
        return tiles
    return replace(tiles, input=Input.STREAMED if chain.source.pushed else Input.FREE, pushed=chain.source.pushed)


def _work(draft: Draft) -> float:
    iterations = draft.step.iterations if isinstance(draft.step, Group) else 0
    return DRAFT_SECONDS + ITERATION_SECONDS * iterations + BUFFER_SECONDS * len(draft.buffers) ** 2


def _least_cost(chain: Chain, price: Pricing, alone: Callable[[Work], float], group: Candidate) -> float:
    """Return a lower bound of the cost of a tiled group, without simulating the iterations."""
    source = chain.source.tensor if chain.source else None
    each = least_work_of(*groups.members_of(chain, group), source, is_reversed=group.is_reversed)
    return price([min(forms, key=alone) if len(forms) > 1 else forms[0] for forms in each])
