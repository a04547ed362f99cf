"""docs/operators.md from the operator set: `python scripts/operators.py` writes it, a test compares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tflm_memopt.ops.constraints.base import HINTS, Constraint
from tflm_memopt.ops.opset import OPSET
from tflm_memopt.rewrite import canonicalise

PAGE = Path(__file__).resolve().parent.parent / "docs/operators.md"
ALL = (
    "count_of_operands", "complete_options", "static_shapes", "int8_activations", "quantized", "runtime_values",
    "stateless",
)  # fmt: skip
"""Constraints of (almost) every operator: said once."""

HEAD = """# Operators

What runs row by row, bit for bit as TFLM does it, and within which limits. Everything else stays a builtin operator
between our regions, with the reason in the report (`tflm-memopt inspect`); so does an operator that breaks a limit.
int4 weights become int8 in the conversion: they take twice the flash, and none of the RAM into which TFLM unpacks them
at run time.

QUANTIZE and DEQUANTIZE of float32 are bit for bit TFLM's for every number whose quotient by the scale an int32 holds.
Beyond, and for what is not a number, TFLM's result depends on the core: here the former saturates, the latter becomes
the zero point.

`python scripts/operators.py` writes this page from the operator set (`tflm_memopt/ops/opset.py`).

| operator | limits, beside those of all |
|---|---|
"""
LIMITS = """
## Limits

A refusal says the sentence; its code is for programs (`--json`).

| limit | in words | what helps |
|---|---|---|
"""
RULES = """
## Before that

Rewritten on the way, where it changes no byte:

| rule | what becomes of it |
|---|---|
"""
KNOWN = "known integers"
REWRITES = {
    KNOWN: "shapes, and integers computed from shapes and constants (SHAPE, STRIDED_SLICE, PACK, MUL, ...), "
    "become constants",
    "grouped": "CONV_2D with a group for each input channel becomes DEPTHWISE_CONV_2D",
    "fold-pad": "PAD of height and width before convolutions becomes their padding",
    "transposed-mean": "TRANSPOSE to NCHW and MEAN over what were height and width become MEAN",
    "split": "SPLIT, SPLIT_V and UNPACK become one operator per output; an output that nobody reads is not made",
    "wide-concatenation": "CONCATENATION of more than four tensors becomes several, one behind the other",
    "transpose-conv": "TRANSPOSE_CONV no longer reads its output's shape",
    "view": "RESHAPE, SQUEEZE and EXPAND_DIMS vanish: the same bytes in another shape",
    "moves": "TILE, BROADCAST_TO, TRANSPOSE, slices in a row, and views between and behind them, become one operator",
}


def page() -> str:
    limits: dict[str, Constraint] = {}
    lines = []
    for name in sorted(OPSET):
        limits |= {c.__name__: c for c in OPSET[name].constraints}
        lines.append(f"| {name} | {_codes(c.__name__ for c in OPSET[name].constraints if c.__name__ not in ALL)} |")
    lines.insert(0, f"| all | {_codes(ALL)} |")
    described = [f"| `{code}` | {c.__doc__} | {HINTS[c]} |" for code, c in sorted(limits.items())]
    rules = [f"| {name} | {REWRITES[name]} |" for name in (KNOWN, *(rule.name for rule in canonicalise.RULES))]
    return "".join((HEAD, _lines(lines), LIMITS, _lines(described), RULES, _lines(rules)))


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
