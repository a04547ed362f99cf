"""Allocates the registers of a vector unit. A vector occupies its registers only while the vector is live."""

from collections.abc import Mapping, Sequence

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.instructions import VectorUnit
from tflm_memopt.kernels.language import Compute, For, Load, Reg, Statement, When
from tflm_memopt.kernels.meaning import registers


def assign(name: str, body: Sequence[Statement], unit: VectorUnit) -> Mapping[str, int]:
    """Return the first register number of every vector in the body of a vectorised loop. A result may reuse the
    registers of an equally large operand that is used for the last time. Raises KernelError if the vectors do not fit
    the registers.
    """
    order, loops = _in_order(body)
    last = _last_uses(order, loops)
    taken: dict[int, str] = {}
    placed: dict[str, int] = {}
    alive: dict[str, Reg] = {}

    def release(at: int, size: int = 0) -> None:
        for reg in [r for r in alive.values() if last[r.name] <= at and size in (0, unit.size(r.type))]:
            del alive[reg.name]
            for number in [n for n, owner in taken.items() if owner == reg.name]:
                del taken[number]

    for at, one in enumerate(order):
        if isinstance(one, (Load, Compute)) and one.to.along:
            size = unit.size(one.to.type)
            if one.to.name not in alive:
                release(at, size)
                free = (n for n in range(0, unit.registers, size) if not any(n + i in taken for i in range(size)))
                first = next(free, None)
                if first is None:
                    held = ", ".join(f"{r.name} ({r.type.c})" for r in alive.values())
                    raise KernelError(
                        f"{name}: no room for {one.to.name} in {unit.registers} registers beside {held}",
                        hint="use fewer values at a time, or smaller groups",
                    )
                placed[one.to.name] = first
                alive[one.to.name] = one.to
                taken.update({first + i: one.to.name for i in range(size)})
        release(at)
    return placed


def _in_order(body: Sequence[Statement]) -> tuple[list[Statement], list[tuple[int, int]]]:
    """Return the statements inside and outside of loops in order, and the first and last position of each loop."""
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
    """Return each register's last use. A loop uses a value from before the loop until the loop ends."""
    uses: dict[str, list[int]] = {}
    for at, one in enumerate(order):
        for reg in registers(one):
            uses.setdefault(reg.name, []).append(at)
    last = {}
    for name, positions in uses.items():
        ends = [end for begin, end in loops if positions[0] < begin and any(begin <= at <= end for at in positions)]
        last[name] = max([*ends, positions[-1]])
    return last
