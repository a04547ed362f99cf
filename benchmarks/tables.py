"""Tables in Markdown, and where they stand in a document: between `<!-- NAME:begin -->` and `<!-- NAME:end -->`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1) -> str:
    """A table; the first `left` columns are text, the others numbers.

    >>> print(markdown(["net", "bytes"], [["a", "1"]]))
    | net | bytes |
    | --- | ---: |
    | a | 1 |
    """
    titles = list(titles)
    rule = ["---" if i < left else "---:" for i in range(len(titles))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *rows))


def updated(text: str, name: str, table: str) -> str:
    r"""`text` with `table` between the marks of this name; ValueError when it has none.

    >>> updated("a <!-- t:begin -->old<!-- t:end --> b", "t", "new")
    'a <!-- t:begin -->\nnew\n<!-- t:end --> b'
    """
    first, last = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"no {first} with an {last} behind it")
    return f"{before}{first}\n{table}\n{last}{after}"


def require(page: Path, name: str) -> None:
    """Before long work: ValueError for a document without such marks."""
    updated(page.read_text(encoding="utf-8"), name, "")


def update(page: Path, name: str, table: str) -> None:
    """Rewrites the table of this name in a document."""
    page.write_text(updated(page.read_text(encoding="utf-8"), name, table), encoding="utf-8")
