"""Decides where the model's input lives: in the arena, streamed a few rows at a time, or in the caller's buffer."""

from dataclasses import dataclass, replace

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.model.graph import ITEM_BYTES, Graph, Tensor
from tflm_memopt.rewrite.int8_io import int8_io
from tflm_memopt.rowgraph.graph import BuiltinNode, InputSource, RowGraph, Space, with_rows

ARENA, STREAM, EXTERNAL, SLIDING = "arena", "stream", "external", "sliding"
TYPES = ("INT8", "UINT8", "INT16", "FLOAT32")


@dataclass(frozen=True, slots=True)
class InputMode:
    where: str = ARENA
    rows: int = 0
    """Number of rows that the caller passes at once to a streamed input, or number of new rows of a sliding input."""
    layers: int | None = None
    """Maximum number of operators that compute only new rows of a sliding input, or None for no limit."""

    def __str__(self) -> str:
        return f"{self.where}:{self.rows}" if self.rows else self.where


IN_ARENA = InputMode()


def input_mode(text: str) -> InputMode:
    """Convert an `--input` value: `arena`, `external`, `stream[:ROWS]` or `sliding[:ROWS]`. Raises UsageError for
    invalid text.

    >>> str(input_mode("stream")), str(input_mode("stream:4"))
    ('stream:1', 'stream:4')
    """
    where, colon, rows = text.partition(":")
    if text in (ARENA, EXTERNAL):
        return InputMode(text)
    if where in (STREAM, SLIDING) and (not colon or (rows.isascii() and rows.isdigit() and int(rows))):
        return InputMode(where, int(rows or 1))
    raise UsageError(
        f"unknown input place '{text}'",
        code="bad_option",
        hint=f"--input {one_of(text, (ARENA, STREAM, f'{STREAM}:ROWS', SLIDING, f'{SLIDING}:ROWS', EXTERNAL))}",
    )


def with_input(graph: RowGraph, mode: InputMode) -> RowGraph:
    """Return the graph with the requested place of the model's input.

    The tensor of a streamed input has only the rows that the caller passes at once. An external input is removed from
    the model's inputs, because programs read the caller's buffer. Raises UsageError with an alternative if the model
    does not allow the requested input.
    """
    if mode.where in (ARENA, SLIDING):
        return graph
    word = "streamed" if mode.where == STREAM else "external"
    if Space.STATE in graph.spaces.values():
        raise _impossible(word, "the model keeps rows between inferences")
    tensor = _only_input(graph.model, word)
    readers = [node for node in graph.nodes if tensor.id in node.inputs]
    for node in readers:
        if isinstance(node, BuiltinNode):
            op = next(op for op in graph.model.ops if op.index == node.op)
            raise _impossible(word, f"operator {op.index} {op.kind}, which stays builtin, reads it whole")
    if not readers:
        raise _impossible(word, "no operator reads it")
    height, row_bytes = _rows(graph, tensor, word)
    if mode.where == STREAM:
        if readers != [graph.nodes[0]] or readers[0].inputs != (tensor.id,):
            why = f"builtin operators come between the operators that read input '{tensor.label}'"
            raise _impossible(word, why, "--input external")
        if height % mode.rows:
            divisors = ", ".join(str(n) for n in range(1, height + 1) if height % n == 0)
            raise UsageError(
                f"the input's {height} rows cannot be pushed {mode.rows} at a time",
                code="unsupported_input",
                where=f"input '{tensor.label}'",
                hint=f"use --input stream:ROWS with one of {divisors}",
            )
    source = InputSource(tensor.id, height, row_bytes, mode.rows, tensor.shape)
    graph = replace(graph, source=source)
    if mode.where == STREAM:
        flat = (mode.rows, row_bytes // ITEM_BYTES[tensor.dtype])
        pushed = replace(tensor, shape=with_rows(tensor.shape, height, mode.rows) or flat)
        return replace(graph, model=replace(graph.model, tensors={**graph.model.tensors, tensor.id: pushed}))
    nodes = tuple(replace(n, inputs=tuple(t for t in n.inputs if t != tensor.id)) for n in graph.nodes)
    return replace(graph, model=replace(graph.model, inputs=()), nodes=nodes)


def _only_input(graph: Graph, word: str) -> Tensor:
    if len(graph.inputs) != 1:
        raise _impossible(word, f"the model has {len(graph.inputs)} inputs")
    tensor = graph.tensors[graph.inputs[0]]
    if tensor.id in graph.outputs:
        raise _impossible(word, f"input '{tensor.label}' is also an output")
    if tensor.dtype not in TYPES:
        hint = "--int8-io" if int8_io(graph).changes.inputs else ""
        raise _impossible(word, f"input '{tensor.label}' is {tensor.dtype}", hint)
    return tensor


def _rows(graph: RowGraph, tensor: Tensor, word: str) -> tuple[int, int]:
    reads = (pair for op in graph.ops.values() for pair in zip(op.inputs, op.reads, strict=True))
    seen = list(dict.fromkeys(rows for t, rows in reads if t == tensor.id))
    if len(seen) > 1:
        shapes = " and ".join(f"{rows.h}x{rows.w}x{rows.c}" for rows in seen)
        raise _impossible(word, f"operators read input '{tensor.label}' with different shapes: {shapes}")
    return seen[0].h, seen[0].row_bytes


def _impossible(word: str, why: str, hint: str = "") -> UsageError:
    return UsageError(
        f"the input cannot be {word}: {why}",
        code="unsupported_input",
        hint=f"{hint}, or --input arena" if hint else "--input arena",
    )
