"""All tiled blocks that end at a given operator: label setting from the block's end towards its front.

On reaching an operator, the state is what it has to supply: the walk of its output, the strips in which it runs, the
skips whose source is still to come. A label is (bytes inside the block, multiply-accumulates, decisions). Per inner
tensor the decision is cache or recompute; per expand -> depthwise -> project, whether each strip is walked once per
group of channels; per pair of dense layers, whether what is between them is made in groups; per operator that reduces
its input to one row, the height of the strips that it sums up. What the rest of the block costs depends on the state
alone, so that a label which is no better in either figure is dropped without loss (but for Settings.epsilon).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Channels
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.search.blocks import Chain
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
from tflm_memopt.plan.search.tiles_labels import Demand, Found, Label, Skip, State, Visit, front, pareto
from tflm_memopt.plan.search.tiles_plan import Input, Settings

MAX_TAPS = 64
"""Pixels of a window that a kernel takes at once in a tiled block: TMO_MAX_TAPS."""

DEMAND_SECONDS, LABEL_SECONDS = 6e-5, 1e-5
"""Work (effort.py) for an operator's wishes in one state, and for each label in it."""

MOST_OUTSIDE = 1024
"""Rows of a strip beyond those of the map: a chain of long strides reaches for more, in vain, and each takes time."""

MOST_TILES = 1 << 18
"""Tiles of a map at most: each is a firing, which takes memory and time of the planner. Larger maps go by rows."""


def heights(rows: int, settings: Settings) -> tuple[int, ...]:
    """Rows per strip to try for a map of `rows` rows."""
    whole = (rows,) if rows <= settings.whole_map else ()
    return tuple(sorted({r for r in settings.strip_rows if r < rows} | {1} | set(whole)))


@dataclass(frozen=True, slots=True)
class Search:
    """The blocks of one chain that end at one operator."""

    chain: Chain
    links: Links
    settings: Settings
    last: int
    limit: int
    """Bytes that no block may exceed."""
    slack: int
    """Multiply-accumulates beyond the original's that a block may spend."""
    grain: int
    """Multiply-accumulates by which a label must beat one of fewer bytes."""
    meter: Meter = field(default_factory=Meter)
    """What the search may cost."""
    across: dict[int, int] = field(default_factory=dict, init=False)
    """What _through() found."""

    def blocks(self) -> list[Found]:
        """The best blocks of every length, for all heights of the last operator's strips."""
        found: dict[int, list[Found]] = defaultdict(list)
        height = self.chain.ops[self.last - 1].writes.h
        whole = {height} if self._is_pair(self.last - 1) else set[int]()
        for rows in whole.union(heights(height, self.settings)):
            for block in self._blocks(rows):
                found[block.first].append(block)
        return [b for blocks in found.values() for b in pareto(blocks, self.grain)]

    def _blocks(self, rows: int) -> Iterator[Found]:
        height = self.chain.ops[self.last - 1].writes.h
        states: dict[int, dict[State, list[Label]]] = defaultdict(lambda: defaultdict(list))
        start = State(rows, rows, rows, 0, -(-height // rows), rows, -1, False, ())
        states[self.last - 1][start] = [(0, 0, None)]
        for position in range(self.last - 1, -1, -1):
            for state, labels in states.pop(position, {}).items():
                if not self.meter.allows(SearchPart.TILED_BLOCKS):
                    return
                best = front(labels, self.grain)
                for demand in self._demands(position, state):
                    self.meter.spend(DEMAND_SECONDS + LABEL_SECONDS * len(labels))
                    paid = self._pay(best, demand, position)
                    if paid:
                        yield from self._settle(demand, paid)
                        for nbytes, supply in self._supplies(demand):
                            states[demand.visit.position - 1][supply] += [
                                (b + nbytes, m, t) for b, m, t in paid if b + nbytes <= self.limit
                            ]
            if not states or self._escapes(position):
                return

    def _escapes(self, position: int) -> bool:
        """No longer block is possible: what the operator before this one makes is read after the block, or repeated in
        it, or the block must not have it.
        """
        before = self.chain.ops[position - 1].output
        late, again = self.links.last_read.get(before, -1), self.links.repeated.get(before, self.last)
        never = self.chain.rules_out(position - 1, self.last)
        return position == 0 or late >= self.last or again < self.last or never

    def _pay(self, labels: Sequence[Label], demand: Demand, position: int) -> list[Label]:
        """The labels with the cost of the operators that demand."""
        visit = demand.visit
        plain = self.chain.macs[position + 1] - self.chain.macs[visit.position]
        nbytes = demand.nbytes + self.settings.counter_bytes * (position + 1 - visit.position)
        spare = self.slack + self._plain(position + 1) + plain - demand.macs
        return [(b + nbytes, m + demand.macs, (t, visit)) for b, m, t in labels if m <= spare]

    def _plain(self, position: int) -> int:
        return self.chain.macs[self.last] - self.chain.macs[position]

    # What an operator wants

    def _demands(self, position: int, state: State) -> Iterator[Demand]:
        op = self.chain.ops[position]
        if not op.tileable or state.rows > op.writes.h + MOST_OUTSIDE:
            return
        if op.writes.h * op.writes.w > MOST_TILES * self.settings.tile:
            return
        if _taps(op) <= MAX_TAPS:
            yield self._plain_demand(position, state)
        if state.by_rows:
            return
        if op.reducible and state.sums < 0 and state.strip_rows == 1 and self.links.linked[position]:
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
        height, strips = op.writes.h, (state.first, state.stop)
        made = count_rows(height, state.rows, state.end, state.advance, strips).total
        others = tuple(
            Skip(t, state.rows, state.end, state.stop, 0)
            for i, t in enumerate(op.inputs)
            if i != k and not op.repeats(i)
        )
        skips = tuple(s._replace(lag=self._lag(s.lag + w.extent_w - 1 - w.pad_left)) for s in state.skips)
        demand = Demand(
            visit=Visit(position, state),
            nbytes=0,
            macs=op.macs * made // height,
            rows=w.reach_h(state.rows),
            end=w.reach_h(state.end) - w.pad_top,
            advance=state.advance * w.stride_h,
            strips=strips,
            readers=(self._by_window(op, k, state.rows),),
            skips=others + skips,
        )
        return self._with_skips(demand)

    def _by_window(self, op: RowOp, k: int, rows: int) -> Reader:
        """An operator that makes so many rows of each strip, and reads operand k by its window."""
        w, tile = op.window, self.settings.tile
        columns = window_columns(op.reads[k].w, tile, (op.writes.w, tile), (w.extent_w, w.stride_w, w.pad_left))
        return Reader(columns, window_rows(rows, w.reach_h(rows), (w.extent_h, w.stride_h)))

    def _pixel_by_pixel(self, op: RowOp, rows: int) -> Reader:
        """An operator that reads each pixel of its input once, when it is made."""
        tile = min(self.settings.tile, op.reads[0].w)
        return Reader(Columns(tile, 0, 0, tile), window_rows(rows, rows, (1, 1)))

    def _lag(self, columns: int) -> int:
        """A lag in whole tiles."""
        return -(-max(0, columns) // self.settings.tile) * self.settings.tile

    def _with_skips(self, demand: Demand) -> Demand:
        """The demand together with that of the ADDs whose skip starts at the same tensor."""
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
        strips = (demand.strips[0], max(demand.strips[1], *(s.stop for s in mine)))
        return demand._replace(rows=rows, end=end, strips=strips, readers=tuple(readers), skips=rest)

    def _sums(self, position: int, state: State) -> Iterator[Demand]:
        """An operator that adds up its input's pixels as they come."""
        op = self.chain.ops[position]
        height = op.reads[0].h
        for rows in heights(height, self.settings):
            strips = (0, -(-height // rows))
            walk = State(rows, rows, rows, *strips, rows, op.accumulator_bytes + op.writes.row_bytes, False, ())
            yield Demand(
                visit=Visit(position, walk, iterative=True),
                nbytes=op.accumulator_bytes,
                macs=op.macs,
                rows=rows,
                end=rows,
                advance=rows,
                strips=strips,
                readers=(self._pixel_by_pixel(op, rows),),
                skips=(),
            )

    def _is_triple(self, position: int) -> bool:
        """Expand, depthwise, project end here; what is between them is read by nobody else."""
        if position < 2 or not self.links.linked[position] or not self._is_pair(position - 1):
            return False
        depthwise, project = self.chain.ops[position - 1 : position + 1]
        return _pointwise(project) and self.links.last_read[depthwise.output] == position

    def _is_pair(self, position: int) -> bool:
        """Expand, depthwise end here; what is between them is read by nobody else."""
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
        """Two dense layers, or convolutions of single pixels, with what works channel by channel between them, end
        here; nobody else reads what is between them. The position of the first; None: there are none.
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
        """Expand, depthwise and project in groups of channels: sums instead of the expanded tensors' channels."""
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
        """Hidden channels in groups, where these and the sums take less than a hidden pixel: FDT of dense layers."""
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
        """Expand and depthwise, group after group into a whole tensor: a few pixels of one group between them."""
        demand = self._grouped(position, state, 2)
        yield self._with_skips(demand._replace(visit=demand.visit._replace(grouped_sums=False)))

    def _grouped(self, position: int, state: State, length: int) -> Demand:
        """What expand and its reader at a position want and cost, the first of `length` operators."""
        expand, reader = self.chain.ops[position - 1 : position + 1]
        w, strips, channels = reader.window, (state.first, state.stop), self.settings.group_channels
        rows, end, advance = w.reach_h(state.rows), w.reach_h(state.end) - w.pad_top, state.advance * w.stride_h
        made = count_rows(reader.writes.h, state.rows, state.end, state.advance, strips)
        wide = count_rows(expand.writes.h, max(rows, advance + 1), end, advance, strips)
        window = self._by_window(reader, 0, state.rows)
        width = expand.reads[0].w
        return Demand(
            visit=Visit(position - 1, state, groups=-(-expand.writes.c // channels), length=length),
            nbytes=recomputed_pixels(expand.writes.w, rows, wide.present, (window,)) * channels,
            macs=reader.macs * made.total // reader.writes.h + expand.macs * wide.total // expand.writes.h,
            rows=rows,
            end=end,
            advance=advance,
            strips=strips,
            readers=(Reader(Columns(width, width, width, width), ((-rows, -1),)),),
            skips=tuple(s._replace(lag=width) for s in state.skips),
        )

    # Where it comes from

    def _supplies(self, demand: Demand) -> Iterator[tuple[int, State]]:
        """Bytes of the main input inside the block, and the walk of the operator that makes it; none if it cannot."""
        position, visit = demand.visit.position, demand.visit
        if not self.links.linked[position]:
            return
        read = self.chain.ops[position].reads[self.links.main[position]]
        rows, end, advance, strips = demand.rows, demand.end, demand.advance, demand.strips

        def supply(rows: int, first: int, stop: int) -> State:
            state = visit.state
            late, early = self._is_late(visit), self._is_early(visit)
            return State(rows, end, advance, first, stop, state.strip_rows, state.sums, late, demand.skips, early)

        if rows <= advance or (self.settings.cache and self._in_step(demand)):
            first = -((end - 1) // advance)
            stop = min(strips[1], -((end - read.h) // advance) + 1)
            made = supply(advance, first, stop)
            yield cached_pixels((read.h, read.w), rows, advance, end, demand.readers) * read.c, made
            if self._is_pushed(position - 1):
                whole = tuple(r._replace(columns=Columns(*[read.w] * 4)) for r in demand.readers)
                pixels = cached_pixels((read.h, read.w), rows, advance, end, whole)
                yield pixels * read.c, made._replace(by_rows=True)
        if rows > advance and (self.settings.recompute or strips[1] - strips[0] == 1):
            present = count_rows(read.h, rows, end, advance, strips).present
            pixels = recomputed_pixels(read.w, rows, present, demand.readers)
            yield pixels * read.c, supply(rows, *strips)

    def _is_pushed(self, position: int) -> bool:
        """Whether an operator reads the streamed input: then it may have to go row by row."""
        tensor = self.links.tensor(self.chain, position)
        return self.settings.input is Input.STREAMED and tensor not in self.links.born and not self._counts(tensor)

    @staticmethod
    def _in_step(demand: Demand) -> bool:
        """Behind a cache that starts earlier, an ADD that makes rows again would want its skip before the main path."""
        return all(s.rows <= demand.advance for s in demand.skips)

    # A block that starts here

    def _settle(self, demand: Demand, labels: Sequence[Label]) -> Iterator[Found]:
        position, visit = demand.visit.position, demand.visit
        if visit.iterative:
            return
        sums = visit.state.sums
        through, source, out = self._through(position), self._source(demand), self._out_bytes()
        if sums < 0:
            border = self._border(demand, source)
            costs = [(b + through + border, m, t) for b, m, t in labels]
        else:
            kept = source.nbytes if self._is_kept(position) else 0
            costs = [(through + max(b + source.nbytes, sums + out + kept), m, t) for b, m, t in labels]
        for nbytes, macs, trail in front(costs, self.grain):
            if nbytes <= self.limit:
                yield Found(position, nbytes, macs, trail)

    def _border(self, demand: Demand, source: Flow) -> int:
        """Bytes of the block's whole input and output together."""
        op = self.chain.ops[self.last - 1]
        out = self._out_bytes()
        if (
            self._is_early(demand.visit)
            or self._is_kept(demand.visit.position)
            or not (source.nbytes and out and self.settings.overlap)
        ):
            return source.nbytes + out
        tile = 0 if self._is_late(demand.visit) else self.settings.tile
        return overlapped_bytes(source, op.writes, demand.visit.state.strip_rows, tile)

    def _is_late(self, visit: Visit) -> bool:
        return visit.state.late or (visit.sums and visit.position + visit.length == self.last)

    @staticmethod
    def _is_early(visit: Visit) -> bool:
        return visit.state.early or visit.fills

    def _out_bytes(self) -> int:
        is_final = self.last == len(self.chain.ops)
        return 0 if is_final and not self.settings.count_output else self.chain.ops[self.last - 1].writes.nbytes

    def _is_kept(self, position: int) -> bool:
        """The block's main input is read after the block, too."""
        return self.links.last_read[self.links.tensor(self.chain, position)] >= self.last

    def _source(self, demand: Demand) -> Flow:
        """The block's main input, as far as it counts."""
        position = demand.visit.position
        read = self.chain.ops[position].reads[self.links.main[position]]
        columns = max(r.columns.last for r in demand.readers)
        flow = Flow(read.h, read.w, read.c, demand.advance, demand.end - demand.rows, columns)
        if self._counts(self.links.tensor(self.chain, position)):
            return flow
        window = self.chain.ops[position].window.extent_h if demand.visit.state.by_rows else demand.rows
        rows = min(read.h, window + self.settings.pushed - 1) if self.settings.input is Input.STREAMED else 0
        return flow._replace(height=rows, advance=0, top=0)

    def _counts(self, tensor: TensorId) -> bool:
        """Whether a whole tensor takes all its bytes."""
        elsewhere = self.settings.input is not Input.RESIDENT
        if elsewhere and self.chain.frame:
            elsewhere = tensor == self.chain.frame.tensor
        return tensor in self.links.born or not elsewhere

    def _through(self, position: int) -> int:
        """Bytes of whole tensors that are alive during the block, its main input and its output excepted."""
        if position not in self.across:
            main = self.links.tensor(self.chain, position)
            others = (t for t in self.chain.alive[position] if t != main and self._counts(t))
            self.across[position] = self.chain.across + sum(self.links.sizes[t] for t in others)
        return self.across[position]


def _pointwise(op: RowOp) -> bool:
    w = op.window
    return op.is_convolution and (w.kernel_h, w.kernel_w, w.stride_h, w.stride_w) == (1, 1, 1, 1)


def _taps(op: RowOp) -> int:
    return op.window.kernel_h * op.window.kernel_w
