"""Test rewrites of kernels: which properties they preserve, which they change, and which rewrites are refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import ROOT
from kernels_cases import draw_packed

sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.append(str(ROOT / "scripts"))
from descriptions.packed import packed_conv, packed_depthwise, windows
from descriptions.pixels import conv_sums
from kernels_cases import described, refused
from papers.vmcu.dense import dense

from tflm_memopt.kernels.build import Builder
from tflm_memopt.kernels.instructions import REF
from tflm_memopt.kernels.language import Index, Type
from tflm_memopt.kernels.meaning import run
from tflm_memopt.kernels.rewrites import Rewrite, inward, jam, scheduled, unroll, vectorise
from tflm_memopt.kernels.write_c import function

# ---- several iterations at once ----


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_jammed_and_unrolled_loops_change_nothing(turns: int, lanes: int) -> None:
    """Any remainder works. A register of 64 bits has 2 lanes of int32."""
    loops = {packed_conv: ("k", "i"), packed_depthwise: ("k", "t"), windows: ("i", "r")}
    for program, (along, inner) in loops.items():
        for seed in range(4):
            values, arrays = draw_packed(program, seed)
            expected = run(program, values, arrays)["y"]
            for steps in (
                [vectorise(along), jam("p", turns, apart=True)],
                [vectorise(along), unroll(inner, turns)] if inner != "r" else [jam("r", turns, apart=True)],
                [vectorise(along), jam("p", turns, apart=True), unroll(inner, 3)]
                if inner != "r"
                else [unroll("r", turns)],
            ):
                changed = scheduled(program, steps)
                np.testing.assert_array_equal(run(changed, values, arrays, lanes)["y"], expected)


# ---- loops that move inward ----


@pytest.mark.parametrize("steps", [[unroll("b", 8, 3)], [unroll("b", 4)], []])
@pytest.mark.parametrize("run_of", [1, 7, 23])
def test_a_loop_that_goes_inside_changes_nothing(steps: list[Rewrite], run_of: int) -> None:
    rng = np.random.default_rng(run_of)
    values = {
        "pointers": 4,
        "reach": 40,
        "parts": 2,
        "count": 2,
        "run": run_of,
        "filters": 5,
        "next_at": 2,
        "stride": 1,
    }
    values |= {"next_offset": 3, "offset": 1, "step": 1, "zero_in": -7}
    values |= {"filter_weights": 4 * run_of, "part_weights": 2 * run_of, "run_weights": run_of}
    given = {t.name: rng.integers(-128, 128, t.elements.at(values)) for t in conv_sums.tensors}
    plain = run(conv_sums, values, given)["sums"]
    moved = scheduled(conv_sums, [*steps, inward("c")])
    assert (run(moved, values, given)["sums"] == plain).all()
    text = function(moved, REF)
    assert text.index("int32_t r2") < text.index("for (uint32_t c = 0; c < filters; ++c)")


def test_loops_that_cannot_go_inside() -> None:
    """Refused: statements that are not sums in a workspace, several loops, and values carried between iterations."""

    def along(b: Builder, n: Index) -> None:
        (m,) = b.extents("m")
        x, sums = b.ram("x", Type.INT8, n, m), b.workspace("sums", Type.INT32, n)
        w = b.flash("w", Type.INT8, n)
        with b.loop("i", n) as i:
            total = b.ram_load(sums, i)
            with b.loop("j", m) as j:
                factor = b.flash_load(w, i)
                with b.loop("k", 2):
                    b.dot(total, factor, b.ram_load(x, i, j))
            b.ram_store(sums, total, i)

    assert "'r2' is taken along" in refused("bad_kernel", lambda: scheduled(described(along), [inward("i")]))
    assert "more than sums" in refused("bad_kernel", lambda: scheduled(dense, [inward("n")]))
