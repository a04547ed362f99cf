"""Described kernels: what they compute, what they touch, what may be rewritten, and what is refused."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from conftest import ROOT
from kernels_cases import SCHEDULES, draw, draw_addition, draw_packed, laid_out, vectorised

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.access import accesses, distance, footprint, segments, survives
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.descriptions.activations import lookup, softmax
from tflm_memopt.kernels.descriptions.dense import dense
from tflm_memopt.kernels.descriptions.elementwise import add, packed_add, packed_add_within, quantize
from tflm_memopt.kernels.descriptions.packed import packed_conv, packed_depthwise, windows
from tflm_memopt.kernels.descriptions.packed_arm import add_pixels
from tflm_memopt.kernels.descriptions.pixels import conv_pixel, conv_sums, depthwise_pixel, depthwise_sums
from tflm_memopt.kernels.descriptions.rows import gather
from tflm_memopt.kernels.descriptions.windows import bottleneck_without_add, conv, inverted_bottleneck
from tflm_memopt.kernels.instructions import DSP, ESP32S3, MVE, REF, RVV, InstructionTable, VectorUnit
from tflm_memopt.kernels.language import Compute, For, Index, KernelProgram, Reg, Type, statements
from tflm_memopt.kernels.meaning import nearest, rescale, run, scale_right
from tflm_memopt.kernels.registers import assign
from tflm_memopt.kernels.rewrites import (
    Rewrite,
    distribute,
    inward,
    jam,
    reduce,
    relayout,
    scheduled,
    unroll,
    vectorise,
)
from tflm_memopt.kernels.write_c import for_target, function
from tflm_memopt.ops.bound import SUMMED

PLAIN = {"zero_in": 0, "zero_out": 0, "low": -128, "high": 127, "scale_step": 0}
UNPADDED = {**PLAIN, "pad_top": 0, "pad_left": 0, "dilation_h": 1, "dilation_w": 1}


def dense_extents(m: int, k: int, n: int) -> dict[str, int]:
    return {**PLAIN, "rows": m, "depth": k, "units": n}


# ---- vMCU's figures ----


def test_figure_1c_takes_seven_segments_and_no_fewer() -> None:
    values = dense_extents(2, 3, 2)
    trace = list(accesses(dense, values))
    apart = distance(trace, "x", "y")
    assert footprint(trace, "x", "y", segments(dense, values)) == 7
    assert survives(trace, "x", "y", apart, 7)
    assert not survives(trace, "x", "y", apart, 6)
    assert not survives(trace, "x", "y", apart - 1, 7)


@pytest.mark.parametrize("m", range(1, 7))
def test_dense_layers_follow_the_formula(m: int) -> None:
    """max(MN, MK) + min(N, K) - 1 (section 4), and one segment less is wrong: 216 shapes in all."""
    for k, n in product(range(1, 7), repeat=2):
        values = dense_extents(m, k, n)
        trace = list(accesses(dense, values))
        apart, least = distance(trace, "x", "y"), footprint(trace, "x", "y", segments(dense, values))
        assert least == max(m * n, m * k) + min(n, k) - 1
        assert survives(trace, "x", "y", apart, least)
        assert apart == 0 or not survives(trace, "x", "y", apart - 1, least - 1)


@pytest.mark.parametrize(
    ("size", "channels", "filters", "kernel_size", "stride", "expected"),
    [
        (4, 1, 1, 3, 1, (16, 0)), (6, 2, 1, 3, 1, (72, 0)), (6, 1, 2, 3, 1, (46, 10)), (8, 1, 1, 3, 2, (64, 0)),
        (5, 1, 1, 1, 1, (25, 0)), (20, 1, 3, 1, 1, (1200, 800)), (20, 3, 1, 1, 1, (1200, 0)),
    ],
)  # fmt: skip
def test_convolutions_take_what_their_loads_and_stores_allow(
    size: int, channels: int, filters: int, kernel_size: int, stride: int, expected: tuple[int, int]
) -> None:
    """Figure 5: the exact lifetimes, which no closed form gives."""
    out = (size - kernel_size) // stride + 1
    values = {
        **UNPADDED, "height": size, "width": size, "channels": channels, "filters": filters, "out_h": out, "out_w": out,
        "kernel_h": kernel_size, "kernel_w": kernel_size, "stride_h": stride, "stride_w": stride,
    }  # fmt: skip
    trace = list(accesses(conv, values))
    assert (footprint(trace, "x", "y", segments(conv, values)), distance(trace, "x", "y")) == expected


@pytest.mark.parametrize(
    ("size", "c_in", "c_mid", "c_out", "segment", "nbytes"),
    [
        pytest.param(20, 16, 48, 16, 16, 7232, id="S1"),
        pytest.param(10, 24, 144, 16, 8, 4032, id="S3"),
        pytest.param(10, 24, 120, 24, 24, 3888, id="S4"),
        pytest.param(11, 48, 240, 48, 48, 8832, id="B14"),
    ],
)
def test_bottlenecks(size: int, c_in: int, c_mid: int, c_out: int, segment: int, nbytes: int) -> None:
    """Figure 6 in segments, its workspace in bytes."""
    module = inverted_bottleneck if c_in == c_out else bottleneck_without_add
    window = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_top": 1, "pad_left": 1}
    window |= {"dilation_h": 1, "dilation_w": 1}
    whole = {"height": size, "width": size, "out_h": size, "out_w": size, "c_in": c_in, "c_mid": c_mid, "c_out": c_out}
    values = {**window, **whole, "c_in": c_in // segment, "c_mid": 1, "c_out": c_out // segment}
    trace = list(accesses(module, values))
    workspace = sum(module.tensor(name).elements.at({**window, **whole}) for name in "bcd")
    assert footprint(trace, "a", "e", segments(module, values)) * segment + workspace == nbytes


def test_the_bottlenecks_workspace_is_eleven_segments() -> None:
    values = {"kernel_h": 3, "kernel_w": 3, "c_mid": 1, "c_out": 1}
    assert sum(inverted_bottleneck.tensor(name).elements.at(values) for name in "bcd") == 3 * 3 + 1 + 1


def test_segments_are_what_a_vector_holds() -> None:
    """Four outputs at a time, in segments of four bytes, are the same layer of a fourth of the extents."""
    wide = scheduled(dense, [vectorise("n", segment=4)])
    trace = list(accesses(wide, dense_extents(3, 8, 12), segment=4, lanes=16))
    small = list(accesses(dense, dense_extents(3, 2, 3)))
    writes = [a.segment for a in trace if a.what == "write"]
    assert writes == [a.segment for a in small if a.what == "write"] == list(range(9))
    assert distance(trace, "x", "y") == distance(small, "x", "y")


# ---- the same results ----


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_and_targets_compute_the_same(name: str) -> None:
    description, wide = SCHEDULES[name][0], vectorised(name)
    lowered = for_target(wide, RVV)
    seen: set[int] = set()
    for seed, lanes in ((0, 1), (1, 3), (2, 16)):
        values, arrays = draw(name, seed)
        given = laid_out(wide, values, arrays)
        for output, data in run(description, values, arrays).items():
            assert np.array_equal(run(wide, values, given, lanes)[output], data)
            assert np.array_equal(run(lowered, values, given, lanes)[output], data)
            seen |= set(data.tolist())
    assert len(seen) > 2


@pytest.mark.parametrize("table", [DSP, MVE, ESP32S3], ids=lambda table: table.name)
@pytest.mark.parametrize("name", ["dense", "conv"])
def test_products_may_be_summed_up_across_lanes(table: InstructionTable, name: str) -> None:
    """In the table's own lanes and in others, one output channel left over or none."""
    description = SCHEDULES[name][0]
    summed = scheduled(description, SUMMED[table.name][name])
    lowered = for_target(summed, table)
    seen: set[int] = set()
    for seed, lanes in ((0, 1), (1, 3), (2, 4), (3, 16)):
        values, arrays = draw(name, seed)
        for output, data in run(description, values, arrays).items():
            assert np.array_equal(run(summed, values, arrays, lanes)[output], data)
            assert np.array_equal(run(lowered, values, arrays, lanes)[output], data)
            seen |= set(data.tolist())
    sums = [s for s in statements(lowered.body) if isinstance(s, Compute) and s.op.endswith("_across")]
    assert sums and all(table.instruction(s).takes for s in sums)
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("kernel", "step", "table"),
    [(packed_add_within, vectorise("i"), MVE), (packed_add, jam("i", 4), DSP)],
    ids=["mve", "dsp"],
)
def test_packed_additions_are_what_is_described(kernel: KernelProgram, step: Rewrite, table: InstructionTable) -> None:
    """One of the operands is shifted alone, as TFLM's arithmetic comes to; scales are those of the core."""
    lowered = for_target(step(kernel), table)
    seen: set[int] = set()
    for seed, lanes in enumerate((1, 3, 4, 16)):
        values, arrays = draw_addition(kernel, seed)
        expected = run(kernel, values, arrays)["y"]
        assert np.array_equal(run(lowered, values, arrays, lanes)["y"], expected)
        seen |= set(expected.tolist())
    assert len(seen) > 20
    rows = [table.instruction(s) for s in statements(lowered.body) if isinstance(s, Compute)]
    assert {row.op for row in rows} >= ({"high_add"} if table is DSP else {"high_mul", "shift_right_rounded"})


def test_scales_to_the_right_are_two_roundings() -> None:
    """One of them is rescale()'s, where no bit is lost to the left."""
    rng = np.random.default_rng(9)
    x, multiplier = rng.integers(-(1 << 30), 1 << 30, 4000), rng.integers(1 << 30, 1 << 31, 4000)
    x[:100] = np.arange(-50, 50)
    right = rng.integers(1, 31, 4000)
    assert np.array_equal(scale_right(x, multiplier, np.int64(0), right), rescale(x, multiplier, -right))


# ---- refusals ----


def described(write: Callable[[Builder, Index], None]) -> KernelProgram:
    """A kernel over n bytes."""

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


def test_an_element_outside() -> None:
    def write(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i + 1), i)

    assert "'x' has 5 elements, and element 5" in refused("kernel_bounds", executed(write))


def test_a_read_of_what_was_freed_or_never_stored() -> None:
    def freed(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_free(x, i)
            b.ram_store(y, b.ram_load(x, i), i)

    def never(b: Builder, n: Index) -> None:
        x, y = b.ram("work", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i), i)

    refused("kernel_freed", executed(freed))
    refused("kernel_freed", executed(never))


def test_an_output_that_is_stored_twice_or_not_everywhere() -> None:
    def twice(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i), 0)

    def once(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        b.ram_store(y, b.ram_load(x, 0), 0)

    refused("kernel_stored_twice", executed(twice))
    refused("kernel_not_stored", executed(once))


def test_a_value_that_its_register_cannot_hold() -> None:
    def write(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.compute("mul", Type.INT8, b.ram_load(x, i), Index.of(100)), i)

    assert "and r2 is int8_t" in refused("kernel_range", executed(write))


def test_a_register_that_holds_nothing() -> None:
    def write(b: Builder, n: Index) -> None:
        y = b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.reg_alloc(Type.INT8, "empty"), i)

    assert "register empty" in refused("kernel_undefined", executed(write))


def test_a_load_from_the_other_memory() -> None:
    def write(b: Builder, n: Index) -> None:
        b.flash_load(b.ram("x", Type.INT8, n), 0)

    assert "flash" in refused("kernel_memory", lambda: described(write))


def test_loops_that_cannot_be_vectorised() -> None:
    def rewritten(var: str) -> Callable[[], object]:
        return lambda: scheduled(dense, [vectorise(var)])

    assert "'r1' goes from turn to turn" in refused("kernel_vectorise", rewritten("k"))
    assert "whether dilation_h * r + p * stride_h - pad_top lies inside" in refused(
        "kernel_vectorise", lambda: scheduled(conv, [vectorise("p")])
    )
    assert "has 0 loops over 'z'" in refused("kernel_loop", rewritten("z"))
    refused("kernel_relayout", lambda: scheduled(dense, [relayout("x", (1, 0))]))
    refused("kernel_relayout", lambda: scheduled(dense, [relayout("w", (0, 0))]))


def test_a_target_without_an_instruction() -> None:
    def write(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.compute("shift_right_rounded", Type.INT8, b.ram_load(x, i), Index.of(3)), i)

    assert "ref has no instruction for shift_right_rounded: s of s, s" in refused(
        "kernel_instruction", lambda: function(described(write), REF)
    )


def test_loops_that_cannot_be_summed_up() -> None:
    def rewritten(*steps: Rewrite, of: KernelProgram = dense) -> Callable[[], object]:
        return lambda: scheduled(of, steps)

    assert "elements of 'x' do not lie side by side" in refused("kernel_reduce", rewritten(reduce("r"), of=pooled))
    assert "differences, dots and sums" in refused("kernel_reduce", rewritten(reduce("n")))
    assert "more than loads, a difference" in refused("kernel_reduce", rewritten(distribute("k"), distribute("k")))
    assert "the dot is not of it" in refused("kernel_reduce", rewritten(distribute("i"), of=squared))
    assert "'r1' goes from turn to turn" in refused("kernel_vectorise", rewritten(jam("k", 2)))


@kernel("y = the sum of a column")
def pooled(b: Builder) -> None:
    n, width = b.extents("n", "width")
    x, y = b.ram("x", Type.INT8, n, width), b.output("y", Type.INT32, 1)
    total = b.broadcast(Type.INT32, Index.of(0))
    with b.loop("r", n) as r:
        b.update("add", total, b.ram_load(x, r, 0))
    b.ram_store(y, total, 0)


@kernel("y = the sum of squares")
def squared(b: Builder) -> None:
    (n,) = b.extents("n")
    (zero,) = b.parameters("zero")
    x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT32, 1)
    total = b.broadcast(Type.INT32, Index.of(0))
    with b.loop("i", n) as i:
        value = b.compute("sub", Type.INT16, b.ram_load(x, i), zero)
        b.dot(total, value, value)
    b.ram_store(y, total, 0)


def test_squares_may_be_summed_up_across_lanes() -> None:
    given = {"x": np.arange(-5, 6, dtype=np.int8)}
    for lanes in (1, 4, 16):
        assert run(scheduled(squared, [reduce("i")]), {"n": 11, "zero": 2}, given, lanes)["y"] == 154


def test_lanes_that_a_table_has_no_loop_for() -> None:
    def describe(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.compute("max", Type.INT8, b.ram_load(x, i), i), i)

    refused("kernel_lanes", lambda: function(vectorise("i")(described(describe)), MVE))


def test_a_target_of_which_no_c_is_written() -> None:
    summed = scheduled(dense, SUMMED["esp32s3"]["dense"])
    assert "no compiler" in refused("kernel_unwritten", lambda: function(summed, ESP32S3))


def test_a_table_is_looked_up_by_scalars() -> None:
    assert "'table' is looked up" in refused("kernel_vectorise", lambda: scheduled(lookup, [vectorise("i")]))
    short = np.zeros(200, np.int8)
    x = np.full(3, 100, np.int8)
    assert "element 228" in refused("kernel_bounds", lambda: run(lookup, {"n": 3}, {"x": x, "table": short}))


def test_a_core_without_vectors_moves_elements_side_by_side_at_once() -> None:
    moved = scheduled(gather, [vectorise("c")])
    assert "memcpy(&y[(int32_t)(channels * p)], &table[0 + r2], channels);" in function(moved, REF)
    index, table = np.array([2, 0]), np.arange(12, dtype=np.int8)
    made = run(moved, {"pixels": 2, "rows": 3, "channels": 4}, {"index": index, "table": table})["y"]
    assert made.tolist() == [8, 9, 10, 11, 0, 1, 2, 3]
    assert "no vectors" in refused("kernel_moves", lambda: function(vectorise("i")(add), REF))


def test_floats_are_rounded_as_tflm_does() -> None:
    """Halves away from zero; what is nearest to a half is none."""
    x = np.array([0.5, -0.5, 1.5, -2.5, 0.49999997, -0.49999997, 3.3, 1e9, -np.inf, np.nan], np.float32)
    assert nearest(x).tolist() == [1, -1, 2, -3, 0, 0, 3, 65536, -65536, 0]
    values = {"n": len(x), "scale": 0x40000000, "zero_out": 3}  # a scale of 2
    assert run(quantize, values, {"x": x * 2})["y"].tolist() == [4, 2, 5, 0, 3, 3, 6, 127, -128, 3]


def test_softmax_needs_its_whole_row_and_then_frees_it() -> None:
    """An output row may lie on its input row, element on element, and no nearer to the one behind it."""
    values = {"rows": 3, "channels": 5, "multiplier": 1 << 30, "shift": 4, "diff_min": -248}
    assert distance(list(accesses(softmax, values)), "x", "y") == 0
    wrong = {"n": 4}
    assert distance(list(accesses(lookup, wrong)), "x", "y") == 0


def test_more_vectors_than_registers() -> None:
    values = [Reg(f"v{k}", Type.INT32, "i") for k in range(5)]
    body = [
        *(Compute("copy", value, (Index.of(1),)) for value in values),
        *(Compute("add", values[0], (values[0], value)) for value in values),
    ]
    unit = VectorUnit(registers=32, group=8)
    assert "no room for v4 in 32 registers" in refused("kernel_registers", lambda: assign("a test", body, unit))
    assert sorted(assign("a test", body[:4] + body[5:9], unit).values()) == [0, 8, 16, 24]


def test_what_a_loop_needs_in_each_turn_keeps_its_register_until_the_end() -> None:
    before, total, late = (Reg(name, Type.INT32, "i") for name in ("before", "total", "late"))
    turn = (
        Compute("add", total, (total, before)),
        Compute("copy", late, (Index.of(1),)),  # behind the last line that reads `before`
        Compute("add", total, (total, late)),
    )
    body = [*(Compute("copy", reg, (Index.of(1),)) for reg in (before, total)), For("k", Index.of(3), turn)]
    assert len(set(assign("a test", body, VectorUnit(registers=32, group=8)).values())) == 3


# ---- the page ----


def test_the_page_shows_what_is_there() -> None:
    """Its description is the package's, and its C is what it writes."""
    page = (ROOT / "docs/kernel-language.md").read_text()
    described_there, scheduled_there, packed_there, inward_there = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    source = (ROOT / "tflm_memopt/kernels/descriptions/dense.py").read_text()
    assert described_there.partition("@kernel")[2].rstrip() == source.partition("@kernel")[2].rstrip()
    names: dict[str, object] = {}
    exec(described_there, names)
    said: list[str] = []
    names["print"] = said.append
    exec(scheduled_there, names)
    (loop,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    exec(packed_there, names)
    assert "smlad" in said.pop()
    exec(inward_there, names)
    assert "for (uint32_t c = 0; c < filters; ++c)" in said.pop()
    plain = "\n".join(line.strip() for line in said[0].splitlines())
    assert "\n".join(line.strip() for line in loop.splitlines()) in plain


# ---- loops that go inside ----


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


def test_several_turns_at_once_of_what_is_left_over() -> None:
    rng = np.random.default_rng(2)
    for channels in range(1, 20):
        values = {"pointers": 3, "reach": 2 * channels, "rows": 3, "columns": 2, "channels": channels, "zero_in": 5}
        values |= {"next_row": 1, "next_column": 0, "apart": channels, "offset": 0, "spread": 1}
        values |= {"row_weights": 2 * channels, "tap_weights": channels}
        given = {t.name: rng.integers(-128, 128, t.elements.at(values)) for t in depthwise_sums.tensors}
        jammed = scheduled(depthwise_sums, [jam("c", 8, 4)])
        assert (run(jammed, values, given)["sums"] == run(depthwise_sums, values, given)["sums"]).all()
    assert function(jammed, REF).count("for (") == 3 * 3  # of eight channels, of four, and of one


def test_loops_that_cannot_go_inside() -> None:
    """What is no sum in a workspace, what is more than one loop, and what turns take along from loop to loop."""

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

    assert "'r2' is taken along" in refused("kernel_inward", lambda: scheduled(described(along), [inward("i")]))
    assert "more than sums" in refused("kernel_inward", lambda: scheduled(dense, [inward("n")]))


def test_lanes_that_are_not_there_are_neither_loaded_nor_stored() -> None:
    _, _, last = function(scheduled(add_pixels, [vectorise("c", group=4)]), MVE).rpartition("for (uint32_t c_left")
    assert re.findall(r"\bv(?:ldr|str)\w+", last) == ["vldrwq_z_s32", "vldrbq_z_s32", "vstrwq_p_s32"]


# ---- what the library takes ----


def test_the_librarys_generated_c_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    written = runpy.run_path(str(ROOT / "scripts/kernels.py"))["written"]()
    stale = [path.name for path, text in written.items() if path.read_text() != text]
    assert len(written) == 13 and not stale, "python scripts/kernels.py writes them anew"


@pytest.mark.parametrize("depth_by_depth", [False, True], ids=["conv", "depthwise"])
def test_a_pixel_of_the_executor_is_one_of_the_layer(depth_by_depth: bool) -> None:
    """Windows by rows and by single pixels, in one corner of a layer without padding."""
    name = "depthwise" if depth_by_depth else "conv"
    window = {"kernel_h": 2, "kernel_w": 2, "stride_h": 1, "stride_w": 1, "pad_top": 0, "pad_left": 0}
    values, arrays = draw(name, 4, **window, height=4, width=5, channels=3)
    layer = run(SCHEDULES[name][0], values, arrays)["y"].reshape(values["out_h"], values["out_w"], -1)
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


# ---- several turns at once ----


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_jammed_and_unrolled_loops_change_nothing(turns: int, lanes: int) -> None:
    """Whatever is left over; 2 lanes are what a register of 64 bits has of int32."""
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


def test_jammed_turns_load_what_is_the_same_for_its_turns_once() -> None:
    plain = scheduled(packed_conv, [vectorise("k")])
    loads = function(plain, RVV).count("(&w[")
    jammed = scheduled(plain, [jam("p", 2, apart=True)])
    assert function(jammed, RVV).count("(&w[") == 2 * loads  # of two turns, and of one
    assert function(scheduled(plain, [unroll("i", 3)]), RVV).count("(&w[") == 4 * loads


def test_jams_of_turns_that_depend_on_each_other_are_refused() -> None:
    assert "'r1' goes from turn to turn" in refused("kernel_vectorise", lambda: scheduled(packed_conv, [jam("i", 2)]))
    wide = scheduled(packed_conv, [vectorise("k")])
    assert "several turns at once already" in refused("kernel_turns", lambda: scheduled(wide, [jam("k", 2)]))
    assert "several turns at once already" in refused(
        "kernel_turns", lambda: scheduled(packed_conv, [jam("p", 2, apart=True), unroll("p", 2)])
    )

    @kernel("y[p] = x[p] + the greater of two weights")
    def changing(b: Builder) -> None:
        (n,) = b.extents("n")
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        w = b.flash("w", Type.INT8, n)
        with b.loop("p", n) as p:
            weight = b.broadcast(Type.INT32, b.flash_load(w, 0))
            b.update("max", weight, b.flash_load(w, 1))
            b.ram_store(y, b.compute("add", Type.INT8, b.ram_load(x, p), weight), p)

    both = [jam("p", 2, apart=True)]
    assert "cannot share 'r2', which changes" in refused("kernel_shared", lambda: scheduled(changing, both))


def test_registers_that_would_say_what_is_accessed() -> None:
    """Which elements a kernel reads depends on no values: planner and checker would not know."""

    def describe(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            value = b.ram_load(x, i)
            with b.inside(value, 3):
                b.ram_store(y, value, i)

    refused("kernel_condition", lambda: described(describe))
