"""Makes the inputs for `verify`: random values, extreme values, and the user's arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, Op, Tensor

Array = NDArray[Any]

FLOAT_LIMIT = 4.0
INDEX_LIMIT = 127
"""Largest random integer of 32 or 64 bits, for integers that index no table."""
INTEGERS = ("INT32", "INT64", "UINT32", "UINT64")
TABLES = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}
"""Maps each operator that reads a table to the positions of two operands: the table and the indices."""

EXTREME_EVERY = 7
EVERY = 256
WHOLE = ("INT8", "UINT8", "INT16", "UINT16")
SIDES = 3
"""Number of tested floats at a border of QUANTIZE: the border, and the next float on each side."""


@dataclass(frozen=True, slots=True)
class Run:
    """One inference: a value for each input, and a label that tells how the values were made."""

    label: str
    values: tuple[Array, ...]
    reset: bool = False


def stimuli(graph: Graph, inputs: Sequence[Tensor], runs: int, seed: int) -> list[Run]:
    """Return `runs` random inferences, and three inferences with the lowest, the highest, and alternating values.

    The values lie in the ranges that the original model `graph` allows. A call with the same seed and more runs returns
    the same random inferences first, and then further random inferences.
    """
    ranges = [(tensor, *limits(graph, tensor)) for tensor in inputs]
    random = np.random.default_rng(seed)
    drawn = [Run(f"random {r}", tuple(_draw(random, *each) for each in ranges)) for r in range(runs)]
    return drawn + [Run(label, tuple(pattern(*each) for each in ranges)) for label, pattern in EXTREMES.items()]


def parts_of_range(graph: Graph, inputs: Sequence[Tensor], runs: int, seed: int) -> list[Run]:
    ranges = [(tensor, *limits(graph, tensor)) for tensor in inputs]
    random = np.random.default_rng([seed, runs])

    def drawn(tensor: Tensor, low: float, high: float) -> Array:
        part = np.sort(random.uniform(low, high, 2))
        return _draw(random, tensor, *(part if tensor.dtype == "FLOAT32" else np.rint(part)))

    return [Run(f"parts {r}", tuple(drawn(*each) for each in ranges)) for r in range(runs)]


@dataclass(frozen=True, slots=True)
class Steps:
    """A sequence of `count` inferences, with a reset after every `reset_every` inferences if `reset_every` is above
    0.
    """

    count: int = 0
    reset_every: int = 0
    cores: int | None = None
    """Number of threads that run the rewritten model. By default, a model for two cores runs first on 1 thread, and
    then on 2 threads.
    """


NO_STEPS = Steps()


def sequence(graph: Graph, inputs: Sequence[Tensor], steps: Steps, seed: int) -> list[Run]:
    """Return a sequence of inferences for a model with state. Every seventh inference has extreme inputs."""
    ranges, extremes = [(tensor, *limits(graph, tensor)) for tensor in inputs], [*EXTREMES.values()]
    found = []
    for step, run in enumerate(parts_of_range(graph, inputs, steps.count, seed)):
        values = run.values
        if step % EXTREME_EVERY == EXTREME_EVERY - 1:
            pattern = extremes[step // EXTREME_EVERY % len(extremes)]
            values = tuple(pattern(*each) for each in ranges)
        found.append(Run(f"step {step}", values, step % (steps.reset_every or steps.count) == 0))
    return found


def from_files(inputs: Sequence[Tensor], files: Sequence[Array]) -> list[Run]:
    """Convert the user's arrays to the inputs of inferences. Each input must have the same number of arrays.

    An array for one run has the type and shape of its input. In an array for several runs, the first dimension is the
    number of runs. An input with the first dimension 1 may have the number of runs as its first dimension.
    """
    if not files:
        return []
    if not inputs or len(files) % len(inputs):
        what = f"{len(files)} input arrays for a model with {len(inputs)} inputs"
        raise UsageError(what, code="bad_data", hint="give one array per input, in the model's order")
    result = []
    for first in range(0, len(files), len(inputs)):
        stacks = [
            _stacked(tensor, array, first + k)
            for k, (tensor, array) in enumerate(zip(inputs, files[first : first + len(inputs)], strict=True))
        ]
        if len({len(stack) for stack in stacks}) > 1:
            what = f"the input arrays hold {[len(stack) for stack in stacks]} runs"
            raise UsageError(what, code="bad_data", hint="give every input the same number of runs")
        result += [
            Run(f"file {first // len(inputs)}, run {r}", values) for r, values in enumerate(zip(*stacks, strict=True))
        ]
    return result


def matches(inputs: Sequence[Tensor], files: Sequence[Array]) -> bool:
    return bool(inputs) and all(array.dtype == dtype_of(inputs[k % len(inputs)]) for k, array in enumerate(files))


def limits(graph: Graph, tensor: Tensor) -> tuple[float, float]:
    reader = next(iter(graph.consumers(tensor.id)), None)
    if tensor.dtype == "FLOAT32":
        return _quantized_range(graph, reader) or (-FLOAT_LIMIT, FLOAT_LIMIT)
    if tensor.dtype in INTEGERS:
        return 0, _last_index(graph, tensor)
    if tensor.dtype == "BOOL":
        return 0, 1
    if tensor.dtype not in ("INT8", "UINT8", "INT16", "UINT16"):
        what, where = f"random inputs of type {tensor.dtype} are not supported", f"input '{tensor.label}'"
        raise UsageError(what, code="bad_data", where=where, hint="convert the model to int8")
    info = np.iinfo(tensor.dtype.lower())
    return int(info.min), int(info.max)


def _quantized_range(graph: Graph, reader: Op | None) -> tuple[float, float] | None:
    """Return the input range of a QUANTIZE, extended by one quantized value at each end to test clamping."""
    quantization = (
        graph.tensors[reader.outputs[0]].quantization if reader is not None and reader.type == "QUANTIZE" else None
    )
    if reader is None or quantization is None:
        return None
    info = np.iinfo(graph.tensors[reader.outputs[0]].dtype.lower())
    scale, zero_point = quantization.scale[0], quantization.zero_point[0]
    return scale * (info.min - 1 - zero_point), scale * (info.max + 1 - zero_point)


def _last_index(graph: Graph, tensor: Tensor) -> int:
    """Return the largest index that is valid in all tables that an input indexes. TFLM does not check the indices of
    all operators.
    """
    found, waiting, seen = list[int](), [tensor.id], {tensor.id}
    for t in waiting:
        for op in graph.consumers(t):
            table, indices = TABLES.get(op.type, (0, 0))
            if op.type in TABLES and op.inputs[indices] == t:
                found.append(graph.tensors[op.inputs[table]].shape[int(op.options.get("axis", 0))] - 1)
            made = [one for one in op.outputs if graph.tensors[one].dtype in INTEGERS and one not in seen]
            seen.update(made)
            waiting += made
    return min(found, default=INDEX_LIMIT)


def dtype_of(tensor: Tensor) -> Any:
    return np.dtype(tensor.dtype.lower())


def _draw(random: np.random.Generator, tensor: Tensor, low: float, high: float) -> Array:
    if tensor.dtype == "FLOAT32":
        return random.uniform(low, high, tensor.shape).astype(np.float32)
    return random.integers(int(low), int(high), tensor.shape, dtype=np.int64, endpoint=True).astype(dtype_of(tensor))


def _all(which: int) -> Callable[[Tensor, float, float], Array]:
    return lambda tensor, *limits: np.full(tensor.shape, limits[which]).astype(dtype_of(tensor))


def _alternating(tensor: Tensor, low: float, high: float) -> Array:
    return np.where(np.arange(tensor.elements) % 2, high, low).reshape(tensor.shape).astype(dtype_of(tensor))


EXTREMES = {"all lowest": _all(0), "all highest": _all(1), "alternating": _alternating}


def _stacked(tensor: Tensor, array: Array, number: int) -> Array:
    where = f"input array {number}, for input '{tensor.label}'"
    if array.dtype != dtype_of(tensor):
        what = f"the array has type {array.dtype}, the input is {tensor.dtype}"
        raise UsageError(what, code="bad_data", where=where, hint=_how_to_save(tensor))
    if array.shape == tensor.shape:
        return array[None]
    if array.shape[1:] == tensor.shape:
        return array
    if tensor.shape[:1] == (1,) and array.shape[1:] == tensor.shape[1:]:
        return array[:, None]
    what = f"the array has shape {list(array.shape)}, the input {list(tensor.shape)}"
    raise UsageError(what, code="bad_data", where=where, hint=_how_to_shape(tensor, array))


def _how_to_shape(tensor: Tensor, array: Array) -> str:
    one = tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape
    if array.size % max(1, tensor.elements):
        return f"numpy.save('X.npy', numpy.stack(EVERY)), each run of shape {list(one)}"
    return f"numpy.save('X.npy', X.reshape({[-1, *one]})) if its values are in that order"


def _how_to_save(tensor: Tensor) -> str:
    dtype, q = dtype_of(tensor), tensor.quantization
    if tensor.dtype == "FLOAT32" or q is None or len(q.scale) != 1:
        return f"numpy.save('X.npy', X.astype('{dtype}'))"
    info = np.iinfo(dtype)
    quantized = f"numpy.round(X / {q.scale[0]:.9g}) + {q.zero_point[0]}"
    return f"of real values: numpy.save('X.npy', numpy.clip({quantized}, {info.min}, {info.max}).astype('{dtype}'))"


def every_value(graph: Graph, inputs: Sequence[Tensor], seed: int) -> list[Run]:
    """Return inferences in which each byte of each integer input takes every value.

    Floats, and integers of 32 and 64 bits, take 256 values of their range. A float input of a QUANTIZE takes one value
    for each int8 result. For float inputs, 256 more inferences test the borders at which a QUANTIZE rounds up. The
    values lie in the ranges that the original model `graph` allows.
    """
    values = [_levels(graph, tensor, seed, k) for k, tensor in enumerate(inputs)]
    runs = [Run(f"every value {r}", tuple(value(r, 0) for value in values)) for r in range(EVERY)]
    if any(tensor.dtype == "FLOAT32" for tensor in inputs):
        runs += [Run(f"border {r}", tuple(value(r, 1) for value in values)) for r in range(EVERY)]
    return runs


def _levels(graph: Graph, tensor: Tensor, seed: int, number: int) -> Callable[[int, int], Array]:
    """Return a function (run, border) that makes the tensor for the run with the index `run`.

    If `border` is not 0, each element is at or next to the border between two quantized values. An element starts at a
    random value and advances by a random odd step in each run, so that it takes all 256 values.
    """
    random = np.random.default_rng([seed, number])
    low, high = limits(graph, tensor)
    nbytes = tensor.nbytes if tensor.dtype in WHOLE else tensor.elements
    start, step = (random.integers(0, EVERY, nbytes, dtype=np.uint8) for _ in range(2))

    def index(r: int) -> NDArray[np.uint8]:
        rotated: NDArray[np.uint8] = start + np.uint8(r) * (step | np.uint8(1))
        return rotated

    def whole(r: int, _: int) -> Array:
        values: Array = index(r).view(dtype_of(tensor)).reshape(tensor.shape)
        return values

    def number_of_range(r: int, _: int) -> Array:
        count = int(high) - int(low) + 1
        spread = (start.astype(np.int64) + r) % count if count <= EVERY else index(r).astype(np.int64) * count // EVERY
        return (int(low) + spread).astype(dtype_of(tensor)).reshape(tensor.shape)

    def real(r: int, border: int) -> Array:
        unit = (high - low) / (EVERY + 1)
        values = (low + unit * (index(r) + 1.0 - border / 2)).astype(np.float32)
        if border:
            neighbours = np.stack(
                [values, np.nextafter(values, np.float32(low)), np.nextafter(values, np.float32(high))]
            )
            values = neighbours[(start + r) % SIDES, np.arange(len(values))]
        return values.reshape(tensor.shape)

    if tensor.dtype in WHOLE:
        return whole
    return real if tensor.dtype == "FLOAT32" else number_of_range
