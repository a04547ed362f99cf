"""Chooses chains of TFLM's own operators to run in parts, so that the arena becomes small.

The greedy search adds one chain after the other while the arena shrinks. Each candidate chain contains an operator with
nearly the most live bytes. Chains are ranked by the maximum number of live bytes plus the bytes of the arena's tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.plan.chains import lives_of, living_through, stored
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import plan
from tflm_memopt.rewrite.tiling import Tiling, chain, channel_unit, fan_out
from tflm_memopt.rowgraph.graph import RowGraph, tensor_sizes
from tflm_memopt.rowgraph.supported import AnnotatedGraph
from tflm_memopt.tflm.only_builtin import tail

JOIN = "CONCATENATION"
LONGEST = 12
PLANNED = 8
"""The search makes plans for the PLANNED chains with the highest ranks."""
COUNTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25)
GRIDS = (2, 3, 4, 5)
ROUNDS = 4


class Tilings:
    def __init__(self, whole: AnnotatedGraph, options: ConversionOptions) -> None:
        self.whole, self.options = whole, options
        little = replace(options, seconds=0.0, reorder=False)
        self._planned = cache(lambda tilings: self._plan(tilings, little))
        """Function that plans a model with a set of tiled chains, after a short search."""
        self._weight: Callable[[tuple[Tiling, ...]], _Weight] = cache(self._weigh)

    def least(self, macs: int, start: Plan) -> Plan:
        tiles, kinds = self.options.tiles, list[_Kind]()
        if tiles and (tiles.stripe_rows != (1,) or tiles.whole_map):
            kinds.append((chain, _in_stripes))
        if tiles and tiles.group_channels:
            kinds.append((fan_out, _in_groups))
        alone = [[kind] for kind in kinds] if len(kinds) > 1 else []
        found = min((self._greedy(macs, start, some) for some in (kinds, *alone)), key=self._total)
        return found if found is start else self._plan(found.tilings, self.options)

    def _greedy(self, macs: int, start: Plan, kinds: Sequence[_Kind]) -> Plan:
        best = start
        for _ in range(ROUNDS):
            tried = [self._planned(tilings) for tilings in self._ranked(macs, best.tilings, kinds)]
            found = min(tried, key=self._total, default=best)
            if self._total(found) >= self._total(best):
                break
            best = found
        return best

    def _total(self, found: Plan) -> int:
        return found.head + self._weight(found.tilings).tail

    def _parts(self, tilings: Sequence[Tiling]) -> RowGraph:
        return pipeline.in_parts(self.whole, tilings, self.options.library, self.options.abi)

    def _plan(self, tilings: tuple[Tiling, ...], options: ConversionOptions) -> Plan:
        return replace(plan(self._parts(tilings), options), tilings=tilings)

    def _ranked(self, macs: int, before: tuple[Tiling, ...], kinds: Sequence[_Kind]) -> list[tuple[Tiling, ...]]:
        known = {op.type for op in self.whole.graph.ops}.union(self.options.allow_ops)
        found: list[tuple[int, int, tuple[Tiling, ...]]] = []
        for tiling in self._candidates(before, kinds) if JOIN in known else ():
            tilings = (*before, tiling)
            weight = self._weight(tilings)
            if weight.macs <= macs and known >= weight.ops:
                found.append((weight.live + weight.tail, len(found), tilings))
        return [tilings for _, _, tilings in sorted(found)[:PLANNED]]

    def _weigh(self, tilings: tuple[Tiling, ...]) -> _Weight:
        graph = self._parts(tilings)
        after = tail(graph.model, self.options.library, self.options.abi)
        return _Weight(max(live_bytes(graph)), after, graph.macs, frozenset(op.type for op in graph.model.ops))

    def _candidates(self, before: tuple[Tiling, ...], kinds: Sequence[_Kind]) -> Iterator[Tiling]:
        """Yield tilings of chains that contain no operators of the tilings `before`. Each chain contains an operator
        with nearly the most live bytes of all operators.
        """
        graph = self._parts(before)
        live = live_bytes(graph)
        needy = {node.op for node, nbytes in zip(graph.builtins, live, strict=True) if nbytes >= 0.95 * max(live)}
        whole = {op.index for op in self.whole.graph.ops}.difference(*(t.ops for t in before))
        for chain_of, in_parts in kinds:
            for first in graph.model.ops:
                run = list(takewhile(lambda op: op.index in whole, chain_of(graph.model, first)))
                for count in range(2, min(len(run), LONGEST) + 1):
                    ops = run[:count]
                    if not needy.isdisjoint(op.index for op in ops):
                        yield from in_parts(graph.model, ops)


@dataclass(frozen=True, slots=True)
class _Weight:
    live: int
    tail: int
    """Number of bytes of the arena's tail for tensors and operators."""
    macs: int
    ops: frozenset[str]


_Kind = tuple[Callable[[Graph, Op], Sequence[Op]], Callable[[Graph, Sequence[Op]], Iterator[Tiling]]]
"""Two functions: one finds the chain that begins with an operator, and the other yields divisions of the chain."""


def _in_stripes(graph: Graph, ops: Sequence[Op]) -> Iterator[Tiling]:
    keys, (_, rows, columns, _) = _keys(ops), graph.tensors[ops[-1].outputs[0]].shape
    if ops[0].type != "PAD":
        yield from (Tiling(keys, rows=parts) for parts in COUNTS if parts <= rows)
        yield from (Tiling(keys, columns=parts) for parts in COUNTS if parts <= columns)
        yield from (Tiling(keys, rows=n, columns=n) for n in GRIDS if n <= min(rows, columns))


def _in_groups(graph: Graph, ops: Sequence[Op]) -> Iterator[Tiling]:
    most = graph.tensors[ops[0].outputs[0]].shape[-1] // channel_unit(graph, ops)
    yield from (Tiling(_keys(ops), channels=parts) for parts in COUNTS if parts <= most)


def _keys(ops: Sequence[Op]) -> tuple[int, ...]:
    return tuple(op.index for op in ops)


def live_bytes(graph: RowGraph) -> list[int]:
    """Return the number of live bytes during each operator. Tensors that share bytes are counted once."""
    graph = stored(graph)
    sizes, across = tensor_sizes(graph), living_through(graph, lives_of(graph))
    alive = ((node, {*node.inputs, *node.outputs, *t}) for node, t in zip(graph.builtins, across, strict=True))
    return [sum(sizes[t] for t in tensors) + node.scratch for node, tensors in alive]
