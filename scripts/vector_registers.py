"""Allocates the registers of a vector unit. A vector keeps its registers from its first value to its last use."""

from collections.abc import Mapping, Sequence

from vectors import VectorUnit

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.language import Compute, For, Load, Reg, Statement, When
from tflm_memopt.kernels.meaning import registers


def assign(name: str, body: Sequence[Statement], unit: VectorUnit) -> Mapping[str, int]:
    """Return the first register number of each vector in the body of a vectorised loop. Raises KernelError if the core
    has too few registers.

    A result may reuse the registers of an equally large operand after the operand's last use.
    """
    order, loops = _in_order(body)
    last = _last_uses(order, loops)
    placed: dict[str, int] = {}
    alive: list[Reg] = []
    for at, one in enumerate(order):
        if isinstance(one, (Load, Compute)) and one.to.along and one.to not in alive:
            size = unit.size(one.to.type)
            alive = [reg for reg in alive if last[reg.name] > at or unit.size(reg.type) != size]
            taken = {placed[reg.name] + i for reg in alive for i in range(unit.size(reg.type))}
            first = next((n for n in range(0, unit.registers, size) if taken.isdisjoint(range(n, n + size))), None)
            if first is None:
                held = ", ".join(f"{reg.name} ({reg.type.c})" for reg in alive)
                raise KernelError(
                    f"{name}: no room for {one.to.name} in {unit.registers} registers beside {held}",
                    hint="use fewer values at a time, or smaller groups",
                )
            placed[one.to.name] = first
            alive.append(one.to)
        alive = [reg for reg in alive if last[reg.name] > at]
    return placed


def _in_order(body: Sequence[Statement]) -> tuple[list[Statement], list[tuple[int, int]]]:
    order: list[Statement] = []
    loops: list[tuple[int, int]] = []
    for one in body:
        if isinstance(one, (For, When)):
            for part in (one.body, one.rest) if isinstance(one, For) else (one.body,):
                inner, deeper = _in_order(part)
                if isinstance(one, For):
                    loops.append((len(order), len(order) + len(inner) - 1))
                loops += [(len(order) + a, len(order) + b) for a, b in deeper]
                order += inner
        else:
            order.append(one)
    return order, loops


def _last_uses(order: Sequence[Statement], loops: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Return the position of the last use of each register. If a loop reads a value from before the loop, the value's
    registers stay in use until the loop ends.
    """
    uses: dict[str, list[int]] = {}
    for at, one in enumerate(order):
        for reg in registers(one):
            uses.setdefault(reg.name, []).append(at)
    last = {}
    for name, positions in uses.items():
        ends = [end for begin, end in loops if positions[0] < begin and any(begin <= at <= end for at in positions)]
        last[name] = max([*ends, positions[-1]])
    return last
