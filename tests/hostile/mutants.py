"""Make damaged .tflite files: some have corrupted bytes, and some have impossible contents."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net
from property.layers import KINDS, Layer
from property.networks import Recipe, build
from unit.analysis.arena_zoo import ZOO

from tflm_memopt.model import writer

INTEGERS = (
    -(2**31), -129, -128, -2, -1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 64, 127, 128, 255, 256, 4096, 65535, 65536, 2**31 - 1,
)  # fmt: skip
REALS = (
    0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 1e-10, 0.05, 3.9, 256.0, 1e10, 3e38, float("inf"), -float("inf"), float("nan"),
)  # fmt: skip


def mutant(seed: int, models: Sequence[bytes] = ()) -> bytes:
    """Damage a copy of one of the `models`. A damaged copy may be a valid model."""
    rng, models = random.Random(seed), models or corpus()
    data = models[rng.randrange(len(models))]
    if rng.random() < 0.6:
        damaged = _damaged_tree(data, rng)
        if damaged is not None:
            data = damaged
        if rng.random() < 0.8:
            return data
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice((*BYTES, partial(_graft, models=models)))(data, rng)
    return data


@cache
def corpus() -> tuple[bytes, ...]:
    """Return small valid models that together have every TFLM operator and every table that the reader reads."""
    return (*networks(), *(ZOO[name]() for name in sorted(ZOO)))


@cache
def networks() -> tuple[bytes, ...]:
    return (*few(), *(_around(kind) for kind in KINDS))


@cache
def few() -> tuple[bytes, ...]:
    return (_chain(), _branches(), _dense(), _builtins(), _subgraphs())


def _around(kind: str) -> bytes:
    middle = Layer(kind, kernel=(2, 2), stride=(2, 2))
    return build(Recipe(((1, 6, 5, 4),), (Layer("conv"), middle, Layer("conv")), seed=7))


def _chain() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 9, 7, 2)), 4, kernel=(3, 3), stride=(2, 2), activation="RELU6")
    x = net.depthwise_conv2d(x, kernel=(3, 3))
    x = net.conv2d(x, 8)
    return net.model(net.softmax(net.fully_connected(net.mean(x, (1, 2)), 5)))


def _branches() -> bytes:
    net = Net(seed=2)
    x = net.conv2d(net.input((1, 6, 6, 3)), 4)
    y = net.add(x, net.conv2d(x, 4, kernel=(3, 3)))
    return net.model(net.pool(y, kind="MAX_POOL_2D", kernel=(2, 2), stride=(2, 2)), net.unary("RELU", y))


def _dense() -> bytes:
    net = Net(seed=3)
    x = net.fully_connected(net.input((1, 20)), 16, activation="RELU")
    return net.model(net.fully_connected(x, 20))


def _builtins() -> bytes:
    net = Net(seed=4)
    x = net.input((1, 8, 8, 2), None, dtype="FLOAT32")
    x = net.conv2d(net.unary("QUANTIZE", x, out=(0.05, 3)), 4, kernel=(3, 3))
    x = net.normalized(net.unary("LOGISTIC", x, out=(1 / 256, -128)))
    x = net.conv2d(x, 4, kernel=(3, 3), dilation=(2, 2))
    y = net.tensor(net.shape(x), "FLOAT32", None)
    net.op("DEQUANTIZE", [x], [y], schema.DequantizeOptionsT())
    return net.model(y)


def _subgraphs() -> bytes:
    net = Net(seed=5)
    tree = net.finished(net.conv2d(net.input((1, 5, 5, 1)), 2, kernel=(3, 3)))
    other = Net(seed=6)
    more = other.finished(other.unary("RELU", other.input((1, 4))))
    more.subgraphs[0].operators[0].opcodeIndex = writer.add_opcode(tree, "RELU")
    for tensor in more.subgraphs[0].tensors:
        tensor.buffer = 0
    tree.subgraphs.append(more.subgraphs[0])
    return writer.write(tree)


def _flip(data: bytes, rng: random.Random) -> bytes:
    return _put(data, _place(data, rng), lambda old: old ^ 1 << rng.randrange(8))


def _set(data: bytes, rng: random.Random) -> bytes:
    return _put(data, _place(data, rng), lambda _: rng.choice((0, 1, 2, 4, 127, 128, 254, 255)))


def _word(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng) // 4 * 4
    value = rng.choice(INTEGERS) if rng.random() < 0.7 else rng.randrange(len(data) + 1)
    return data[:place] + (value % 2**32).to_bytes(4, "little") + data[place + 4 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _lose(data: bytes, rng: random.Random) -> bytes:
    start = _place(data, rng)
    return data[:start] + data[start + rng.choice((1, 2, 4, 16, 100)) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start = _place(data, rng)
    return data[: start + rng.choice((1, 4, 16, 100))] + data[start:]


def _graft(data: bytes, rng: random.Random, *, models: Sequence[bytes]) -> bytes:
    other, start, size = rng.choice(models), _place(data, rng), rng.choice((4, 8, 32, 200))
    return data[:start] + other[start : start + size] + data[start + size :]


BYTES: Sequence[Callable[[bytes, random.Random], bytes]] = (_flip, _set, _word, _word, _cut, _lose, _repeat)


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(max(1, len(data)))


def _put(data: bytes, place: int, change: Callable[[int], int]) -> bytes:
    return data[:place] + bytes([change(data[place])]) + data[place + 1 :] if data else data


def _damaged_tree(data: bytes, rng: random.Random) -> bytes | None:
    tree = schema.ModelT.InitFromPackedBuf(data, 0)
    fields = [*_fields(tree)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        table, name = rng.choice(fields)
        setattr(table, name, _changed(getattr(table, name), rng))
    try:
        return writer.write(tree)
    except Exception:
        return None


def _fields(table: Any) -> Iterator[tuple[Any, str]]:
    for name, value in vars(table).items():
        if isinstance(table, schema.BufferT) and name == "data":
            continue
        yield table, name
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "InitFromPackedBuf"):
                yield from _fields(item)


def _changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((*INTEGERS, value + 1, value - 1, value * 2))
    if isinstance(value, float):
        return rng.choice(REALS)
    if isinstance(value, np.ndarray) and value.size:
        return _changed_array(value, rng)
    if isinstance(value, list) and value:
        return _changed_list(value, rng)
    if value is None:
        return rng.choice((None, np.array([rng.choice((0, 1, 2, 3))], np.int32)))
    return None


def _changed_array(values: Any, rng: random.Random) -> Any:
    values = values.copy()
    at, choice = rng.randrange(values.size), rng.random()
    if choice < 0.6:
        if values.dtype.kind == "f":
            values[at] = rng.choice(REALS)
        else:
            limits = np.iinfo(values.dtype)
            values[at] = min(
                max(rng.choice((*INTEGERS, int(values[at]) + 1, int(values[at]) - 1)), limits.min), limits.max
            )
        return values
    return np.delete(values, at) if choice < 0.8 else np.append(values, values[at])


def _changed_list(values: list[Any], rng: random.Random) -> Any:
    values = [*values]
    at, choice = rng.randrange(len(values)), rng.random()
    if choice < 0.35:
        values.append(values[at])
    elif choice < 0.7:
        del values[at]
    else:
        to = rng.randrange(len(values))
        values[at], values[to] = values[to], values[at]
    return values
