"""Write docs/operators.md from the operator set."""

from collections.abc import Iterable
from pathlib import Path

from tflm_memopt.ops.constraints.base import HINTS, Constraint
from tflm_memopt.ops.opset import FLOATS, OPSET
from tflm_memopt.rewrite import canonicalise
from tflm_memopt.rewrite.rules import composed
from tflm_memopt.rewrite.rules.rule import Rule, name_of

PAGE = Path(__file__).resolve().parent.parent / "docs/operators.md"
ALL = (
    "count_of_operands", "complete_options", "static_shapes", "int8_activations", "quantized", "runtime_values",
    "stateless",
)  # fmt: skip
"""Almost all operators have the constraints in ALL, so the site's page on operators lists ALL only once."""

INT16, MOVED = ("int8_or_int16", "moved_types"), ("moved_types", "byte_or_float")

HEAD = """# Operators

An operator that runs row by row keeps only a few rows of its input in a [rolling buffer](glossary.md).

These operators run row by row, with the same output bytes as in TFLM:

"""
NOTES = """

Every other operator stays builtin, which means that TFLM's own kernel runs it. A listed operator stays builtin if it
exceeds one of its limits. For each operator that stays builtin, `tflm-memopt inspect` names the exceeded limit and
what to change.

The program stores an int4 weight in four bits, unless the weights of the operator are packed. QUANTIZE divides each
number by the scale. If the quotient fits an int32, QUANTIZE's output equals TFLM's output. If the quotient is NaN or
does not fit an int32, the result of TFLM's QUANTIZE depends on the core. In tflm-memopt's QUANTIZE, NaN becomes the
zero point, and a quotient that does not fit an int32 saturates.

`python scripts/operators.py` writes this page from `tflm_memopt/ops/opset.py`. The documentation's site has a longer
version of this page, with all limits and all rules that simplify a model.
"""
REWRITTEN = """
## Rewrites

The converter first computes integers that are known before an inference. After that, the converter applies rules that
change no output byte:

| rule | effect |
|---|---|
"""
LIMITED = "\n## Limits of each operator\n\n| operator | limits |\n|---|---|\n"
LIMITS = "\n## The limits\n\n| limit | requirement | what helps |\n|---|---|---|\n"


def page() -> str:
    wide = (name for name, row in OPSET.items() if any(c.__name__ in INT16 for c in row.constraints))
    moved = (name for name, row in OPSET.items() if any(c.__name__ in MOVED for c in row.constraints))
    names = (
        f"{', '.join(sorted(OPSET))}.\n\n"
        f"These operators also run with int16 activations: {', '.join(sorted(wide))}.\n\n"
        f"These also run in float32: {', '.join(sorted({*FLOATS, *composed.FLOATS, *moved}))}."
    )
    return "".join((HEAD, names, NOTES))


def site_page() -> str:
    rules = [f"| {name_of(rule)} | {_summary(rule)} |" for rule in canonicalise.RULES]
    limits: dict[str, Constraint] = {c.__name__: c for row in OPSET.values() for c in row.constraints}
    lines = [f"| all | {_codes(ALL)} |"]
    for name in sorted(OPSET):
        lines.append(f"| {name} | {_codes(c.__name__ for c in OPSET[name].constraints if c.__name__ not in ALL)} |")
    described = [f"| `{code}` | {c.__doc__} | {HINTS[c]} |" for code, c in sorted(limits.items())]
    return "".join((page(), REWRITTEN, _lines(rules), LIMITED, _lines(lines), LIMITS, _lines(described)))


def _summary(rule: Rule) -> str:
    return " ".join((rule.__doc__ or "").partition("\n\n")[0].split())


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
