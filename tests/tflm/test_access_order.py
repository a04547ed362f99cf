"""Check the table of access orders (tflm/access_order.py) against TFLM's reference kernels.

The kernels of spring and autumn 2023 are compiled with every load and store logged. In the official wheel, the current
TFLM, one test places an output as near to an input as the table allows, and then one pixel nearer.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from numpy.typing import NDArray
from tflite_micro import runtime
from tflm.order_cases import OrderCase, cases

from tflm_memopt.model import writer
from tflm_memopt.model.names import OFFLINE_PLAN
from tflm_memopt.plan.iteration.kernel import kernel_ranges
from tflm_memopt.plan.iteration.liveness import constraints
from tflm_memopt.rowgraph.graph import AccessOrder
from tflm_memopt.tflm.access_order import REFERENCE, orders

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
HERE = Path(__file__).parent
MISSING = TFLM["missing"]() or ("" if shutil.which("g++") else "g++ is missing: apt-get install g++")
LOGGED = (
    "-fsanitize=kernel-address", "--param=asan-instrumentation-with-call-threshold=0", "--param=asan-globals=0",
    "--param=asan-stack=0",
)  # fmt: skip
PROFILER = """#pragma once
namespace ruy { namespace profiler { struct ScopeLabel { template <class... T> explicit ScopeLabel(T...) {} }; } }
"""
"""The only part of ruy/profiler/instrumentation.h that TFLM's headers use. The wheels lack that file."""
CASES = list(cases())
RUNS = 5


def order_of(case: OrderCase) -> AccessOrder:
    op, node = case.node()
    return orders(REFERENCE, op, node)[0]()


def distance(order: AccessOrder) -> int:
    """Return the planner's minimum distance in bytes from the output's start to the input's."""
    sizes = {0: len(order.last_read), 1: len(order.written)}
    return constraints(list(kernel_ranges({0: order}, 1, 0, sizes)))[1, 0]


@pytest.fixture(scope="module", params=TFLM["AGES"], ids=lambda tflm: tflm.name)
def logged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[OrderCase, AccessOrder]:
    """Log the real access orders of one TFLM version's kernels."""
    build, tflm = tmp_path_factory.mktemp("orders"), request.param
    (build / "ruy/profiler").mkdir(parents=True)
    (build / "ruy/profiler/instrumentation.h").write_text(PROFILER)
    log, program = build / "log.o", build / "orders"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-c", HERE / "access_log.c", "-o", log], check=True)
    flags = ["-std=c++17", "-O2", *LOGGED, *tflm.flags, "-isystem", str(build)]
    sources = [HERE / "access_orders.cpp", log, *tflm.link]
    subprocess.run(["g++", *flags, *sources, "-o", program], check=True, capture_output=True)
    lines = "".join(case.line() + "\n" for case in CASES)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    answers = [np.array(line.split(), np.int64) for line in done.stdout.splitlines()]
    return {case: AccessOrder(*answers[2 * n : 2 * n + 2]) for n, case in enumerate(CASES)}


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_reference_kernels_go_in_the_order_that_the_table_says(logged: dict[OrderCase, AccessOrder]) -> None:
    for case in CASES:
        said, seen = order_of(case), logged[case]
        assert seen.written.all(), f"{case}: something is never written"
        assert ((seen.last_read > 0) == (said.last_read >= 0)).all(), case
        safe = said.last_read[:, None] <= said.written
        assert (seen.last_read[:, None] < seen.written)[safe].all(), f"{case}: the table allows what loses a byte"
        assert distance(said) == distance(seen), f"{case}: the table forbids what is safe"


SOME = [case for n, case in enumerate(CASES) if n % 4 == 0]


@pytest.mark.slow
def test_one_pixel_more_than_proved_is_wrong() -> None:
    for case in SOME:
        net, x, y = case.model()
        order = order_of(case)
        least = distance(order)
        nearer = least - case.pixel
        # a pooling window of stride 2 leaves space for a whole pixel, but not for a part of one
        if not loses(order, nearer):
            nearer = least - case.pixel // case.output[-1]
        inputs = [draw(net, t) for t in net.graph.inputs]
        far = run(net, x, y, 4096, inputs)
        assert all((a == b).all() for a, b in zip(run(net, x, y, least, inputs), far, strict=True)), case
        assert any((a != b).any() for a, b in zip(run(net, x, y, nearer, inputs), far, strict=True)), case


def loses(order: AccessOrder, apart: int) -> bool:
    """Return whether a byte is overwritten before its last read, with the input `apart` bytes above the output."""
    at = np.arange(len(order.written)) - apart
    shared = (at >= 0) & (at < len(order.last_read))
    return bool((order.last_read[at[shared]] > order.written[shared]).any())


def draw(net: Any, tensor: int) -> NDArray[Any]:
    """Draw random values for several runs."""
    shape, affine, rng = (RUNS, *net.shape(tensor)), net.graph.tensors[tensor].quantization, net.rng
    if affine is None or affine.scale is None:
        return rng.normal(size=shape).astype(np.float32)
    dtype = np.int16 if net.dtype(tensor) == "INT16" else np.int8
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def run(net: Any, x: int, y: int, apart: int, inputs: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the outputs of all runs under TFLM, with input `x` placed `apart` bytes above the output."""
    offsets = {x: max(0, apart), y: max(0, -apart)}
    offsets |= {t: 8192 for t in net.graph.inputs if t != x}
    table = [1, 1, len(net.graph.tensors), *(offsets.get(t, -1) for t in range(len(net.graph.tensors)))]
    tree = net.finished(y)
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    interpreter = runtime.Interpreter.from_bytes(writer.write(tree), arena_size=1 << 16)
    found = []
    for n in range(RUNS):
        for k, values in enumerate(inputs):
            interpreter.set_input(values[n], k)
        interpreter.invoke()
        found.append(interpreter.get_output(0).copy())
    return found
