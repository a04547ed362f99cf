"""Tables are readable on a narrow terminal, and labels of a plot do not overlap."""

from io import StringIO

from rich.console import Console

from tflm_memopt.report.drawing import Label
from tflm_memopt.report.figures import Series, plot
from tflm_memopt.report.parts import AnswerTable


def test_a_narrow_table_never_splits_a_number() -> None:
    table = AnswerTable("operators", None, ">bytes", ">RAM\nleft")
    table.add_row("CONV_2D .. DEPTHWISE_CONV_2D .. SOFTMAX", "", "1,234,567", "-89,012")
    page = StringIO()
    Console(file=page, width=40).print(table)
    words = page.getvalue().split()
    assert {"1,234,567", "-89,012"} <= set(words)
    assert max(map(len, page.getvalue().splitlines())) <= 40


def test_a_long_name_of_an_axis_does_not_cross_the_legend() -> None:
    drawing = plot([Series("line", [(1000, 2.0)])], title="model", ram="RAM", compute="a long name " * 5)
    (legend, axis) = (s.y for s in drawing.shapes if isinstance(s, Label) and s.text[:4] in ("line", "a lo"))
    assert abs(legend - axis) >= 12
