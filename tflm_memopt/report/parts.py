"""Builds elements of the answers on the terminal."""

from itertools import compress
from typing import Any

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

INDENT = 2


def page(*parts: RenderableType | None) -> RenderableType:
    there = [part for part in parts if part is not None]
    return Group(*(line for part in there for line in (part, Text())))


def section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(title, "bold"), Padding(body, (0, 0, 0, INDENT)))


class AnswerTable(Table):
    """A table that omits columns whose heading is None.

    The heading of a column with numbers begins with ">". Columns with numbers are right-justified, and no number is
    split between two lines.
    """

    def __init__(self, *headings: str | None) -> None:
        super().__init__(box=box.SIMPLE_HEAD, show_edge=False, collapse_padding=True, header_style="dim")
        self._shown = [heading is not None for heading in headings]
        for heading in (heading for heading in headings if heading is not None):
            number = heading.startswith(">")
            justify: JustifyMethod = "right" if number else "left"
            self.add_column(heading.removeprefix(">"), justify=justify, overflow="fold", no_wrap=number)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*compress(cells, self._shown), **options)
