"""Rewrites the library's kernels without changing their results. The docstring of each rewrite states when the rewrite
is legal.

As in Exo (Ikarashi et al., PLDI 2022), a schedule is a list of rewrites, and a kernel is described only once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.language import (
    Compute,
    For,
    Index,
    KernelProgram,
    Load,
    Reg,
    Rewrite,
    Statement,
    Store,
    When,
    changed,
    statements,
    within,
)
from tflm_memopt.kernels.meaning import OWN, reads, registers


def scheduled(kernel: KernelProgram, steps: Sequence[Rewrite]) -> KernelProgram:
    for step in steps:
        kernel = step(kernel)
    return kernel


def vectorise(var: str, group: int = 0) -> Rewrite:
    """Run one iteration of a loop in each lane of the core.

    The argument `group` is the number of registers of a vector. The rewrite is legal if no iteration reads or writes
    what another iteration writes. All addresses in the loop must be linear in the loop variable.
    """
    said = f"vectorise {var}" + (f", m{group}" if group else "")

    def vector(loop: For) -> For:
        _each_turn_alone(loop)
        wide = _depending(loop)
        body = tuple(_widened(one, wide, loop.var) for one in loop.body)
        return replace(loop, body=body, vector=True, group=group)

    return _in_loop(var, vector, said)


def jam(var: str, *turns: int, apart: bool = False) -> Rewrite:
    """Run several iterations of a loop side by side inside its inner loops, so that common loads happen once.

    If `turns` is (4, 2), iterations run in groups of four while at least four remain, and then in groups of two. The
    rewrite is legal for all loops that vectorise() accepts. If `apart` is true, the inner loops may be vector loops. To
    save registers, the code between the inner loops then runs for one iteration after the other. The code between the
    inner loops must not change values that several iterations read.
    """

    def jammed(loop: For) -> For:
        _each_turn_alone(_alone(loop), vectors=apart)
        wide = _depending(loop)

        def copies(body: Sequence[Statement], count: int) -> list[Statement]:
            out: list[Statement] = []
            for runs in _runs(body):
                if isinstance(runs, (For, When)):
                    out.append(within(runs, lambda inner: copies(inner, count)))
                    continue
                _one_value(loop, wide, runs)
                for part in [runs] if apart else [[one] for one in runs]:
                    for k in range(count):
                        out += [_turn(one, wide, loop.var, k) for one in part if k == 0 or _varies(one, wide)]
            return out

        return _at_once(loop, turns, lambda count: copies(loop.body, count))

    return _in_loop(var, jammed, f"jam {var}, {_listed(turns)} turns" + (" apart" if apart else ""))


def unroll(var: str, *turns: int) -> Rewrite:
    """Run several iterations of a loop before the loop's condition is tested again. The rewrite is legal for all loops
    except vector loops.

    If `turns` is (4, 2), iterations run in groups of four while at least four remain, and then in groups of two. The
    rewrite unrolls all loops over the variable `var`, including loops that jam() has made.
    """

    def unrolled(loop: For) -> For:
        own = _anew(_alone(loop).body)

        def copies(count: int) -> list[Statement]:
            return [_turn(one, own, loop.var, k) for k in range(count) for one in loop.body]

        return _at_once(loop, turns, copies)

    return _in_loop(var, unrolled, f"unroll {var}, {_listed(turns)} turns", every=True)


def inward(var: str) -> Rewrite:
    """Move a loop into its inner loops, so that loads common to all iterations happen once. The moved loop adds to sums
    in a workspace.

    The rewrite is legal for all loops that jam() accepts. The loop must load sums from a workspace, add to the sums in
    one inner loop, and store the sums.
    """

    def moved(loop: For) -> For:
        _each_turn_alone(_alone(loop))
        wide = _depending(loop)
        homes = {one.to.name: one for one in loop.body if isinstance(one, Load) and _stored_back(one) in loop.body}
        moves = [move for one in homes.values() for move in (one, _stored_back(one))]
        left = [one for one in loop.body if one not in moves]
        taken = {one.tensor.name for one in homes.values()}
        again = [one for one in statements(left) if isinstance(one, (Load, Store)) and one.tensor.name in taken]
        if len(left) != 1 or not isinstance(left[0], For) or again:
            raise _not_inward(loop, "it is more than sums and a loop that adds to them")

        def turn(run: Sequence[Plain]) -> list[Statement]:
            _one_value(loop, wide, run)
            own = [one for one in run if _varies(one, wide)]
            known = set(homes)
            for one in own:
                if lost := {reg.name for reg in reads(one)} & wide - known:
                    raise _not_inward(loop, f"'{min(lost)}' is taken along, and comes from no workspace")
                known |= {one.to.name} if isinstance(one, (Load, Compute)) else set()
            named = {reg.name for one in own for reg in registers(one)}
            before = [homes[name] for name in homes if name in named]
            each = (*before, *own, *map(_stored_back, before))
            return [*(one for one in run if one not in own), *([replace(loop, body=each)] if own else [])]

        def inside(body: Sequence[Statement]) -> list[Statement]:
            out: list[Statement] = []
            for run in _runs(body):
                out += [within(run, inside)] if isinstance(run, (For, When)) else turn(run)
            return out

        return replace(left[0], body=tuple(inside(left[0].body)), rest=tuple(inside(left[0].rest)))

    return _in_loop(var, moved, f"inward {var}")


def remaining_loop(one: For) -> For | None:
    rest = one.rest[0] if one.rest else None
    return rest if isinstance(rest, For) and rest.var == one.var else None


def _not_inward(loop: For, why: str) -> KernelError:
    return KernelError(
        f"the loop over '{loop.var}' cannot go inside of what it has: {why}",
        hint="use sums that are loaded from a workspace before one loop and stored back after it",
    )


def _stored_back(one: Load) -> Store:
    return Store(one.tensor, one.at, one.to)


def _listed(turns: Sequence[int]) -> str:
    return " and ".join(map(str, turns))


def _at_once(loop: For, turns: Sequence[int], copies: Callable[[int], Sequence[Statement]]) -> For:
    rest = loop.body
    for count in reversed(turns):
        loop = replace(loop, body=tuple(copies(count)), step=count, rest=rest)
        rest = (loop,)
    return loop


Plain: TypeAlias = Load | Compute | Store


def _runs(body: Sequence[Statement]) -> Iterator[For | When | list[Plain]]:
    between: list[Plain] = []
    for one in body:
        if isinstance(one, (For, When)):
            yield from (between,) if between else ()
            yield one
            between = []
        else:
            between.append(one)
    yield from (between,) if between else ()


def _alone(loop: For) -> For:
    if loop.vector or loop.rest:
        raise KernelError(
            f"the loop over '{loop.var}' takes several turns at once already",
            hint="one of vectorise, unroll and jam for each loop",
        )
    return loop


def _one_value(loop: For, wide: set[str], body: Sequence[Plain]) -> None:
    shared = [one.to.name for one in body if isinstance(one, (Load, Compute)) and not _varies(one, wide)]
    if twice := next((name for name in shared if shared.count(name) > 1), None):
        raise KernelError(
            f"turns of the loop over '{loop.var}' cannot share '{twice}', which changes",
            hint="use a register for each value",
        )


def _anew(body: Sequence[Statement]) -> set[str]:
    """Return the registers that the statements set without reading their old values."""
    return {one.to.name for one in statements(body) if isinstance(one, (Load, Compute)) and one.to not in reads(one)}


def _varies(one: Plain, wide: set[str]) -> bool:
    return isinstance(one, Store) or one.to.name in wide


def _turn(one: Statement, own: set[str], var: str, k: int) -> Statement:
    def put(index: Index) -> Index:
        return index.put(var, Index.name(var) + k)

    def reg(r: Reg) -> Reg:
        return replace(r, name=f"{r.name}_{k}") if r.name in own else r

    inside = within(one, lambda body: [_turn(s, own, var, k) for s in body]) if isinstance(one, (For, When)) else one
    return changed(inside, reg, put)


def expand(op: str, into: Callable[[Compute, str], Sequence[Compute]]) -> Rewrite:
    """Replace operations for which the core has no instruction by the statements that the function `into` returns."""

    def rewrite(kernel: KernelProgram) -> KernelProgram:
        names = iter(range(10_000))

        def expanded(body: Sequence[Statement]) -> tuple[Statement, ...]:
            out: list[Statement] = []
            for one in body:
                if isinstance(one, (For, When)):
                    out.append(within(one, expanded))
                elif isinstance(one, Compute) and one.op == op:
                    out += into(one, f"{op}{next(names)}_")
                else:
                    out.append(one)
            return tuple(out)

        return replace(kernel, body=expanded(kernel.body), schedule=(*kernel.schedule, f"expand {op}"))

    return rewrite


def _in_loop(var: str, change: Callable[[For], For], said: str, *, every: bool = False) -> Rewrite:
    def in_it(one: Statement) -> Statement:
        if isinstance(one, For) and one.var == var:
            return change(one)
        return within(one, lambda body: list(map(in_it, body))) if isinstance(one, (For, When)) else one

    def rewrite(kernel: KernelProgram) -> KernelProgram:
        found = sum(isinstance(one, For) and one.var == var for one in statements(kernel.body))
        if not found or (found > 1 and not every):
            what = f"{kernel.name} has {found} loops over '{var}'"
            raise KernelError(what, hint="give the variable of a single loop")
        return replace(kernel, body=tuple(map(in_it, kernel.body)), schedule=(*kernel.schedule, said))

    return rewrite


def _each_turn_alone(loop: For, *, vectors: bool = False) -> None:
    """Raise KernelError if iterations of the loop depend on each other."""
    own: set[str] = set()
    written = {one.to.name for one in statements(loop.body) if isinstance(one, (Load, Compute))}
    for one in statements(loop.body):
        why = ""
        if isinstance(one, For):
            why = f"the extent of '{one.var}' depends on it" if loop.var in one.extent.names else ""
            why = f"'{one.var}' in it is a vector" if one.vector and not vectors else why
        elif isinstance(one, Load) and one.by and one.by.name in written:
            why = f"'{one.tensor.name}' is looked up"
        elif isinstance(one, When):
            names = one.at.names | one.extent.names if isinstance(one.at, Index) else {loop.var}
            why = f"whether {one.at} lies inside depends on it" if loop.var in names else ""
        elif isinstance(one, Store):
            slope = one.tensor.offset(one.at).slope(loop.var)
            why = "" if slope.terms else f"all of its turns store to the same place of '{one.tensor.name}'"
        elif isinstance(one, Compute) and one.op in OWN and one.to.name not in own:
            why = f"'{one.to.name}' goes from turn to turn"
        if isinstance(one, (Load, Compute)):
            own.add(one.to.name)
        if why:
            raise KernelError(
                f"the loop over '{loop.var}' cannot be vectorised: {why}",
                hint="choose another loop, or a description with independent turns",
            )


def _depending(loop: For) -> set[str]:
    wide: set[str] = set()
    before = -1
    while before != len(wide):
        before = len(wide)
        for one in statements(loop.body):
            if isinstance(one, Store):
                wide.add(one.value.name)
            elif isinstance(one, Load) and one.tensor.offset(one.at).slope(loop.var).terms:
                wide.add(one.to.name)
            elif isinstance(one, Compute):
                varying = any(isinstance(o, Index) and loop.var in o.names for o in one.operands)
                if varying or any(reg.name in wide for reg in reads(one)):
                    wide.add(one.to.name)
    return wide


def _widened(one: Statement, wide: set[str], var: str) -> Statement:
    if isinstance(one, (For, When)):
        return within(one, lambda body: [_widened(s, wide, var) for s in body])
    return changed(one, lambda reg: replace(reg, along=var) if reg.name in wide else reg)
