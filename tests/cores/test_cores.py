"""Random programs and whole models give the same output bytes on emulated cores as on the PC."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE, examples, optimized
from cores.cases import TOO_LARGE, Case, blob, model_cases, run
from cores.core import CORES, Core, missing_tools, with_listed_parts
from cores.draws import DRAWS, converted_cases, program_case
from models import Net
from property.forced import forced
from property.oracle import rewrite

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.format.codes import Part
from tflm_memopt.lower.parts import parts
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import Family
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions

OTHERS = tuple(name for name in CORES if name not in ("m0-large", "m7"))
"""Cortex-M7 runs the code of Cortex-M4, and `make soak KIND=cores` tests Cortex-M7."""
LARGE = tuple(name for name in CORES if name not in ("m0", "m7"))
DSP = ("m4", "m33")
ONE = ("m4",)
PACKED_FOR = "cortex-m4"
CLOCK = 100

pytestmark = pytest.mark.slow


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "core" in metafunc.fixturenames:
        some = {
            test_the_example_model: LARGE,
            test_whole_models: ONE,
            test_listed_parts_are_enough: ONE,
            test_packed_networks: DSP,
            test_tiles_for_helium: ("m55",),
            test_single_pixels_of_few_channels: ONE,
            test_the_last_tile_of_a_row_does_not_exceed_the_scratch: ONE,
            test_tiles_of_few_pixels: ONE,
            test_convolutions_of_few_channels: DSP,
            test_a_wrong_byte_is_seen: ONE,
            test_a_program_that_exceeds_the_flash_is_not_run: ("m0",),
        }
        metafunc.parametrize("core", [pytest.param(CORES[n], id=n) for n in some.get(metafunc.function, OTHERS)])


@pytest.fixture(autouse=True)
def _tools(core: Core) -> None:
    if reason := missing_tools(core):
        pytest.skip(reason)


@cache
def network_cases(family: Family) -> dict[tuple[str, int], Case]:
    drawn = {(draw.__name__, seed): program_case(draw, seed, family) for draw in DRAWS for seed in range(examples(5))}
    cases = {name: case for name, case in drawn.items() if case}
    assert len(cases) > len(drawn) // 2
    return cases


@cache
def converted_models(target: str) -> list[tuple[int, Case]]:
    return [(seed, case) for seed in range(examples(4)) for case in converted_cases(seed, target)]


def test_random_networks(core: Core) -> None:
    for family in Family:
        cases = network_cases(family)
        if family not in core.families:
            assert {o.status for o in run(core, list(cases.values())[:1])} == {host.Status.TARGET}
            continue
        outcomes = run(core, list(cases.values()))
        wrong = {name: o for name, o in zip(cases, outcomes, strict=True) if not o.right or o.stack > core.most_stack}
        assert not wrong


def test_listed_parts_are_enough(core: Core) -> None:
    cases = [case for family in core.families for case in network_cases(family).values()]
    cases += [case for target in {core.target, "generic"} for _, case in converted_models(target)]
    cases += [case for network in PACKED for case in network()]
    outcomes = run(with_listed_parts(core), cases)
    assert not [n for n, o in enumerate(outcomes) if not o.right]


def test_random_models(core: Core) -> None:
    cases = converted_models(core.target)
    outcomes = run(core, [case for _, case in cases])
    assert len(cases) > examples(3)
    assert not [(seed, o) for (seed, _), o in zip(cases, outcomes, strict=True) if not o.right]


def test_the_example_model(core: Core) -> None:
    (outcome,) = run(core, model_cases(optimized(EXAMPLE, core.target)))
    assert outcome.right and outcome.stack <= core.most_stack and outcome.instructions > 100_000


def packed(model: bytes, part: Part | None = None, **options: Any) -> list[Case]:
    given = ConversionOptions(target=PACKED_FOR, tiles=None, wide=True, reverse=False)
    converted, _ = rewrite(model, replace(given, **options))
    used = [parts(unpack(region.program)) for region in regions(read(converted))]
    assert part is None or all(mask >> part & 1 for mask in used)
    return model_cases(converted, by_operator=True)


@cache
def wide_tiles() -> list[Case]:
    net = Net(6)
    y = net.conv2d(net.input((1, 9, 14, 28)), 28, kernel=(3, 3), dilation=(1, 2))
    return packed(net.model(net.conv2d(y, 20, kernel=(3, 3), stride=(2, 2))), Part.DSP_PAIRS_4)


@cache
def last_five_pixels() -> list[Case]:
    net = Net(7)
    y = net.conv2d(net.conv2d(net.input((1, 12, 9, 8)), 15), 8, kernel=(2, 3))
    return packed(net.model(net.conv2d(y, 13, kernel=(3, 3), stride=(1, 2))), Part.DSP_PAIRS_5)


@cache
def two_rows() -> list[Case]:
    cases = []
    for rows, channels in ((6, 8), (7, 13), (2, 4)):
        net = Net(rows)
        y = net.conv2d(net.input((1, 2 * rows, 10, 1)), channels, kernel=(10, 4), stride=(2, 2))
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3)), 8)
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3)), channels, kernel=(2, 3))
        y = net.depthwise_conv2d(net.conv2d(y, 12, activation="RELU6"), kernel=(3, 3))
        cases += packed(net.model(y), Part.TWO_ROWS, two_rows=True)
    return cases


@cache
def one_pixel_rows() -> list[Case]:
    cases = []
    for deep, channels in ((8, 4), (8, 11), (16, 5), (16, 8), (16, 15), (24, 7), (24, 9)):
        net = Net(channels)
        x = net.conv2d(net.input((1, 6, 1, 3)), deep, kernel=(3, 1))
        cases += packed(net.model(net.conv2d(x, channels)), Part.DSP_DIRECT, wide=False)
    return cases


@cache
def sums_of_rows() -> list[Case]:
    """An int16 can hold the sum of 256 int8 pixels, but not of 257."""
    cases = []
    for width, channels in ((5, 8), (256, 4), (257, 4), (3, 6)):
        net = Net(width)
        y = net.conv2d(net.input((1, 24, width, 2)), channels, kernel=(3, 1))
        rewritten = tflm_memopt.optimize(net.model(net.mean(y, (1, 2))), target=PACKED_FOR)
        assert any("summed rows" in work.kernel for work in rewritten.work)
        cases += model_cases(rewritten.model, by_operator=True)
    return cases


@cache
def depthwise_rows() -> list[Case]:
    cases = []
    for width in (4, 5, 6, 7, 8, 11, 12, 13, 18, 20, 37):
        net = Net(width)
        x = net.conv2d(net.input((1, 5, width, 3)), (8, 6)[width % 2])
        for kernel, padding in (((3, 3), "SAME"), ((5, 5), "SAME"), ((3, 3), "VALID" if width > 4 else "SAME")):
            x = net.depthwise_conv2d(x, kernel=kernel, padding=padding)
        cases += packed(net.model(x))
    return cases


@cache
def few_pixels() -> list[Case]:
    cases, kernels = [], set()
    for tile, width in ((2, 22), (3, 13), (4, 22), (7, 13)):
        net = Net(tile + width)
        x = net.conv2d(net.input((1, 40, width, 1)), 8, kernel=(3, 3), stride=(2, 1))
        y = net.depthwise_conv2d(net.conv2d(x, 12), kernel=(3, 3))
        x = net.conv2d(net.add(x, net.conv2d(y, 8, kernel=(3, 3))), 9, kernel=(3, 3), stride=(1, 2))
        x = net.depthwise_conv2d(net.conv2d(x, 9, kernel=(3, 1)), kernel=(3, 3), dilation=(1, 2))
        x = net.depthwise_conv2d(net.conv2d(x, 9), kernel=(3, 3), stride=(1, 2), activation="RELU6")
        x = net.conv2d(net.depthwise_conv2d(net.conv2d(x, 68), kernel=(1, 9)), 8, kernel=(3, 2))
        tiles = replace(Settings(), tile=tile, group_channels=0)
        model = net.model(x)
        rewritten, planned = rewrite(model, ConversionOptions(target=PACKED_FOR, tiles=tiles, seconds=0))
        kernels |= {one.kernel for one in work(planned)}
        by_reference = model_cases(rewrite(model, ConversionOptions(tiles=None, seconds=0))[0])
        mine = model_cases(rewritten, by_operator=True)
        cases += [replace(a, expected=b.expected) for a, b in zip(mine, by_reference, strict=True)]
    assert {"DSP_CONV few tiles", "DSP_DEPTHWISE four tiles", "DSP_DEPTHWISE nine tiles", "DSP_ADD tiles"} <= kernels
    return cases


@cache
def single_pixels() -> list[Case]:
    """The outputs have 2 to 10 pairs of channels, so that all remainders modulo 3 occur."""
    cases = []
    for deep, channels in ((8, 4), (8, 6), (16, 8), (24, 14), (40, 16), (16, 20)):
        net = Net(channels)
        x = net.conv2d(net.input((1, 14, 9, 3)), deep, kernel=(3, 3))
        x = net.conv2d(x, channels, kernel=(3, 3), activation="RELU6")
        x = net.conv2d(net.conv2d(x, deep), 6, kernel=(2, 3), stride=(2, 1))
        model, options = net.model(x), ConversionOptions(target=PACKED_FOR, seconds=0, reverse=False)
        for seed in itertools.count():
            with forced(Settings(tile=1, group_channels=0), seed):
                rewritten, planned = rewrite(model, options)
            if any(one.kernel == "DSP_DENSE windows pixels" for one in work(planned)):
                break
        by_reference = model_cases(rewrite(model, ConversionOptions(tiles=None, seconds=0))[0])
        mine = model_cases(rewritten, by_operator=True)
        cases += [replace(a, expected=b.expected) for a, b in zip(mine, by_reference, strict=True)]
    return cases


RELU = (0.05, -128)
"""Scale and zero point with which a RELU has the whole int8 range of outputs."""
HELIUM_KERNELS = {
    1: (
        ("MVE_CONV pixels", 698_000),
        ("MVE_DEPTHWISE nine pixels", 308_000),
        ("MVE_CONV direct pixels", 209_000),
        ("MVE_DEPTHWISE nine pixels", 116_000),
        ("MVE_DEPTHWISE pixels", 59_600),
        ("MVE_CONV pixels", 39_700),
        ("MEAN summed pixels", 15_900),
    ),
    2: (
        ("MVE_CONV apart tiles", 310_000),
        ("MVE_DEPTHWISE nine apart tiles", 105_000),
        ("MVE_CONV direct tiles", 80_000),
        ("MVE_DEPTHWISE nine apart tiles", 110_000),
        ("MVE_DEPTHWISE tiles", 70_000),
        ("MVE_CONV apart tiles", 36_400),
        ("MEAN summed tiles", 15_500),
    ),
}
"""For each width of tiles, the kernels of tiles_for_helium(), each with its maximum number of instructions."""


@cache
def tiles_for_helium(tile: int) -> tuple[list[str], Case]:
    """Return a network whose operators compute `tile` pixels in each iteration."""
    net = Net(16)
    x = net.conv2d(net.input((1, 40, 6, 2)), 32, kernel=(20, 3), stride=(2, 1), activation="RELU", out=RELU)
    x = net.conv2d(net.depthwise_conv2d(x, activation="RELU", out=RELU), 24, activation="RELU", out=RELU)
    x = net.depthwise_conv2d(x, dilation=(2, 1), activation="RELU", out=RELU)
    x = net.depthwise_conv2d(x, kernel=(3, 2), stride=(1, 2))
    x = net.conv2d(x, 9, kernel=(3, 3), stride=(2, 1))
    model = net.model(net.mean(x, (1, 2)))
    with forced(Settings(tile=tile, group_channels=0), 6):
        rewritten, planned = rewrite(model, ConversionOptions(target="cortex-m55", seconds=0))
    (case,) = model_cases(rewritten, by_operator=True)
    (plain,) = model_cases(rewrite(model, ConversionOptions(tiles=None, seconds=0))[0])
    return [one.kernel for one in work(planned)], replace(case, expected=plain.expected)


PACKED = (
    wide_tiles, last_five_pixels, two_rows, one_pixel_rows, sums_of_rows, depthwise_rows, few_pixels, single_pixels
)  # fmt: skip


@pytest.mark.parametrize("network", PACKED, ids=lambda network: network.__name__)
def test_packed_networks(core: Core, network: Callable[[], list[Case]]) -> None:
    outcomes = run(core, network())
    assert all(outcome.right and outcome.stack <= core.most_stack for outcome in outcomes)
    assert all(-CLOCK < sum(o.operators) - o.instructions <= CLOCK * sum(o.steps) for o in outcomes)


@pytest.mark.parametrize("tile", HELIUM_KERNELS)
def test_tiles_for_helium(core: Core, tile: int) -> None:
    kernels, case = tiles_for_helium(tile)
    (outcome,) = run(core, [case])
    assert outcome.right and outcome.stack <= core.most_stack
    assert kernels == [kernel for kernel, _ in HELIUM_KERNELS[tile]]
    most = [instructions for _, instructions in HELIUM_KERNELS[tile]]
    assert not [n for n, spent in enumerate(outcome.operators) if spent > most[n]], outcome.operators


@pytest.mark.parametrize(("channels", "most"), [(1, 1_573_000), (3, 1_690_000)])
def test_single_pixels_of_few_channels(core: Core, channels: int, most: int) -> None:
    net = Net(channels)
    x = net.conv2d(net.input((1, 16, 16, channels)), 16, kernel=(3, 3))
    x = net.conv2d(net.depthwise_conv2d(x, kernel=(3, 3)), 16, kernel=(3, 3))
    tiles = replace(Settings(), tile=1, group_channels=0)
    rewritten, _ = rewrite(net.model(net.mean(x, (1, 2))), ConversionOptions(target=PACKED_FOR, tiles=tiles, seconds=0))
    (outcome,) = run(core, model_cases(rewritten))
    assert outcome.right and outcome.instructions <= most


def test_tiles_of_few_pixels(core: Core) -> None:
    counted = [outcome.instructions for outcome in run(core, few_pixels())]
    assert all(n <= most for n, most in zip(counted, (4_013_000, 2_305_000, 3_320_000, 1_812_000), strict=True))


def test_the_last_tile_of_a_row_does_not_exceed_the_scratch(core: Core) -> None:
    """The operator computes tiles of four pixels, and the scratch has room for two pixels, which have 252 input values
    each. The last tile of a row has three pixels.
    """
    net = Net(3)
    x = net.conv2d(net.input((1, 9, 7, 8)), 28, kernel=(3, 3))
    model = net.model(net.conv2d(net.conv2d(x, 6, kernel=(3, 3)), 4, kernel=(3, 3)))
    (by_reference,) = model_cases(rewrite(model, ConversionOptions(tiles=None, seconds=0))[0])
    with forced(Settings(tile=4, group_channels=0), 1):
        rewritten, planned = rewrite(model, ConversionOptions(target=PACKED_FOR, seconds=0))
    (case,) = model_cases(rewritten)
    (outcome,) = run(core, [replace(case, expected=by_reference.expected)])
    assert {done.kernel for done in work(planned)} & {"DSP_CONV tiles", "DSP_CONV few tiles"}
    assert outcome.right


def few_channels(depthwise: bool, activations: str) -> Iterator[bytes]:
    """Draw convolutions of one to three channels, with each kernel, stride and padding in images and in columns."""
    shapes, windows = ((7, 5), (9, 1)), itertools.product((1, 2, 3), (1, 3), (1, 2), ("SAME", "VALID"))
    for seed, ((h, w), channels, (kh, kw, stride, padding)) in enumerate(itertools.product(shapes, (1, 2, 3), windows)):
        net = Net(seed, activations=activations)
        x = net.input((1, h, w, channels if depthwise else 1 + seed % 6))
        dilation = 2 if stride == 1 and kh == 3 else 1
        window: dict[str, Any] = {"kernel": (kh, min(kw, w)), "stride": (stride, 1), "dilation": (dilation, 1)}
        window |= {"padding": padding, "activation": ("NONE", "RELU6")[seed % 5 == 0], "bias": seed % 4 > 0}
        y = net.depthwise_conv2d(x, **window) if depthwise else net.conv2d(x, channels, **window)
        yield net.model(y)


@pytest.mark.parametrize(("depthwise", "activations"), [(False, "INT8"), (True, "INT8"), (True, "INT16")])
def test_convolutions_of_few_channels(core: Core, depthwise: bool, activations: str) -> None:
    drawn = few_channels(depthwise, activations)
    models = [tflm_memopt.optimize(model, if_worthwhile=False).model for model in drawn]
    outcomes = run(core, [case for model in models for case in model_cases(model)])
    assert not [n for n, outcome in enumerate(outcomes) if not outcome.right]


def test_int16_abs(core: Core) -> None:
    """ABS has a negative multiplier for negative values, so a kernel that reads multipliers as unsigned is wrong."""
    net = Net(activations="INT16")
    x = net.conv2d(net.input((1, 9, 5, 2), (0.001, 0)), 4, kernel=(3, 1))
    y = net.unary("ABS", x, dtype="INT16", out=(0.001, 0))
    rewritten = tflm_memopt.optimize(net.model(y), target=core.target)
    assert any(work.kernel.startswith("LEAKY_RELU_S16") for work in rewritten.work)
    assert all(outcome.right for outcome in run(core, model_cases(rewritten.model)))


def test_a_wrong_byte_is_seen(core: Core) -> None:
    case = next(case for seed in range(9) if (case := program_case(DRAWS[0], seed, Family.GENERIC)))
    flipped = case.expected[0].copy()
    flipped.flat[0] ^= 1
    right, wrong = run(core, [case, Case(case.program, case.arena, case.inputs, [flipped])])
    assert (right.wrong, wrong.wrong) == (0, 1)


def test_a_program_that_exceeds_the_flash_is_not_run(core: Core) -> None:
    net, inputs = Net(2), 1000
    converted, _ = rewrite(
        net.model(net.fully_connected(net.input((1, inputs)), core.blob_bytes // inputs + 1)), ConversionOptions()
    )
    large = model_cases(converted)
    small = network_cases(Family.GENERIC)["by_row", 0]
    assert len(blob(large)) > core.blob_bytes
    first, last = run(core, [*large, small])
    assert first.status == TOO_LARGE
    assert last.right


def test_whole_models(core: Core, own_model: Path) -> None:
    rewritten = optimized(own_model)
    cases = model_cases(rewritten)
    if not cases or len(rewritten) > core.blob_bytes or len(blob(cases)) > core.blob_bytes:
        return
    for outcome in run(core, cases):
        assert outcome.status == TOO_LARGE or outcome.right
