"""Finds the accesses of a function that must not be combined (section 6.4.2 of the dissertation).

If a read decides whether a branch runs, the read conflicts with all writes and all side effects in the branch. A read
without effects may run even if a branch would have skipped the read, as in Figure 6.5 (a).
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from tflm_memopt.registers.driver import AccessOp, Event, FieldAccess, Function, Happening

Edges = AbstractSet[tuple[int, int]]
"""Pairs of accesses that must not be combined, as indices in the function's list of accesses, earlier access first."""
Regions = list[list[FieldAccess]]


def conflicts(function: Function) -> Edges:
    controls = {access.order: function.reads_deciding(access) for access in function.accesses}
    return {
        (earlier.order, later.order)
        for earlier, later in combinations(function.accesses, 2)
        if _conflict(earlier, later, earlier.order in controls[later.order])
    }


def _conflict(earlier: FieldAccess, later: FieldAccess, decides: bool) -> bool:
    """Return whether control flow, data flow or a side effect forbids combining two accesses. The argument `decides` is
    true if the later access runs only for some results of the earlier access.
    """
    control = decides and (later.op is AccessOp.WRITE or later.field.read_acts)
    data = earlier.field.key == later.field.key and AccessOp.WRITE in (earlier.op, later.op)
    return control or data or _invalidates(earlier, later) or _invalidates(later, earlier)


def _invalidates(access: FieldAccess, other: FieldAccess) -> bool:
    targets = access.field.read_invalidates if access.op is AccessOp.READ else access.field.write_invalidates
    return any(owner == other.field.group and name in ("", other.field.name) for owner, name in targets)


def greedy(accesses: Sequence[FieldAccess], fits: Callable[[Sequence[FieldAccess], FieldAccess], bool]) -> Regions:
    """Add each access to the first set for which `fits` returns true, or to a new set."""
    regions: Regions = []
    for access in accesses:
        region = next((region for region in regions if fits(region, access)), None)
        if region is None:
            regions.append([access])
        else:
            region.append(access)
    return regions


@dataclass(frozen=True)
class Combining:
    """Decides which accesses of a function can become one access.

    Accesses are combined only if they have no conflict and if the new order has no observable effect. A combined read
    takes the place of the first read, and a combined write takes the place of the last write. A combined access does
    not move past a side effect, a call, or an access to a volatile variable. A combined access does not move past a
    field that an interrupt handler uses.
    """

    function: Function
    acts: Callable[[FieldAccess], bool]
    together: Callable[[FieldAccess, FieldAccess], bool]
    """Function that returns whether two accesses may become one access to a register."""

    @cached_property
    def edges(self) -> Edges:
        return conflicts(self.function)

    def regions(self) -> Regions:
        writes = greedy(
            [a for a in self.function.accesses if a.op is AccessOp.WRITE],
            lambda region, access: self._fits(region, access) and all(self._may_sink(one, access) for one in region),
        )
        ends = {access.order: region[-1].order for region in writes for access in region}
        reads = greedy(
            [a for a in self.function.accesses if a.op is AccessOp.READ],
            lambda region, access: self._read_fits(region, access, ends),
        )
        return sorted(reads + writes, key=lambda region: region[0].order)

    def _fits(self, region: Sequence[FieldAccess], access: FieldAccess) -> bool:
        if self.function.has_goto or self.acts(access) or self.acts(region[0]):
            return False
        if "" in access.chain.variables:
            return False
        return all(
            (member.order, access.order) not in self.edges and self.together(member, access) for member in region
        )

    def _may_sink(self, write: FieldAccess, to: FieldAccess) -> bool:
        if not (write.is_whole_statement and to.is_whole_statement and write.host.blocks == to.host.blocks):
            return False
        if write.context != to.context:
            return False
        return not any(self._stops(event, write) for event in self.function.events[write.order + 1 : to.order])

    def _stops(self, event: Event, write: FieldAccess) -> bool:
        if event.what in (Happening.BARRIER, Happening.EXIT):
            return True
        if event.what is Happening.SET:
            return event.name in write.chain.variables
        access = event.access
        return access is not None and (self.acts(access) or access.field.key == write.field.key)

    def _read_fits(self, region: Sequence[FieldAccess], access: FieldAccess, ends: Mapping[int, int]) -> bool:
        lead = region[0]
        if not self._fits(region, access) or lead.context != lead.host.context:
            return False
        inside = access.context[len(lead.context) :]
        if access.context[: len(lead.context)] != lead.context:
            return False
        if access.host.blocks[: len(lead.host.blocks)] != lead.host.blocks:
            return False
        loops = [context for context in inside if context in self.function.loops]
        if loops and access.field.is_volatile:
            return False
        first = self._begin(lead)
        return not any(
            self._disturbs(event, order, first, loops, access, ends)
            or self._disturbs(event, order, first, (), lead, ends)
            for order, event in enumerate(self.function.events)
        )

    def _begin(self, lead: FieldAccess) -> int:
        order, events = lead.order, self.function.events
        while order > 0 and events[order - 1].host == lead.host:
            order -= 1
        return order

    def _disturbs(
        self, event: Event, order: int, first: int, loops: Sequence[int], access: FieldAccess, ends: Mapping[int, int]
    ) -> bool:
        end = ends.get(order, order)
        between = (order < access.order and end >= first) or any(loop in event.context for loop in loops)
        if not between:
            return False
        if event.what is Happening.BARRIER:
            return True
        if event.what is Happening.SET:
            return event.name in access.chain.variables
        other = event.access
        if other is None:
            return False
        return self.acts(other) or (other.op is AccessOp.WRITE and other.field.key == access.field.key)
