"""The analysis of a kernel finds exactly the input elements that each output element depends on."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tflm_memopt.kernels.descriptions import activations, elementwise, rows, windows
from tflm_memopt.kernels.language import Array, KernelProgram, Load, Memory, Store
from tflm_memopt.kernels.meaning import position, run, walk
from tflm_memopt.kernels.needs import InputNeed, needs

WINDOWS = windows.conv, windows.depthwise, windows.max_pool, windows.average_pool, windows.mean
ELEMENTWISE = (
    elementwise.add, elementwise.add_each, elementwise.add_s16, elementwise.multiply, elementwise.square_difference,
    elementwise.greater, elementwise.prelu, elementwise.leaky_relu_s16, elementwise.widen, elementwise.narrow,
    elementwise.rescale_s16, elementwise.quantize, elementwise.quantize_s16, elementwise.dequantize,
    elementwise.dequantize_s16, activations.lookup,
)  # fmt: skip
WEIGHTED = *WINDOWS, windows.transpose_conv
ROWS = rows.arg_max, rows.batch_matmul, rows.gather, activations.softmax, activations.log_softmax


def drawn(kernel: KernelProgram, rng: np.random.Generator) -> tuple[dict[str, int], dict[str, NDArray[Any]]]:
    values = {name: int(rng.integers(1, 5)) for name in (*kernel.extents, *kernel.parameters)}
    values |= {name: 0 for name in values if name.startswith("pad_")}
    if "kernel_h" in values:
        for axis, size, pad in (("h", "height", "pad_top"), ("w", "width", "pad_left")):
            values[pad] = int(rng.integers(0, values[f"kernel_{axis}"]))
            if f"dilation_{axis}" in values:
                reach = (values[f"kernel_{axis}"] - 1) * values[f"dilation_{axis}"] + 1
                values[size] = (values[f"out_{axis}"] - 1) * values[f"stride_{axis}"] + reach
    values |= {name: 1 << 30 for name in values if name.startswith(("scale_", "multiplier")) and name != "scale_step"}
    values |= {name: -int(rng.integers(0, 4)) for name in values if "shift" in name}
    values |= {"low": -128, "high": 127, "diff_min": -100, "sign": 1, "left": 5, "scale_step": 1, "scale": 1 << 30}
    values |= {"across": int(rng.integers(0, 2))}
    values |= {"down": 1 - values["across"]}
    for name in ("x", "other"):
        if f"{name}_pixel" in values:
            values |= {f"{name}_pixel": values["channels"], f"{name}_channel": 1}
    arrays = {}
    for tensor in kernel.tensors:
        if not tensor.written and not tensor.values:
            shape = tuple(extent.at(values) for extent in tensor.shape)
            arrays[tensor.name] = rng.integers(*limits(tensor, values), shape)
    return {name: values[name] for name in (*kernel.extents, *kernel.parameters)}, arrays


def limits(tensor: Array, values: Mapping[str, int]) -> tuple[int, int]:
    special = {"multipliers": (1 << 29, 1 << 30), "shifts": (-7, -3), "index": (0, values.get("rows", 0))}
    return special.get(tensor.name, (-100, 100))


def needed(need: InputNeed, at: tuple[int, ...], values: Mapping[str, int]) -> list[range]:
    found = []
    for along, extent in zip(need.along, need.tensor.shape, strict=True):
        steps, y = along.steps(values), 0 if along.axis is None else at[along.axis]
        found.append(range(max(0, steps.first(y)), min(extent.at(values), steps.end(y))))
    return found


def elements(kernel: KernelProgram, values: Mapping[str, int]) -> list[tuple[int, ...]]:
    (output,) = (t for t in kernel.tensors if t.written)
    return [*itertools.product(*(range(extent.at(values)) for extent in output.shape))]


@pytest.mark.parametrize("kernel", [*WEIGHTED, *ELEMENTWISE, *ROWS], ids=lambda k: k.name)
def test_nothing_else_changes_an_element(kernel: KernelProgram) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        values, arrays = drawn(kernel, rng)
        found, known = needs(kernel), run(kernel, values, arrays)["y"]
        assert list(found.inputs) == [t.name for t in kernel.tensors if t.memory is Memory.RAM and not t.written]
        every = elements(kernel, values)
        for k in rng.choice(len(every), min(4, len(every)), replace=False):
            others = dict(arrays)
            for name, need in found.inputs.items():
                others[name] = rng.integers(*limits(need.tensor, values), arrays[name].shape)
                inside = np.ix_(*needed(need, every[k], values))
                others[name][inside] = arrays[name][inside]
            assert run(kernel, values, others)["y"][k] == known[k], f"seed {seed}, element {every[k]}"


@pytest.mark.parametrize("kernel", [*WEIGHTED, *ELEMENTWISE, rows.arg_max, rows.batch_matmul], ids=lambda k: k.name)
def test_the_first_and_the_last_of_it_are_loaded(kernel: KernelProgram) -> None:
    for seed in range(4):
        values, _ = drawn(kernel, np.random.default_rng(seed))
        values |= {name: 1 for name in values if name.startswith("dilation_")}
        found = needs(kernel)
        loaded: dict[str, set[int]] = {name: set() for name in found.inputs}
        every = iter(elements(kernel, values))
        for one, names in walk(kernel.body, dict(values)):
            if isinstance(one, Load) and one.tensor.name in loaded:
                loaded[one.tensor.name].add(position(one, names))
            elif isinstance(one, Store):
                at = next(every)
                for name, need in found.inputs.items():
                    shape = [extent.at(values) for extent in need.tensor.shape]
                    places = np.unravel_index(np.array(sorted(loaded[name]), np.intp), shape)
                    ranges = needed(need, at, values)
                    assert all(ranges) == bool(loaded[name])
                    if loaded[name]:
                        assert [(r[0], r[-1]) for r in ranges] == [(p.min(), p.max()) for p in places]
                    loaded[name] = set()
