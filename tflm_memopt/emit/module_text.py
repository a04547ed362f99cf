"""Writes the C module NAME.h and NAME.c. The module has a static arena, and needs no interpreter and no heap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.answers.optimized import Sample
from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.embedded import file_name
from tflm_memopt.emit.module import Module
from tflm_memopt.emit.names import comment, guard
from tflm_memopt.emit.ports import Port
from tflm_memopt.emit.templates import rendered
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.model.graph import TensorId
from tflm_memopt.runtime.regions import CustomOperator

LIMIT = "/* -DTMO_RAM_LIMIT=BYTES makes a larger arena a compile error */"


def module_header(m: Module) -> str:
    return rendered(
        "module.h.jinja",
        m=m, about=comment(m.name), library_file=comment(file_name(m.library_stem)), guard=guard(m.name, "module"),
        limit=LIMIT, ports=list(_noted(m)), rows=lambda count: f"{count} row{'s' * (count > 1)}",
    )  # fmt: skip


def module_source(m: Module, sample: Sample) -> str:
    step = m.ports.inputs[0].nbytes if m.window else 1
    inputs = [bytes(-len(data) % step) + data for data in sample.inputs]  # Missing samples become zeros.
    regions = [_region(m, k, region) for k, region in enumerate(m.regions)]
    return rendered(
        "module.c.jinja",
        m=m, about=comment(m.name), library_file=comment(file_name(m.library_stem)),
        program_bytes=sum(len(region.program) for region in m.regions), ram_limit=ram_limit(m.prefix, m.arena),
        arrays=[
            *((f"program{known.n}", region.program) for known, region in zip(regions, m.regions, strict=True)),
            *((f"constant_{tensor}", data) for tensor, data in m.constants.items()),
        ],
        stored=[
            (f"{side}_{k}", data)
            for side, values in (("in", inputs), ("out", sample.outputs)) for k, data in enumerate(values)
        ],
        regions=regions, most_places=max(len(region.places) for region in regions), alignment=ALIGNMENT,
        byte_lines=byte_lines, until_wrong=_until_wrong,
    )  # fmt: skip


def ram_limit(prefix: str, nbytes: int) -> str:
    """Return a C assertion that fails to compile if the RAM limit is below `nbytes`."""
    return f"""\
#ifdef TMO_RAM_LIMIT
_Static_assert({prefix.upper()}_ARENA_BYTES <= TMO_RAM_LIMIT,
               "{prefix} needs {nbytes} B of static RAM, more than TMO_RAM_LIMIT: convert it with --ram-limit");
#endif"""


def _noted(m: Module) -> Iterator[tuple[Port, str]]:
    read = {t for region in m.regions for t in region.inputs}
    seen: dict[TensorId, Port] = {}
    for port in m.ports.all:
        note = ""
        if port.tensor in m.constants:
            note = "; a constant"
        elif port.tensor in seen:
            note = f"; the same bytes as {seen[port.tensor].function}()"
        elif port in m.ports.inputs and port.tensor not in read:
            note = "; no operator reads it"
        seen.setdefault(port.tensor, port)
        yield port, note


@dataclass(frozen=True, slots=True)
class _Region:
    n: str
    places: list[str]
    """C expressions for the elements of the array `io`."""
    sizes: list[int]
    check: str
    run: str


def _region(m: Module, k: int, region: CustomOperator) -> _Region:
    n = f"_{k}" if len(m.regions) > 1 else ""
    external = region.input == InputPlace.EXTERNAL
    handed = (*region.inputs, *region.outputs, *(() if region.state is None else (region.state,)))
    rest = f"{len(region.inputs) + external}, {len(region.outputs)}, {m.workspaces[k]}"
    return _Region(
        n,
        [f"arena + {m.at[t]}" for t in handed],
        [*([0] if external else []), *(m.sizes[t] for t in handed), *([m.slow] if m.slow else [])],
        f"{m.library}.check(program{n}, sizeof program{n}, io_bytes{n}, {rest})",
        _run(m, region, n),
    )


def _run(m: Module, region: CustomOperator, n: str) -> str:
    workspace = f"arena + {0 if region.workspace is None else m.at[region.workspace]}"
    if region.input == InputPlace.EXTERNAL:
        return f"run_from(program{n}, source, io{n}, sizeof io{n} / sizeof io{n}[0], {workspace})"
    if region.input == InputPlace.STREAM:
        return f"{m.library}.push(program{n}, io{n}, {workspace}, &stream)"
    if m.pauses:
        return f"{m.library}.run_paused(program{n}, io{n}, {workspace}, pauses, {len(m.pauses)}, &at)"
    return f"{m.library}.run(program{n}, io{n}, {workspace})"


def _until_wrong(calls: Sequence[str]) -> str:
    *first, last = calls
    before = [
        f"{'  tmo_status status' if k == 0 else '  if (status == TMO_OK) status'} = {c};" for k, c in enumerate(first)
    ]
    return "\n".join([*before, *(["  if (status != TMO_OK) return status;"] if first else []), f"  return {last};"])
