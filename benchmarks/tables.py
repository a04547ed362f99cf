"""Write Markdown tables and JSON documents, and find generated tables in pages."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1) -> str:
    """Return a Markdown table whose first `left` columns are aligned left, and whose other columns are aligned right.

    >>> print(markdown(["net", "bytes"], [["a", "1"]]))
    | net | bytes |
    | --- | ---: |
    | a | 1 |
    """
    titles = list(titles)
    rule = ["---" if i < left else "---:" for i in range(len(titles))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *rows))


def json_lines(document: object, depth: int, indent: str = "\n") -> str:
    r"""Return JSON text. Objects and lists that are nested `depth` levels deep take one line each.

    >>> print(json_lines({"source": {"n": 1}, "rows": [{"a": 1}, {"a": 2}]}, 2))
    {
     "source": {"n": 1},
     "rows": [
      {"a": 1},
      {"a": 2}
     ]
    }
    """
    values = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    if not depth or not any(isinstance(one, (dict, list)) for one in values):
        return json.dumps(document)
    inner = indent + " "
    rows = [json_lines(one, depth - 1, inner) for one in values]
    if isinstance(document, dict):
        rows = [f"{json.dumps(name)}: {row}" for name, row in zip(document, rows, strict=True)]
    begin, end = "{}" if isinstance(document, dict) else "[]"
    return f"{begin}{inner}{f',{inner}'.join(rows)}{indent}{end}"


def by_kind(kernels: Mapping[str, T]) -> dict[str, dict[str, T]]:
    nested: dict[str, dict[str, T]] = {}
    for kernel, each in kernels.items():
        kind, _, variant = kernel.partition(" ")
        nested.setdefault(kind, {})[variant] = each
    return nested


def updated(text: str, name: str, table: str) -> str:
    r"""Replace the table `name` in the text of a page, and return the new text.

    >>> updated("a <!-- t:begin -->old<!-- t:end --> b", "t", "new")
    'a <!-- t:begin -->
    new
    <!-- t:end --> b'
    """
    found = _found(text, name)
    return f"{text[: found.start(1)]}\n{table}\n{text[found.end(1) :]}"


def between(text: str, name: str) -> str:
    r"""Return the text of a table in a page.

    >>> between("a <!-- t:begin -->\nold\n<!-- t:end --> b", "t")
    'old'
    """
    return _found(text, name)[1].strip("\n")


def _found(text: str, name: str) -> re.Match[str]:
    found = re.search(rf"<!-- {name}:begin -->(.*?)<!-- {name}:end -->", text, re.DOTALL)
    if not found:
        raise ValueError(f"the page has no <!-- {name}:begin --> that <!-- {name}:end --> follows")
    return found


def models(folder: Path) -> list[Path]:
    """Return the sorted .tflite files of a folder."""
    paths = sorted(folder.glob("*.tflite"))
    if not paths:
        raise ValueError(f"{folder} has no .tflite files")
    return paths


SMALL = (
    "mcunet_vww_80_float_io", "mlperf_tiny_ad_autoencoder_int8", "mlperf_tiny_ic_resnet8_int8",
    "mlperf_tiny_kws_dscnn_int8", "mlperf_tiny_vww_96_int8",
)  # fmt: skip
