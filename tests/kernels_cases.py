"""Generated kernels for tests: random calls of the package's own kernels, and small kernels that break a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, KernelProgram
from tflm_memopt.kernels.meaning import run

Drawn = tuple[dict[str, int], dict[str, NDArray[Any]]]
LIMITS = {"int8_t": (-128, 128), "int32_t": (-(1 << 14), 1 << 14)}


def draw(kernel: KernelProgram, seed: int, **fixed: int) -> Drawn:
    """Draw extents, parameters, and arrays in the description's own layout."""
    rng = np.random.default_rng(seed)
    values = {extent: int(rng.integers(1, 6)) for extent in kernel.extents}
    low, high = sorted(int(x) for x in rng.choice(np.arange(-128, 128), 2, replace=False))
    values |= {p: int(rng.integers(-128, 128)) if p.startswith("zero") else 0 for p in kernel.parameters}
    values |= {"low": low, "high": high, "scale_step": int(rng.integers(0, 2))}
    values |= {
        p: int(rng.integers(1 << 30, 1 << 31)) for p in kernel.parameters if p.startswith("scale_") and p[6:] != "step"
    }
    values |= {p: int(rng.integers(0, 24)) for p in kernel.parameters if p.startswith("right_")}
    values |= fixed
    if "kernel_h" in values:
        values |= {"dilation_h": 1, "dilation_w": 1}
        for axis, size in (("h", "height"), ("w", "width")):
            stride = values.setdefault(f"stride_{axis}", 0) or int(rng.integers(1, 4))
            values[f"stride_{axis}"] = stride
            pad = "pad_top" if axis == "h" else "pad_left"
            values[pad] = fixed.get(pad, int(rng.integers(0, values[f"kernel_{axis}"])))
            out = (values[size] + 2 * values[pad] - values[f"kernel_{axis}"]) // stride + 1
            values[f"out_{axis}"] = max(1, out)
    arrays: dict[str, NDArray[Any]] = {}
    for tensor in kernel.tensors:
        shape = tuple(extent.at(values) for extent in tensor.shape)
        if tensor.name == "multipliers":
            arrays[tensor.name] = rng.integers(1 << 30, 1 << 31, shape).astype(tensor.type.short)
        elif tensor.name == "shifts":
            arrays[tensor.name] = rng.integers(-20, 3, shape).astype(tensor.type.short)
        elif not tensor.written:
            arrays[tensor.name] = rng.integers(*LIMITS[tensor.type.c], shape).astype(tensor.type.short)
    return values, arrays


def draw_packed(kernel: KernelProgram, seed: int, **fixed: int) -> Drawn:
    """Draw like `draw`, for descriptions whose programs are packed for vectors. Shifts are to the right."""
    rng = np.random.default_rng(seed)
    values = {extent: int(rng.integers(1, 8)) for extent in kernel.extents}
    low, high = sorted(int(x) for x in rng.choice(np.arange(-128, 128), 2, replace=False))
    values |= {"low": low, "high": high, "zero_out": int(rng.integers(-128, 128)), "first": 1, **fixed}
    width = next(values[name] for name in ("values", "channels", "nbytes") if name in values)
    values |= {"apart": width + 2, "step": values.get("filters", 0) + int(rng.integers(0, 3))}
    if "nbytes" in values:
        values |= {"next_row": width + 1, "step": values["rows"] * (width + 1) + 3}
    values |= {"reach": 1 + values["pixels"] * values["apart"]}
    arrays: dict[str, NDArray[Any]] = {}
    for tensor in kernel.tensors:
        size = tensor.reach.at(values)
        if tensor.name == "multipliers":
            arrays[tensor.name] = rng.integers(1 << 30, 1 << 31, size).astype(np.int32)
        elif tensor.name == "rights":
            arrays[tensor.name] = rng.integers(1, 23, size).astype(np.int16)
        elif not tensor.written:
            arrays[tensor.name] = rng.integers(*LIMITS[tensor.type.c], size).astype(tensor.type.short)
    return values, arrays


def described(write: Callable[[Builder, Index], None]) -> KernelProgram:
    """Return a kernel over n bytes."""

    @kernel("a test")
    def small(b: Builder) -> None:
        (n,) = b.extents("n")
        write(b, n)

    return small


def refused(code: str, act: Callable[[], object]) -> str:
    with pytest.raises(KernelError) as caught:
        act()
    assert caught.value.code == code and caught.value.hint
    return str(caught.value)


def executed(write: Callable[[Builder, Index], None]) -> Callable[[], object]:
    small = described(write)
    given = {t.name: np.arange(5, dtype=np.int8) for t in small.tensors if not t.written and t.name != "work"}
    return lambda: run(small, {"n": 5}, given)
