"""Change random places of the checker, the lowering, the layout and the C validator, and report unnoticed changes.

A mutant is a copy of the repository in which one operator, number or keyword is changed. The quick tests of the changed
area run until one fails. If no test fails, a test is missing, or the mutant behaves like the original. A seed always
draws the same mutants.

Usage: python scripts/mutants.py --sample 300 --seed 1
"""

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import faults

AREAS: Mapping[str, tuple[str, str]] = {
    "check": (
        "tflm_memopt/check/*.py",
        (
            "unit/check unit/plan/test_liveness.py property/test_random_models.py"
            " property/test_input_modes.py property/test_shared_networks.py property/test_slow_memory.py"
            " unit/test_targets.py unit/apps/test_slow_memory.py unit/devices/test_network.py"
            " property/test_builtin_models.py"
        ),
    ),
    "lower": (
        "tflm_memopt/lower/*.py",
        (
            "unit/lower unit/convert/test_constants.py unit/emit/test_emit_kernels.py"
            " tflm/test_operators.py property/test_random_models.py property/test_input_modes.py"
            " property/test_odd_models.py"
        ),
    ),
    "layout": (
        "tflm_memopt/plan/layout/*.py",
        "unit/plan/test_layout.py unit/plan unit/apps property/test_random_models.py",
    ),
    "validator": (
        "custom_ops/src/tmo_check*.c",
        (
            "kernels/test_check.py kernels/test_check_kinds.py kernels/test_check_tiles.py kernels/test_loops.py"
            " kernels/test_sources.py kernels/test_packed.py kernels/test_cores.py"
            " unit/emit/test_emit_kernels.py"
        ),
    ),
}
"""Each area of the source has a pattern of file names, and a list of tests. The tests of an area run in the listed
order.
"""
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "+=": "-=", "-=": "+=",
    "*": "+", "/": "*", "//": "*", "%": "*", "&&": "||", "||": "&&", "and": "or", "or": "and", "not": "", "!": "",
    "min": "max", "max": "min", "any": "all", "all": "any", "True": "False", "False": "True",
    "continue": "break", "break": "continue",
}  # fmt: skip
TEXT = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|/\*(?:.|\n)*?\*/|^#.*$|\s#\s.*$', re.MULTILINE)
TOKEN = re.compile(r"\w+|[-+<>=!]=|->|\+\+|--|//|&&|\|\||<<|>>|\*\*|[-+*/%<>!]")


@dataclass(frozen=True, slots=True)
class Mutant:
    area: str
    file: str
    line: int
    old: str
    new: str
    text: str


def mutants(area: str, file: str) -> Iterator[Mutant]:
    """Strings and comments stay unchanged."""
    source = (faults.ROOT / file).read_text(encoding="utf-8")
    code = TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    for token in TOKEN.finditer(code):
        old = token[0]
        new = str(int(old) + 1) if old.isdecimal() else SWAPS.get(old)
        if new is None:
            continue
        text = source[: token.start()] + new + source[token.end() :]
        with suppress(SyntaxError):
            if file.endswith(".py"):
                compile(text, file, "exec")
            yield Mutant(area, file, source.count("\n", 0, token.start()) + 1, old, new, text)


def outcome(copy: faults.Copy, mutant: Mutant) -> str:
    before = (copy.tree / mutant.file).read_text(encoding="utf-8")
    try:
        copy.write(mutant.file, mutant.text)
        for test in AREAS[mutant.area][1].split():
            if found := copy.failing(faults.QUICK, f"tests/{test}"):
                return found
        return ""
    except faults.CannotBuild:
        return "invalid"
    except SystemExit:
        return "no test can be collected"
    finally:
        copy.write(mutant.file, before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="number of mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    args = parser.parse_args()
    every = [
        mutant
        for area in args.areas
        for path in sorted(faults.ROOT.glob(AREAS[area][0]))
        for mutant in mutants(area, str(path.relative_to(faults.ROOT)))
    ]
    drawn = random.Random(args.seed).sample(every, min(args.sample, len(every)))
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = faults.Copy(Path(folder))
        for mutant in drawn:
            found = outcome(copy, mutant)
            if found == "invalid":
                continue
            tried[mutant.area] += 1
            survived[mutant.area] += not found
            print(
                f"{mutant.file}:{mutant.line}: {mutant.old} -> {mutant.new or 'nothing'}  {found or 'SURVIVED'}",
                flush=True,
            )
    for area in args.areas:
        print(f"{area}: {survived[area]} of {tried[area]} mutants survived")
    print(f"all: {survived.total()} of {tried.total()} mutants survived, drawn from {len(every)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
