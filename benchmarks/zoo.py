"""For each of many networks, make a table row with the RAM of the original and of the rewritten model. The row also
names the operators that stay builtin, and the reasons.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from proved import proved
from tables import markdown

from tflm_memopt.answers.report import KeptBuiltin
from tflm_memopt.errors import UsageError

TITLES = ("model", "stays builtin, and why", "original", "**rewritten**", "ratio", "streamed")
RUNS = 3


Row = tuple[list[str], str]


def measure(path: Path, name: str) -> Row:
    data = path.read_bytes()
    report = proved(data, name=path.name, runs=RUNS).report
    try:
        streamed = f"{proved(data, name=path.name, runs=RUNS, input='stream').report.arena.total:,}"
    except UsageError:
        streamed = ""
    before, after = report.original_arena.total, report.arena.total
    figures = f"{before:,}", f"**{after:,}**", f"{before / after:.1f}", streamed
    return [name, _reasons(report.kept_builtin), *figures], report.convention


def table(folder: Path) -> str:
    paths = sorted(folder.rglob("*.tflite"))
    rows = [measure(path, path.relative_to(folder).with_suffix("").as_posix()) for path in paths]
    conventions = " / ".join(dict.fromkeys(convention for _, convention in rows))
    return "\n".join([
        markdown(TITLES, (cells for cells, _ in rows), left=2),
        "",
        f"The table states predicted sizes of whole arenas in bytes: {conventions}.",
        f"With {RUNS} random and 3 extreme inputs, the rewritten models gave TFLM's output bytes.",
    ])  # fmt: skip


def _reasons(kept: Sequence[KeptBuiltin]) -> str:
    counted = Counter(f"{k.operator} (`{k.code}`)" for k in kept)
    return ", ".join(f"{n} {what}" if n > 1 else what for what, n in counted.most_common())
