"""Run the library on real instruction sets: random programs and whole models match this machine byte for byte.

Canaries around the arena stay intact, and one run keeps to the stack that the targets allow.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from conftest import EXAMPLE, examples, optimized
from cores.cases import TOO_LARGE, Case, blob, model_cases, run
from cores.core import CORES, Core, missing_tools, with_listed_parts
from cores.draws import DRAWS, converted_cases, program_case
from models import Net
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

QUICK = ("m4",)
OTHERS = tuple(name for name in CORES if name != "m7")
"""Cores of the other tests. A Cortex-M7, which runs the code of a Cortex-M4, runs in `make soak KIND=cores`."""
LISTED = ("m4",)
"""Cores that run programs with only the parts that these list."""
DSP = ("m4", "m33")
"""Cores that run convolutions packed for the DSP extension."""
CLOCK = 100
"""Maximum number of instructions by which reading the clock lengthens a step."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "core" in metafunc.fixturenames:
        marks = {name: () if name in QUICK else (pytest.mark.slow,) for name in CORES}
        some = {
            test_whole_models: QUICK,
            test_listed_parts_are_enough: LISTED,
            test_convolutions_with_wide_tiles: DSP,
            test_the_last_five_pixels_of_rows: DSP,
            test_two_rows_at_once: DSP,
            test_rows_of_one_pixel: DSP,
            test_sums_of_rows: DSP,
            test_depthwise_rows: DSP,
            test_tiles_of_few_pixels: DSP,
            test_a_wrong_byte_is_seen: QUICK,
        }
        names = some.get(metafunc.function, OTHERS)
        metafunc.parametrize("core", [pytest.param(CORES[n], id=n, marks=marks[n]) for n in names])


@pytest.fixture(autouse=True)
def _tools(core: Core) -> None:
    if reason := missing_tools(core):
        pytest.skip(reason)


@cache
def network_cases(family: Family) -> dict[tuple[str, int], Case]:
    """Return random programs with kernels of this family, by the function and the seed that drew them."""
    drawn = {(draw.__name__, seed): program_case(draw, seed, family) for draw in DRAWS for seed in range(examples(5))}
    cases = {name: case for name, case in drawn.items() if case}
    assert len(cases) > len(drawn) // 2
    return cases


@cache
def converted_models(target: str) -> list[tuple[int, Case]]:
    """Return the regions of random models that are converted for a target, with their seeds."""
    return [(seed, case) for seed in range(examples(4)) for case in converted_cases(seed, target)]


@pytest.mark.parametrize("family", Family)
def test_random_networks(core: Core, family: Family) -> None:
    """A core runs the programs of its families correctly and refuses those of others."""
    cases = network_cases(family)
    if family not in core.families:
        if core.name in QUICK:
            assert {o.status for o in run(core, list(cases.values())[:3])} == {host.Status.TARGET}
        return
    outcomes = run(core, list(cases.values()))
    wrong = {name: o for name, o in zip(cases, outcomes, strict=True) if not o.right or o.stack > core.most_stack}
    assert not wrong


def test_listed_parts_are_enough(core: Core) -> None:
    """Programs compute the same without the parts of the library that they do not list."""
    cases = [case for family in core.families for case in network_cases(family).values()]
    cases += [case for target in {core.target, "generic"} for _, case in converted_models(target)]
    outcomes = run(with_listed_parts(core), cases)
    assert not [n for n, o in enumerate(outcomes) if not o.right]


@pytest.mark.slow
def test_random_models(core: Core) -> None:
    cases = converted_models(core.target)
    outcomes = run(core, [case for _, case in cases])
    assert len(cases) > examples(3)
    assert not [(seed, o) for (seed, _), o in zip(cases, outcomes, strict=True) if not o.right]


@pytest.mark.slow
def test_the_example_model(core: Core) -> None:
    (outcome,) = run(core, model_cases(optimized(EXAMPLE, core.target)))
    if core.ram_bytes <= 16 << 10:
        assert outcome.status == TOO_LARGE
    else:
        assert outcome.right and outcome.stack <= core.most_stack and outcome.instructions > 100_000


def test_convolutions_with_wide_tiles(core: Core) -> None:
    """Compare convolutions that compute four pixels of many values, at borders and inside, with steps and gaps."""
    net = Net(6)
    y = net.conv2d(net.input((1, 9, 14, 28)), 28, kernel=(3, 3), dilation=(1, 2))
    model = net.model(net.conv2d(y, 20, kernel=(3, 3), stride=(2, 2)))
    fewest = tflm_memopt.explore(model, cost="instructions", target=core.target).points[0].instructions
    found = tflm_memopt.optimize(model, max_instructions=fewest, target=core.target)
    assert found.plan is not None
    assert found.plan.wide
    (outcome,) = run(core, model_cases(found.model))
    assert outcome.right


def test_the_last_five_pixels_of_rows(core: Core) -> None:
    """Compare convolutions of a row's last five pixels, at borders and inside, with odd channels and values."""
    net = Net(7)
    y = net.conv2d(net.input((1, 12, 9, 8)), 15, kernel=(1, 1))
    y = net.conv2d(y, 8, kernel=(2, 3))
    model = net.model(net.conv2d(y, 13, kernel=(3, 3), stride=(1, 2)))
    fewest = tflm_memopt.explore(model, cost="instructions", target=core.target).points[0].instructions
    found = tflm_memopt.optimize(model, max_instructions=fewest, target=core.target)
    (region,) = regions(read(found.model))
    assert parts(unpack(region.program)) >> Part.DSP_PAIRS_5 & 1
    (outcome,) = run(core, model_cases(found.model))
    assert outcome.right


def test_two_rows_at_once(core: Core) -> None:
    """Compare kernels that compute two rows, at borders and inside, with odd rows, channels and steps."""
    cases = []
    for rows, channels in ((6, 8), (7, 13), (2, 4)):
        net = Net(rows)
        y = net.conv2d(net.input((1, 2 * rows, 10, 1)), channels, kernel=(10, 4), stride=(2, 2))
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3)), 8, kernel=(1, 1))
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3)), channels, kernel=(2, 3))
        y = net.depthwise_conv2d(net.conv2d(y, 12, kernel=(1, 1), activation="RELU6"), kernel=(3, 3))
        options = ConversionOptions(target=core.target, tiles=None, wide=True, two_rows=True, reverse=False)
        converted = rewrite(net.model(y), options)
        (region,) = regions(read(converted[0]))
        assert parts(unpack(region.program)) >> Part.TWO_ROWS & 1
        cases += model_cases(converted[0], by_operator=True)
    outcomes = run(core, cases)
    assert all(outcome.right and outcome.stack <= core.most_stack for outcome in outcomes)
    # the instructions of each operator are those of the kernels that run, besides those of reading the clock
    assert all(0 < sum(o.operators) - o.instructions <= CLOCK * sum(o.steps) for o in outcomes)
    if core.name in LISTED:
        assert all(outcome.right for outcome in run(with_listed_parts(core), cases))


def test_rows_of_one_pixel(core: Core) -> None:
    """Compare pointwise convolutions with even and odd numbers of channels and of pairs of channels."""
    cases = []
    for deep in (8, 16, 24):
        for channels in (4, 5, 7, 8, 9, 11, 15):
            net = Net(channels)
            x = net.conv2d(net.input((1, 6, 1, 3)), deep, kernel=(3, 1))
            model = net.model(net.conv2d(x, channels, kernel=(1, 1)))
            converted, _ = rewrite(model, ConversionOptions(target=core.target))
            (region,) = regions(read(converted))
            assert parts(unpack(region.program)) >> Part.DSP_DIRECT & 1
            cases += model_cases(converted)
    assert all(outcome.right for outcome in run(core, cases))


def test_sums_of_rows(core: Core) -> None:
    """Compare means of rows with up to as many pixels as an int16 sum holds, and with more."""
    cases = []
    for width, channels in ((5, 8), (256, 4), (257, 4), (3, 6)):
        net = Net(width)
        y = net.conv2d(net.input((1, 24, width, 2)), channels, kernel=(3, 1))
        rewritten = tflm_memopt.optimize(net.model(net.mean(y, (1, 2))), target=core.target)
        assert any("summed rows" in work.kernel for work in rewritten.work)
        cases += model_cases(rewritten.model)
    assert all(outcome.right for outcome in run(core, cases))


def test_depthwise_rows(core: Core) -> None:
    """Compare rows of many widths, with padding, blocks of six pixels, a shorter last block, and odd channels."""
    cases = []
    for width in (4, 5, 6, 7, 8, 11, 12, 13, 18, 20, 37):
        net = Net(width)
        x = net.conv2d(net.input((1, 5, width, 3)), (8, 6)[width % 2], kernel=(1, 1))
        for kernel, padding in (((3, 3), "SAME"), ((5, 5), "SAME"), ((3, 3), "VALID" if width > 4 else "SAME")):
            x = net.depthwise_conv2d(x, kernel=kernel, padding=padding)
        rewritten = tflm_memopt.optimize(net.model(x), target=core.target)
        assert any("DEPTHWISE" in work.kernel and "rows" in work.kernel for work in rewritten.work)
        cases += model_cases(rewritten.model)
    outcomes = run(core, cases)
    assert len(outcomes) == 11
    assert all(outcome.right and outcome.stack <= core.most_stack for outcome in outcomes)


def test_tiles_of_few_pixels(core: Core) -> None:
    """Compare tiles of several widths at borders and inside, with narrower last tiles, steps and odd channels."""
    cases, kernels = [], set()
    for tile in (2, 3, 4, 7):
        for width in (13, 22):
            net = Net(tile + width)
            x = net.conv2d(net.input((1, 40, width, 1)), 8, kernel=(3, 3), stride=(2, 1))
            y = net.depthwise_conv2d(net.conv2d(x, 12, kernel=(1, 1)), kernel=(3, 3))
            x = net.conv2d(net.add(x, net.conv2d(y, 8, kernel=(3, 3))), 9, kernel=(3, 3), stride=(1, 2))
            x = net.depthwise_conv2d(net.conv2d(x, 9, kernel=(3, 1)), kernel=(3, 3), dilation=(1, 2))
            x = net.depthwise_conv2d(net.conv2d(x, 9, kernel=(1, 1)), kernel=(3, 3), stride=(1, 2), activation="RELU6")
            x = net.conv2d(net.depthwise_conv2d(net.conv2d(x, 68, kernel=(1, 1)), kernel=(1, 9)), 8, kernel=(3, 2))
            tiles = replace(Settings(), tile=tile, group_channels=0)
            model = net.model(x)
            rewritten, planned = rewrite(model, ConversionOptions(target=core.target, tiles=tiles, seconds=0))
            kernels |= {one.kernel for one in work(planned)}
            by_reference = model_cases(rewrite(model)[0])
            cases += [
                replace(mine, expected=plain.expected)
                for mine, plain in zip(model_cases(rewritten), by_reference, strict=True)
            ]
    assert {"DSP_CONV tiles", "DSP_DEPTHWISE four tiles", "DSP_DEPTHWISE nine tiles", "DSP_ADD tiles"} <= kernels
    assert all(outcome.right and outcome.stack <= core.most_stack for outcome in run(core, cases))
    if core.name in LISTED:
        assert all(outcome.right for outcome in run(with_listed_parts(core), cases))


def test_int16_abs(core: Core) -> None:
    """For negative values, ABS has a negative multiplier, which some instructions would take for a positive one."""
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


@pytest.mark.slow
def test_whole_models(core: Core, own_model: Path) -> None:
    rewritten = optimized(own_model)
    cases = model_cases(rewritten)
    if not cases or len(rewritten) > core.blob_bytes or len(blob(cases)) > core.blob_bytes:
        return  # TFLM runs the whole model, or the machine cannot hold its weights, inputs and outputs
    for outcome in run(core, cases):
        assert outcome.status == TOO_LARGE or outcome.right
