"""The converter compares the constants of program and model, and finds a single wrong constant."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import thinned
from models import Net
from moving import transpose_conv
from property import sliding
from property.floats import in_float
from unit.command import partly_dead

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.convert.constants import compare_constants, compare_devices, compare_programs, nearest_form
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network
from tflm_memopt.devices.sharding import DeviceSharding
from tflm_memopt.lower import numbers
from tflm_memopt.lower.program import HEADER, OP, Program
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model import writer
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import Packing
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.verification import ComparedConstants

RANGES = ("input_zero_point", "output_zero_point", "act_min", "act_max", "left_shift")

AT_ONCE = (Packing.DSP_CONV, Packing.DSP_DEPTHWISE)


@cache
def network() -> bytes:
    net = Net(7)
    x = net.conv2d(net.input((1, 12, 12, 3)), 18, kernel=(3, 3), stride=(2, 2), activation="RELU", out=(0.4, -128))
    y = net.depthwise_conv2d(x, activation="RELU", out=(0.4, -128))
    y = net.add(net.conv2d(y, 18, out=(0.5, 3)), net.conv2d(x, 18, out=(0.5, 3)), out=(0.9, 2))
    y = net.conv2d(net.unary("LOGISTIC", y, out=(1 / 256, -128)), 8, out=(0.3, 4))
    y = net.fully_connected(net.mean(y, (1, 2), keep=False), 16)
    return net.model(net.softmax(net.fully_connected(y, 14)))


@cache
def floats() -> bytes:
    net = Net(2)
    x = net.depthwise_conv2d(net.conv2d(net.input((1, 8, 8, 3)), 8, kernel=(3, 3), stride=(2, 2)))
    y = transpose_conv(net, net.conv2d(x, 4), 8, kernel=(3, 3), stride=(2, 2))
    return in_float(net.model(net.fully_connected(net.mean(y, (1, 2), keep=False), 5)), 1)


MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "dead channels": (partly_dead, {}),
    **{target: (network, {"target": target}) for target in ("generic", "cortex-m4", "cortex-m55", "rv32-v")},
    "float32": (floats, {}),
    "two cores": (network, {"cores": 2, "target": "cortex-m33"}),
    "groups": (network, {"op_per": "group"}),
    "dead channels, packed": (partly_dead, {"target": "cortex-m4"}),
    "dead channels, not folded": (partly_dead, {"fold": False, "target": "rv32-v"}),
}


@cache
def converted(name: str) -> tuple[bytes, bytes]:
    make, options = MODELS[name]
    model: bytes = make()
    return model, tflm_memopt.optimize(model, effort=0.05, **options).model


def compared(original: bytes, rewritten: bytes) -> ComparedConstants:
    return compare_constants(read(original), read(rewritten), Changes())


def places(program: bytes) -> Iterator[tuple[str, int, int]]:
    found: Program = unpack(program)
    header = np.frombuffer(program, HEADER, 1)[0]
    for n, op in enumerate(found.ops):
        at = int(header["ops"]) + n * OP.itemsize
        record = np.frombuffer(program, OP, 1, at)[0]
        arrays = {"weights": op.weights, "bias": op.bias, "multipliers": op.multipliers, "shifts": op.shifts}
        if op.packing:
            arrays = {"weights": op.weights, "bias": op.scales}
        for name, values in arrays.items():
            if values is not None and values.size and record[name]:
                yield f"{n} {op.kind.name} {name}", int(record[name]), values.nbytes
        for name in RANGES:
            field = OP.fields[name] if OP.fields else None
            if name == "left_shift" and op.packing in (*AT_ONCE, Packing.MVE_CONV):
                continue
            if field and name != "input_zero_point":
                yield f"{n} {op.kind.name} {name}", at + field[1], field[0].itemsize
            elif field:
                yield f"{n} {op.kind.name} {name}", at + field[1], len(op.inputs)


@pytest.mark.parametrize("name", thinned(MODELS, 1))
def test_every_flipped_bit_is_found(name: str) -> None:
    original, rewritten = (read(model) for model in converted(name))
    programs = [region.program for region in regions(rewritten)]
    form = nearest_form([unpack(program) for program in programs], original, Changes())
    random, missed = np.random.default_rng(3), []
    for number, program in enumerate(programs):
        for what, at, nbytes in places(program):
            for byte in {nbytes - 1, int(random.integers(nbytes))}:
                damaged = bytearray(program)
                damaged[at + byte] ^= 1 << int(random.integers(8))
                others = [bytes(damaged) if k == number else one for k, one in enumerate(programs)]
                if not compare_programs([unpack(one) for one in others], form).different:
                    missed.append(f"{what}, byte {byte}")
    assert missed == []


@pytest.mark.parametrize("seed", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_some_layers_of_a_sliding_window_may_keep_no_rows(seed: int) -> None:
    model, rows = sliding.network(seed)
    options: dict[str, Any] = {"input": f"sliding:{rows}", "effort": 0.05}
    for point in tflm_memopt.explore(model, **options).points:
        rewritten = tflm_memopt.optimize(model, plan=point.plan.to_json(), **options).model
        assert not compare_constants(read(model), read(rewritten), Changes(input=options["input"])).different


def test_the_number_of_pixels_at_once_changes_no_constant() -> None:
    original, rewritten = (read(model) for model in converted("cortex-m4"))
    programs = [unpack(region.program) for region in regions(rewritten)]
    assert {op.packing for program in programs for op in program.ops}.issuperset(AT_ONCE)
    joined = [
        replace(program, ops=tuple(replace(op, param=3) if op.packing in AT_ONCE else op for op in program.ops))
        for program in programs
    ]
    assert compare_programs(joined, nearest_form(programs, original, Changes())).different == ()


def test_an_odd_layer_is_not_a_layer_of_pairs() -> None:
    net = Net(3)
    x = net.unary("RELU", net.input((1, 8)))
    data = net.model(net.fully_connected(x, 16), net.fully_connected(x, 33))
    rewritten = tflm_memopt.optimize(data, target="cortex-m4", effort=0.05).model
    packings = [op.packing for region in regions(read(rewritten)) for op in unpack(region.program).ops]
    assert {Packing.DSP_DENSE, Packing.DSP_CONV} <= {*packings}
    assert compared(data, rewritten).different == ()


def test_every_float32_filter_has_its_counterpart() -> None:
    found = compared(*converted("float32"))
    assert (found.equal, found.unknown, found.different) == (5, 0, ())


@pytest.mark.slow
def test_constants_of_several_devices() -> None:
    original = read(network())
    devices = [read(one.model) for one in tflm_memopt.optimize_devices(network(), 2, effort=0.05).models]
    found = compare_devices(original, devices, Changes())
    assert found.different == ()
    assert found.equal >= 11
    programs = [region.program for device in devices for region in regions(device)]
    form = nearest_form([unpack(program) for program in programs], original, Changes())
    for number, program in enumerate(programs):
        weights = [at for what, at, _ in places(program) if what.endswith("weights") and " SUMS " not in what]
        for at in weights:
            damaged = bytearray(program)
            damaged[at] ^= 4
            others = [bytes(damaged) if k == number else one for k, one in enumerate(programs)]
            assert compare_programs([unpack(one) for one in others], form).different


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("sharding", [DeviceSharding.CHANNELS, DeviceSharding.WHOLE])
def test_constants_of_devices_with_dead_channels(sharding: DeviceSharding, *, fold: bool) -> None:
    network = Network(partly_dead(2), "dead", request({"fold": fold}), on_device)
    at = {op.index: int(op is network.graph.ops[-1]) for op in network.graph.ops}
    made = network.converted({op.index: sharding for op in network.graph.ops}, 2, at=at)
    found = compare_devices(network.source, [read(one.model) for one in made.models], Changes())
    assert (found.equal, found.unknown, found.different) == (6 if sharding is DeviceSharding.CHANNELS else 3, 0, ())


def test_one_operator_of_a_device_may_run_all_images_of_a_batch() -> None:
    """In the original program, the dense layer reads copies of the outputs of four MEANs. In the device's program, a
    single MEAN writes all four vectors.
    """
    net = Net(1)
    y = net.mean(net.conv2d(net.input((4, 12, 12, 2)), 6, kernel=(3, 3), stride=(2, 2)), (1, 2), keep=False)
    data = net.model(net.fully_connected(y, 3, batches=4))
    devices = [read(one.model) for one in tflm_memopt.optimize_devices(data, 2, effort=0.05).models]
    assert compare_devices(read(data), devices, Changes()).different == ()


def test_a_group_of_a_convolution_may_resemble_another_layer() -> None:
    """A device that computes one group of a grouped convolution has a CONV of one channel. The original has
    a DEPTHWISE for it, and another CONV has filters of the same size.
    """
    net = Net(1)
    y = net.conv2d(net.conv2d(net.input((1, 4, 6, 3)), 3), 3, kernel=(1, 3), groups=3)
    network = Network(net.model(y), "grouped", request({"fold": False}), on_device)
    made = network.converted({op.index: DeviceSharding.CHANNELS for op in network.graph.ops}, 2)
    found = compare_devices(network.source, [read(one.model) for one in made.models], Changes())
    assert (found.unknown, found.different) == (1, ())


def on_device(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
    return optimize_planned(data, name=name, if_worthwhile=False, effort=0.05, fold=False)


def test_exchanged_constants_are_found() -> None:
    def net(first: int, second: int) -> bytes:
        made, filters = Net(1), np.random.default_rng(5).integers(-99, 99, (3, 8, 1, 1, 8), dtype=np.int8)
        x = made.conv2d(made.conv2d(made.input((1, 9, 9, 8)), 8), 8)
        model = made.model(made.conv2d(x, 8))
        tree = writer.edit(read(model))
        for op, number in zip(tree.subgraphs[0].operators, (first, second, 2), strict=True):
            tree.buffers[tree.subgraphs[0].tensors[op.inputs[1]].buffer].data = filters[number].view(np.uint8).ravel()
        return writer.write(tree)

    straight, crossed = (tflm_memopt.optimize(net(*order), effort=0.05).model for order in ((0, 1), (1, 0)))
    assert compared(net(0, 1), straight).different == ()
    assert compared(net(0, 1), crossed).different


def test_only_the_next_part_of_a_shared_layer_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(3)
    model = net.model(net.fully_connected(net.fully_connected(net.input((1, 16)), 200), 200))
    devices = [read(one.model) for one in tflm_memopt.optimize_devices(model, 3, effort=0.05).models]
    compared: list[int] = []
    of_original = numbers.of_original

    def counted(*arguments: Any) -> numbers.Numbers | None:
        compared.append(1)
        return of_original(*arguments)

    monkeypatch.setattr(numbers, "of_original", counted)
    found = compare_devices(read(model), devices, Changes())
    assert found.different == ()
    assert found.unknown == 0
    assert len(compared) < 200


def test_builtin_operators_whose_outputs_have_the_same_name() -> None:
    net = Net(2)
    y = net.conv2d(net.conv2d(net.input((1, 6, 6, 4)), 4), 4)
    for op in net.graph.operators:
        net.graph.tensors[op.outputs[0]].name = "twin"
    model = net.model(y)
    filter_ = net.tree.buffers[net.graph.tensors[net.graph.operators[0].inputs[1]].buffer]
    filter_.data = filter_.data ^ 1
    assert (compared(model, model).equal, compared(model, model).different) == (2, ())
    assert len(compared(model, net.model(y)).different) == 1
