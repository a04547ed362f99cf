"""Converts long windows, for example on raw audio, to windows of few rows with several samples per row.

The new operator computes several outputs of the original operator from one window. For each output, the new filter has
a copy of the original filter. Each copy begins one stride later in the new filter than the previous copy. Samples
outside the original window have a weight of zero. The samples of a row become channels of a CONV_2D, or pixels of a
DEPTHWISE_CONV_2D.

Some operators cannot ignore a sample by a weight of zero: a pool has no weights, and zero times an infinite float32
sample is NaN. In pools and in float32 operators, each new window must consist of whole rows. If windows cannot consist
of whole rows, GATHER copies the samples of a few windows to one row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.ops.context import CONVOLUTIONS, POOLS, OperatorContext, Span
from tflm_memopt.rewrite.rules.rule import NewOps, has, has_rows, without_padding

MOST_OUTPUTS = 64
"""Maximum number of original outputs that the new operator computes from one window."""


class _Form(NamedTuple):
    outputs: int
    """Number of outputs of the original operator that the new operator computes from one window."""
    samples: int
    window: int
    stride: int


@dataclass(frozen=True, slots=True)
class LongWindow:
    samples: int
    channels: int
    kernel: int
    stride: int
    along: Span

    def rows(self, outputs: int) -> int:
        """Return the height that a window of the new operator needs to cover `outputs` windows of the original
        operator.
        """
        return -(-((outputs - 1) * self.stride + self.kernel) // (outputs * self.stride))

    def outputs(self) -> int | None:
        """Return the smallest number of outputs per row for which a window has at most MAX_KERNEL_H rows. Return None
        if the number exceeds MOST_OUTPUTS.
        """
        return next((n for n in range(1, MOST_OUTPUTS + 1) if self.rows(n) <= MAX_KERNEL_H), None)


def long_window(graph: Graph, op: Op) -> LongWindow | None:
    pools = op.type in POOLS
    if op.type not in (*CONVOLUTIONS, *POOLS) or not op.options or not (pools or has(op, 1)):
        return None
    source, output = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    filter_ = source if pools else graph.tensors[op.inputs[1]]
    if any(len(t.shape) != 4 for t in (source, filter_, output)) or source.shape[0] != 1:
        return None
    if not pools and (filter_.data is None or filter_.dtype not in ("INT8", "FLOAT32")):
        return None
    context = OperatorContext(graph, op)
    spans, axes = context.spans(), (source.shape[1:3], context.kernel(), context.strides(), context.dilations())
    for axis in (0, 1):
        samples, kernel, stride, dilation = (pair[axis] for pair in axes)
        size, across, _, _ = (pair[1 - axis] for pair in axes)
        if size == across == dilation == 1 and spans[1 - axis] == Span(1, 0, 0):
            return LongWindow(samples, source.shape[3], kernel, stride, spans[axis])
    return None


def rewrite(graph: Graph, op: Op) -> Graph | None:
    """Rewrite an operator with more than MAX_KERNEL_H samples per window. A pool whose window covers the whole axis is
    not changed.
    """
    long = long_window(graph, op)
    if long is None or long.kernel <= MAX_KERNEL_H or (op.type in POOLS and long.kernel == long.samples):
        return None
    made = _rewritten(graph, op, long)
    if made is None or not all(has_rows(made.extended, part) for part in made.ops if part.type != "RESHAPE"):
        return None
    return made.supported()


def _rewritten(graph: Graph, op: Op, long: LongWindow) -> NewOps | None:
    if (long.along.before or long.along.after) and not _ignores_zeros(graph, op):
        return None
    form = form_of(graph, op, long)
    if form is not None:
        return _in_new_rows(graph, op, long, form)
    outputs = long.outputs()
    return None if outputs is None else _in_one_row(graph, op, long, outputs)


def form_of(graph: Graph, op: Op, long: LongWindow) -> _Form | None:
    """Return the new window with the fewest outputs per row, or None if no window has a height that kernels support."""
    if op.type in POOLS or graph.tensors[op.inputs[0]].dtype == "FLOAT32":
        most, least = gcd(long.kernel, long.stride), -(-long.kernel // MAX_KERNEL_H)
        samples = next((n for n in range(least, most + 1) if most % n == 0), None)
        return None if samples is None else _Form(1, samples, long.kernel // samples, long.stride // samples)
    outputs = long.outputs()
    return None if outputs is None else _Form(outputs, outputs * long.stride, long.rows(outputs), 1)


def _ignores_zeros(graph: Graph, op: Op) -> bool:
    return op.type in CONVOLUTIONS and bool(np.isfinite(np.asarray(graph.tensors[op.inputs[1]].data)).all())


def _in_one_row(graph: Graph, op: Op, long: LongWindow, outputs: int) -> NewOps:
    made, rows = NewOps(graph, op), -(-long.along.output // outputs)
    step, window, before, c = outputs * long.stride, long.rows(outputs), long.along.before, long.channels
    count = max(rows - 1 + window, -(-(before + long.samples) // step))
    source, target, x = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]], op.inputs[0]
    x = x if source.shape[1] == long.samples else made.shaped(x, 1, long.samples, 1, c)
    amounts = made.integers([[0, 0], [before, count * step - long.samples - before], [0, 0], [0, 0]])
    x = made.shaped(made.add("PAD", [x, amounts], made.put(source, (1, count * step, 1, c))), 1, count, step * c)
    at = made.integers(np.arange(rows)[:, None] + np.arange(window))
    x = made.add("GATHER", [x, at], made.put(source, (1, rows, window, step * c)), axis=1, batchDims=0)
    x = made.shaped(x, 1, rows, window * step, c)
    x = made.cut(x, [0] * 4, (1, rows, (outputs - 1) * long.stride + long.kernel, c))
    filters = []
    for tensor in (graph.tensors[t] for t in op.inputs[1:2]):
        data = np.asarray(tensor.data).reshape(tensor.shape[0], 1, -1, tensor.shape[3])
        filters.append(made.put(tensor, data.shape, data=data))
    options = without_padding(op, strideH=1, strideW=long.stride)
    if op.type in POOLS:
        options |= {"filterHeight": 1, "filterWidth": long.kernel}
    y = made.put(target, (1, rows, outputs, target.shape[3]))
    made.add(op.type, [x, *filters, *op.inputs[2:]], y, **options)
    return _ended(made, long, y, rows * outputs)


def _ended(made: NewOps, long: LongWindow, y: TensorId, count: int) -> NewOps:
    depth = made.tensors[made.op.outputs[0]].shape[3]
    if count != long.along.output:
        y = made.cut(made.shaped(y, 1, count, 1, depth), [0] * 4, (1, long.along.output, 1, depth))
    made.add("RESHAPE", [y], made.op.outputs[0])
    return made


def _in_new_rows(graph: Graph, op: Op, long: LongWindow, form: _Form) -> NewOps:
    made = NewOps(graph, op)
    target, outputs, summed = graph.tensors[op.outputs[0]], form.outputs, op.type == "CONV_2D"
    count = -(-long.along.output // outputs)
    x = _in_rows(graph, made, long, form, (count - 1) * form.stride + form.window)
    constants = _constants(graph, op, long, form)
    operands = [x, *(made.put(t, data.shape, data=data, quantization=q) for t, data, q in constants)]
    options = without_padding(op, strideH=form.stride, strideW=1)
    options |= {name: options[name] * outputs for name in ("depthMultiplier",) if name in options}
    if op.type in POOLS:
        options |= {"filterHeight": form.window, "filterWidth": form.samples}
    depth = target.shape[3]
    y = made.add(op.type, operands, made.put(target, (1, count, 1, outputs * depth)), **options)
    if outputs > 1 and not summed:
        y = made.shaped(y, 1, count, depth, outputs)
        y = made.add("TRANSPOSE", [y, made.integers([0, 1, 3, 2])], made.put(target, (1, count, outputs, depth)))
    return _ended(made, long, y, count * outputs)


def _in_rows(graph: Graph, made: NewOps, long: LongWindow, form: _Form, rows: int) -> TensorId:
    x, step, c = made.op.inputs[0], form.samples, long.channels
    before, missing = long.along.before, rows * step - long.samples - long.along.before
    if graph.tensors[x].shape[1] != long.samples:
        x = made.shaped(x, 1, long.samples, 1, c)
    if missing < 0 or not (before or missing or made.op.inputs[0] in graph.inputs):
        x = made.cut(x, [0] * 4, (1, long.samples + missing, 1, c))
    if before or missing > 0:
        amounts = made.integers([[0, 0], [before, max(0, missing)], [0, 0], [0, 0]])
        x = made.add("PAD", [x, amounts], made.put(graph.tensors[made.op.inputs[0]], (1, rows * step, 1, c)))
    return made.shaped(x, 1, rows, *((1, step * c) if made.op.type == "CONV_2D" else (step, c)))


def _constants(
    graph: Graph, op: Op, long: LongWindow, form: _Form
) -> Iterator[tuple[Tensor, NDArray[Any], Quantization | None]]:
    summed = op.type == "CONV_2D"
    for k in range(1, 3):
        if has(op, k):
            tensor = graph.tensors[op.inputs[k]]
            if k == 1:
                data = _filters(tensor, long, form) if summed else _depthwise_filters(tensor, long, form)
            else:
                data = (np.tile if summed else np.repeat)(np.asarray(tensor.data), form.outputs)
            yield tensor, data, _repeated(tensor, form.outputs, each=not summed)


def _filters(filter_: Tensor, long: LongWindow, form: _Form) -> NDArray[Any]:
    """Return the filters for all outputs of a new window, in the shape [outputs * O, window, 1, C]."""
    samples = np.asarray(filter_.data).reshape(filter_.shape[0], long.kernel, long.channels)
    made = np.zeros((form.outputs, len(samples), form.window * form.samples, long.channels), samples.dtype)
    for n, one in enumerate(made):
        one[:, n * long.stride : n * long.stride + long.kernel] = samples
    return made.reshape(form.outputs * len(samples), form.window, 1, -1)


def _depthwise_filters(filter_: Tensor, long: LongWindow, form: _Form) -> NDArray[Any]:
    """Return the filters of a DEPTHWISE_CONV_2D for all outputs of a new window, in the shape [1, window, samples, O *
    outputs].
    """
    samples = np.asarray(filter_.data).reshape(long.kernel, -1)
    made = np.zeros((form.window * form.samples, samples.shape[1], form.outputs), samples.dtype)
    for n in range(form.outputs):
        made[n * long.stride : n * long.stride + long.kernel, :, n] = samples
    return made.reshape(1, form.window, form.samples, -1)


def _repeated(tensor: Tensor, times: int, *, each: bool) -> Quantization | None:
    """Return the quantization of a tensor whose channels are repeated. If the argument `each` is true, channels (a, b)
    become (a, a, b, b), and otherwise (a, b, a, b).
    """
    q = tensor.quantization
    if q is None or len(q.scale) <= 1:
        return q
    scale, zero_point = (tuple(np.repeat(v, times) if each else np.tile(v, times)) for v in (q.scale, q.zero_point))
    axis = 3 if each and len(tensor.shape) == 4 else 0
    return replace(q, scale=tuple(map(float, scale)), zero_point=tuple(map(int, zero_point)), axis=axis)
