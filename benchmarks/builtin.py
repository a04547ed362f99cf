"""Measure the RAM of models with `--ops builtin`: with order and offsets only, with state, and in parts.

    python benchmarks/builtin.py --models ../shared/models [--only TABLE ...] [--update docs/builtin.md]

Bytes, ilp32, input in the arena, kernels as each table says. `parts` also has a network with random weights: the two
convolutions on 32 x 32 pixels with which fused tiling's CIFAR-10 classifier begins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from int8_models import Builder
from tables import markdown, page_parser, publish

import tflm_memopt

MOVES = ("PAD", "SLICE", "CONCATENATION")
ANY, REFERENCE = "any", "reference"


@dataclass(frozen=True, slots=True)
class Case:
    """A model and the options of its conversion."""

    model: str
    kernels: str = REFERENCE
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flags(self) -> str:
        """Return the options of the command line."""
        said = {name.replace("_", "-"): value for name, value in self.settings.items() if name != "allow_ops"}
        return " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in said.items())


@dataclass(frozen=True, slots=True)
class Row:
    """One conversion. Sizes are in bytes."""

    model: str
    flags: str
    kernels: str
    total_before: int
    total: int
    head_before: int
    head: int
    overhead: float
    """Compute factor F."""
    flash_before: int
    flash: int
    """Size of the .tflite file."""
    parts: tuple[str, ...]
    """Number of chains that run in parts."""
    same_bytes: bool


CIF = "two convolutions"
WAKE_WORDS = ("mww_okay_nabu_v2", "mww_vad_v2")
LEVEL_1 = ("mlperf_tiny_kws_dscnn_int8", "mlperf_tiny_vww_96_int8", "mlperf_tiny_ic_resnet8_int8")
_PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (CIF, {"max_macs": 1.5}), (CIF, {"ram_limit": 21_508}), ("mlperf_tiny_vww_96_int8", {}),
    ("mcunet_vww_80_float_io", {"max_macs": 1.25}), ("mcunet_vww_80_float_io", {"int8_io": True, "max_macs": 1.25}),
    ("mcunetv2_large_224_float_io", {"max_macs": 1.25}),
    ("mcunetv2_large_224_float_io", {"int8_io": True, "max_macs": 1.25}),
)  # fmt: skip
CASES: Mapping[str, tuple[Case, ...]] = {
    "offsets": tuple(Case(model, kernels) for model in LEVEL_1 for kernels in (REFERENCE, ANY)),
    "states": tuple(Case(model, ANY) for model in WAKE_WORDS),
    "parts": tuple(Case(model, settings={**given, "allow_ops": MOVES}) for model, given in _PARTS),
}
"""Conversions for each table."""


def two_convolutions() -> bytes:
    net = Builder()
    x = net.same(net.same(net.input((1, 32, 32, 3)), 32, 3), 16, 3, 2)
    return net.model(net.dense(net.pool(x, 16, 16, average=True, same=False), 10))


def rows(table: str, models: Path) -> Iterator[Row]:
    for case in CASES[table]:
        data = two_convolutions() if case.model == CIF else (models / f"{case.model}.tflite").read_bytes()
        kernels = None if case.kernels == ANY else case.kernels
        done = tflm_memopt.optimize(data, ops="builtin", kernels=kernels, **case.settings)  # type: ignore[call-overload]
        report = done.report
        yield Row(
            model=case.model,
            flags=case.flags,
            kernels=case.kernels,
            total_before=report.original_arena.total,
            total=report.arena.total,
            head_before=report.original_arena.head,
            head=report.arena.head,
            overhead=report.overhead,
            flash_before=len(data),
            flash=len(done.model),
            parts=tuple(map(str, report.in_parts)),
            same_bytes=tflm_memopt.verify(data, done.model, runs=1).bit_exact,
        )


def offsets(found: Sequence[Row]) -> str:
    """Return a table with a line for each model and a column for each library of kernels."""
    by_model: dict[str, dict[str, Row]] = {}
    for row in found:
        by_model.setdefault(row.model, {})[row.kernels] = row
    lines = (
        [model, *(f"{n:,}" for n in (rows[ANY].head_before, rows[REFERENCE].head, rows[ANY].head))]
        for model, rows in by_model.items()
    )
    return markdown(["model", "head today", "reference kernels", "any kernels"], lines)


def states(found: Sequence[Row]) -> str:
    titles = ["model", "total today", "total", "head today", "head"]
    return markdown(titles, ([row.model, *_bytes(row)] for row in found))


def parts(found: Sequence[Row]) -> str:
    titles = [
        "model",
        "total today",
        "total",
        "saved",
        "head today",
        "head",
        "saved",
        "F",
        "file today",
        "file",
        "parts",
    ]
    return markdown(titles, (_parts_cells(row) for row in found))


def _parts_cells(row: Row) -> Iterator[str]:
    total_before, total, head_before, head = _bytes(row)
    yield f"{row.model}{f' `{row.flags}`' if row.flags else ''}"
    yield from (total_before, total, _saved(row.total_before, row.total))
    yield from (head_before, head, _saved(row.head_before, row.head))
    yield from (f"{row.overhead:.2f}", f"{row.flash_before:,}", f"{row.flash:,}", "; ".join(row.parts))


def _bytes(row: Row) -> list[str]:
    return [f"{n:,}" for n in (row.total_before, row.total, row.head_before, row.head)]


def _saved(before: int, after: int) -> str:
    return f"{100 * (1 - after / before):.0f} %"


TABLES: Mapping[str, Callable[[Sequence[Row]], str]] = {"offsets": offsets, "states": states, "parts": parts}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="the .tflite files of README's table")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="these tables")
    args = parser.parse_args(arguments)
    found = {name: list(rows(name, args.models)) for name in args.only}
    for name, made in found.items():
        publish(args.update, f"builtin-{name}", TABLES[name](made))
    return 0 if all(row.same_bytes for made in found.values() for row in made) else 1


if __name__ == "__main__":
    sys.exit(main())
