"""Check that generated C on emulated cores gives the bytes of the NumPy interpreter at any vector length."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping

import numpy as np
import pytest
from conftest import ROOT
from cores.core import CORES, in_spike, missing_tools
from cores.generated import Call, run
from kernels_cases import draw_packed

sys.path.append(str(ROOT / "scripts"))
from descriptions.pixels import average_pool_pixel, conv_sums, conv_wide, depthwise_sums, max_pool_pixel, mean_pixel

from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.descriptions import elementwise
from tflm_memopt.kernels.descriptions.activations import log_softmax, lookup, softmax
from tflm_memopt.kernels.descriptions.rows import arg_max, batch_matmul, gather, move, resize_bilinear
from tflm_memopt.kernels.descriptions.windows import average_pool
from tflm_memopt.kernels.instructions import REF, RVV, RVV_INSTRUCTIONS, Instruction
from tflm_memopt.kernels.language import KernelProgram, Type
from tflm_memopt.kernels.rewrites import inward, jam, scheduled, unroll, vectorise

pytestmark = [
    pytest.mark.slow, pytest.mark.skipif(bool(missing_tools(CORES["rv32"])), reason=missing_tools(CORES["rv32"]))
]  # fmt: skip
VLENS = (128, 512)
"""Vector lengths in bits. QEMU supports only lengths from 128; Spike also supports shorter vectors."""
SHORT = 64
TYPES = {"v8": Type.INT8, "v16": Type.INT16, "v32": Type.INT32}
LIBRARY = (
    elementwise.add_each, elementwise.square_difference, elementwise.multiply, elementwise.prelu, elementwise.greater,
    elementwise.add_s16, elementwise.leaky_relu_s16, elementwise.widen, elementwise.narrow, elementwise.rescale_s16,
    elementwise.quantize, elementwise.quantize_s16, elementwise.dequantize, elementwise.dequantize_s16,
    arg_max, resize_bilinear, batch_matmul, scheduled(gather, [vectorise("c")]), scheduled(move, [vectorise("i")]),
    max_pool_pixel(Type.INT8), average_pool_pixel(Type.INT8), mean_pixel(Type.INT8), conv_wide,
    scheduled(conv_sums, [unroll("b", 8, 4, 3), inward("c")]), scheduled(depthwise_sums, [jam("c", 8, 4)]),
)  # fmt: skip
"""Other kernels of the library."""


def small(kernel: KernelProgram) -> dict[str, int]:
    """Return extents and parameters with which no value of the kernel exceeds its type."""
    given = {"width": 4, "row": 2, "down_step": 400, "across_step": 700, "down_first": -312, "across_first": -162}
    given |= {"sign": -1, "left": 20, "zero_out": -7, "low": -90, "high": 100, "x_channel": 1, "x_pixel": 5}
    given |= {"other_pixel": 5, "other_channel": 1, "pixels": 4, "channels": 5, "n": 37}
    given |= {"pointers": 4, "next_at": 2, "stride": 1, "next_row": 1, "next_column": 0, "spread": 1, "step": 2}
    given |= {"parts": 2, "count": 2, "filters": 5, "apart": 5, "filter_weights": 150, "part_weights": 70}
    given |= {"run_weights": 30, "row_weights": 40, "tap_weights": 13, "bias_step": 2, "scale_step": 1}
    given |= {"depthwise_sums": {"channels": 13}, "conv_sums": {"run": 23}}.get(kernel.name, {})
    given |= {
        "source_step": 7,
        "target_step": 9,
        "runs": 4,
        "down": 1,
        "across": 0,
        "depth": 6,
        "columns": 5,
        "scale": 1 << 30,
    }  # a power of 2
    given |= {"reach": 60, "area": 9, "first": 1, "last": 1, "multiplier": 1 << 30, "shift": -3}
    values = {name: given.get(name, 3) for name in (*kernel.extents, *kernel.parameters)}
    values |= {name: 1600000000 + len(name) for name in values if name.startswith("scale_") and name != "scale_step"}
    return values | {name: -len(name) for name in values if name.startswith("shift_")}


def drawn(kernel: KernelProgram, values: Mapping[str, int]) -> Call:
    rng, arrays = np.random.default_rng(3), {}
    begun = "first" in kernel.parameters
    for tensor in (t for t in kernel.tensors if not (t.written or t.values or (begun and t.name == "sums"))):
        low, high = {"multipliers": (1 << 30, 1 << 31), "shifts": (-20, 3)}.get(tensor.name, (-128, 128))
        low, high = (0, values["rows"]) if tensor.name == "index" else (low, high)
        size = max(tensor.elements.at(values), tensor.reach.at(values))
        arrays[tensor.name] = rng.integers(low, high, size).astype(tensor.type.short)
    return Call(kernel, values, arrays, meaning.run(kernel, values, arrays))


def test_what_is_for_scalars_alone_has_the_same_bytes() -> None:
    window = {"height": 5, "width": 6, "channels": 3, "kernel_h": 3, "kernel_w": 2, "stride_h": 2, "stride_w": 1}
    places = {"out_h": 3, "out_w": 6, "pad_top": 1, "pad_left": 1, "dilation_h": 1, "dilation_w": 1}
    shapes = {
        average_pool: {**window, **places, "low": -100, "high": 90},
        softmax: {"rows": 3, "channels": 21, "multiplier": 1375731712, "shift": 22, "diff_min": -247},
        log_softmax: {
            "rows": 3, "channels": 21, "multiplier": 1375731712, "shift": 22, "diff_min": -247, "back": 1 << 30,
            "back_shift": -20,
        },
        lookup: {"n": 500},
    }  # fmt: skip
    made = [drawn(kernel, values) for kernel, values in shapes.items()]
    made += [drawn(kernel, small(kernel)) for kernel in LIBRARY]
    assert not any(run(made, REF))


IN_SPIKE = pytest.mark.skipif(
    bool(missing_tools(in_spike(CORES["rv32"], SHORT))), reason=missing_tools(in_spike(CORES["rv32"], SHORT))
)


@pytest.mark.parametrize("vlen", [pytest.param(SHORT, marks=IN_SPIKE), *VLENS])
def test_the_librarys_schedules_have_the_same_bytes(vlen: int) -> None:
    """The library's schedules agree for any number of pixels and taps, with remainders and with gaps after a pixel."""
    packed = runpy.run_path(str(ROOT / "scripts/library_kernels.py"))["PACKED"]
    for _, wide in packed:
        made = []
        for seed in range(8):
            fixed = {"filters": (8, 16, 33, 70)[seed % 4]} if "filters" in wide.extents else {}
            values, arrays = draw_packed(wide, seed, **fixed)
            expected = meaning.run(wide, values, arrays, lanes=vlen // 8)
            made.append(Call(wide, values, arrays, expected))
        assert not any(run(made, RVV, vlen)), wide.schedule


def one_instruction(number: int, row: Instruction) -> KernelProgram:
    """Return a kernel for y[i] = the instruction's result, in a vectorised loop."""

    def describe(b: Builder) -> None:
        (n,) = b.extents("n")
        (scalar,) = b.parameters("scalar")
        y = b.output("y", TYPES[row.to], n)
        sources = [b.ram(f"x{k}", TYPES[t], n) if t != "s" else None for k, t in enumerate(row.takes)]
        with b.loop("i", n) as i:
            operands = [scalar if x is None else b.ram_load(x, i) for x in sources]
            if row.op == "dot":
                total = b.broadcast(Type.INT32, scalar)
                b.dot(total, *operands)
                b.ram_store(y, total, i)
            else:
                b.ram_store(y, b.compute(row.op, TYPES[row.to], *operands), i)

    describe.__name__ = f"instruction{number}"
    return scheduled(kernel(row.text)(describe), [vectorise("i")])


def test_each_instruction_does_what_its_op_means() -> None:
    """Check each row of the table. Saturating copies also get values that do not fit."""
    rng = np.random.default_rng(11)
    made = []
    for number, row in enumerate(RVV_INSTRUCTIONS):
        values = {"n": 37, "scalar": 5}
        arrays = {}
        for k, t in enumerate(row.takes):
            if t != "s":
                narrow = 7 if row.to == "v8" else 14 if row.to == "v16" or row.op == "dot" else 31
                narrow = 31 if row.op.startswith("clip") or row.op == "add16" else narrow
                bits = min(TYPES[t].bits - 1, narrow)
                exponent = k and row.op.startswith(("shift", "clip"))
                low, high = (0, 32) if exponent else (-(1 << bits), 1 << bits)
                low = 0 if row.op == "high_mul" and k else low
                arrays[f"x{k}"] = rng.integers(low, high, 37).astype(TYPES[t].short)
        program = one_instruction(number, row)
        made.append(Call(program, values, arrays, meaning.run(program, values, arrays)))
    outcomes = run(made, RVV)
    wrong = [row.text for row, ran in zip(RVV_INSTRUCTIONS, outcomes, strict=True) if ran]
    assert not wrong and len(outcomes) == len(RVV_INSTRUCTIONS)
