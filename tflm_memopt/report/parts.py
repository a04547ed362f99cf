"""Elements of the answers on the terminal."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

INDENT = 2


def page(*parts: RenderableType | None) -> RenderableType:
    """Return the parts that are not None, with a blank line between any two of them."""
    there = [part for part in parts if part is not None]
    return Group(*(line for part in there for line in (part, Text())))


def section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(title, "bold"), Padding(body, (0, 0, 0, INDENT)))


def table_of(*columns: str, numbers: int = 0) -> Table:
    """Return an empty table whose last `numbers` columns are right-justified."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i >= len(columns) - numbers else "left", overflow="fold")
    return table
