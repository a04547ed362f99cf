"""Test described kernels: their results, their memory accesses, and the pages and library code generated from them."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from conftest import ROOT
from kernels_cases import draw

sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.append(str(ROOT / "scripts"))
from descriptions.pixels import conv_pixel, depthwise_pixel
from papers.vmcu.access import SegmentAccess, accesses, distance, footprint, segments
from papers.vmcu.dense import dense

from tflm_memopt.kernels.descriptions.elementwise import quantize
from tflm_memopt.kernels.descriptions.windows import conv, depthwise
from tflm_memopt.kernels.meaning import nearest, run
from tflm_memopt.kernels.rewrites import scheduled, vectorise

PLAIN = {"zero_in": 0, "zero_out": 0, "low": -128, "high": 127, "scale_step": 0}


def dense_extents(m: int, k: int, n: int) -> dict[str, int]:
    return {**PLAIN, "rows": m, "depth": k, "units": n}


# ---- vMCU's figures ----


def survives(trace: Sequence[SegmentAccess], source: str, to: str, apart: int, size: int) -> bool:
    """Run the trace in a pool of `size` segments, and return whether every read segment still holds the input.

    The input starts `apart` segments after the output. The result comes from simulation, not from distance().
    """
    pool: dict[int, tuple[str, int]] = {}
    inputs = {a.segment for a in trace if a.tensor == source}
    for segment in sorted(inputs):
        if (segment + apart) % size in pool:
            return False
        pool[(segment + apart) % size] = (source, segment)
    for a in trace:
        if a.what == "read" and a.tensor == source and pool.get((a.segment + apart) % size) != (source, a.segment):
            return False
        if a.what == "write" and a.tensor == to:
            pool[a.segment % size] = (to, a.segment)
    return all(pool.get(a.segment % size) == (to, a.segment) for a in trace if a.what == "write" and a.tensor == to)


@pytest.mark.parametrize("m", range(1, 7))
def test_dense_layers_follow_the_formula(m: int) -> None:
    """The formula max(MN, MK) + min(N, K) - 1 (section 4) is exact: one segment less fails, for all 216 shapes."""
    for k, n in product(range(1, 7), repeat=2):
        values = dense_extents(m, k, n)
        trace = list(accesses(dense, values))
        apart, least = distance(trace, "x", "y"), footprint(trace, "x", "y", segments(dense, values))
        assert least == max(m * n, m * k) + min(n, k) - 1
        assert survives(trace, "x", "y", apart, least)
        assert apart == 0 or not survives(trace, "x", "y", apart - 1, least - 1)


# ---- equal results ----


def test_floats_are_rounded_as_tflm_does() -> None:
    """Halves are rounded away from zero. The floats next to a half are not halves."""
    x = np.array([0.5, -0.5, 1.5, -2.5, 0.49999997, -0.49999997, 3.3, 1e9, -np.inf, np.nan], np.float32)
    assert nearest(x).tolist() == [1, -1, 2, -3, 0, 0, 3, 65536, -65536, 0]
    values = {"n": len(x), "scale": 0x40000000, "zero_out": 3}  # the bits of a scale of 2
    assert run(quantize, values, {"x": x * 2})["y"].tolist() == [4, 2, 5, 0, 3, 3, 6, 127, -128, 3]


# ---- kernels of the library ----


def test_the_librarys_generated_c_is_current() -> None:
    written = runpy.run_path(str(ROOT / "scripts/kernels.py"))["written"]()
    stale = [path.name for path, text in written.items() if path.read_text() != text]
    assert len(written) == 21 and not stale, "python scripts/kernels.py writes them anew"


@pytest.mark.parametrize("depth_by_depth", [False, True], ids=["conv", "depthwise"])
def test_a_pixel_of_the_executor_is_one_of_the_layer(depth_by_depth: bool) -> None:
    """The windows are given by rows and by single pixels, in a corner of a layer without padding."""
    described = depthwise if depth_by_depth else conv
    window = {"kernel_h": 2, "kernel_w": 2, "stride_h": 1, "stride_w": 1, "pad_top": 0, "pad_left": 0}
    values, arrays = draw(described, 4, **window, height=4, width=5, channels=3)
    layer = run(described, values, arrays)["y"].reshape(values["out_h"], values["out_w"], -1)
    pixel, x, channels = (depthwise_pixel if depth_by_depth else conv_pixel), arrays["x"], 3
    row, filters = 2 * channels, layer.shape[-1]
    weights = {"row_weights": filters * 2, "tap_weights": filters} if depth_by_depth else {
        "row_weights": row, "tap_weights": channels, "filter_weights": 2 * row,
    }  # fmt: skip
    common = {**values, **weights, "rows": 2, "columns": 2, "filters": filters, "bias_step": 1}
    by_rows = {"pointers": 2, "reach": 5 * channels, "next_row": 1, "next_column": 0, "apart": channels}
    by_pixels = {"pointers": 4, "reach": channels, "next_row": 2, "next_column": 1, "apart": 0, "offset": 0}
    taps = np.stack([x[1, 2], x[1, 3], x[2, 2], x[2, 3]])
    for shape, given in (({**by_rows, "offset": 2 * channels}, x[1:3]), (by_pixels, taps)):
        found = run(scheduled(pixel, [vectorise("k")]), {**common, **shape}, {**arrays, "x": given}, lanes=2)["y"]
        assert np.array_equal(found, layer[1, 2])
    assert len(set(layer.reshape(-1).tolist())) > 1
