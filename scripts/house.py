"""List asserts, long functions, circles of imports and other constructs that the package must not contain.

The exit status is 1 if the package contains a forbidden construct.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
LINES, PARAMETERS = 50, 8
KNOW_KINDS = ("ops", "lower")
"""Only code in the folders `ops` and `lower` may compare the kind of an operator. All other code must call traits()."""

Source = Mapping[Path, ast.Module]
"""Maps the path of each module of the package to the module's syntax tree."""


def sources() -> Source:
    files = sorted((ROOT / "tflm_memopt").rglob("*.py"))
    return {file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8"), str(file)) for file in files}


def nodes(source: Source) -> Iterator[tuple[str, ast.AST]]:
    for path, tree in source.items():
        yield from ((f"{path}:{getattr(node, 'lineno', 0)}", node) for node in ast.walk(tree))


def functions(source: Source) -> Iterator[tuple[str, ast.FunctionDef]]:
    yield from ((f"{at} {node.name}()", node) for at, node in nodes(source) if isinstance(node, ast.FunctionDef))


def asserts(source: Source) -> Iterator[str]:
    yield from (at for at, node in nodes(source) if isinstance(node, ast.Assert))


def long_functions(source: Source) -> Iterator[str]:
    for at, node in functions(source):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > LINES:
            yield f"{at}, {lines} lines"


def wide_functions(source: Source) -> Iterator[str]:
    for at, node in functions(source):
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > PARAMETERS:
            yield f"{at}, {count} parameters"


def class_names(source: Source) -> Iterator[str]:
    owners: dict[str, list[str]] = defaultdict(list)
    for at, node in nodes(source):
        if isinstance(node, ast.ClassDef):
            owners[node.name].append(at)
    yield from (f"{name}: {', '.join(places)}" for name, places in sorted(owners.items()) if len(places) > 1)


def c_names(_: Source) -> Iterator[str]:
    """Yield static functions that two files define, because an emitted NAME_library.c includes all C files."""
    owners: dict[str, set[str]] = defaultdict(set)
    for file in sorted((ROOT / "custom_ops/src").rglob("*.[ch]")):
        for name in re.findall(r"^(?:\w+ )*static [\w *]*?(\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE):
            owners[name].add(file.name)
    yield from (f"{name}(): {', '.join(sorted(files))}" for name, files in sorted(owners.items()) if len(files) > 1)


def kinds(source: Source) -> Iterator[str]:
    for at, node in nodes({path: tree for path, tree in source.items() if path.parts[1] not in KNOW_KINDS}):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Kind":
            yield f"{at} Kind.{node.attr}"


def circles(source: Source) -> Iterator[str]:
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


REFUSED: Mapping[str, Callable[[Source], Iterator[str]]] = {
    "assert": asserts,
    f"function of more than {LINES} lines": long_functions,
    f"function of more than {PARAMETERS} parameters": wide_functions,
    "class name with two owners": class_names,
    "static function with two owners": c_names,
    "test of Kind outside of ops and lower": kinds,
    "module in a circle of imports": circles,
}


def main() -> int:
    source = sources()
    found = [f"{name}: {place}" for name, places in REFUSED.items() for place in places(source)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
