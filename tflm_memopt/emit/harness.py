"""Writes a C program that runs a C module on this machine, from a file of inputs to a file of all outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflm_memopt.answers.report import SourceReport
from tflm_memopt.emit.ports import Port, Ports
from tflm_memopt.emit.templates import rendered

OTHER_MODULE = "not a module of this model"
"""Message of the C compiler if the module has other inputs or outputs than the model."""
GIVEN_UP = 2
"""Before the run with this number, the harness pushes half of another input and abandons it."""


def harness(
    header: str, prefix: str, ports: Ports, source: SourceReport | None, *, stateful: bool, slow: bool = False
) -> str:
    """Return main.c, which prints the result of the self-test and then performs N runs. The program takes three
    arguments: N, the input file and the output file. For each run, the input file holds the bytes of each input. A
    streamed input is in the file with all its rows. An external input is a frame: its number of bytes, pitch, x, y and
    format as uint32, and then its data. The output file holds the bytes of each output for each run.

    ports, source: the module must have these inputs and outputs. stateful: whether the module has a state. If the
    module has a state, each run's data begin with three uint32: whether to reset the module, whether the window is
    incomplete before the last inference, and the number of inferences. slow: whether the module needs slow memory.
    """
    return rendered(
        "harness.c.jinja",
        header=header, prefix=prefix, ports=ports, source=source, stateful=stateful, slow=slow, given_up=GIVEN_UP,
        tests=list(_tests(prefix.upper(), ports.all, source)), other_module=OTHER_MODULE,
    )  # fmt: skip


def _tests(macro: str, ports: Sequence[Port], source: SourceReport | None) -> Iterator[str]:
    yield f"{macro}_ARENA_BYTES > 0"
    for port in ports:
        yield f"{port.constant} == {port.nbytes}u"
    if source and source.pushed:
        yield f"{macro}_PUSHES == {source.rows // source.pushed}u"
    elif source:
        yield f"{macro}_ROWS == {source.rows}u && {macro}_ROW_BYTES == {source.row_bytes}u"
