"""Finds all tiled groups that end at a given operator, by a search from their last operator to the first.

The search chooses the height of stripes, and decides whether rows that two stripes need are kept or computed twice. The
search drops a partial group if another partial group with the same state is at least as good in bytes and in
multiply-accumulates.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from tflm_memopt.format.limits import MAX_TAPS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Channels
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import Budget, SearchPart
from tflm_memopt.plan.iteration.liveness import TILED_COUNTER_BYTES
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.search.groups import Chain
from tflm_memopt.plan.search.links import Links
from tflm_memopt.plan.search.tiles_bytes import (
    Columns,
    Flow,
    Reader,
    cached_pixels,
    count_rows,
    lagging_columns,
    overlapped_bytes,
    recomputed_pixels,
    window_columns,
    window_rows,
)
from tflm_memopt.plan.search.tiles_labels import Demand, Label, Skip, State, Visit
from tflm_memopt.plan.search.tiles_plan import Input, Settings

DEMAND_SECONDS, LABEL_SECONDS = 6e-5, 1e-5
"""Estimated search time in seconds: for each state, and for each partial group of a state."""

MOST_OUTSIDE = 1024
"""Maximum number of rows of a stripe that lie outside the feature map."""

MOST_TILES = 1 << 18
"""Maximum number of tiles of a feature map, above which the map is computed row by row."""


def heights(rows: int, settings: Settings) -> tuple[int, ...]:
    whole = (rows,) if rows <= settings.whole_map else ()
    return tuple(sorted({r for r in settings.stripe_rows if r < rows} | {1} | set(whole)))


def heights_of_sums(op: RowOp, settings: Settings) -> tuple[int, ...]:
    """If the order of additions matters, a stripe has one row, because a stripe of several rows adds values column by
    column.
    """
    in_rows = op.needs_order and settings.tile < op.reads[0].w
    return (1,) if in_rows else heights(op.reads[0].h, settings)


@dataclass(frozen=True, slots=True)
class Search:
    chain: Chain
    links: Links
    settings: Settings
    last: int
    limit: int
    slack: int
    """A group may compute at most `slack` multiply-accumulates more than the original model."""
    grain: int
    budget: Budget = field(default_factory=Budget)
    across: dict[int, int] = field(default_factory=dict, init=False)

    def groups(self) -> Mapping[int, Sequence[Label]]:
        found: dict[int, list[Label]] = defaultdict(list)
        op = self.chain.ops[self.last - 1]
        whole = {op.writes.h} if self._is_pair(self.last - 1) else set[int]()
        for rows in {1} if op.sends else whole.union(heights(op.writes.h, self.settings)):
            for first, labels in self._groups(rows):
                found[first] += labels
        return {first: self._front(labels) for first, labels in found.items()}

    def _groups(self, rows: int) -> Iterator[tuple[int, Sequence[Label]]]:
        op = self.chain.ops[self.last - 1]
        states: dict[int, dict[State, list[Label]]] = defaultdict(lambda: defaultdict(list))
        start = State(rows, rows, rows, 0, -(-op.writes.h // rows), rows, -1, False, (), by_rows=op.sends)
        states[self.last - 1][start] = [(0, 0, None)]
        for position in range(self.last - 1, -1, -1):
            for state, labels in states.pop(position, {}).items():
                if not self.budget.allows(SearchPart.TILED_GROUPS):
                    return
                best = self._front(labels)
                for demand in self._demands(position, state):
                    self.budget.spend(DEMAND_SECONDS + LABEL_SECONDS * len(labels))
                    paid = self._pay(best, demand, position)
                    if paid:
                        yield demand.visit.position, self._settle(demand, paid)
                        for nbytes, supply in self._supplies(demand):
                            states[demand.visit.position - 1][supply] += [
                                (b + nbytes, m, t) for b, m, t in paid if b + nbytes <= self.limit
                            ]
            if not states or self._escapes(position):
                return

    def _front(self, labels: Sequence[Label]) -> list[Label]:
        return undominated(labels, itemgetter(0, 1), self.grain)

    def _escapes(self, position: int) -> bool:
        before = self.chain.ops[position - 1].output
        late, again = self.links.last_read.get(before, -1), self.links.repeated.get(before, self.last)
        never = self.chain.rules_out(position - 1, self.last)
        return position == 0 or late >= self.last or again < self.last or never

    def _pay(self, labels: Sequence[Label], demand: Demand, position: int) -> list[Label]:
        visit = demand.visit
        plain = self.chain.macs[position + 1] - self.chain.macs[visit.position]
        nbytes = demand.nbytes + TILED_COUNTER_BYTES * (position + 1 - visit.position)
        spare = self.slack + self._plain(position + 1) + plain - demand.macs
        return [(b + nbytes, m + demand.macs, (t, visit)) for b, m, t in labels if m <= spare]

    def _plain(self, position: int) -> int:
        return self.chain.macs[self.last] - self.chain.macs[position]

    def _demands(self, position: int, state: State) -> Iterator[Demand]:
        op = self.chain.ops[position]
        if not op.tileable or state.rows > op.writes.h + MOST_OUTSIDE or (op.message and not state.by_rows):
            return
        if op.writes.h * op.writes.w > MOST_TILES * self.settings.tile:
            return
        if _taps(op) <= MAX_TAPS:
            yield self._plain_demand(position, state)
        if state.by_rows:
            return
        if op.reducible and state.sums < 0 and state.stripe_rows == 1 and self.links.linked[position]:
            yield from self._sums(position, state)
        if self._is_triple(position):
            yield from self._group(position, state)
        if state.stop - state.first == 1:
            yield from self._hide(position, state)
        if position == self.last - 1 and state.stop - state.first == 1 and self._is_pair(position):
            yield from self._fill(position, state)

    def _plain_demand(self, position: int, state: State) -> Demand:
        op = self.chain.ops[position]
        w, k = op.window, self.links.main[position]
        window = self._by_window(op, k, state.rows)
        height, stripes = op.writes.h, (state.first, state.stop)
        made = count_rows(height, state.rows, state.end, state.advance, stripes).total
        others = tuple(
            Skip(t, state.rows, state.end, state.stop, 0)
            for i, t in enumerate(op.inputs)
            if i != k and not op.repeats(i)
        )
        tile = self.settings.tile  # The delay between an ADD and its inputs is a whole number of tiles.
        lags = (-(-max(0, s.lag + w.columns.extent - 1 - w.pad_left) // tile) * tile for s in state.skips)
        skips = tuple(s._replace(lag=lag) for s, lag in zip(state.skips, lags, strict=True))
        demand = Demand(
            visit=Visit(position, state),
            nbytes=0,
            macs=op.macs * made // height,
            rows=w.rows.reach(state.rows),
            end=w.rows.reach(state.end) - w.pad_top,
            advance=state.advance * w.stride_h,
            stripes=stripes,
            readers=(_whole_rows(window, op.reads[k].w) if op.message else window,),
            skips=others + skips,
        )
        return self._with_skips(demand)

    def _by_window(self, op: RowOp, k: int, rows: int) -> Reader:
        w, tile = op.window, self.settings.tile
        columns = window_columns(op.reads[k].w, tile, (op.writes.w, tile), (w.columns.extent, w.stride_w, w.pad_left))
        return Reader(columns, window_rows(rows, w.rows.reach(rows), (w.rows.extent, w.stride_h)))

    def _pixel_by_pixel(self, op: RowOp, rows: int) -> Reader:
        tile = min(self.settings.tile, op.reads[0].w)
        return Reader(Columns(tile, 0, 0, tile), window_rows(rows, rows, (1, 1)))

    def _with_skips(self, demand: Demand) -> Demand:
        position = demand.visit.position
        tensor = self.links.tensor(self.chain, position)
        mine = [s for s in demand.skips if s.tensor == tensor]
        if not mine:
            return demand
        end = max(demand.end, *(s.end for s in mine))
        rows = end - min(demand.end - demand.rows, *(s.end - s.rows for s in mine))
        width = self.chain.ops[position].reads[self.links.main[position]].w
        shift = demand.end - end
        readers = [r._replace(windows=tuple((a + shift, b + shift) for a, b in r.windows)) for r in demand.readers]
        for s in mine:
            windows = tuple((s.end - end - s.rows + y, y - s.rows + shift) for y in range(s.rows))
            readers.append(Reader(lagging_columns(width, self.settings.tile, s.lag), windows))
        rest = tuple(s for s in demand.skips if s.tensor != tensor)
        stripes = (demand.stripes[0], max(demand.stripes[1], *(s.stop for s in mine)))
        return demand._replace(rows=rows, end=end, stripes=stripes, readers=tuple(readers), skips=rest)

    def _sums(self, position: int, state: State) -> Iterator[Demand]:
        op = self.chain.ops[position]
        height = op.reads[0].h
        for rows in heights_of_sums(op, self.settings):
            stripes = (0, -(-height // rows))
            nest = State(rows, rows, rows, *stripes, rows, op.accumulator_bytes + op.writes.row_bytes, False, ())
            yield Demand(
                visit=Visit(position, nest, iterative=True),
                nbytes=op.accumulator_bytes,
                macs=op.macs,
                rows=rows,
                end=rows,
                advance=rows,
                stripes=stripes,
                readers=(self._pixel_by_pixel(op, rows),),
                skips=(),
            )

    def _is_triple(self, position: int) -> bool:
        """Return true if the layers up to `position` are an expand, a depthwise and a project layer, and if no other
        layer reads the tensors between them.
        """
        if position < 2 or not self.links.linked[position] or not self._is_pair(position - 1):
            return False
        depthwise, project = self.chain.ops[position - 1 : position + 1]
        return _pointwise(project) and self.links.last_read[depthwise.output] == position

    def _is_pair(self, position: int) -> bool:
        """Return true if the layers up to `position` are an expand and a depthwise layer, and if no other layer reads
        the tensor between them.
        """
        if not self.settings.group_channels or position < 1 or not self.links.linked[position]:
            return False
        expand, depthwise = self.chain.ops[position - 1 : position + 1]
        return (
            _pointwise(expand)
            and depthwise.is_depthwise
            and _taps(depthwise) <= MAX_TAPS
            and depthwise.writes.c == depthwise.reads[0].c > self.settings.group_channels
            and self.links.last_read[expand.output] == position
        )

    def _before_hidden(self, position: int) -> int | None:
        """Return the position of the first layer in a chain of dense or pointwise layers that ends at `position`, or
        None if no chain ends at `position`.
        """
        second = position
        while self.settings.group_channels and position > 0 and self.links.linked[position]:
            reader, op = self.chain.ops[position], self.chain.ops[position - 1]
            if not op.tileable or self.links.last_read[op.output] != position:
                return None
            if position == second and not _pointwise(reader):
                return None
            if _pointwise(op):
                return position - 1 if op.writes.c > self.settings.group_channels else None
            if not (op.traits.elementwise and op.traits.channels is Channels.OWN and len(op.inputs) == 1):
                return None
            position -= 1
        return None

    def _group(self, position: int, state: State) -> Iterator[Demand]:
        project = self.chain.ops[position]
        demand = self._grouped(position - 1, state, 3)
        if demand.rows <= demand.advance and state.stop - state.first > 1:
            return
        out = count_rows(project.writes.h, state.rows, state.end, state.advance, (state.first, state.stop))
        pixels = recomputed_pixels(
            project.writes.w, state.rows, out.present, (self._pixel_by_pixel(project, state.rows),)
        )
        nbytes = 4 * out.most * project.writes.row_bytes + pixels * self.settings.group_channels
        macs = project.macs * out.total // project.writes.h
        yield self._with_skips(demand._replace(nbytes=demand.nbytes + nbytes, macs=demand.macs + macs))

    def _hide(self, position: int, state: State) -> Iterator[Demand]:
        first, second = self._before_hidden(position), self.chain.ops[position]
        if first is None:
            return
        hidden, channels = self.chain.ops[first:position], self.settings.group_channels
        out = count_rows(second.writes.h, state.rows, state.end, state.advance, (state.first, state.stop))
        sums = 4 * out.most * second.writes.row_bytes
        if sums + channels >= hidden[0].writes.c:
            return
        demand = self._grouped(first + 1, state, len(hidden) + 1)
        more = sum(op.macs for op in (*hidden[2:], second)) if len(hidden) > 1 else 0
        nbytes = demand.nbytes * len(hidden) + sums
        yield self._with_skips(demand._replace(nbytes=nbytes, macs=demand.macs + more))

    def _fill(self, position: int, state: State) -> Iterator[Demand]:
        demand = self._grouped(position, state, 2)
        yield self._with_skips(demand._replace(visit=demand.visit._replace(grouped_sums=False)))

    def _grouped(self, position: int, state: State, length: int) -> Demand:
        expand, reader = self.chain.ops[position - 1 : position + 1]
        w, stripes, channels = reader.window, (state.first, state.stop), self.settings.group_channels
        rows, end, advance = w.rows.reach(state.rows), w.rows.reach(state.end) - w.pad_top, state.advance * w.stride_h
        made = count_rows(reader.writes.h, state.rows, state.end, state.advance, stripes)
        wide = count_rows(expand.writes.h, max(rows, advance + 1), end, advance, stripes)
        window = self._by_window(reader, 0, state.rows)
        width = expand.reads[0].w
        return Demand(
            visit=Visit(position - 1, state, channel_groups=-(-expand.writes.c // channels), length=length),
            nbytes=recomputed_pixels(expand.writes.w, rows, wide.present, (window,)) * channels,
            macs=reader.macs * made.total // reader.writes.h + expand.macs * wide.total // expand.writes.h,
            rows=rows,
            end=end,
            advance=advance,
            stripes=stripes,
            readers=(Reader(Columns(width, width, width, width), ((-rows, -1),)),),
            skips=tuple(s._replace(lag=width) for s in state.skips),
        )

    def _supplies(self, demand: Demand) -> Iterator[tuple[int, State]]:
        position, visit = demand.visit.position, demand.visit
        if not self.links.linked[position]:
            return
        read = self.chain.ops[position].reads[self.links.main[position]]
        received = self.chain.ops[position - 1].receives
        rows, end, advance, stripes = demand.rows, demand.end, demand.advance, demand.stripes

        def supply(rows: int, first: int, stop: int) -> State:
            state = visit.state
            late, early = self._is_late(visit), self._is_early(visit)
            return State(rows, end, advance, first, stop, state.stripe_rows, state.sums, late, demand.skips, early)

        in_step = all(s.rows <= advance for s in demand.skips)  # No two stripes share rows of a skip connection.
        if rows <= advance or (self.settings.cache and in_step):
            first = -((end - 1) // advance)
            stop = min(stripes[1], -((end - read.h) // advance) + 1)
            made = supply(advance, first, stop)
            if not received:
                yield cached_pixels((read.h, read.w), rows, advance, end, demand.readers) * read.c, made
            if advance == 1 if received else self._is_pushed(position - 1):
                whole = tuple(_whole_rows(r, read.w) for r in demand.readers)
                pixels = cached_pixels((read.h, read.w), rows, advance, end, whole)
                yield pixels * read.c, made._replace(by_rows=True)
        if rows > advance and not received and (self.settings.recompute or stripes[1] - stripes[0] == 1):
            present = count_rows(read.h, rows, end, advance, stripes).present
            pixels = recomputed_pixels(read.w, rows, present, demand.readers)
            yield pixels * read.c, supply(rows, *stripes)

    def _is_pushed(self, position: int) -> bool:
        tensor = self.links.tensor(self.chain, position)
        return self.settings.input is Input.STREAMED and tensor not in self.links.born and not self._counts(tensor)

    def _settle(self, demand: Demand, labels: Sequence[Label]) -> Sequence[Label]:
        position, visit = demand.visit.position, demand.visit
        if visit.iterative:
            return ()
        sums = visit.state.sums
        through, source, out = self._through(position), self._source(demand), self._out_bytes()
        if sums < 0:
            border = self._border(demand, source)
            costs = [(b + through + border, m, t) for b, m, t in labels]
        else:
            kept = source.nbytes if self._is_kept(position) else 0
            costs = [(through + max(b + source.nbytes, sums + out + kept), m, t) for b, m, t in labels]
        return [label for label in self._front(costs) if label[0] <= self.limit]

    def _border(self, demand: Demand, source: Flow) -> int:
        op = self.chain.ops[self.last - 1]
        out = self._out_bytes()
        if (
            self._is_early(demand.visit)
            or self._is_kept(demand.visit.position)
            or not (source.nbytes and out and self.settings.overlap)
        ):
            return source.nbytes + out
        tile = 0 if self._is_late(demand.visit) else self.settings.tile
        return overlapped_bytes(source, op.writes, demand.visit.state.stripe_rows, tile)

    def _is_late(self, visit: Visit) -> bool:
        return visit.state.late or (visit.sums and visit.position + visit.length == self.last)

    @staticmethod
    def _is_early(visit: Visit) -> bool:
        return visit.state.early or visit.fills

    def _out_bytes(self) -> int:
        return self.chain.ops[self.last - 1].writes.nbytes

    def _is_kept(self, position: int) -> bool:
        return self.links.last_read[self.links.tensor(self.chain, position)] >= self.last

    def _source(self, demand: Demand) -> Flow:
        position = demand.visit.position
        read = self.chain.ops[position].reads[self.links.main[position]]
        columns = max(r.columns.last for r in demand.readers)
        if self.chain.ops[position].receives:
            return Flow(0, read.w, read.c, 0, 0, columns)
        flow = Flow(read.h, read.w, read.c, demand.advance, demand.end - demand.rows, columns)
        if self._counts(self.links.tensor(self.chain, position)):
            return flow
        window = self.chain.ops[position].window.rows.extent if demand.visit.state.by_rows else demand.rows
        rows = min(read.h, window + self.settings.pushed - 1) if self.settings.input is Input.STREAMED else 0
        return flow._replace(height=rows, advance=0, top=0)

    def _counts(self, tensor: TensorId) -> bool:
        elsewhere = self.settings.input is not Input.RESIDENT
        if elsewhere and self.chain.source:
            elsewhere = tensor == self.chain.source.tensor
        return tensor in self.links.born or not elsewhere

    def _through(self, position: int) -> int:
        """Return how many bytes, without the main input, are live during the whole group."""
        if position not in self.across:
            main = self.links.tensor(self.chain, position)
            others = (t for t in self.chain.alive[position] if t != main and self._counts(t))
            self.across[position] = self.chain.across + sum(self.links.sizes[t] for t in others)
        return self.across[position]


def _whole_rows(reader: Reader, width: int) -> Reader:
    """A message between devices is a whole row."""
    return reader._replace(columns=Columns(*[width] * 4))


def _pointwise(op: RowOp) -> bool:
    w = op.window
    return op.is_convolution and (w.kernel_h, w.kernel_w, w.stride_h, w.stride_w) == (1, 1, 1, 1)


def _taps(op: RowOp) -> int:
    return op.window.kernel_h * op.window.kernel_w
