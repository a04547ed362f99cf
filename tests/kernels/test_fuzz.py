"""Either tmo_check() refuses a damaged program, or the program stays inside its buffers."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import known
import memories
import numpy as np
import pytest
import streaming
from compiling import part_of, run
from conftest import KEYWORDS, QUICKLY
from in_sums import in_parts
from models import Net
from numpy.typing import NDArray
from planning import lowered, plan_of
from poses import float_end, int4_network, pose_network
from property import two_cores
from property.floats import FLOAT, in_float
from property.forced import mobile
from property.layers import INT16, SUPPORTED, Layer
from property.networks import Recipe
from property.networks import build as built

import tflm_memopt
from kernels import drawn
from kernels.conftest import DSP, THREADS, WATCHED, Build, compiled, sample
from kernels.pools import in_slow_memory
from kernels.samples import good
from kernels.sources import external, streamed
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.emit.kernels import Needs, needs
from tflm_memopt.format.codes import Part
from tflm_memopt.format.limits import MAGIC
from tflm_memopt.lower.program import HEADER, Program, ProgramGroup
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.plan.loops import Iteration
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE
from tflm_memopt.rowgraph.inputs import IN_ARENA, SLIDING, InputMode
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions

SAMPLES = 24
ANY = ConversionOptions(seconds=0, effort=QUICKLY)


FAMILIES = {0: Family.DSP, 1: Family.DSP, 2: Family.ESP, 3: Family.ESP, 4: Family.RVV, 5: Family.MVE}


def write_samples(folder: Path) -> list[Path]:
    paths = []
    for seed in range(SAMPLES):
        draw = drawn.by_row if seed % 2 == 0 else drawn.pixels if seed % 8 == 5 else drawn.tiled
        found = draw(seed, FAMILIES.get(seed % 8, Family.GENERIC))
        moved = {2: external, 3: streamed}.get(seed % 4, lambda p, _: p)
        program = moved(found.program, np.random.default_rng(seed))
        paths.append(folder / f"{seed}.bin")
        paths[-1].write_bytes(sample(program, found.inputs[:1], [found.expected]))
    for k, data in enumerate(itertools.starmap(planned, networks_to_plan())):
        for n, region in enumerate(data):
            paths.append(folder / f"planned{k}_{n}.bin")
            paths[-1].write_bytes(region)
    return [*paths, *write_shared(folder), *write_pools(folder), *write_poses(folder)]


def write_poses(folder: Path) -> list[Path]:
    options = replace(ANY, tiles=None)
    paths = []
    for model in (pose_network(size=16, channels=4, depth=1), float_end(), int4_network()):
        for region in planned(model, options):
            paths.append(folder / f"poses{len(paths)}.bin")
            paths[-1].write_bytes(region)
    return paths


def write_pools(folder: Path) -> list[Path]:
    paths = []
    for seed in range(SAMPLES):
        found, rng = drawn.by_row(seed, FAMILIES.get(seed % 8, Family.GENERIC)), np.random.default_rng(seed)
        program = in_slow_memory(found.program, rng)
        if program.slow:
            paths.append(folder / f"pools{seed}.bin")
            moved = {1: external, 2: streamed}.get(seed % 3, lambda p, _: p)(program, rng)
            paths[-1].write_bytes(sample(moved, found.inputs[:1], [found.expected]))
    for name, model, fast, target in (
        ("residual", residual(), 1_000, "generic"),
        ("residual_packed", residual(), 1_000, "cortex-m4"),
        ("keywords", KEYWORDS.read_bytes(), 2_400, "cortex-m4"),
        ("copies", residual(), 1_500, "generic"),
        ("copies_packed", residual(), 1_500, "cortex-m4"),
        ("external", known.heads(Net(3)), 2_800, "generic"),
    ):
        options = {"memory": {"fast": fast, "slow": 1_000_000}, "weights": "ram" if "copies" in name else "flash"}
        options["input"] = "external" if name == "external" else "arena"
        new = read(tflm_memopt.optimize(model, target=target, effort=QUICKLY, **options).model)
        (region,) = regions(new)
        data, (image,) = region.program, read(model).graph.inputs
        inputs = [np.random.default_rng(1).integers(-128, 128, read(model).graph.tensors[image].nbytes, np.int8)]
        outputs = host.run(data, inputs, [new.graph.tensors[t].nbytes for t in region.outputs])
        paths.append(folder / f"pools_{name}.bin")
        paths[-1].write_bytes(sample(data, inputs, outputs))
    return paths


def residual() -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 12, 10, 3)), 8, kernel=(3, 3))
    x = net.add(x, net.conv2d(net.conv2d(x, 12, kernel=(3, 3)), 8))
    gate = net.unary("LOGISTIC", net.conv2d(net.mean(x, (1, 2)), 8, out=(0.05, 0)), out=(1 / 256, -128))
    return net.model(net.fully_connected(net.mean(net.binary("MUL", x, gate), (1, 2)), 5))


def write_shared(folder: Path) -> list[Path]:
    found = [two_cores.random_cases(mobile(seed)) for seed in range(SAMPLES // 3)]
    for data, options in networks_to_plan():
        shared = family(options.target) in (Family.GENERIC, Family.DSP)
        if options.input == IN_ARENA and options.tiles is None and shared:
            found.append(two_cores.cases(data, options))
    paths = []
    for n, case in enumerate(itertools.chain(*found)):
        paths.append(folder / f"shared{n}.bin")
        paths[-1].write_bytes(sample(case.program, case.inputs, case.expected))
    return paths


def planned(data: bytes, options: ConversionOptions) -> Iterator[bytes]:
    model = read(data)
    new = read(lowered(model, plan_of(model.graph, options), options))
    rng = np.random.default_rng(0)
    for region in regions(new):
        inputs = [random_bytes(rng, new.graph.tensors[t]) for t in region.inputs]
        sizes = [new.graph.tensors[t].nbytes for t in region.outputs]
        yield sample(region.program, inputs, host.run(region.program, inputs, sizes))


def random_bytes(rng: np.random.Generator, tensor: Tensor) -> NDArray[np.int8]:
    """Draw no NaN as float32, because compilers may change the bits of a NaN."""
    if tensor.dtype == "FLOAT32":
        return rng.normal(scale=3, size=tensor.elements).astype(np.float32).view(np.int8)
    return rng.integers(-128, 128, tensor.nbytes, np.int8)


def layered() -> Iterator[tuple[bytes, ConversionOptions]]:
    for inside, kinds in (("INT8", tuple(SUPPORTED)), ("INT16", INT16), ("FLOAT32", FLOAT)):
        for k in range(0, len(kinds), 6):
            layers = (Layer("conv"), *map(Layer, kinds[k : k + 6]), Layer("conv"))
            wide = inside == "INT16"
            outside = "INT8" if inside != "INT8" else ("INT8", "FLOAT32", "UINT8", "INT16")[k // 6 % 4]
            data = built(Recipe(((1, 6, 5, 3),), layers, seed=k, outside=outside, inside="INT16" if wide else "INT8"))
            options = replace(ANY, tiles=None if k % 4 else NO_RECOMPUTE, ops="region" if k % 12 else "group")
            yield in_float(data, k) if inside == "FLOAT32" else data, options


def networks_to_plan() -> Iterator[tuple[bytes, ConversionOptions]]:
    by_row, free, groups = replace(ANY, tiles=None), ANY, replace(ANY, ops="group")
    yield from layered()
    for core in ("cortex-m4", "cortex-m55", "rv32-v"):
        net = Net()
        x = net.conv2d(net.input((1, 4, 24, 4)), 16)
        ends = [net.depthwise_conv2d(x, kernel=kernel) for kernel in ((2, 2), (1, 5))]
        yield net.model(*ends), replace(by_row, ops="group", target=core)
    net = Net()
    x = net.conv2d(net.input((1, 6, 5, 6)), 8, kernel=(3, 3), stride=(2, 1))
    layers = net.model(net.fully_connected(net.mean(net.conv2d(x, 9), (1, 2)), 7))
    for parts, options in ((3, by_row), (2, free), (5, free)):
        yield in_parts(layers, parts), options
    for state in (streaming.mixed, streaming.pooled, streaming.recurrent, streaming.joined, streaming.chunks):
        yield state(), by_row
    for state in (memories.svdf_network, memories.lstm_network, lambda: memories.lstm_network(steps=3)):
        yield state(), by_row
    yield streaming.chunks(), replace(groups, target="cortex-m4")
    for padding in ("VALID", "SAME"):
        net = Net()
        y = net.conv2d(net.input((1, 16, 2, 3)), 4, kernel=(3, 1), padding=padding)
        both = net.mean(y, (1,)), net.pool(y, kernel=net.shape(y)[1:3], stride=(1, 1))
        yield net.model(*both), replace(by_row, input=InputMode(SLIDING, 2))


FILTERS = Needs(kinds=1 << Kind.CONV | 1 << Kind.DEPTHWISE | 1 << Kind.ADD)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [(), ("-O0", *part_of(replace(FILTERS, packings=(1 << 64) - 1, parts=1 << Part.ITERATIVE | 1 << Part.STREAM)))],
    ids=["everything", "streamed"],
)
def test_damaged_programs(flags: tuple[str, ...], sanitized: Build, samples: list[Path]) -> None:
    """Only `make soak KIND=programs` uses libFuzzer, because libFuzzer needs clang."""
    fuzzer, count = sanitized("fuzz.c", THREADS, flags=flags), 2_000 if flags else 6_000
    refused, finished, right = damage(fuzzer, count, samples)
    assert min(refused, finished, right, finished - right) > count // 50
    if flags:
        damage(fuzzer, count, without_listed_parts(samples))
    else:
        for name in ("pools", "poses"):
            damage(fuzzer, 2_500, [path for path in samples if path.stem.startswith(name)])


@pytest.mark.slow
def test_damaged_programs_on_the_dsp_extension(sanitized: Build, samples: list[Path]) -> None:
    source, flags = DSP
    damage(sanitized("fuzz.c", THREADS, source, flags=flags), 4_000, samples)


@pytest.mark.slow
@pytest.mark.parametrize(("more", "flags"), [((), ()), (DSP[:1], DSP[1])], ids=["generic", "dsp"])
def test_listed_parts_are_enough_for_partial_sums(
    more: tuple[Path, ...], flags: tuple[str, ...], sanitized: Build, tmp_path: Path
) -> None:
    net = Net()
    layers = net.model(net.conv2d(net.conv2d(net.input((1, 6, 5, 6)), 8, kernel=(3, 3)), 5))
    (region,) = planned(in_parts(layers, 5), replace(ANY, tiles=None))
    parts = part_of(needs([region[region.index(MAGIC.to_bytes(4, "little")) :]]))
    path = tmp_path / "sums.bin"
    path.write_bytes(region)
    damage(sanitized("fuzz.c", THREADS, *more, flags=(*flags, *parts)), 50, [path])


@pytest.mark.slow
def test_operators_above_252_run_one_row_at_a_time(sanitized: Build, tmp_path: Path) -> None:
    program = chain(260)
    inputs = [np.arange(-48, 48, dtype=np.int8)]
    path = tmp_path / "chain.bin"
    path.write_bytes(sample(program, inputs, host.run(pack(program), inputs, [8 * 6 * 3])))
    damage(sanitized("fuzz.c", THREADS, flags=part_of(needs([pack(program)]))), 50, [path])


def chain(length: int) -> Program:
    """Return a program that lists every iteration of a convolution and many additions, without loops."""
    program = good()
    source, row, *_ = program.tensors
    conv, add, _ = program.ops
    rows = [replace(row, offset=2 * length + 18 * n, depth=1) for n in range(length - 1)]
    ops = [conv, *(replace(add, inputs=(n, n), output=n + 1) for n in range(1, length))]
    loops = tuple(Iteration(n) for _ in range(8) for n in range(length))
    tensors = (source, *rows, replace(row, offset=0, depth=8, base=2))
    group = ProgramGroup(0, length, 0, loops)
    return Program(1, 1, 20 * length, 8 * length, tensors, tuple(ops), (group,))


def without_listed_parts(samples: Sequence[Path]) -> list[Path]:
    first, size = HEADER.fields["parts"][1], HEADER["parts"].itemsize
    paths = []
    for path in samples:
        data = bytearray(path.read_bytes())
        at = data.index(MAGIC.to_bytes(4, "little")) + first
        data[at : at + size] = bytes(size)
        paths.append(path.with_suffix(".unlisted"))
        paths[-1].write_bytes(data)
    return paths


def damage(fuzzer: Path, count: int, samples: Sequence[Path]) -> tuple[int, int, int]:
    seed = 1
    said = run(fuzzer, str(seed), str(count), *samples)
    refused, unfinished, finished, right = map(int, re.findall(r"\d+", said))
    assert refused + unfinished + finished == count
    return refused, finished, right


@pytest.mark.slow
def test_damaged_programs_on_two_threads(tmp_path: Path, samples: list[Path]) -> None:
    fuzzer = compiled(WATCHED, "fuzz.c", tmp_path / "fuzz", THREADS)
    shared = [path for path in samples if path.stem.startswith("shared")]
    run(fuzzer, "1", "1000", *shared)
