"""Counts undesirable constructs in the package. No count may exceed its ceiling, which is never raised.

python scripts/house.py             the counts; exit status 1 when one is above its ceiling
python scripts/house.py --list      and every place
python scripts/house.py --lower     lowers the ceilings in this file to today's counts
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tflm_memopt"
LINES, PARAMETERS = 50, 8
KNOW_KINDS = ("ops", "lower")
"""Folders that may test which kind an operator is. Other folders must use its traits."""
CEILINGS = {
    "asserts": 0,
    "class names with two owners": 0,
    "docstrings that begin with Of": 0,
    "functions of more than 8 parameters": 0,
    "functions of more than 50 lines": 0,
    "modules at the top": 7,
    "modules in circles of imports": 0,
    "tests of Kind outside ops and lower": 0,
}

Source = Mapping[Path, ast.Module]
"""Every module of the package by its path from the repository's root."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> Source:
    files = sorted(PACKAGE.rglob("*.py"))
    return {file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8"), str(file)) for file in files}


def kinds(source: Source) -> Iterator[str]:
    for path, tree in source.items():
        for node in ast.walk(tree) if path.parts[1] not in KNOW_KINDS else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Kind":
                yield f"{path}:{node.lineno} Kind.{node.attr}"


def long_functions(source: Source) -> Iterator[str]:
    for place, node in _functions(source):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > LINES:
            yield f"{place}, {lines} lines"


def wide_functions(source: Source) -> Iterator[str]:
    for place, node in _functions(source):
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > PARAMETERS:
            yield f"{place}, {count} parameters"


def _functions(source: Source) -> Iterator[tuple[str, Function]]:
    for path, tree in source.items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{path}:{node.lineno} {node.name}()", node


def class_names(source: Source) -> Iterator[str]:
    owners: dict[str, list[str]] = defaultdict(list)
    for path, tree in source.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(f"{path}:{node.lineno}")
    yield from (f"{name}: {', '.join(places)}" for name, places in sorted(owners.items()) if len(places) > 1)


def docstrings(source: Source) -> Iterator[str]:
    """Return the docstrings of modules, classes, functions and attributes."""
    for path, tree in source.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = node.value.value
                if isinstance(text, str) and text.startswith("Of "):
                    yield f"{path}:{node.lineno} {text.splitlines()[0]}"


def asserts(source: Source) -> Iterator[str]:
    for path, tree in source.items():
        yield from (f"{path}:{node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.Assert))


def at_the_top(source: Source) -> Iterator[str]:
    yield from (str(path) for path in source if len(path.parts) == 2 and not path.stem.startswith("__"))


def circles(source: Source) -> Iterator[str]:
    """Return modules that import each other, also inside functions and for types only."""
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): tree for path, tree in source.items()}
    imports: nx.DiGraph[str] = nx.DiGraph()
    for module, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found = (name if name in modules else node.module for name in names)
                imports.add_edges_from((module, other) for other in found if other in modules and other != module)
    for circle in nx.strongly_connected_components(imports):
        if len(circle) > 1:
            yield from sorted(circle)


COUNTS: Mapping[str, Callable[[Source], Iterator[str]]] = {
    "asserts": asserts,
    "class names with two owners": class_names,
    "docstrings that begin with Of": docstrings,
    f"functions of more than {PARAMETERS} parameters": wide_functions,
    f"functions of more than {LINES} lines": long_functions,
    "modules at the top": at_the_top,
    "modules in circles of imports": circles,
    "tests of Kind outside ops and lower": kinds,
}


def lower(counts: Mapping[str, int]) -> None:
    """Write today's counts into this file if they are below the ceilings."""
    file = Path(__file__)
    text = file.read_text(encoding="utf-8")
    for name, count in counts.items():
        text = re.sub(rf'^(    "{name}": )\d+,$', rf"\g<1>{min(count, CEILINGS[name])},", text, flags=re.MULTILINE)
    file.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="say every place")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to today's counts")
    args = parser.parse_args(arguments)

    source = sources()
    places = {name: list(count(source)) for name, count in COUNTS.items()}
    risen = [name for name, found in places.items() if len(found) > CEILINGS[name]]
    for name, found in places.items():
        print(f"{len(found):4} of at most {CEILINGS[name]:3} {name}")
        for place in found if args.list or name in risen else ():
            print(f"       {place}")
    if args.lower:
        lower({name: len(found) for name, found in places.items()})
    if risen:
        print(f"more than before: {'; '.join(risen)}", file=sys.stderr)
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
