"""Elements of the answers on the terminal stay readable on a narrow terminal."""

from io import StringIO

from rich.console import Console

from tflm_memopt.report.parts import AnswerTable


def test_a_narrow_table_never_splits_a_number() -> None:
    table = AnswerTable("operators", None, ">bytes", ">RAM\nleft")
    table.add_row("CONV_2D .. DEPTHWISE_CONV_2D .. SOFTMAX", "", "1,234,567", "-89,012")
    page = StringIO()
    Console(file=page, width=40).print(table)
    words = page.getvalue().split()
    assert {"1,234,567", "-89,012"} <= set(words)
    assert max(map(len, page.getvalue().splitlines())) <= 40
